"""What a report of any format contains beside the tests that ended."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.full_runs import CASES, result_of
from support.streams import entered

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.wire.reports import contents

AT = e.Place("t.py", 3)
LOST = e.TestsSelected(("a", "b"), places={"b": AT})
ERROR = e.CollectionFailed("u.py", e.Failure("", "no"))


def suite(
    name: str, *facts: e.Event, outcome: RunOutcome, reason: str = "", source: str = "lines"
) -> list[e.Event]:
    return [
        entered(name, source),
        *facts,
        e.SuiteFinished(outcome, 1.5, reason=reason),
    ]


FAILED = e.TestFinished("a", Outcome.FAILED)
FINE = suite("fine", e.TestFinished("f", Outcome.PASSED), outcome=RunOutcome.PASSED)
BUILT = suite("build", outcome=RunOutcome.PASSED, source="build")
CUT = suite("cut", outcome=RunOutcome.INCOMPLETE, reason="no end")
SILENT = suite("silent", FAILED, outcome=RunOutcome.COLLECTION_ERROR)
NOT_BUILT = suite("build", ERROR, outcome=RunOutcome.COLLECTION_ERROR, source="build")


@pytest.mark.parametrize(
    "facts, why",
    [
        (FINE, ""),
        ([*FINE, *CUT], "cut: incomplete: no end"),
        (
            [*CUT, *suite("lost", outcome=RunOutcome.USAGE_ERROR)],
            "cut: incomplete: no end; lost: usage error",
        ),
        (SILENT, ""),
        (NOT_BUILT, ""),
        ([e.RunStopped(RunOutcome.TIMEOUT)], "timeout"),
        ([FAILED, e.RunStopped(RunOutcome.TIMEOUT)], ""),
        ([ERROR, e.RunStopped(RunOutcome.TIMEOUT)], ""),
        ([FAILED, e.RunStopped(RunOutcome.CANCELLED)], "cancelled"),
        ([], "incomplete: the end of the process was not seen"),
    ],
)
def test_why_a_run_failed_is_given_where_its_tests_do_not_show_it(facts: list[e.Event], why: str) -> None:
    assert contents.unexplained(result_of(tuple(facts))) == why


@pytest.mark.parametrize(
    "facts, names",
    [
        ([], ["pytest"]),
        ([*BUILT, *FINE, *CUT], ["fine", "cut"]),
        (NOT_BUILT, ["build"]),
        (BUILT, ["build"]),
        ([*FINE, FAILED], ["fine"]),
    ],
)
def test_at_least_one_suite_is_shown_and_no_test_is_in_none(facts: list[e.Event], names: list[str]) -> None:
    result = result_of(tuple(facts))
    suites = contents.suites(result)

    assert [suite.name for suite in suites] == names
    assert [test for suite in suites for test in contents.tests_of(suite)] == list(result.tests.values())


def test_a_test_that_never_ran_is_shown_with_its_place() -> None:
    (suite,) = contents.suites(result_of((LOST, FAILED)))

    assert [*contents.tests_of(suite)][1:] == [
        e.TestFinished("b", Outcome.NOT_RUN, message="not run", place=AT)
    ]
    assert (suite.seconds, suite.outcome) == (9.1234567, RunOutcome.INCOMPLETE)


@pytest.mark.parametrize(
    "text, shown",
    [
        ("plain", "plain"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("a\x00b\tc\n", "ab\tc\n"),
        ("é\udc80", "é\\udc80"),
        ("\ufffe", ""),
    ],
)
def test_a_text_is_shown_without_what_cannot_be(text: str, shown: str) -> None:
    assert contents.printable(text) == shown


def test_all_tests_are_those_of_all_suites() -> None:
    result = result_of(CASES["several"])

    assert [test.test for test in contents.tests(result)] == [
        test.test for suite in contents.suites(result) for test in contents.tests_of(suite)
    ]


@pytest.mark.parametrize(
    "started, created, moment",
    [
        ("2026-01-01T00:00:00Z", 0.0, "2026-01-01T00:00:02.500+00:00"),
        ("2026-01-01T00:00:00+02:00", 5.0, "2026-01-01T00:00:02.500+02:00"),
        ("", 1767225604.0, "2026-01-01T00:00:02.500+00:00"),
        ("soon", 1.0, "1970-01-01T00:00:00.000+00:00"),
        ("9999-12-31T23:59:59Z", 0.0, ""),
        ("", 0.0, ""),
    ],
)
def test_the_time_of_a_suite_is_known_by_the_start_or_the_end_of_the_run(
    started: str, created: float, moment: str
) -> None:
    result = result_of((e.SessionFinished(0, created=created), e.ProcessExited(0)))
    result.run = replace(result.run, started=started)
    result.seconds = 4.0

    found = contents.moment_of(result, 2.5)

    assert (found.isoformat(timespec="milliseconds") if found else "") == moment
