"""A traceback as pytest writes it, taken apart: frames with their source, and what was raised."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

_SEPARATOR = re.compile(r"(?:_ ){3,}_?\s*")
_SHORT = re.compile(r"(\S[^\n]*?):(\d+): in (.+)")  # a frame of which pytest shows one statement
_LONG = re.compile(r"(\S[^\n]*?):(\d+): ?([\w.]*)")  # the end of one of which it shows the function
_CHAINED = re.compile(r"(?:The above exception was the direct cause|During handling of the above exception)")
_ADVICE = re.compile(
    r"(?i)E?\s*(?:use -v+ to get (?:more diff|the full diff)"
    r"|\.\.\.full output truncated.*|omitting \d+ identical items.*|skipping \d+ identical .*)\s*"
)


class Frame(msgspec.Struct, frozen=True):
    """One call: where it was, and the lines that pytest shows of it."""

    file: str
    line: int
    function: str = ""  # where pytest names it
    values: tuple[str, ...] = ()  # of the function's arguments: `name = value`
    source: tuple[str, ...] = ()  # with pytest's margin: `>` marks the statement that was running
    raised: tuple[str, ...] = ()  # with pytest's margin: `E`

    @property
    def is_whole(self) -> bool:
        """pytest shows the function, not only the statement."""
        return not self.function

    @property
    def statement(self) -> str:
        """The first line of what was running here."""
        marked = [line[1:] for line in self.source if line.startswith(">")]
        return (marked or [*self.source, ""])[0].strip()

    @property
    def title(self) -> str:
        """The name of the function, as far as it can be seen."""
        if self.function:
            return self.function
        heads = (re.match(r"[ >]\s*(?:async )?def (\w+)", line) for line in self.source)
        return next((found[1] for found in heads if found), "")


class Raise(msgspec.Struct, frozen=True):
    """One exception of a chain, with the calls that led to it, outermost first."""

    frames: tuple[Frame, ...]
    link: str = ""  # what pytest says between it and the next one

    @property
    def raised(self) -> tuple[str, ...]:
        return tuple(line for frame in self.frames for line in frame.raised)


def parse(text: str) -> list[Raise]:
    """The exceptions of a trace, the first cause first; nothing if it is not pytest's long form."""
    lines = with_margin(text).split("\n")
    found: list[Raise] = []
    begin = 0
    for at, line in enumerate(lines):
        if _CHAINED.match(line):
            found.append(Raise((*_frames(lines[begin:at]),), line))
            begin = at + 1
    found.append(Raise((*_frames(lines[begin:]),)))
    return found if found[-1].raised and all(each.frames for each in found) else []


def without_advice(lines: tuple[str, ...]) -> list[str]:
    """Without pytest's lines on how to get another text, and the empty ones that these leave at the end."""
    kept = [line for line in lines if not _ADVICE.fullmatch(line)]
    while kept and kept[-1].strip() in ("", "E"):
        kept.pop()
    return kept


def with_margin(text: str) -> str:
    """pytest strips a trace as a whole, and so takes the margin of a first line of source away."""
    first, _, rest = text.rstrip().partition("\n")
    by_pytest = any(line.startswith(("E  ", ">  ")) for line in rest.split("\n"))
    stripped = by_pytest and not _is_shown(first) and rest.startswith(("    ", ">", "E  "))
    return f"    {text.rstrip()}" if stripped else text.rstrip()


def _frames(lines: list[str]) -> Iterator[Frame]:
    above: list[str] = []
    short: re.Match[str] | None = None
    for line in lines:
        is_place = not _is_shown(line)
        begins = _SHORT.fullmatch(line) if is_place else None
        ends = _LONG.fullmatch(line) if is_place and not (begins or short) else None
        if begins or _SEPARATOR.fullmatch(line):
            if short:
                yield _frame(short[1], short[2], short[3], above)
            above, short = [], begins
        elif ends and any(map(_is_shown, above)):
            yield _frame(ends[1], ends[2], "", above)
            above = []
        else:
            above.append(line)
    if short:
        yield _frame(short[1], short[2], short[3], above)


def _frame(file: str, line: str, function: str, above: list[str]) -> Frame:
    shown = "\n".join(above).strip("\n").split("\n")
    raised = tuple(text for text in shown if _is_raised(text))
    source = [text for text in shown if not _is_raised(text)]
    values: list[str] = []
    while source and not function and source[0][:1] not in (" ", ">"):
        values.append(source.pop(0))
    return Frame(file, int(line), function, tuple(filter(None, values)), tuple(_trimmed(source)), raised)


def _trimmed(source: list[str]) -> list[str]:
    while source and not source[-1].strip():
        source.pop()
    return source


def _is_raised(line: str) -> bool:
    return line == "E" or line.startswith("E  ")


def _is_shown(line: str) -> bool:
    """It stands behind pytest's margin."""
    return line[:1] in " >" or _is_raised(line)
