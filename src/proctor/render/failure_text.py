"""The text of one failure: a line with its message, and lines with details. Nothing is repeated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice

import msgspec

from proctor.events import Calls, Failure, Place
from proctor.render.neutral import neutral, neutral_block
from proctor.text import first_line

_MORE_LINES, _MORE_WIDTH = 6, 160  # of a message beyond its first line
_MOST_CAUSES = 6

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BARE = re.compile(r"assert (?:not )?(?:True|False|None|\d+|\[\]|\{\}|''|set\(\))")
_WHERE = re.compile(r"\s*\+\s+where ")
#: Lines of pytest's explanation that explain how to get another explanation, or point at columns.
_NOISE = re.compile(r"\s*(?:\?[ ^+\-]*$|Use -v|Full diff:|\.\.\.Full output|Skipping \d+|Omitting \d+|~)")
#: unittest gives both values, and then again piece by piece.
_TOLD_WHOLE = re.compile(r"AssertionError: (?:\w+ differ: )?.+ != .+")


class FailureText(msgspec.Struct, frozen=True):
    """`line` is the message, `more` are the lines under it; `left_out`: something has been cut."""

    line: str
    more: tuple[str, ...] = ()
    left_out: bool = False
    signed: bool = False  # `-` and `+` stand before lines of the right and of the left


class TextLimits(msgspec.Struct, frozen=True):
    """How much of a failure is shown, and the directory that is left out of its paths."""

    root: str = ""
    width: int = 300  # characters of a message's first line
    more: bool = True  # lines under it: what differs, causes, the rest of the message

    def clean(self, text: str) -> str:
        text = neutral_block(text)
        if self.root:
            text = text.replace(self.root.rstrip("/") + "/", "")
        return _ADDRESS.sub("", text)

    def shorten(self, line: str, width: int = 0) -> str:
        width = width or self.width
        line = line.strip().replace("\t", "\\t")
        return line if len(line) <= width else line[: max(0, width - 3)] + "..."


def failure_text(failure: Failure, limits: TextLimits) -> FailureText:
    message = limits.clean(failure.message)
    lines = [line for line in message.splitlines() if line.strip()]
    if not lines:
        return FailureText(failure.type or "failed")
    at = _explained(failure, lines)
    if at is None:
        said, rest = _opening(lines)
    else:
        said, rest = _assertion(failure, lines[at:], limits)
        if at:
            said, rest = f"{lines[0]}; {said}", [*lines[1:at], *rest]
    if not limits.more:
        return FailureText(
            limits.shorten(said), left_out=bool(rest or failure.causes or len(said) > limits.width)
        )
    more, cut = _rest(rest, limits)
    causes = islice(_causes(failure.causes, limits), _MOST_CAUSES)
    more += [f"caused by: {limits.shorten(cause, _MORE_WIDTH)}" for cause in causes]
    signed = bool(failure.difference) and said.endswith(":")
    return FailureText(limits.shorten(said), tuple(more), cut or len(said) > limits.width, signed)


def _explained(failure: Failure, lines: list[str]) -> int | None:
    """The line where pytest's explanation of an assertion begins."""
    if failure.type not in ("AssertionError", ""):
        return None
    starts = (at for at, line in enumerate(lines) if _without_type(line, failure).startswith("assert "))
    return next(starts, None)


def _without_type(line: str, failure: Failure) -> str:
    return line.removeprefix(f"{failure.type}: ") if failure.type else line


def _opening(lines: list[str]) -> tuple[str, list[str]]:
    """The first line and the rest; a first line that ends with a colon is joined with the second."""
    if lines[0].endswith(":") and len(lines) > 1:
        return f"{lines[0]} {lines[1].strip()}", lines[2:]
    if _TOLD_WHOLE.fullmatch(lines[0]) and "chars]" not in lines[0]:
        return lines[0], [line for line in lines[-1:] if " : " in line]  # a message of the test's own
    return lines[0], lines[1:]


def _assertion(failure: Failure, lines: list[str], limits: TextLimits) -> tuple[str, list[str]]:
    first = _without_type(lines[0], failure)
    if failure.difference and ("..." in first or len(first) > limits.width):
        head, *rest = (limits.clean(line) for line in failure.difference)
        return f"assert == fails{' ' if head.startswith('at ') else ': '}{head}", rest
    wheres = [line[found.end() :].strip() for line in lines[1:] if (found := _WHERE.match(line))]
    if _BARE.fullmatch(first) and wheres:
        return f"{first} where {_joined(wheres)}", []
    if "..." in first:
        return first, [line for line in lines[1:] if not _WHERE.match(line)]
    return first, []


def _joined(wheres: list[str]) -> str:
    """`False = <method startswith>('x')` and `<method startswith> = 'abc'.startswith` become one text.

    Each is put in once: a text that names a value twice could double with every line.
    """
    text = wheres[0]
    for where in wheres[1:]:
        name, equals, value = where.partition(" = ")
        if equals and name.startswith("<") and name in text:
            text = text.replace(name, value, 1)
    return text


def _rest(lines: list[str], limits: TextLimits) -> tuple[list[str], bool]:
    lines = [line for line in lines if not _NOISE.match(line)]
    shown = [limits.shorten(line, _MORE_WIDTH) for line in lines[:_MORE_LINES]]
    cut = len(lines) - len(shown)
    if cut:
        shown.append(f"({cut} more {'line' if cut == 1 else 'lines'})")
    return shown, bool(cut) or any(len(line.strip()) > _MORE_WIDTH for line in lines)


def _causes(causes: Iterable[Failure], limits: TextLimits) -> Iterator[str]:
    for cause in causes:
        first = first_line(limits.clean(cause.message)) or cause.type
        yield f"{neutral(str(cause.place))} {first}" if cause.place else first
        yield from _causes(cause.causes, limits)


def place_text(test_file: str, failure: Failure, with_calls: bool = True) -> str:
    """` :line` in the test's own file, ` > file:line` of the raise elsewhere, recursion folded between."""
    place = failure.place
    if place is None:
        return ""
    own = next((p for part in failure.calls for p in part.places if p.file == test_file), None)
    if not with_calls:
        return _line(place) if place.file == test_file else f" > {neutral(str(place))}"
    if any(part.times > 1 for part in failure.calls):
        return _path(test_file, failure.calls)
    if place.file == test_file:
        return _line(place)
    return f" :{own.line} > {neutral(str(place))}" if own else f" > {neutral(str(place))}"


def _line(place: Place) -> str:
    return f" :{place.line}" if place.line else ""  # some tools name the file alone


def _path(test_file: str, calls: tuple[Calls, ...]) -> str:
    """`:40 > (a.py:2 > :8)x149 > a.py:2 > :7`; after a bracket the file is repeated."""
    steps: list[str] = []
    file = test_file
    for part in calls:
        if part.times > 1:
            steps.append(f"({_steps('', part.places)})x{part.times}")
            file = ""
        else:
            steps.append(_steps(file, part.places))
            file = part.places[-1].file
    text = " > ".join(steps)
    return f" {text}" if text.startswith(":") else f" > {text}"


def _steps(file: str, places: Iterable[Place]) -> str:
    steps = []
    for place in places:
        steps.append(f":{place.line}" if place.file == file else neutral(str(place)))
        file = place.file
    return " > ".join(steps)
