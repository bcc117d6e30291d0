"""The end of a report, on one screen: causes in a line each, what was slow or skipped, the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from proctor.events import NEW, Place, TestFinished
from proctor.outcome import FLAKY, QUARANTINED, Outcome, RunOutcome
from proctor.render.failure_report import brief, causes_of, label, phase_text, short, word
from proctor.render.history_words import Words
from proctor.render.links import place_url
from proctor.render.neutral import neutral
from proctor.render.shown import USUAL, Shown
from proctor.render.verdict_line import counts, notes, verdict_of_tests
from proctor.render.writer import Tone, Writer
from proctor.result import RunResult
from proctor.text import first_line
from proctor.verdict import not_run_reason

if TYPE_CHECKING:  # loaded only if something failed
    from proctor.causes import Cause, Occurrence

ROWS = 30  # causes of one screen
_FEW = 8  # rows of every other list
SLOWEST = 3
SLOW = 0.1  # seconds; nobody asks for the slowest of tests that take less

_TONES: dict[str, Tone] = {
    **dict.fromkeys(("failed", "error", "errors", "crashed", "out"), "loud"),
    "passed": "good",
    "info": "good",
    "fixed": "good",
    NEW: "loud",
}


def write_closing(result: RunResult, write: Writer, shown: Shown = USUAL) -> None:
    """The lists, then the verdict."""
    if not shown.quiet:
        write_lists(result, write, shown)
    else:
        _write_made_good(result, write, shown)
    write_verdict(result, write)


def write_lists(result: RunResult, write: Writer, shown: Shown) -> None:
    _write_causes(result, write)
    _write_made_good(result, write, shown)
    fixed = result.history.fixed if result.history is not None else ()
    _write_list("fixed", map(neutral, fixed), write, shown, "good")
    _write_list("slowest", _slowest(result, shown.durations), write, shown, "quiet")
    skipped = (f"{count}x: {reason}" for reason, count in skip_reasons(result).items())
    _write_list("skipped", skipped, write, shown, "odd")
    _write_list("warnings", warning_lines(result), write, shown, "odd")
    _write_list("not run", map(neutral, result.not_run), write, shown, "odd")
    for why in map(not_run_reason, result.missing):
        if why not in result.reason:  # which the verdict ends with
            write(f"{neutral(why)}\n", "odd")
    for notice in result.notices:
        write(f"note: {neutral(notice)}\n", "odd")


def _write_causes(result: RunResult, write: Writer) -> None:
    if result.broke is not None and result.outcome is not RunOutcome.USAGE_ERROR:
        write("INTERNAL ERROR ", "loud")
        write(f"{short(result.broke.failure.message)}\n", "rest")
    found = causes_of(result)
    if len(found) > 1:
        write(f"{len(found)} causes\n", "strong")
    rows = found[:ROWS]
    for cause, column in zip(rows, _history_column(rows, result), strict=True):
        _write_cause(cause, result, write, column)
    if len(found) > ROWS:
        write(f"… and {len(found) - ROWS} more causes\n", "quiet")


def _history_column(found: Sequence[Cause], result: RunResult) -> list[tuple[str, str]]:
    """How each cause ended, and what is known of its tests from other runs, in words of the same width; where
    nothing is known, nothing."""
    words = Words(result)
    known = [words.column(cause.tests) for cause in found]
    if not any(known):
        return [(word(cause.first), "") for cause in found]
    ends = max(len(word(cause.first)) for cause in found)
    width = max(map(len, known))
    return [(f"{word(c.first):{ends}}", f"{text:{width}} ") for c, text in zip(found, known, strict=True)]


def _write_made_good(result: RunResult, write: Writer, shown: Shown) -> None:
    """Tests that failed and do not count, each with its first failure."""
    if not result.flaky and not result.excused:
        return
    from proctor.causes import made_good

    found = list(made_good(result))
    for name in (FLAKY, QUARANTINED):
        rows = (_made_good(first, result) for word, first in found if word == name)
        _write_list(name, rows, write, shown, "odd")


def _made_good(first: Occurrence, result: RunResult) -> str:
    place, reason = first.failure.place, result.quarantined.get(first.test, "")
    where = f" {_seen_from(first.test, place)}" if place else ""
    why = f" ({short(reason)})" if reason else ""
    return f"{label(first)}{why}{where} {brief(first)}".rstrip()


def _write_cause(cause: Cause, result: RunResult, write: Writer, column: tuple[str, str]) -> None:
    first, others = cause.first, len(cause.tests) - 1
    place = first.failure.place if cause.one_place else None
    defined = first.finished.place if first.finished else None
    end, known = column
    write(f"{end} ", "loud")
    if known:
        write(known, "strong" if NEW in known else "quiet")
    write("cannot collect " * (first.finished is None))
    write(label(first), "id", place_url(place or defined, result, first.test))
    write(f" and {others} more" * bool(others) + phase_text(first))
    if place:
        write(" ")
        write(_seen_from(first.test, place), "place", place_url(place, result, first.test))
    write(f" {brief(first)}\n", "rest")


def _seen_from(test: str, place: Place) -> str:
    """`:12` in the test's own file."""
    text = neutral(str(place))
    return text.removeprefix(place.file) if test.startswith(f"{place.file}::") and place.line else text


def _slowest(result: RunResult, durations: int | None) -> Iterator[str]:
    if durations is None and len(result.tests) < 2:
        return
    least, most = (SLOW, SLOWEST) if durations is None else (0.0, durations or len(result.tests))
    for test in slowest(result, most, least):
        yield f"{test.seconds:.2f}s {neutral(test.test)}"


def slowest(result: RunResult, most: int, least: float) -> list[TestFinished]:
    """At most so many tests, each of which took at least so many seconds; the slowest first."""
    slow = (test for test in result.tests.values() if test.seconds >= least)
    return sorted(slow, key=lambda test: -test.seconds)[:most]


def skip_reasons(result: RunResult) -> Counter[str]:
    skipped = [test.message for test in result.tests.values() if test.outcome is Outcome.SKIPPED]
    return Counter(short(message or "no reason given") for message in skipped)


def warning_lines(result: RunResult) -> Iterator[str]:
    """Category, place and message, with how often; most frequent first."""
    root = result.run.cwd.rstrip("/") + "/"
    found = Counter(
        (w.category, str(Place(w.file.removeprefix(root), w.line)), first_line(w.message))
        for w in result.warnings
    )
    for (category, place, message), count in found.most_common():
        often = f" ({count}x)" if count > 1 else ""
        yield f"{neutral(category)} {neutral(place)}{often}: {short(message)}"


def _write_list(name: str, rows: Iterable[str], write: Writer, shown: Shown, tone: Tone) -> None:
    lines = list(rows)
    most = len(lines) if shown.whole or (name == "slowest" and shown.durations is not None) else _FEW
    for at, line in enumerate(lines[:most]):
        write(f"{name} " if not at else " " * (len(name) + 1), tone)
        write(f"{line}\n")
    if len(lines) > most:
        write(f"{' ' * (len(name) + 1)}… and {len(lines) - most} more\n", "quiet")


def verdict(result: RunResult) -> str:
    """The last line of a report."""
    tests = f"{verdict_of_tests(result) or result.outcome} in {result.seconds:.2f}s"
    text = ", ".join([tests, *notes(result)])
    return f"{text} ({neutral(result.reason)})" if result.reason else text


def write_verdict(result: RunResult, write: Writer) -> None:
    """The last line, each count in its colour."""
    text = verdict(result)
    for count in (*counts(result), *notes(result)):
        before, found, rest = text.partition(count)
        if found:
            write(before, _tone(result))
            write(found, _TONES.get(count.split()[-1], "odd"))
            text = rest
    write(f"{text}\n", _tone(result))


def _tone(result: RunResult) -> Tone:
    return "good" if result.outcome is RunOutcome.PASSED else "loud"
