"""The history for people: strips, sparklines, tables."""

from __future__ import annotations

from datetime import UTC, datetime

from proctor.comparison import End, Side, compare
from proctor.outcome import RunOutcome
from proctor.remembered import FlakyTest, RememberedResult, RememberedRun, SlowTest
from proctor.render import history_text
from proctor.render.comparison_text import write_comparison
from proctor.render.writer import plain_writer

NOW = datetime(2026, 1, 2, tzinfo=UTC)
STARTED = "2026-01-01T22:00:00.000+00:00"


def result(outcome: str, seconds: float = 0.5, attempt: int = 1, final: bool = True) -> RememberedResult:
    message = "assert 0\nsecond line" if outcome == "failed" else ""
    return RememberedResult(
        *(
            "20260101-220000-aaaaaa",
            outcome,
            seconds,
            "3f1c" * 10,
            "state",
            STARTED,
            attempt,
            "main",
            message,
        ),
        place="t.py:3" if message else "",
        final=final,
    )


def told_of(results: list[RememberedResult], plain: bool = False, limit: int = 20) -> str:
    pieces: list[str] = []
    history_text.write_test("t.py::test_a", results, limit, NOW, plain_writer(pieces.append), plain)
    return "".join(pieces)


def test_marks_and_durations_go_from_the_oldest_to_the_newest() -> None:
    tries = [result("passed", 0.8, attempt=2), result("failed", attempt=1, final=False)]
    results = [result("skipped"), *tries, result("failed"), result("passed", 0.1)]

    assert told_of(results) == (
        "t.py::test_a\n"
        "4 runs, 1 failed\n"
        "results    ✓✗↻·\n"
        "durations  ▂█  100ms to 800ms\n"
        "first failure  2h ago, run 20260101-220000-aaaaaa, commit 3f1c3f1, branch main\n"
        "  t.py:3: assert 0\n"
        "last failure  2h ago, run 20260101-220000-aaaaaa, commit 3f1c3f1, branch main\n"
        "  t.py:3: assert 0\n"
        "\n"
        "OUTCOME         TIME   AGE     COMMIT   BRANCH  RUN\n"
        "skipped         500ms  2h ago  3f1c3f1  main    20260101-220000-aaaaaa\n"
        "passed (try 2)  800ms  2h ago  3f1c3f1  main    20260101-220000-aaaaaa\n"
        "failed          500ms  2h ago  3f1c3f1  main    20260101-220000-aaaaaa  t.py:3: assert 0\n"
        "failed          500ms  2h ago  3f1c3f1  main    20260101-220000-aaaaaa  t.py:3: assert 0\n"
        "passed          100ms  2h ago  3f1c3f1  main    20260101-220000-aaaaaa\n"
    )


def test_ascii_will_do_and_the_limit_is_for_lines_only() -> None:
    results = [result("passed", seconds) for seconds in (0.8, 0.1)] + [result("failed")]
    told = told_of(results, plain=True, limit=1)

    assert "results    F..\ndurations  .#" in told
    assert told.isascii()
    assert told.count("\npassed") == 1


def test_a_sparkline_reaches_from_nothing_to_the_largest() -> None:
    assert history_text.sparkline([0.0, 1.0, 2.0, 7.0]) == "▁▂▃█"
    assert history_text.sparkline([0.0, 0.0]) == "▁▁"
    assert history_text.sparkline([]) == ""


def test_texts_of_others_move_no_cursor() -> None:
    run = RememberedRun(
        *(
            "a\x1b[2Jb",
            STARTED,
            "passed",
            1.0,
            "",
            True,
            "x\ny",
            "/p",
            False,
            ("\x1b]0;t\x07",),
            False,
            0,
            0,
            0,
        )
    )
    pieces: list[str] = []
    history_text.write_runs([run], NOW, plain_writer(pieces.append))
    told = "".join(pieces)

    assert "\x1b" not in told
    assert told.count("\n") == 2


def test_flaky_and_slow_tests_have_a_line_each() -> None:
    pieces: list[str] = []
    write = plain_writer(pieces.append)
    history_text.write_flaky([FlakyTest("t.py::test_a", 3, 20, STARTED)], 4, NOW, write)
    history_text.write_slow([SlowTest("t.py::test_b", 0.1, 0.4, 20)], 0, write)

    assert "".join(pieces) == (
        "FAILED   LAST    TEST\n"
        "3 of 20  2h ago  t.py::test_a\n"
        "and 4 more: --limit shows them\n"
        "USUAL  LAST         TEST\n"
        "100ms  400ms  4.0x  t.py::test_b\n"
    )


def test_a_comparison_begins_with_the_runs_and_the_counts_and_masks_messages() -> None:
    before = Side("one", RunOutcome.PASSED, {"t.py::a": End("passed", 0.1), "t.py::b": End("passed", 0.1)})
    after = Side(
        "two",
        RunOutcome.TIMEOUT,
        {"t.py::a": End("failed", 0.1, "password=hunter2hunter2\nmore"), "t.py::b": End("passed", 0.9)},
        reason="time is up",
    )
    pieces: list[str] = []
    write_comparison(compare(before, after), plain_writer(pieces.append), mask=True)

    assert "".join(pieces) == (
        "before one  passed  2 results\n"
        "after  two  timeout  2 results\n"
        "       it did not run to its end: time is up; what it does not have, nobody knows\n"
        "1 new, 1 slower\n"
        "new      t.py::a  password=***\n"
        "slower   t.py::b  0.100s to 0.900s\n"
    )
