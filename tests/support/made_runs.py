"""Runs made of facts, without running anything, for tests of what is said about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proctor import events as e
from proctor.fold import begin, fold
from proctor.outcome import Outcome, RunOutcome
from proctor.result import RunResult

RUN_ID = "20260101-120000-abcdef"


def run_of(*facts: e.Event, outcome: RunOutcome = RunOutcome.FAILED, cwd: str = "/project") -> RunResult:
    result = begin(e.RunStarted(RUN_ID, "pytest", ("pytest",), cwd, "/python", "2026-01-01T12:00:00Z"))
    for seq, fact in enumerate([*facts, e.RunFinished(outcome)]):
        fold(result, e.Entry(seq, 0.0, 0, fact))
    return result


def passed(*tests: str) -> list[e.TestFinished]:
    return [e.TestFinished(test, Outcome.PASSED) for test in tests]


def failed(
    test: str,
    message: str,
    place: tuple[str, int] | None = None,
    when: str = "call",
    **more: Any,
) -> e.TestFinished:
    """A test of which one phase failed; the type is what stands before the colon."""
    kind = message.partition(":")[0] if ": " in message else "AssertionError"
    failure = e.Failure(kind, message, e.Place(*place) if place else None, **more)
    outcome = Outcome.FAILED if when == "call" else Outcome.ERROR
    phase = e.Phase(when, "failed", failure=failure)
    return e.TestFinished(test, outcome, message=message, failure=failure, phases=(phase,))


def expand(lines: Iterable[str], known: Iterable[str]) -> list[str]:
    """The tests that lines of ids name, by the rules that a reader is given."""
    found: list[str] = []
    for line in lines:
        if line.startswith("all of "):
            names = line.removeprefix("all of ")
            whole = {test.partition(mark)[0] for test in known for mark in ("::", "[")}
            wanted = [names] if names in whole else names.split(" ")
            found += [t for t in known if t.partition("::")[0] in wanted or t.partition("[")[0] in wanted]
        elif line.endswith("}"):
            found += _braces(line)
        else:
            found.append(line)
    return found


def _braces(line: str) -> list[str]:
    scope, _, inside = line.removesuffix("}").partition("{")
    names, depth = [""], 0
    for letter in inside:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    return [scope + name for name in names]
