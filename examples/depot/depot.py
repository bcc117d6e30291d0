"""A depot: what is in it, what it costs, and how it is packed."""

BOX = 12  # pieces


def boxes(pieces: int) -> int:
    return -(-pieces // BOX)


def price(pieces: int, each: float) -> float:
    return round(pieces * each * (0.9 if pieces >= BOX else 1), 2)


def missing(ordered: dict[str, int], stock: dict[str, int]) -> dict[str, int]:
    return {name: count - stock.get(name, 0) for name, count in ordered.items() if count > stock.get(name, 0)}
