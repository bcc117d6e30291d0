"""Two mistakes that show only now and then."""

_seen: list[str] = []


def first(colours: set[str]) -> str:
    """The first in the alphabet; but a set has no order."""
    return next(iter(colours))


def remember(colour: str) -> int:
    """How many colours this caller has; but the list is everybody's."""
    _seen.append(colour)
    return len(_seen)
