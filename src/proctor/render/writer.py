"""What reports write to: text with a tone. The writer decides what a tone looks like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

Tone: TypeAlias = Literal["", "good", "bad", "loud", "odd", "quiet"]

_CODES: dict[Tone, str] = {"good": "32", "bad": "31", "loud": "1;31", "odd": "33", "quiet": "2"}


class Writer(Protocol):
    def __call__(self, text: str, tone: Tone = "") -> None: ...


def plain_writer(write: Callable[[str], None]) -> Writer:
    """Writes the text without its tone."""
    return lambda text, tone="": write(text)  # noqa: ARG005


def coloured_writer(write: Callable[[str], None]) -> Writer:
    """Writes tones as colours, line by line: a line that is taken out of a log keeps its colour."""

    def write_coloured(text: str, tone: Tone = "") -> None:
        if code := _CODES.get(tone):
            text = "\n".join(line and f"\x1b[{code}m{line}\x1b[0m" for line in text.split("\n"))
        write(text)

    return write_coloured
