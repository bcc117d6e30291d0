"""What reports write to: text with a tone. The writer decides what a tone looks like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

#: What a piece of text is. The second line of names is about failures: an id, a place in a file, a line that
#: was removed or added and the words of it that differ, carets under these words, Python or JavaScript with
#: pytest's margin, a command to be copied, which is never wrapped, a text that is cut at the end of the line.
Tone: TypeAlias = (
    Literal["", "good", "bad", "loud", "odd", "quiet", "strong"]
    | Literal[
        "id", "place", "removed", "added", "less", "more", "carets", "source", "javascript", "command", "rest"
    ]
)

_CODES: dict[Tone, str] = {
    "good": "32",
    "bad": "31",
    "loud": "1;31",
    "odd": "33",
    "quiet": "2",
    "strong": "1",
    "id": "1",
    "place": "36",
    "removed": "31",
    "added": "32",
    "less": "1;7;31",
    "more": "1;7;32",
}


class Writer(Protocol):
    """A line may be written in pieces. `link` is what a terminal opens when the text is clicked."""

    def __call__(self, text: str, tone: Tone = "", link: str = "") -> None: ...


def plain_writer(write: Callable[[str], None]) -> Writer:
    """Writes the text without its tone."""
    return lambda text, tone="", link="": write(text)  # noqa: ARG005


def coloured_writer(write: Callable[[str], None]) -> Writer:
    """Writes tones as colours, line by line: a line that is taken out of a log keeps its colour."""

    def write_coloured(text: str, tone: Tone = "", link: str = "") -> None:  # noqa: ARG001
        if tone == "carets":
            return  # the words themselves are marked
        if code := _CODES.get(tone):
            text = "\n".join(line and f"\x1b[{code}m{line}\x1b[0m" for line in text.split("\n"))
        write(text)

    return write_coloured
