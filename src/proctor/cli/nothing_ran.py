"""Why a run has no tests, in one line on stderr: a target that is not there, or nothing that matches."""

from __future__ import annotations

import sys

from proctor.outcome import RunOutcome
from proctor.plan_run import Asked
from proctor.render.neutral import neutral
from proctor.render.secrets import masked
from proctor.result import RunResult
from proctor.text import first_line

_LENGTH = 500  # characters: a reason may quote a tool


def explain(result: RunResult, asked: Asked, mask: bool) -> None:
    """Writes nothing about a run that had tests, and nothing twice to one terminal."""
    if result.outcome is RunOutcome.USAGE_ERROR:
        why = f"{result.reason or 'the test runner refused its arguments'} [usage]"
    elif result.outcome is RunOutcome.NO_TESTS:
        why = _why_no_tests(result, asked)
    else:
        return
    told = why in result.notices or (bool(result.reason) and why.startswith(result.reason))
    if told and sys.stdout.isatty() and sys.stderr.isatty():
        return
    line = neutral(first_line(masked(why) if mask else why, _LENGTH))
    print(f"proctor: {line}", file=sys.stderr, flush=True)


def _why_no_tests(result: RunResult, asked: Asked) -> str:
    chosen = asked.selection
    if chosen.keywords and (result.left_out or not result.reason):
        from proctor.runners.nearest_tests import unmatched

        return unmatched(chosen.keywords, result.deselected)
    if result.left_out:
        option = f"-m {chosen.markers!r}" if chosen.markers else "the selection"
        return f"no test matches {option}: {result.left_out} deselected"
    return result.reason or f"no tests found in {', '.join(chosen.targets) or asked.root}"
