"""What is said of tests that ran again, that are in quarantine, and of runs with several sessions."""

from __future__ import annotations

import pytest
from support.full_runs import AGAIN, AT, ONCE, WHY, result_of
from support.made_runs import failed, passed, run_of
from support.streams import STARTED, StringWriter

from proctor import events as e
from proctor.cli.text_settings import TextSettings
from proctor.fold import begin, fold
from proctor.outcome import Outcome, RunOutcome
from proctor.render.agent import Detail, agent_text
from proctor.render.agent_budget import agent_text_within
from proctor.render.closing import verdict
from proctor.render.github import annotations_of, step_summary
from proctor.render.human import report_text
from proctor.render.kept_test import kept_test_text
from proctor.render.masking import masked_failures, masked_values
from proctor.render.plain_log import PlainLog
from proctor.render.result_index import failure_index
from proctor.render.shown import Shown
from proctor.render.verdict_line import verdict_line
from proctor.result import RunResult
from proctor.wire.document import writer as document

PASSED = RunOutcome.PASSED
DIED = e.SessionStarted(2, died=True)


def flaky(name: str, *tries: Outcome) -> e.TestFinished:
    attempts = tuple(e.Attempt(outcome, 0.1, "E: once", WHY) for outcome in tries)
    return e.TestFinished(name, Outcome.PASSED, attempts=attempts)


def crashed(name: str, line: int) -> e.TestFinished:
    why = e.Failure("", "SIGSEGV (Segmentation fault)", e.Place("t.py", line))
    return e.TestFinished(name, Outcome.CRASH, message=why.message, failure=why)


@pytest.mark.parametrize(
    ("tries", "said"),
    [
        ([[Outcome.FAILED]], "1 passed 1 flaky"),
        ([[Outcome.ERROR, Outcome.FAILED]], "1 passed 1 flaky"),
        ([[Outcome.CRASH]], "1 passed 1 flaky (crashed once)"),
        ([[Outcome.CRASH, Outcome.CRASH]], "1 passed 1 flaky (crashed twice)"),
        ([[Outcome.TIMEOUT] * 3], "1 passed 1 flaky (timed out 3 times)"),
        ([[Outcome.CRASH, Outcome.TIMEOUT]], "1 passed 1 flaky (crashed once, timed out once)"),
        ([[Outcome.FAILED], [Outcome.CRASH]], "1 passed 2 flaky (1 crashed)"),
        ([[Outcome.CRASH], [Outcome.CRASH, Outcome.CRASH]], "1 passed 2 flaky (2 crashed)"),
    ],
)
def test_the_verdict_counts_flaky_tests_apart(tries: list[list[Outcome]], said: str) -> None:
    tests = [flaky(f"t.py::{number}", *outcomes) for number, outcomes in enumerate(tries)]

    assert verdict_line(run_of(*passed("t.py::a"), *tests, outcome=PASSED)) == said


def test_the_verdict_says_that_sessions_were_set_up_again() -> None:
    result = run_of(*passed("t.py::a"), flaky("t.py::b", Outcome.CRASH), DIED, outcome=PASSED)

    assert verdict_line(result) == "1 passed 1 flaky (crashed once), restarted"
    assert verdict(result) == "1 passed 1 flaky (crashed once) in 0.00s, restarted"


def test_a_session_that_only_runs_tests_again_is_no_restart() -> None:
    again = e.SessionStarted(2, tests=1, round=1)

    assert verdict_line(run_of(flaky("t.py::b", Outcome.FAILED), again, outcome=PASSED)) == "1 flaky"


def test_the_verdict_of_a_crash_that_was_contained() -> None:
    tests = passed(*(f"t.py::{number}" for number in range(28)))

    one = run_of(*tests, crashed("t.py::x", 3), DIED, outcome=RunOutcome.CRASHED)
    two = run_of(*tests, crashed("t.py::x", 3), crashed("t.py::y", 9), DIED, outcome=RunOutcome.CRASHED)

    assert verdict_line(one) == "CRASH 28 passed, restarted"
    assert verdict_line(two) == "CRASH 2 crashed 28 passed, restarted"
    for text in (agent_text(two), report_text(two)):
        assert "t.py::x :3 SIGSEGV (Segmentation fault)" in text.replace("t.py\n::", "t.py::")
        assert "::y :9 SIGSEGV (Segmentation fault)" in text


def test_all_counts_come_in_one_order() -> None:
    outcomes = [Outcome.XPASSED, Outcome.XFAILED, Outcome.SKIPPED, Outcome.PASSED, Outcome.ERROR]
    result = run_of(
        e.TestsSelected(("never",)),
        e.TestsDeselected(("gone",)),
        e.TestsQuarantined({"known": "why"}),
        failed("known", "E: no"),
        *(e.TestFinished(str(outcome), outcome) for outcome in outcomes),
        flaky("flaky", Outcome.FAILED),
        failed("fails", "E: no"),
    )
    result.suites[0].not_run = ("never",)

    assert verdict_line(result) == (
        "1 failed 1 error 1 passed 1 flaky 1 skipped 1 xfailed 1 xpassed 1 quarantined 1 deselected 1 not run"
    )


def test_while_a_run_goes_on_the_tests_that_will_run_again_are_counted() -> None:
    result = begin(STARTED)
    fold(result, e.Entry(0, 0.0, 0, e.AttemptFailed(failed("t.py::a", "E: no"))))

    assert verdict_line(result) == "running 1 to be run again"


def test_agents_get_a_row_for_each_flaky_and_quarantined_test() -> None:
    assert agent_text(result_of(AGAIN)).splitlines()[1:6] == [
        "t.py::always :3 E: x",
        " attempts: error, failed",
        "flaky: t.py::flaky :3 E: x",
        "flaky: t.py::crashes :3 SIGSEGV",
        "quarantined (see #12): t.py::known :3 E: x",
    ]


def test_agents_of_a_run_that_passed_get_the_rows_too() -> None:
    result = run_of(flaky("t.py::b", Outcome.FAILED), outcome=PASSED)

    for text in (agent_text(result), TextSettings().agent_text(result)):
        assert text == "1 flaky\nflaky: t.py::b :3 E: x\n"


def test_many_flaky_tests_are_counted() -> None:
    result = run_of(*(flaky(f"t.py::{n}", Outcome.FAILED) for n in range(500)), outcome=PASSED)

    lines = agent_text(result).splitlines()

    assert (len(lines), lines[-1]) == (12, "and 490 more flaky")
    assert "… and 492 more" in report_text(result)
    assert agent_text_within(result, 100, Detail()).startswith("500 flaky\n")


@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_people_always_get_the_rows(verbosity: int) -> None:
    text = report_text(result_of(AGAIN), Shown(verbosity))

    assert "flaky t.py::flaky :3 E: x\n      t.py::crashes :3 SIGSEGV\n" in text
    assert "quarantined t.py::known (see #12) :3 E: x\n" in text


def test_a_failure_that_does_not_count_is_in_no_list_of_failures() -> None:
    result = result_of(AGAIN)

    assert failure_index(result).count("t.py::") == failure_index(result).count("t.py::always") == 1
    assert result.failing == ["t.py::always"]


def followed(*events: e.Event) -> str:
    writer = StringWriter()
    sink, result = PlainLog(writer), begin(STARTED)
    for seq, event in enumerate(events):
        entry = e.Entry(seq, 0.0, 0, event)
        fold(result, entry)
        sink.handle(entry, result)
    return writer.text()


def test_a_log_names_failed_tries_and_new_sessions() -> None:
    assert followed(
        e.AttemptFailed(failed("t.py::a", "E: no", ("t.py", 3))),
        e.SessionStarted(2, died=True, tests=9700),
        e.SessionStarted(3, tests=1, round=1),
    ).splitlines() == [
        "FAILED t.py::a at t.py:3: E: no (to be run again)",
        "session 2: 9,700 tests that never began",
        "session 3: 1 test to be run again",
    ]


def test_a_failure_in_quarantine_is_not_shouted() -> None:
    assert "E: no" not in followed(e.TestsQuarantined({"t.py::a": ""}), failed("t.py::a", "E: no"))


def test_github_gets_a_warning_for_each() -> None:
    found = [(one.kind, one.title, one.message) for one in annotations_of(result_of(AGAIN))]

    assert found[1:] == [
        ("warning", "flaky t.py::flaky", "E: x"),
        ("warning", "flaky t.py::crashes", "SIGSEGV"),
        ("warning", "quarantined t.py::known", "see #12: E: x"),
    ]


def test_the_table_of_suites_counts_them() -> None:
    run = begin(e.RunStarted("", "pytest", (), "", "", "", suites=2))
    fold(run, e.Entry(0, 0.0, 0, flaky("t.py::a", Outcome.FAILED)))
    fold(run, e.Entry(1, 0.0, 0, e.RunFinished(PASSED)))

    assert "| suite | outcome | tests | flaky | time |" in step_summary(run)
    assert "| suite | outcome | tests | time |" in step_summary(_several())


def _several() -> RunResult:
    run = begin(e.RunStarted("", "pytest", (), "", "", "", suites=2))
    fold(run, e.Entry(0, 0.0, 0, e.RunFinished(PASSED)))
    return run


SECRET = "ghp_" + "a1B2c3D4e5" * 4


def test_what_attempts_say_is_masked() -> None:
    why = e.Failure("E", f"E: token={SECRET}", AT)
    test = e.TestFinished(
        "t.py::a", Outcome.PASSED, attempts=(e.Attempt(Outcome.FAILED, 0.1, why.message, why),)
    )
    result = run_of(test, e.AttemptFailed(failed("t.py::b", why.message)), outcome=PASSED)

    assert SECRET in agent_text(result, Detail(mask=False))
    assert SECRET not in agent_text(result)
    assert SECRET not in report_text(masked_values(result))
    assert SECRET not in str(masked_failures(result).tests["t.py::a"])
    assert SECRET not in str(masked_values(e.AttemptFailed(failed("t.py::b", why.message))))


def test_one_test_is_shown_with_its_attempts() -> None:
    test = e.TestFinished("t.py::a", Outcome.PASSED, 0.5, session=2, worker="gw1", attempts=(ONCE,))
    shown = document.test(test, lambda path: path)
    shown.quarantined, shown.quarantine_reason = True, "see #12"

    assert kept_test_text(shown, (), (), "/d") == (
        "FLAKY t.py::a in 0.50s in session 2 on gw1\n"
        "in quarantine: see #12\n\n"
        "attempts\n  1 failed in 0.25s at t.py:3: E: once\n  2 passed in 0.50s\n"
    )
