"""How readers speak: text, and in which tone. What a tone looks like is the listener's business."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

Tone: TypeAlias = Literal["", "good", "bad", "loud", "odd", "quiet"]

_CODES: dict[Tone, str] = {"good": "32", "bad": "31", "loud": "1;31", "odd": "33", "quiet": "2"}


class Say(Protocol):
    def __call__(self, text: str, tone: Tone = "") -> None: ...


def plain(write: Callable[[str], None]) -> Say:
    def say(text: str, tone: Tone = "") -> None:  # noqa: ARG001
        write(text)

    return say


def coloured(write: Callable[[str], None]) -> Say:
    """Tones as colours, each line by itself, so that a line taken out of a log keeps its own."""

    def say(text: str, tone: Tone = "") -> None:
        code = _CODES.get(tone)
        write(_painted(text, code) if code else text)

    return say


def _painted(text: str, code: str) -> str:
    lines = text.split("\n")
    return "\n".join(f"\x1b[{code}m{line}\x1b[0m" if line else line for line in lines)


class Listener:
    """Keeps what is said, for whoever wants it as one text."""

    def __init__(self) -> None:
        self._heard: list[str] = []

    def __call__(self, text: str, tone: Tone = "") -> None:
        self._heard.append(text)

    def text(self) -> str:
        return "".join(self._heard)
