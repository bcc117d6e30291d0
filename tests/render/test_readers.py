"""The readers for people: what each says, and that none of them says more than the stream does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from support.made_runs import passed, run_of
from support.streams import EVENTS, STARTED, StringWriter, case, final, read, rendered, suite, written

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay, Sink
from proctor.render.dots import Dots
from proctor.render.github import write_github_log
from proctor.render.human import report_text
from proctor.render.libtest import Libtest
from proctor.render.line_per_test import LinePerTest
from proctor.render.outcome_tree import write_outcome_tree
from proctor.render.plain_log import PlainLog
from proctor.render.summary import write_summary
from proctor.render.verdict_line import verdict_line
from proctor.render.writer import Writer, coloured_writer
from proctor.result import RunResult

MIXED = written(
    suite(7, extra={"runner": "pytest"}),
    case("a.py::ok", duration=1_500_000_000),
    case("a.py::C::skipped", "ignore", extra={"skip_reason": "later"}),
    case("a.py::C::bad[x]", "fail", reason="ValueError: no", extra={"failure": {"file": "a.py", "line": 3}}),
    case("a.py::C::bad[y]", "fail", reason="ValueError: no", extra={"failure": {"file": "a.py", "line": 3}}),
    case("b.py", "fail", reason="SyntaxError: what", extra={"outcome": "error", "phase": "collect"}),
    case("b.py::dead", "fail", reason="SIGSEGV", extra={"outcome": "crash"}),
    case("b.py::never", "ignore", extra={"outcome": "not_run"}),
    final(1, 4, 2, extra={"outcome": "crashed", "seconds": 2.5}),
)


def result_of(data: bytes) -> RunResult:
    (result,) = read(data)
    return result


@pytest.mark.parametrize(
    ("outcome", "lost", "line"),
    [
        (RunOutcome.CRASHED, Outcome.CRASH, "CRASH 1 passed"),
        (RunOutcome.TIMEOUT, Outcome.TIMEOUT, "TIMEOUT 1 passed"),
        (RunOutcome.COLLECTION_ERROR, Outcome.CRASH, "COLLECTION ERROR 1 crashed 1 passed"),
        (RunOutcome.TIMEOUT, Outcome.CRASH, "TIMEOUT 1 crashed 1 passed"),
        (RunOutcome.CRASHED, Outcome.TIMEOUT, "CRASH 1 timed out 1 passed"),
        (RunOutcome.INTERRUPTED, Outcome.CRASH, "INTERRUPTED 1 crashed 1 passed"),
    ],
)
def test_a_single_lost_test_is_counted_unless_the_verdict_names_it(
    outcome: RunOutcome, lost: Outcome, line: str
) -> None:
    result = run_of(*passed("a"), e.TestFinished("b", lost))
    result.outcome = outcome

    assert verdict_line(result) == line


def said(reader: Callable[[RunResult, Writer], None], data: bytes) -> str:
    heard = StringWriter()
    reader(result_of(data), heard)
    return heard.text()


def test_the_report_has_crashes_and_collection_errors_first_and_the_verdict_last() -> None:
    lines = report_text(result_of(MIXED)).splitlines()

    assert [line for line in lines if line.startswith("---")] == [
        "--- CRASH b.py::dead",
        "--- ERROR cannot collect b.py",
        "--- FAILED 2 tests in the same way at a.py:3",
    ]
    assert lines[-1] == "CRASH 2 failed 1 error 1 passed 1 skipped 1 not run in 2.50s"


def test_failures_that_are_the_same_are_told_once_and_each_of_them_named() -> None:
    text = report_text(result_of(MIXED))

    assert text.partition("\n\n3 causes\n")[0].count("ValueError: no") == 1
    assert "  a.py::C::bad[x]\n  a.py::C::bad[y]\nValueError: no\n" in text
    assert "  rerun: proctor run 'a.py::C::bad[x]' 'a.py::C::bad[y]'\n" in text


def test_failures_with_different_messages_stay_apart() -> None:
    place = {"failure": {"file": "a.py", "line": 3}}
    tests = [case(name, "fail", reason=f"no {name}", extra=place) for name in "ab"]

    text = report_text(result_of(written(suite(2), *tests, final(0, 2))))

    assert "--- FAILED a at a.py:3\nno a\n" in text
    assert "--- FAILED b at a.py:3\nno b\n" in text


def test_a_failure_has_its_place_values_trace_output_and_the_command_that_runs_it_again() -> None:
    failure = {"file": "lib.py", "line": 9, "trace": "the trace", "expected": "1\n2", "actual": "3"}
    test = case(
        "a b", "fail", reason="differs", stdout="out\x1b[2J\n", stderr="err\n", extra={"failure": failure}
    )

    text = report_text(result_of(written(suite(1, extra={"runner": "pytest"}), test, final(0, 1))))

    assert text == (
        "--- FAILED a b at lib.py:9\n"
        "differs\n"
        "  - expected, + actual\n"
        "  - 1\n"
        "  - 2\n"
        "  + 3\n"
        "the trace\n"
        "  stdout of call:\n"
        "    out\n"
        "  stderr of call:\n"
        "    err\n"
        "  rerun: proctor run 'a b'\n"
        "\n"
        "FAILED a b lib.py:9 differs\n"
        "1 failed in 0.00s\n"
    )


def test_a_long_trace_keeps_its_beginning_and_its_end_and_long_output_its_end() -> None:
    trace = "\n".join(f"frame {number}" for number in range(100))
    stdout = "".join(f"line {number}\n" for number in range(100))
    test = case("a", "fail", stdout=stdout, extra={"failure": {"trace": trace}})

    text = report_text(result_of(written(suite(1), test, final(0, 1))))

    assert "frame 11\n... 52 lines left out ...\nframe 64\n" in text
    assert "  stdout of call: (last 30 of 100 lines)\n    line 70\n" in text


def test_the_last_words_of_an_interpreter_are_about_the_test() -> None:
    frames = "".join(f'  File "/lib/_pytest/x{number}.py", line {number} in call\n' for number in range(9))
    trace = f'Fatal Python error: Aborted\n  File "/p/test_a.py", line 25 in test_dies\n{frames}'
    failure = {"message": "SIGABRT", "file": "test_a.py", "line": 25, "trace": trace}
    test = case("a", "fail", reason="SIGABRT at test_a.py:25", extra={"outcome": "crash", "failure": failure})

    text = report_text(result_of(written(suite(1), test, final(0, 1))))

    assert text.startswith(
        "--- CRASH a at test_a.py:25\n"
        "SIGABRT\n"
        "Fatal Python error: Aborted\n"
        '  File "/p/test_a.py", line 25 in test_dies\n'
        "  ... 9 frames of pytest ...\n"
    )


def test_a_stream_that_does_not_say_who_ran_it_gets_no_command() -> None:
    assert "rerun" not in report_text(result_of(written(suite(1), case("a", "fail"), final(0, 1))))


def test_the_plain_log_tells_failures_at_once_and_again_at_the_end() -> None:
    text = rendered(MIXED, PlainLog)

    assert text.index("FAILED a.py::C::bad[x] at a.py:3: ValueError: no\n") < text.index("--- ")
    assert "ERROR cannot collect b.py: SyntaxError: what\n" in text


def test_dots_are_one_character_a_test_and_name_what_fails() -> None:
    tests = [case(str(number)) for number in range(70)]
    text = rendered(written(suite(71), *tests, case("bad", "fail"), final(70, 1)), Dots)

    assert text.splitlines()[:3] == ["." * 60 + " 60/71", "." * 10, "FAILED bad: it broke"]


def test_names_are_one_line_a_test() -> None:
    assert rendered(MIXED, LinePerTest).splitlines()[:7] == [
        "passed  a.py::ok 1.50s",
        "skipped a.py::C::skipped: later",
        "FAILED  a.py::C::bad[x]: ValueError: no",
        "FAILED  a.py::C::bad[y]: ValueError: no",
        "ERROR cannot collect b.py: SyntaxError: what",
        "CRASH   b.py::dead: SIGSEGV",
        "not_run b.py::never",
    ]


def test_the_tree_has_files_classes_functions_and_parameters() -> None:
    assert said(write_outcome_tree, MIXED).partition("\n---")[0] == (
        "ERROR   b.py: SyntaxError: what\n"
        "b.py\n"
        "  CRASH   dead: SIGSEGV\n"
        "  not_run never\n"
        "a.py\n"
        "  passed  ok 1.50s\n"
        "  C\n"
        "    skipped skipped: later\n"
        "    bad\n"
        "      FAILED  [x]: ValueError: no\n"
        "      FAILED  [y]: ValueError: no\n"
    )


def test_the_summary_fits_on_a_screen() -> None:
    assert said(write_summary, MIXED) == (
        "CRASH 2 failed 1 error 1 passed 1 skipped 1 not run in 2.50s\n"
        "3 causes\n"
        "CRASH b.py::dead SIGSEGV\n"
        "ERROR cannot collect b.py SyntaxError: what\n"
        "FAILED a.py::C::bad[x] and 1 more :3 ValueError: no\n"
        "slowest 1.50s a.py::ok\n"
        "skipped 1x: later\n"
        "not run b.py::never\n"
    )
    many = [case(str(number), "fail", reason="no" + "o" * number) for number in range(50)]
    assert "… and 20 more causes\n" in said(write_summary, written(suite(50), *many, final(0, 50)))


def test_colours_are_by_line_and_take_nothing_away() -> None:
    heard: list[str] = []
    say = coloured_writer(heard.append)
    say("one\ntwo\n", "bad")
    say("three")

    assert heard == ["\x1b[31mone\x1b[0m\n\x1b[31mtwo\x1b[0m\n", "three"]


@pytest.mark.parametrize("reader", [PlainLog, Libtest, Dots, LinePerTest])
@given(EVENTS)
@settings(max_examples=30)
def test_no_reader_fails_or_lets_a_control_character_through(
    reader: Callable[[Writer], Sink], events: Sequence[e.Event]
) -> None:
    heard = StringWriter()
    relay = Relay(STARTED, [reader(heard)])
    for event in events:
        relay.publish(event, 0.5)
    result = relay.close(1.0)

    assert not any("stopped: " in notice for notice in result.notices)
    assert_harmless(heard.text())


@pytest.mark.parametrize("reader", [write_outcome_tree, write_summary, write_github_log])
@given(EVENTS)
@settings(max_examples=30)
def test_no_report_fails_or_lets_a_control_character_through(
    reader: Callable[[RunResult, Writer], None], events: Sequence[e.Event]
) -> None:
    relay = Relay(STARTED, [])
    for event in events:
        relay.publish(event, 0.5)
    heard = StringWriter()
    reader(relay.close(1.0), heard)

    assert_harmless(heard.text())


def assert_harmless(text: str) -> None:
    bad = [character for character in text if ord(character) < 32 and character not in "\n\t"]
    assert bad == []


def test_a_run_that_failed_without_a_test_has_no_counts_and_no_space_for_them() -> None:
    assert verdict_line(run_of(outcome=RunOutcome.FAILED)) == "FAILED"
    assert verdict_line(run_of(*passed("a"), outcome=RunOutcome.FAILED)) == "FAILED 1 passed"


def test_a_row_of_dots_that_is_full_begins_anew_and_an_unknown_total_is_left_out() -> None:
    heard = StringWriter()
    relay = Relay(STARTED, [Dots(heard)])
    for number in range(121):
        relay.publish(e.TestFinished(str(number), Outcome.PASSED), 0.5)

    assert heard.text() == f"{'.' * 60} 60\n{'.' * 60} 120\n."
