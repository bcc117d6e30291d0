"""What a mistyped word was probably meant to be. `difflib` is imported only here, after a mistake."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # `proctor --version` does without the cost of `typing`
    from collections.abc import Iterable

_LIKE = 0.6  # of 1; as `difflib` has it
_LIKE_ONE_OF = 0.7  # where all known words can be listed instead
_SWAPPED = 0.85  # of 1, once letters were swapped
_MOST_SWAPS = 20
_LONGEST = 300  # characters of a word that are compared
_NEARLY = 0.1  # of 1
_COMPARED = 5000  # words: comparing more takes seconds


def nearest(word: str, known: Iterable[str], most: int = 1, like: float = _LIKE) -> list[str]:
    """The known words that are most like this one: those that begin with it, then similar ones."""
    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
        if len(by_lower) >= _COMPARED:
            break
    wanted = word[:_LONGEST].lower()
    begun = sorted((name for name in by_lower if len(wanted) > 1 and name.startswith(wanted)), key=len)
    found = begun or _similar(wanted, list(by_lower), most, like) or _swapped(wanted, list(by_lower), like)
    return [by_lower[name] for name in found[:most]]


def _similar(word: str, known: list[str], most: int, like: float) -> list[str]:
    """Those that are nearly as like the word as the best one."""
    from difflib import SequenceMatcher, get_close_matches

    found = get_close_matches(word, known, most, like)
    likeness = [SequenceMatcher(None, name, word).ratio() for name in found]
    return [name for name, ratio in zip(found, likeness, strict=True) if ratio >= likeness[0] - _NEARLY]


def _swapped(word: str, known: list[str], like: float) -> list[str]:
    """With two neighbouring letters the other way round: `tset`, which for difflib is like nothing."""
    for at in range(min(len(word), _MOST_SWAPS) - 1):
        other = f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"
        if found := _similar(other, known, 1, max(like, _SWAPPED)):
            return found
    return []


def did_you_mean(word: str, known: Iterable[str], most: int = 1, like: float = _LIKE) -> str:
    """The end of an error message about a word that is not known; empty if no known word is like it."""
    return meant(nearest(word, known, most, like))


def or_known(word: str, known: Iterable[str]) -> str:
    """Likewise; if no known word is like it, the message names all of them."""
    names = list(known)
    return did_you_mean(word, names, like=_LIKE_ONE_OF) or f"; known: {', '.join(names)}"


def meant(names: list[str]) -> str:
    if not names:
        return ""
    *others, last = names
    return f"; did you mean {', '.join(others)} or {last}?" if others else f"; did you mean {last}?"
