"""Two runs, compared, for people: what matters most first."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.comparison import Comparison, Side, Timed
from proctor.outcome import RunOutcome
from proctor.render.neutral import neutral
from proctor.render.secrets import masked
from proctor.render.writer import Tone, Writer
from proctor.text import first_line

_MESSAGE = 200  # characters
_SHOWN = 20  # tests of a list that is not about failures


def write_comparison(found: Comparison, write: Writer, mask: bool) -> None:
    _write_side("before", found.before, write, mask)
    _write_side("after", found.after, write, mask)
    counts: list[tuple[int, str, Tone]] = [
        (len(found.new), "new", "bad"),
        (len(found.fixed), "fixed", "good"),
        (len(found.still), "still failing", "bad"),
        (len(found.added), "added", ""),
        (len(found.removed), "removed", "odd"),
        (len(found.slower), "slower", "odd"),
        (len(found.faster), "faster", ""),
    ]
    shown = [one for one in counts if one[0]]
    for at, (count, word, tone) in enumerate(shown):
        write(f"{', ' if at else ''}")
        write(f"{count} {word}", tone)
    write("\n" if shown else "no difference\n")
    for test in found.new:
        _write_test("new", test, "bad", _message(found, test, mask), write)
    for test in found.still:
        _write_test("still", test, "odd", _message(found, test, mask), write)
    for test in found.fixed:
        _write_test("fixed", test, "good", "", write)
    _write_times("slower", found.slower, write)
    _write_times("faster", found.faster, write)
    _write_names("removed", found.removed, write)
    _write_names("added", found.added, write)


def _write_side(title: str, side: Side, write: Writer, mask: bool) -> None:
    tone: Tone = "good" if side.outcome is RunOutcome.PASSED else "bad"
    write(f"{title:7}{neutral(side.name)}  ")
    write(side.outcome.replace("_", " "), tone)
    write(f"  {len(side.ends)} results{'' if side.whole else ', of a part of the tests'}\n")
    if side.not_run:
        write(f"       {len(side.not_run)} of its tests did not run\n", "bad")
    if not side.ended:
        reason = f": {neutral(masked(side.reason) if mask else side.reason)}" if side.reason else ""
        write(f"       it did not run to its end{reason}; what it does not have, nobody knows\n", "bad")


def _message(found: Comparison, test: str, mask: bool) -> str:
    message = found.after.ends[test].message
    return neutral(first_line(masked(message) if mask else message, _MESSAGE))


def _write_test(title: str, test: str, tone: Tone, more: str, write: Writer) -> None:
    write(f"{title:9}", tone)
    write(neutral(test), "id")
    write(f"  {more}\n" if more else "\n", "rest" if more else "")


def _write_times(title: str, tests: Sequence[Timed], write: Writer) -> None:
    for test in tests[:_SHOWN]:
        _write_test(title, test.node_id, "odd", f"{test.before:.3f}s to {test.after:.3f}s", write)
    _write_rest(title, len(tests) - _SHOWN, write)


def _write_names(title: str, tests: Sequence[str], write: Writer) -> None:
    for test in tests[:_SHOWN]:
        _write_test(title, test, "", "", write)
    _write_rest(title, len(tests) - _SHOWN, write)


def _write_rest(title: str, count: int, write: Writer) -> None:
    if count > 0:
        write(f"{title:9}and {count} more: --format json has them all\n", "quiet")
