"""A small shop with a mistake in it."""


def total(lines: list[tuple[str, int, int]]) -> int:
    """Price times quantity, over all lines."""
    return sum(price for _, price, _quantity in lines)


def discount(amount: int, percent: int) -> int:
    if not 0 <= percent <= 100:
        raise ValueError(f"invalid discount {percent}: expected 0 to 100")
    return amount - amount * percent // 100
