"""The end of a report on one screen."""

from __future__ import annotations

from support.made_runs import failed, passed, run_of

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.render.closing import write_closing
from proctor.render.shown import Shown
from proctor.render.writer import plain_writer
from proctor.result import RunResult


def closing(result: RunResult, verbosity: int = 0, durations: int | None = None) -> list[str]:
    parts: list[str] = []
    write_closing(result, plain_writer(parts.append), Shown(verbosity, durations))
    return "".join(parts).splitlines()


def test_thirty_causes_and_the_rest_fit_on_forty_lines() -> None:
    result = run_of(
        *(failed(f"t.py::test_{n}", f"Error{n}: no", ("t.py", n + 1)) for n in range(30)),
        *(e.TestFinished(f"t.py::slow_{n}", Outcome.PASSED, 1.0 + n) for n in range(9)),
        e.TestFinished("t.py::skip", Outcome.SKIPPED, message="later"),
        e.WarningRecorded("DeprecationWarning", "old", "t.py", 3),
    )

    lines = closing(result)
    assert len(lines) <= 40
    assert lines[0] == "30 causes"
    assert lines[1] == "FAILED t.py::test_0 :1 Error0: no"
    assert lines[31:] == [
        "slowest 9.00s t.py::slow_8",
        "        8.00s t.py::slow_7",
        "        7.00s t.py::slow_6",
        "skipped 1x: later",
        "warnings DeprecationWarning t.py:3: old",
        "30 failed 9 passed 1 skipped in 0.00s",
    ]


def test_five_hundred_causes_end_with_how_many_are_not_in_the_list() -> None:
    result = run_of(*(failed(f"t.py::test_{n}", f"E{n}: no", ("t.py", n + 1)) for n in range(500)))

    assert closing(result)[-2:] == ["… and 470 more causes", "500 failed in 0.00s"]
    assert len(closing(result)) <= 40


def test_a_green_run_is_its_verdict_and_nothing_else_if_there_is_nothing_to_say() -> None:
    assert closing(run_of(*passed("a", "b"), outcome=RunOutcome.PASSED)) == ["2 passed in 0.00s"]


def test_durations_ask_for_the_slowest_whatever_they_took() -> None:
    tests = [e.TestFinished(name, Outcome.PASSED, seconds) for name, seconds in (("a", 0.01), ("b", 0.02))]
    result = run_of(*tests, outcome=RunOutcome.PASSED)

    assert closing(result)[:-1] == []
    assert closing(result, durations=1)[:-1] == ["slowest 0.02s b"]
    assert closing(result, durations=0)[:-1] == ["slowest 0.02s b", "        0.01s a"]


def test_quiet_is_the_verdict_and_verbose_is_every_row() -> None:
    skipped = [e.TestFinished(f"s{n}", Outcome.SKIPPED, message=f"reason {n}") for n in range(12)]
    result = run_of(*skipped, *passed("a"), outcome=RunOutcome.PASSED)

    assert closing(result, verbosity=-1) == ["1 passed 12 skipped in 0.00s"]
    assert closing(result)[8] == "        … and 4 more"
    assert len(closing(result, verbosity=1)) == 13


def test_warnings_are_counted_by_place_most_frequent_first_and_relative_to_the_project() -> None:
    facts = [e.WarningRecorded("W", "once", "/p/a.py", 1)]
    facts += [e.WarningRecorded("W", "often\nmore", "/p/b.py", 2)] * 3
    result = run_of(*facts, *passed("a"), outcome=RunOutcome.PASSED, cwd="/p")

    assert closing(result)[:-1] == ["warnings W b.py:2 (3x): often", "         W a.py:1: once"]


def test_a_suite_that_could_not_run_is_named_with_its_reason() -> None:
    missing = e.SuiteMissing("node", "node is not on PATH")

    assert any("node is not on PATH" in line for line in closing(run_of(missing, *passed("a"))))
