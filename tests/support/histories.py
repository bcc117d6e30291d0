"""Runs that were compared with earlier ones and with a baseline: every word, alone and beside others."""

from __future__ import annotations

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from support.made_runs import failed, passed

BEFORE = e.EarlierRun("20251230-120000-bbbbbb", "2dba883d0c1e", "2025-12-30T12:00:00Z")
DIRTY = e.EarlierRun("20251231-120000-cccccc", "0aac6d3a11ce", "2025-12-31T12:00:00Z", dirty=True)
WITHOUT_GIT = e.EarlierRun("20251229-120000-aaaaaa", "", "2025-12-29T12:00:00Z")

NEW, UNKNOWN = e.TestHistory("new"), e.TestHistory("unknown")
STILL, RECENT = e.TestHistory("still", BEFORE), e.TestHistory("still", DIRTY)
FLAKY, RARE = e.TestHistory("flaky", failed=3, results=20), e.TestHistory("flaky", failed=1, results=8)


def compared(*words: tuple[str, e.TestHistory], fixed: tuple[str, ...] = ()) -> e.HistoryCompared:
    return e.HistoryCompared(dict(words), fixed, BEFORE)


def on_main(*words: tuple[str, str], reason: str = "", **reasons: str) -> e.BaselineCompared:
    commit = "8e4c6ea4ba27"
    return e.BaselineCompared(
        "main", commit, dict(words), reason, {f"t.py::{k}": v for k, v in reasons.items()}
    )


def talking(test: str, message: str, line: int) -> e.TestFinished:
    """It says more than a line, and its test printed something."""
    told = "\n".join(f"the rest of the message, line {number}" for number in range(6))
    failure = e.Failure(message.partition(":")[0], f"{message}\n{told}", e.Place("lib.py", line))
    phase = e.Phase("call", "failed", failure=failure, stdout="warning: the disk is nearly full\n" * 3)
    return e.TestFinished(test, Outcome.FAILED, message=failure.message, failure=failure, phases=(phase,))


A, B, C, D = "t.py::test_a", "t.py::test_b", "t.py::test_c", "t.py::test_d"
ONE = failed(A, "ValueError: no a", ("t.py", 3))
TWO = failed(B, "KeyError: 'b'", ("lib.py", 8))
THREE = failed(C, "assert 1 == 3", ("t.py", 9))
FINE = passed(D)
#: One cause for several tests, in each of the ways in which those are listed.
SAME_LINE = [failed(f"t.py::test_{n}", "OSError: no disk", ("conftest.py", 9), "setup") for n in range(4)]
PARAMETERS = [failed(f"v.py::test_x[{n}]", f"ValueError: {n} is odd", ("v.py", 4)) for n in (1, 3, 5)]
CALLERS = [failed(f"u.py::test_{n}", "TypeError: price() takes 1", ("u.py", n)) for n in (3, 8)]
OWN_LINE = [failed(f"x.py::test_y[{n}]", "assert 0", ("x.py", 2)) for n in range(3)]
MESSAGES = [failed(f"w.py::test_{n}", f"KeyError: '{n % 2}'", ("lib.py", 2)) for n in range(5)]
GROUPS = [*SAME_LINE, *PARAMETERS, *CALLERS, *OWN_LINE, *MESSAGES]
MANY = [failed(f"m{n % 3}.py::test_{n}", "OSError: full", ("lib.py", 30)) for n in range(60)]


def first_new(tests: list[e.TestFinished]) -> list[tuple[str, e.TestHistory]]:
    return [(test.test, STILL if at else NEW) for at, test in enumerate(tests)]


_RUNS: dict[str, tuple[e.Event, ...]] = {
    "new": (ONE, TWO, THREE, *FINE, compared((A, NEW), (B, NEW), (C, NEW))),
    "one-new": (ONE, *FINE, compared((A, NEW))),
    "still": (
        talking(A, "ValueError: no a", 3),
        TWO,
        *FINE,
        compared((A, STILL), (B, STILL)),
    ),
    "one-still": (ONE, *FINE, compared((A, RECENT))),
    "still-since": (ONE, TWO, compared((A, STILL), (B, RECENT))),
    "without-git": (ONE, TWO, compared((A, e.TestHistory("still", WITHOUT_GIT)), (B, NEW))),
    "flaky": (ONE, *FINE, compared((A, FLAKY))),
    "all-flaky": (ONE, TWO, *FINE, compared((A, FLAKY), (B, RARE))),
    "unknown": (ONE, TWO, *FINE, compared((A, UNKNOWN), (B, UNKNOWN))),
    "partly-known": (ONE, TWO, *FINE, compared((A, NEW), (B, UNKNOWN))),
    "fixed": (*FINE, *passed(A, "t.py"), compared(fixed=(D, A))),
    "mixed": (
        talking(A, "ValueError: no a", 3),
        talking(B, "KeyError: 'b'", 8),
        THREE,
        failed("t.py::test_e", "assert 5 == 6", ("t.py", 12)),
        *FINE,
        e.CollectionFailed("c.py", e.Failure("E", "E: no x", e.Place("lib.py", 1)), "trace"),
        compared((A, STILL), (B, NEW), (C, FLAKY), ("t.py::test_e", UNKNOWN), ("c.py", NEW), fixed=(D,)),
    ),
    "mixed-groups": (
        *GROUPS,
        *FINE,
        compared(
            *(
                pair
                for group in (SAME_LINE, PARAMETERS, CALLERS, OWN_LINE, MESSAGES)
                for pair in first_new(group)
            )
        ),
    ),
    "groups-apart": (
        *GROUPS,
        *FINE,
        compared(*((test.test, NEW if test in (*CALLERS, *MESSAGES) else STILL) for test in GROUPS)),
    ),
    "mixed-many": (
        *MANY,
        *FINE,
        compared(*((test.test, NEW if at % 9 == 0 else STILL) for at, test in enumerate(MANY))),
    ),
    "quarantined-still": (
        e.TestsQuarantined({B: "known to fail"}),
        ONE,
        TWO,
        compared((A, NEW), (B, STILL)),
    ),
    "several-suites": (
        e.SuiteEntered("one", "pytest", (), "/p"),
        ONE,
        e.SuiteFinished(RunOutcome.FAILED),
        e.SuiteEntered("two", "go", (), "/p", source="lines"),
        e.TestFinished("two/Test", Outcome.FAILED, message="exit status 2"),
        *passed("two/Fine"),
        e.SuiteFinished(RunOutcome.FAILED),
        compared((A, STILL), ("two/Test", NEW), fixed=("two/Fine",)),
    ),
    "baseline-fails": (ONE, TWO, compared((A, NEW), (B, NEW)), on_main((A, "fails"), (B, "fails"))),
    "baseline-one": (ONE, on_main((A, "passes"))),
    "baseline-absent": (ONE, TWO, on_main((A, "absent"), (B, "absent"))),
    "baseline-differs": (
        talking(A, "ValueError: no a", 3),
        TWO,
        THREE,
        failed(D, "assert 5 == 6", ("t.py", 12)),
        compared((A, STILL), (B, NEW), (C, STILL), (D, NEW)),
        on_main(
            (A, "fails"),
            (B, "passes"),
            (C, "absent"),
            (D, "unknown"),
            test_d="it was\x1b[1m\timported from /p",
        ),
    ),
    "baseline-unknown": (
        ONE,
        TWO,
        on_main(
            (A, "unknown"), (B, "unknown"), reason="the module lib was imported from the changed files, " * 4
        ),
    ),
    "baseline-reasons": (
        ONE,
        TWO,
        on_main((A, "unknown"), (B, "unknown"), test_a="a submodule", test_b="a link"),
    ),
    "baseline-nothing": (
        ONE,
        e.BaselineCompared("feature\x1b]0;x\x07/\u202eyek-password=hunter2", reason="no such commit"),
    ),
}


def _ended(facts: tuple[e.Event, ...]) -> tuple[e.Event, ...]:
    status = int(
        any(isinstance(fact, e.TestFinished) and fact.outcome is not Outcome.PASSED for fact in facts)
    )
    return (*facts, e.SessionFinished(status), e.ProcessExited(status))


HISTORIES = {
    name: facts if isinstance(facts[0], e.SuiteEntered) else _ended(facts) for name, facts in _RUNS.items()
}
