"""The text of one failure: a line with its message, and lines with details. Nothing is repeated."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from proctor.events import Calls, Failure, Place
from proctor.render.assertion_text import explanations, says_something, where_line
from proctor.render.neutral import neutral, neutral_block
from proctor.text import first_line

_MORE_LINES, _MORE_WIDTH = 8, 200  # of a message beyond its first line
_WHERE_WIDTH = 300  # characters about one value
_NOTE_LINES, _NOTE_WIDTH = 10, 300  # of a note
_ONE_LINE_NOTE = 200  # characters of a note that is written on one line
_LOCALS_WIDTH = 1000  # characters of local variables
_MOST_CAUSES = 6
_MOST_STEPS = 8  # places on the way to a raise

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_BARE = re.compile(r"assert (?:not )?(?:True|False|None|\d+|\[\]|\{\}|''|set\(\))")
#: What a process wrote is a note, so that its repr need not show it again.
_COMPLETED = re.compile(r"(CompletedProcess\(.{0,60}).*\)", re.S)
_PROCESS_OUTPUT = re.compile(r"\w+\.std(?:out|err)\b")
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
    message = limits.clean(_without_notes(failure))
    lines = [line for line in message.splitlines() if line.strip()]
    if not lines:
        return FailureText(failure.type or "failed")
    at = _explained(failure, lines)
    if at is None:
        said, rest = _opening(lines)
    else:
        said, rest = _assertion(failure, lines[at:], limits)
        if at:
            said, rest = f"{lines[0].removesuffix(':')}; {said}", [*lines[1:at], *rest]
    if not limits.more:
        left = bool(rest or failure.causes or failure.notes or len(said) > limits.width)
        return FailureText(limits.shorten(said), left_out=left)
    more, cut = _rest(rest, limits)
    for note in failure.notes:
        shown, cut_here = _note(limits.clean(note), limits)
        more, cut = [*more, *shown], cut or cut_here
    if failure.locals:
        more.append(f"locals: {limits.shorten(limits.clean(', '.join(failure.locals)), _LOCALS_WIDTH)}")
    for cause in islice(_causes(failure.causes), _MOST_CAUSES):
        more.append(f"caused by: {_cause_line(cause, limits)}")
        for note in cause.notes:
            shown, cut_here = _note(limits.clean(note), limits)
            more, cut = [*more, *shown], cut or cut_here
    signed = bool(failure.difference) and said.endswith(":")
    return FailureText(limits.shorten(said), tuple(more), cut or len(said) > limits.width, signed)


def _without_notes(failure: Failure) -> str:
    """Newer versions of pytest and Python write the notes of an exception under its message."""
    message = failure.message
    for note in reversed(failure.notes):
        message = message.removesuffix(f"\n{note}")
    return message


def _note(note: str, limits: TextLimits) -> tuple[list[str], bool]:
    """On one line if it is short and has a head: an example has a line for each argument."""
    lines = [line for line in note.splitlines() if line.strip()]
    if lines and lines[0].endswith(("(", ":")) and all(line[0] in " )" for line in lines[1:]):
        joined = " ".join(line.strip() for line in lines).replace("( ", "(").replace(", )", ")")
        if len(joined) <= _ONE_LINE_NOTE:
            return [joined], False
    return _cut_lines(lines, _NOTE_LINES, _NOTE_WIDTH, limits)


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
    found = explanations(first, lines[1:])
    if any(_PROCESS_OUTPUT.match(note) for note in failure.notes):
        found = [_COMPLETED.sub(r"\1…)", where) for where in found]
    if not _BARE.fullmatch(first):
        found = [where for where in found if says_something(where)]
    rest = [line for line in lines[1:] if not where_line(line)] if "..." in first else []
    joined = f"{first} where {', '.join(found)}" if found else first
    if len(joined) <= limits.width:
        return joined, rest
    return first, [*(f"where {limits.shorten(where, _WHERE_WIDTH)}" for where in found), *rest]


def _rest(lines: list[str], limits: TextLimits) -> tuple[list[str], bool]:
    return _cut_lines([line for line in lines if not _NOISE.match(line)], _MORE_LINES, _MORE_WIDTH, limits)


def _cut_lines(lines: list[str], most: int, width: int, limits: TextLimits) -> tuple[list[str], bool]:
    """As many of the lines as are shown, with the number of the others; and whether anything was cut."""
    shown = [limits.shorten(line, width) for line in lines[:most]]
    left = len(lines) - len(shown)
    if left:
        shown.append(f"… {left:,} more {'line' if left == 1 else 'lines'}")
    return shown, bool(left) or any(len(line.strip()) > width for line in lines)


def _causes(causes: Iterable[Failure]) -> Iterator[Failure]:
    for cause in causes:
        yield cause
        yield from _causes(cause.causes)


def _cause_line(cause: Failure, limits: TextLimits) -> str:
    """The end is kept: a command reports its error there."""
    first = first_line(limits.clean(cause.message)) or cause.type
    if len(first) > _MORE_WIDTH:
        first = f"{first[: _MORE_WIDTH - 63]}...{first[-60:]}"
    return f"{neutral(str(cause.place))} {first}" if cause.place else first


def way(failure: Failure, test_file: str) -> tuple[Place, ...]:
    """The places of user code on the way to the raise, after those of the test's own file."""
    places = [place for part in failure.calls for place in part.places]
    while places and places[0].file == test_file:
        del places[0]
    return tuple(places)


def way_text(file: str, places: Sequence[Place], most: int = _MOST_STEPS) -> str:
    """` > a.py:5 > b.py:18 > :12`, seen from a line of `file`; a long way keeps both its ends."""
    if not places:
        return ""
    left = len(places) - most
    if left <= 1:
        steps = _steps(file, places)
    else:
        head, tail = places[: most // 2], places[-(most - most // 2) :]
        steps = f"{_steps(file, head)} > …{left} calls… > {_steps('', tail)}"
    return f" {steps}" if steps.startswith(":") else f" > {steps}"


def place_text(test_file: str, failure: Failure, with_calls: bool = True) -> str:
    """` :line` in the test's own file, then the way to the raise: ` > file:line > :line`."""
    place = failure.place
    if place is None:
        return ""
    if not with_calls:
        return _line(place) if place.file == test_file else f" > {neutral(str(place))}"
    if any(part.times > 1 for part in failure.calls):
        return _path(test_file, failure.calls)
    places = [place for part in failure.calls for place in part.places]
    if not places:
        return _line(place) if place.file == test_file else f" > {neutral(str(place))}"
    if place in places:  # product code goes before test code: what the product called back is left out
        places = places[: len(places) - places[::-1].index(place)]
    else:
        places.append(place)
    return way_text(test_file, places)


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
