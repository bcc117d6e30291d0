"""What pytest's exit statuses mean, by what else is known of the session."""

from __future__ import annotations

import pytest

from proctor import events as e
from proctor.outcome import RunOutcome
from proctor.result import Session
from proctor.wire.exit_status import complaint, explained

AT = e.Place("t.py", 3)


def stopped(kind: str, message: str = "", place: e.Place | None = None) -> e.SessionInterrupted:
    return e.SessionInterrupted(e.Failure(kind, message, place))


@pytest.mark.parametrize(
    "session, code, stderr, outcome, reason",
    [
        (Session(finished=e.SessionFinished(0)), 0, "", None, ""),
        (Session(finished=e.SessionFinished(1)), 1, "", None, ""),
        (Session(finished=e.SessionFinished(5)), 5, "", RunOutcome.NO_TESTS, ""),
        (Session(finished=e.SessionFinished(None)), 5, "", RunOutcome.NO_TESTS, ""),
        (Session(finished=e.SessionFinished(4)), 4, "ERROR: what?\n", RunOutcome.USAGE_ERROR, "what?"),
        (Session(finished=e.SessionFinished(3)), 3, "E oh\n", RunOutcome.INTERNAL_ERROR, "oh"),
        (Session(finished=e.SessionFinished(0)), 3, "E oh\n", None, ""),
        (Session(), 4, "p: error: no -z\n", RunOutcome.USAGE_ERROR, "no -z"),
        (Session(), 4, "ImportError while loading conftest 'c.py'.\nE x\n", RunOutcome.COLLECTION_ERROR, "x"),
        (Session(), 4, "", None, ""),
        (Session(), 3, "ERROR: what?\n", None, ""),
        (Session(described=e.SuiteDescribed("/p")), 4, "ERROR: what?\n", None, ""),
        (
            Session(finished=e.SessionFinished(2), interrupted=stopped("KeyboardInterrupt", "", AT)),
            2,
            "",
            RunOutcome.INTERRUPTED,
            "KeyboardInterrupt at t.py:3",
        ),
        (
            Session(
                finished=e.SessionFinished(2),
                interrupted=stopped("KeyboardInterrupt"),
                broke=e.SessionBroke(e.Failure("E", "E: inside")),
            ),
            2,
            "",
            RunOutcome.INTERRUPTED,
            "KeyboardInterrupt",
        ),
        (
            Session(
                finished=e.SessionFinished(2),
                interrupted=stopped("Exit", "enough"),
                broke=e.SessionBroke(e.Failure("E", "E: inside")),
            ),
            2,
            "",
            RunOutcome.INTERNAL_ERROR,
            "E: inside",
        ),
        (
            Session(finished=e.SessionFinished(2), interrupted=stopped("Exit", "enough")),
            2,
            "",
            RunOutcome.INTERRUPTED,
            "enough",
        ),
        (
            Session(finished=e.SessionFinished(0), interrupted=stopped("Exit", "enough")),
            0,
            "",
            RunOutcome.INCOMPLETE,
            "enough",
        ),
        (Session(finished=e.SessionFinished(1), interrupted=stopped("Failed", "x")), 1, "", None, ""),
    ],
)
def test_a_status_means_this(
    session: Session, code: int, stderr: str, outcome: RunOutcome | None, reason: str
) -> None:
    expected = None if outcome is None else e.StatusExplained(outcome, reason)

    assert explained(session, code, stderr) == expected


@pytest.mark.parametrize(
    "stderr, said",
    [
        ("", ""),
        ("usage: pytest\npytest: error: unknown -z\n  inifile: None\n", "unknown -z"),
        ("note\nERROR: file not found: x\nmore\n", "file not found: x"),
        ("error: no such package\n", "no such package"),
        ("ERROR: usage: x\nlast\n", "last"),
        ("Traceback\nE ImportError: no\n", "ImportError: no"),
    ],
)
def test_a_complaint_is_the_line_that_says_what_is_wrong(stderr: str, said: str) -> None:
    assert complaint(stderr) == said


@pytest.mark.parametrize("kind", ["RecursionError", "MemoryError", "SyntaxError"])
@pytest.mark.parametrize("file", ["x/_pytest/mark/expression.py", r"x\_pytest\mark\legacy.py"])
def test_an_expression_that_pytest_cannot_evaluate_is_a_usage_error(kind: str, file: str) -> None:
    broke = e.SessionBroke(e.Failure(kind, f"{kind}: too much"), f'File "{file}", line 3')
    found = explained(Session(finished=e.SessionFinished(3), broke=broke), 3, "")

    assert found is not None and found.outcome is RunOutcome.USAGE_ERROR
    assert found.reason == f"pytest cannot evaluate the -k or -m expression: {kind}: too much"


@pytest.mark.parametrize(
    "kind, file", [("RecursionError", "x/conftest.py"), ("KeyError", "x/_pytest/mark/a.py")]
)
def test_any_other_fault_is_an_internal_error(kind: str, file: str) -> None:
    broke = e.SessionBroke(e.Failure(kind, "x"), f'File "{file}", line 3')
    found = explained(Session(finished=e.SessionFinished(3), broke=broke), 3, "")

    assert found is not None and found.outcome is RunOutcome.INTERNAL_ERROR
