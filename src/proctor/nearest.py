"""What a mistyped word was probably meant to be. `difflib` is imported only here, after a mistake."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # `proctor --version` does without the cost of `typing`
    from collections.abc import Iterable

_LIKE = 0.6  # of 1; as `difflib` has it
_COMPARED = 5000  # words: comparing more takes seconds


def nearest(word: str, known: Iterable[str], most: int = 1, like: float = _LIKE) -> list[str]:
    """The known words that are most like this one: those that begin with it, then similar ones."""
    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
        if len(by_lower) >= _COMPARED:
            break
    wanted = word.lower()
    begun = sorted((name for name in by_lower if len(wanted) > 1 and name.startswith(wanted)), key=len)
    if len(begun) < most:
        from difflib import get_close_matches

        begun += get_close_matches(wanted, list(by_lower), most, like)
    return [by_lower[name] for name in dict.fromkeys(begun)][:most]


def did_you_mean(word: str, known: Iterable[str], most: int = 1, like: float = _LIKE) -> str:
    """The end of an error message about a word that is not known; empty if no known word is like it."""
    return meant(nearest(word, known, most, like))


def or_known(word: str, known: Iterable[str]) -> str:
    """Likewise; if no known word is like it, the message names all of them."""
    names = list(known)
    return did_you_mean(word, names) or f"; known: {', '.join(names)}"


def meant(names: list[str]) -> str:
    if not names:
        return ""
    *others, last = names
    return f"; did you mean {', '.join(others)} or {last}?" if others else f"; did you mean {last}?"
