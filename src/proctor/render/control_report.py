"""What was found in a recorded control stream: a line for a good one, the error in full for a broken one."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.errors import ControlError
from proctor.render.neutral import neutral
from proctor.wire.control.check import NO_STATUS, Checked, readable
from proctor.wire.control.rules import RULES

_NAMES = 5  # of open partials


def control_report(checked: Checked) -> str:
    contents = "; ".join(_contents(checked))
    if checked.error is None:
        return f"good: {contents}\n"
    return "\n".join([*_error(checked.error), f"  complete  {contents}"]) + "\n"


def _error(error: ControlError) -> Iterator[str]:
    yield f"broken at byte {error.offset}: {error.message}"
    before, after = readable(error.before), readable(error.after)
    if before or after:
        yield f"  bytes     {before}{after}"
        yield f"            {' ' * len(before)}^"
    yield f"  rule      {error.rule}: {RULES[error.rule]}"
    if error.cause:
        yield f"  likely    {error.cause}"


def _contents(checked: Checked) -> Iterator[str]:
    if checked.results:
        by_status = ", ".join(
            f"{count} {'without a status' if status == NO_STATUS else status}"
            for status, count in checked.results.items()
        )
        yield f"{_count(sum(checked.results.values()), 'result')} ({by_status})"
    else:
        yield "no results"
    if checked.partials:
        names = ["the test itself" if n is None else neutral(n) for n in checked.partials[:_NAMES]]
        more = ", …" if len(checked.partials) > _NAMES else ""
        yield f"{_count(len(checked.partials), 'partial')} still open ({', '.join(names)}{more})"
    if checked.files:
        yield f"{_count(checked.files, 'file')} of {_count(checked.file_bytes, 'byte')}"
    for word, count in checked.words.items():
        yield f"{count} {word}"
    if not checked.own and None not in checked.partials and checked.error is None:
        yield "no result for the test itself: its exit code decides"
    if checked.unread:
        yield f"{_count(checked.unread, 'byte')} after disconnect, ignored"


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
