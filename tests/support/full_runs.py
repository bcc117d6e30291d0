"""Runs in which everything is said that can be said, for tests of what is written about them."""

from __future__ import annotations

import msgspec

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.result import RunResult
from support.streams import publish_suites

STARTED = e.RunStarted(
    "20260101-000000-abcdef", "pytest", ("py", "-m", "pytest"), "/p", "py", "2026-01-01T00:00:00Z"
)
AT = e.Place("t.py", 3)
WHY = e.Failure("E", "E: x", AT, "1", "2")
LONG = e.File("long.txt", "files/long.txt", 9)
FAILED = e.TestFinished(
    "t.py::fails",
    Outcome.FAILED,
    1.23456789,
    "E: x",
    "short",
    AT,
    WHY,
    (
        e.Phase("setup", "passed", 0.1, user_properties=({"key": 1},)),
        e.Phase("call", "failed", 1.0, subtest="[n=1]", longrepr="sub"),
        e.Phase(
            "call",
            "failed",
            1.0,
            longrepr="short",
            crash=e.CrashSite("t.py", 3, "E: x"),
            traceback=(e.CrashSite("t.py", 3, ""),),
            stdout="out",
            stderr="err",
            log=({"levelname": "INFO", "name": "root", "msg": "hello"},),
            files={"longrepr": "long.txt", "stdout": "gone.txt"},
        ),
        e.Phase("teardown", "passed", 0.1),
    ),
    keywords=("k", "t.py"),
    files=(LONG,),
    testout=e.OutputLink("o", "run/o"),
    properties={"mine": [1]},
)
FACTS: tuple[e.Event, ...] = (
    e.SuiteDescribed("/p/root", {"pytest": "9"}, {"K": "v"}),
    e.CollectorFinished("t.py", "passed", (e.Child("t.py::fails", "F", 2, True), e.Child("t.py::T", "C"))),
    e.CollectorFinished("u.py", "failed", (e.Child("x", "F", None, True),), "long"),
    e.CollectionFailed("u.py", WHY, "long"),
    e.TestsSelected(("t.py::fails", "t.py::passes", "t.py::never")),
    e.TestsDeselected(("x",)),
    e.SuiteStarted("pytest", "2026-01-01T00:00:01Z", 4),
    *(e.WarningRecorded("W", "old", "t.py", line, "runtest") for line in (1, 2, 1)),
    FAILED,
    e.TestFinished("t.py::passes", Outcome.PASSED, 0.3, place=AT, passed_in=(0.1, 0.1, 0.1), keywords=("k",)),
    e.TestFinished("t.py::fails/part", Outcome.WARN, part_of="t.py::fails"),
    e.TestFinished("t.py::fails/more", Outcome.WARN, message="careful", part_of="t.py::fails"),
    e.OutputReceived("stdout", "hello\n"),
    e.OutputReceived("stderr", "oh\n"),
    e.Noticed("by the way"),
    e.SessionFinished(1, 5, 2.5, 1767225600.0),
    e.ProcessExited(1),
)
SEVERAL: tuple[e.Event, ...] = (
    e.SuiteEntered("one", "pytest", ("py",), "/p", "py"),
    *FACTS,
    e.SuiteFinished(RunOutcome.FAILED, 2.0000004, ("t.py::never",), "because"),
    e.SuiteEntered("two", "tap", ("prove",), "/q", source="lines"),
    e.CollectionFailed("v.t", e.Failure("", "no plan")),
    e.TestFinished("v", Outcome.CRASH, 0.5, "SIGSEGV", failure=e.Failure("", "SIGSEGV")),
    e.ProcessExited(-11, "SIGSEGV"),
    e.SuiteFinished(RunOutcome.CRASHED, 0.5),
    e.CollectionFailed("w.t", e.Failure("", "later")),
    e.TestFinished("w", Outcome.FAILED, message="late"),
)


ONCE = e.Attempt(Outcome.FAILED, 0.25, "E: once", WHY)
CRASHED = e.TestFinished("t.py::crashes", Outcome.CRASH, 0.5, "SIGSEGV", failure=e.Failure("", "SIGSEGV", AT))
AGAIN: tuple[e.Event, ...] = (
    e.TestsSelected(
        tuple(f"t.py::{name}" for name in ("flaky", "always", "crashes", "known", "kept", "skips"))
    ),
    e.TestsQuarantined({"t.py::known": "see #12", "t.py::kept": ""}),
    e.SuiteStarted("pytest", "2026-01-01T00:00:01Z", 6),
    e.AttemptFailed(e.TestFinished("t.py::flaky", Outcome.FAILED, 0.25, "E: once", place=AT, failure=WHY)),
    e.TestStarted("t.py::crashes", AT),
    e.ProcessExited(-11, "SIGSEGV"),
    e.AttemptFailed(CRASHED),
    e.SessionStarted(2, died=True, tests=4),
    e.TestFinished("t.py::kept", Outcome.PASSED, 0.3, passed_in=(0.1, 0.1, 0.1), session=2, worker="gw0"),
    e.TestFinished("t.py::known", Outcome.ERROR, 0.2, "E: still", "trace", AT, WHY, session=2, worker="gw1"),
    e.AttemptFailed(e.TestFinished("t.py::always", Outcome.ERROR, 0.1, "E: first", failure=WHY, session=2)),
    e.TestFinished("t.py::skips", Outcome.SKIPPED, message="not here", attempts=(ONCE,), session=2),
    e.SessionFinished(1, 4, by_tests=1),
    e.ProcessExited(1),
    e.SessionStarted(3, tests=3, round=1),
    e.TestFinished(
        "t.py::always",
        Outcome.FAILED,
        0.2,
        "E: again",
        failure=WHY,
        session=3,
        attempts=(e.Attempt(Outcome.ERROR, 0.1, "E: first", WHY),),
    ),
    e.TestFinished(
        "t.py::crashes",
        Outcome.PASSED,
        0.1,
        session=3,
        attempts=(e.Attempt(Outcome.CRASH, 0.5, "SIGSEGV", CRASHED.failure),),
    ),
    e.TestFinished("t.py::flaky", Outcome.PASSED, 0.1, place=AT, session=3, attempts=(ONCE,)),
    e.SessionFinished(1, 3, by_tests=1),
    e.ProcessExited(1),
)


def result_of(facts: tuple[e.Event, ...]) -> RunResult:
    relay = Relay(STARTED, [])
    publish_suites(relay, facts, 1.0)
    return relay.close(9.1234567)


CASES: dict[str, tuple[e.Event, ...]] = {
    "nothing": (),
    "one": FACTS,
    "several": SEVERAL,
    "all": tuple(
        e.TestFinished(f"t.py::{outcome}", outcome, 0.25, 'a <b> & "c"\nd\t#e', "trace\n")
        for outcome in Outcome
    ),
    "lost": (
        e.TestsSelected(("a", "b")),
        e.SuiteStarted("pytest", "", 3),
        e.TestStarted("a", AT),
        e.ProcessExited(-11, "SIGSEGV"),
    ),
    "beyond": (
        e.SuiteStarted("pytest", "", 1),
        *(e.TestFinished(test, Outcome.PASSED) for test in ("a", "b", "b#2", "", "\x1b[31mred\x00")),
        e.SessionFinished(0, 1),
        e.ProcessExited(0),
    ),
    "stopped": (
        e.SuiteEntered("build", "cargo", (), "/p", source="build"),
        e.ProcessExited(0),
        e.SuiteFinished(RunOutcome.PASSED),
        e.RunStopped(RunOutcome.CANCELLED),
    ),
    "again": AGAIN,
    "bench": (
        e.SuiteDescribed("/p", {"rustc": "1.9"}),
        e.SuiteStarted("unit", "2026-01-01T00:00:01Z", 2, 3, "unit::"),
        e.TestFinished("b", Outcome.PASSED, 1.5, subtype="bench", throughput=2.5),
        e.TestFinished(
            "p", Outcome.FAILED, -1.0, subtype="should_panic", failure=e.Failure("", "did not panic")
        ),
    ),
}

BEFORE = e.EarlierRun("20251231-000000-aaabbb", "c0ffee" * 6 + "c0ff", "2025-12-31T00:00:00.000+00:00")
WITHOUT_GIT = e.EarlierRun("20251230-000000-aaaccc")
_ENDS = {
    "new": Outcome.FAILED, "still": Outcome.ERROR, "flaky": Outcome.CRASH, "unknown": Outcome.TIMEOUT,
    "known": Outcome.FAILED, "fixed": Outcome.PASSED,
}  # fmt: skip
HISTORY = e.HistoryCompared(
    {
        "t.py::new": e.TestHistory(e.NEW),
        "t.py::still": e.TestHistory(e.STILL, msgspec.structs.replace(BEFORE, dirty=True)),
        "t.py::flaky": e.TestHistory(e.FLAKY_TEST, failed=3, results=20),
        "t.py::unknown": e.TestHistory(e.UNKNOWN),
        "t.py::known": e.TestHistory(e.STILL, WITHOUT_GIT),
        "u.py": e.TestHistory(e.NEW),
    },
    ("t.py::fixed", "v.py"),
    BEFORE,
)
BASELINE = e.BaselineCompared(
    "main",
    "decade" * 6 + "deca",
    {
        "t.py::new": e.PASSES,
        "t.py::still": e.FAILS,
        "t.py::flaky": e.ABSENT,
        "t.py::unknown": e.CANNOT_TELL,
        "u.py": e.CANNOT_TELL,
    },
    "the project is installed elsewhere",
    {"t.py::unknown": "vendor is a submodule"},
)
COMPARED: tuple[e.Event, ...] = (
    e.SuiteEntered("one", "pytest", ("py",), "/p", "py"),
    e.TestsSelected(tuple(f"t.py::{name}" for name in _ENDS)),
    e.TestsQuarantined({"t.py::known": "see #12"}),
    e.SuiteStarted("pytest", "2026-01-01T00:00:01Z", len(_ENDS) + 1),
    e.CollectionFailed("u.py", WHY, "long"),
    *(
        e.TestFinished(f"t.py::{name}", outcome, 0.25, "E: x" if name != "fixed" else None)
        for name, outcome in _ENDS.items()
    ),
    e.ProcessExited(1),
    e.SuiteFinished(RunOutcome.CRASHED, 2.0),
    HISTORY,
    BASELINE,
)
#: For what is written for programs to read.
RECORDS = {**CASES, "compared": COMPARED}
