"""The reader of pytest's words, fed with what pytest 4.6 wrote (`captured/`; only its paths are changed)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.golden import agree, told
from support.pieces import pieces

from proctor import events as e
from proctor.outcome import Outcome
from proctor.wire.reports.pytest_text import TextReader

CAPTURED = Path(__file__).parents[1] / "captured"
GOLDEN = Path(__file__).parents[1] / "golden" / "pytest-text"
LONG = (
    "other/test_c.py::test_with_a_name_that_is_longer_than_the_line_of_the_terminal"
    "_on_which_it_is_written_by_a_good_deal"
)


def captured(name: str) -> str:
    return (CAPTURED / f"pytest-4.6-{name}.txt").read_text(encoding="utf-8")


def read(text: str, size: int = 0) -> list[e.Event]:
    """All events, the text arriving in pieces of this size."""
    reader = TextReader("pytest")
    found = [event for piece in pieces(text, size) for event in reader.feed(piece)]
    return found + reader.close()


@pytest.mark.parametrize("path", sorted(CAPTURED.iterdir()), ids=lambda path: path.stem)
def test_everything_pytest_wrote_becomes_these_events(path: Path) -> None:
    agree(GOLDEN / f"{path.stem}.txt", told(read(path.read_text(encoding="utf-8"))))


@pytest.mark.parametrize("line", ["collected {} items", "gw0 [{}]", "====== {} passed in 0.1s ======"])
def test_a_number_without_end_is_no_count(line: str) -> None:
    read(line.format("9" * 5000) + "\n")


def finished(events: list[e.Event]) -> dict[str, e.TestFinished]:
    return {event.test: event for event in events if isinstance(event, e.TestFinished)}


def outcomes(events: list[e.Event]) -> dict[str, str]:
    return {test: str(event.outcome) for test, event in finished(events).items()}


def of(kind: type, events: list[e.Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@pytest.mark.parametrize("size", [1, 7])
@pytest.mark.parametrize("name", sorted(path.stem.removeprefix("pytest-4.6-") for path in CAPTURED.iterdir()))
def test_events_do_not_depend_on_how_the_text_arrives(name: str, size: int) -> None:
    text = captured(name)

    assert read(text, size) == read(text)
    assert read(text.replace("\n", "\r\n"), size) == read(text)


def test_every_test_starts_and_finishes_once() -> None:
    events = read(captured("selected"))

    started = [event.test for event in of(e.TestStarted, events)]
    ended = [event.test for event in of(e.TestFinished, events)]
    assert started == ended
    assert len(started) == len(set(started)) == 45
    assert events[0] == e.SuiteStarted("pytest", "", 45, 1)
    assert events[-1] == e.SessionFinished(None, 45)


def test_names_that_look_like_results_are_names() -> None:
    found = outcomes(read(captured("selected")))

    prefix = "checks/check_names.py::test_name"
    assert {
        test.removeprefix(prefix): outcome for test, outcome in found.items() if test.startswith(prefix)
    } == {
        "[two words]": "passed",
        r"[\xe9t\xe9]": "passed",
        "[a::b]": "failed",
        "[a|b]": "passed",
        "[x PASSED]]": "failed",
        "[y FAILED [ 50%]]": "passed",
        "[a - b]": "failed",
        r"[new\nline]": "passed",
        "[]": "passed",
        "[same0]": "passed",
        "[same1]": "passed",
    }


@pytest.mark.parametrize(
    ("test", "outcome", "message", "place"),
    [
        ("check_outcomes.py::test_error_in_setup", "error", "LookupError: no room in setup", 13),
        ("check_outcomes.py::test_error_in_teardown", "error", "LookupError: no room in teardown", 19),
        (
            "check_outcomes.py::test_fails_and_error_in_teardown",
            "failed",
            "AssertionError: assert not 'the call'\nLookupError: no room in teardown",
            56,
        ),
        (
            "check_outcomes.py::test_fails_with_several_lines",
            "failed",
            "ValueError: first line\nsecond line",
            36,
        ),
        (
            "check_outcomes.py::test_passes_against_a_strict_mark",
            "failed",
            "[XPASS(strict)] known fault",
            None,
        ),
        ("check_outcomes.py::test_prints_and_logs", "failed", "AssertionError: assert not 'prints'", 87),
        ("check_names.py::TestGroup::TestDeeper::test_deep", "failed", "assert 1 == 2\n  -1\n  +2", 46),
        (
            "check_names.py::test_name[a::b]",
            "failed",
            "AssertionError: assert 'a::b' not in ('a::b', 'x PASSED]', 'a - b')",
            25,
        ),
    ],
)
def test_a_failure_has_its_words_and_its_line(
    test: str, outcome: str, message: str, place: int | None
) -> None:
    found = finished(read(captured("selected")))[f"checks/{test}"]

    assert (found.outcome, found.message) == (outcome, message)
    assert found.failure is not None
    expected = e.Place(f"checks/{test.partition('::')[0]}", place) if place else None
    assert found.failure.place == expected
    assert "Captured" not in (found.traceback or "")


def test_the_nearest_line_is_the_users_and_the_type_is_the_exceptions() -> None:
    found = finished(read(captured("selected")))

    product = found["checks/check_outcomes.py::test_fails_in_the_product"].failure
    plain = found["checks/check_outcomes.py::test_fails_by_assert"].failure
    assert product == e.Failure(
        "ArithmeticError", "ArithmeticError: 1 shared among nobody", e.Place("product.py", 6)
    )
    assert plain is not None
    assert plain.type == "AssertionError"


def test_a_doctest_says_what_it_expected() -> None:
    found = finished(read(captured("selected")))["product.py::product.double"]

    assert found.message == "double(3): expected 7, got 6"
    assert found.failure is not None
    assert found.failure.place == e.Place("product.py", 15)


def test_a_module_that_cannot_be_imported_is_a_collection_error() -> None:
    events = read(captured("broken"))

    [error] = of(e.CollectionFailed, events)
    assert error.file == "broken/check_broken.py"
    assert error.failure == e.Failure(
        "ImportError",
        "ImportError: No module named product_that_is_not_there",
        e.Place("broken/check_broken.py", 1),
    )
    assert of(e.SessionInterrupted, events) == [
        e.SessionInterrupted(e.Failure("Interrupted", "1 errors during collection"))
    ]
    assert of(e.SessionFinished, events)


DOUBLES = {
    "test_a.py::test_one": None,
    "test_a.py::test_two": "AssertionError: assert not 'fail'",
    "test_a.py::TestX::test_in": None,
    "test_a.py::test_last": None,
    "other/test_c.py::test_two": "assert 2 == 3\n  -2\n  +3",
    LONG: "ValueError: long",
    "other/test_c.py::test_calls_another_pytest": "assert False",
}


@pytest.mark.parametrize(
    ("name", "count"),
    [
        pytest.param("doubles", 8, id="two tests of one name, and another pytest's words"),
        pytest.param("uncaptured", 8, id="what tests print between an id and its result"),
        pytest.param("workers", 7, id="workers of xdist, in colour"),
    ],
)
def test_each_test_gets_its_own_explanation(name: str, count: int) -> None:
    events = read(captured(name))

    assert {test: event.message for test, event in finished(events).items()} == DOUBLES
    assert [suite.count for suite in of(e.SuiteStarted, events)] == [count]  # a module was skipped
    assert of(e.SessionFinished, events) == [e.SessionFinished(None, 7)]


def test_what_passed_is_told_at_once_until_a_test_has_to_wait_for_its_reason() -> None:
    reader = TextReader("pytest")
    head, _, _ = captured("selected").partition("checks/check_names.py::test_name[y")

    told = reader.feed(head)

    assert list(finished(told)) == [
        "checks/check_names.py::test_name[two words]",
        r"checks/check_names.py::test_name[\xe9t\xe9]",
    ]


@pytest.mark.parametrize("name", ["selected", "reasons", "doubles", "uncaptured"])
def test_events_come_in_the_order_of_the_tests(name: str) -> None:
    text = captured(name)
    tests = [test for test in finished(read(text)) if "::" in test]

    assert len(tests) > 6
    assert tests == sorted(tests, key=lambda test: text.index(f"\n{test} "))


def reasons(events: list[e.Event]) -> dict[str, str | None]:
    return {
        test.removeprefix("test_a.py::"): event.message
        for test, event in finished(events).items()
        if event.outcome in (Outcome.SKIPPED, Outcome.XFAILED, Outcome.XPASSED)
    }


REASONS = {
    "test_b.py": "needs it",
    "test_c.py": "their way",
    "test_d.py": "not here\nnor there",
    "pkg/test_p.py": "whole pkg",
    "test_mark": "a rather long reason that goes on and on and on - beyond the width of any terminal that"
    " there is, is it not?",
    "test_same1": "same",
    "test_same2": "same",
    "test_bare": "unconditional skip",
    "test_skip_call": "inside: of a test",
    "test_skip_helper": "in helper",
    "test_skip_helper2": "in helper",
    "test_multi": "two\nlines\n\nSKIPPED [1] test_a.py:5: fake",
    "test_cond": "cond",
    "test_par[1]": "par",
    "test_par[2]": "par",
    "test_xf": "known fault",
    "test_xf2": "two\nlines",
    "test_xf3": None,
    "test_xf4": "by call",
    "test_xf5": "[NOTRUN] do not run",
    "test_xp": "passes",
    "test_xp_bare": None,
    "test_fx": "from fixture",
    "TestU::test_u": "class skip",
    "TestV::test_v": "method skip",
    "TestV::test_w": "call skip",
    "TestV::test_x": None,
}


@pytest.mark.parametrize("name", ["reasons", "reasons-workers"])
def test_each_skip_and_expected_failure_has_its_reason(name: str) -> None:
    events = read(captured(name))

    assert reasons(events) == REASONS
    assert of(e.SessionFinished, events)


def test_a_module_that_skips_itself_counts_and_has_the_place_of_the_skip() -> None:
    events = read(captured("reasons"))

    assert [suite.count for suite in of(e.SuiteStarted, events)] == [36]
    assert len(finished(events)) == 36
    places = {test: event.place for test, event in finished(events).items() if event.place}
    assert places == {
        "test_b.py": e.Place("test_b.py", 3),
        "test_c.py": e.Place("test_c.py", 2),
        "test_d.py": e.Place("test_d.py", 2),
        "pkg/test_p.py": e.Place("pkg/__init__.py", 1),
    }


def test_warnings_are_told_with_their_tests() -> None:
    found = of(e.WarningRecorded, read(captured("reasons")))

    assert found[2] == e.WarningRecorded(
        "OldWay", "two\nlines", "/project/test_a.py", 43, "runtest", "test_a.py::test_w2"
    )
    assert [warning.message for warning in found] == ["at import", "old way", "two\nlines", "each", "old way"]


def test_a_skipped_module_does_not_stand_in_for_a_test_without_a_result() -> None:
    text = captured("reasons-workers").replace("gw0 [32]", "gw0 [33]")

    assert of(e.ChannelBroken, read(text)) == [e.ChannelBroken("1 of 33 tests have no result")]


def test_a_printed_section_is_not_believed_before_the_real_one() -> None:
    lie = '{"reason": {"id": "test_a.py", "reason": "x", "collector": true}}'
    section = "=== more about this session ==="
    text = captured("reasons").replace("=== warnings summary ===\n=", f"{section}\n{lie}\n=")

    assert lie in text
    assert "test_a.py" not in finished(read(text))


def test_a_keyboard_interrupt_leaves_its_test_open_and_has_a_place() -> None:
    events = read(captured("interrupted"))

    place = e.Place("test_a.py", 19)
    assert of(e.SessionInterrupted, events) == [
        e.SessionInterrupted(e.Failure("KeyboardInterrupt", "KeyboardInterrupt", place))
    ]
    assert of(e.TestStarted, events)[-1] == e.TestStarted("test_a.py::TestX::test_in")
    assert "test_a.py::TestX::test_in" not in finished(events)
    assert of(e.SessionFinished, events)


def test_output_that_just_ends_names_the_test_and_finishes_no_session() -> None:
    events = read(captured("exited"))

    assert events[-1] == e.TestStarted("test_a.py::TestX::test_in")
    assert outcomes(events) == {"test_a.py::test_one": "passed", "test_a.py::test_two": "failed"}
    assert finished(events)["test_a.py::test_two"].message == "the output ended before pytest said why"
    assert not of(e.SessionFinished, events)


@pytest.mark.parametrize("end", range(0, 9001, 250))
def test_no_beginning_of_the_output_is_a_finished_session(end: int) -> None:
    text = captured("selected")[:-20]  # the last line is not whole

    assert not of(e.SessionFinished, read(text[:end]))


def test_an_internal_error_has_the_words_of_its_exception() -> None:
    [broke] = of(e.SessionBroke, read(captured("internal")))

    assert broke.failure == e.Failure("RuntimeError", "RuntimeError: in the plugin")
    assert broke.traceback.startswith("Traceback (most recent call last):")


def test_a_session_without_tests_comes_to_its_end() -> None:
    nothing = e.SuiteStarted("pytest", "", 0, filtered_out=4)
    assert read(captured("nothing")) == [nothing, e.SessionFinished(None, 0)]


def test_a_tally_that_counts_more_than_was_read_breaks_the_run() -> None:
    events = read(captured("dots"))

    assert events == [
        e.SuiteStarted("pytest", "", 4),
        e.ChannelBroken("pytest counted 1 failed, 3 passed; its output was read as nothing"),
    ]


@pytest.mark.parametrize("word", ["PASSED", "XFAIL", "XPASS", "FAILED"])
def test_a_result_line_that_is_lost_is_noticed(word: str) -> None:
    lines = captured("selected").splitlines(keepends=True)
    lost = next(line for line in lines if f" {word} " in line and "%]" in line)
    lines.remove(lost)

    assert not of(e.SessionFinished, read("".join(lines)))


@pytest.mark.parametrize(
    ("line", "outcome", "reason"),
    [
        ("t.py::test_a SKIPPED (not today)                  [ 50%]", Outcome.SKIPPED, "not today"),
        ("t.py::test_a SKIPPED (PASSED (or so))             [ 50%]", Outcome.SKIPPED, "PASSED (or so)"),
        ("t.py::test_a SKIPPED (a reason that is far too ...) [ 50%]", Outcome.SKIPPED, None),
        ("t.py::test_a XFAIL (known fault)                  [1/2]", Outcome.XFAILED, "known fault"),
        ("t.py::test_a XPASS", Outcome.XPASSED, None),
    ],
)
def test_newer_words_carry_their_reason(line: str, outcome: Outcome, reason: str | None) -> None:
    assert read(f"{line}\n") == [
        e.TestStarted("t.py::test_a"),
        e.TestFinished("t.py::test_a", outcome, message=reason),
    ]


def test_a_chain_of_exceptions_is_told_by_its_last() -> None:
    text = """
t.py::test_a FAILED [100%]
=== FAILURES ===
___ test_a ___
t.py:2: in test_a
    int("x")
E   ValueError: first

The above exception was the direct cause of the following exception:
t.py:4: in test_a
    raise KeyError("y")
E   KeyError: 'y'
=== 1 failed in 0.01s ===
"""

    [failed] = of(e.TestFinished, read(text))

    assert failed.failure == e.Failure("KeyError", "KeyError: 'y'", e.Place("t.py", 4))


def test_a_syntax_error_is_placed_in_its_file() -> None:
    text = """
rootdir: /project, inifile: tox.ini
collecting ... collected 0 items / 1 errors
=== ERRORS ===
___ ERROR collecting test_b.py ___
/env/lib/python2.7/site-packages/_pytest/python.py:507: in _importtestmodule
    mod = self.fspath.pyimport(ensuresyspath=importmode)
E     File "/project/test_b.py", line 3
E       def (
E           ^
E   SyntaxError: invalid syntax
!!! Interrupted: 1 errors during collection !!!
=== 1 error in 0.01 seconds ===
"""

    [error] = of(e.CollectionFailed, read(text))

    assert error.failure == e.Failure("SyntaxError", "SyntaxError: invalid syntax", e.Place("test_b.py", 3))
