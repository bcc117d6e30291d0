"""TAP: its corners, each as a short stream."""

from __future__ import annotations

from typing import Any

import pytest
from support.reports import REPORTS, outcomes, read

from proctor import events as e
from proctor.outcome import RunOutcome
from proctor.wire import formats
from proctor.wire.reports import diagnostics


def tap(*lines: str) -> Any:
    return read("\n".join([*lines, ""]).encode(), "tap")


@pytest.mark.parametrize(
    "line, name, outcome",
    [
        ("ok", "test 1", "passed"),
        ("ok 1", "test 1", "passed"),
        ("ok 1 - a", "a", "passed"),
        ("ok 1 a", "a", "passed"),
        ("ok - a", "a", "passed"),
        ("ok 1 -5 is negative", "-5 is negative", "passed"),
        ("not ok 1 - a", "a", "failed"),
        ("ok 1 - a # SKIP no network", "a", "skipped"),
        ("ok 1 - a # skip", "a", "skipped"),
        ("ok 1 # Skipped by hand", "# Skipped by hand", "passed"),
        ("not ok 1 - a # TODO later", "a", "xfailed"),
        ("ok 1 - a # todo: later", "a", "xpassed"),
        (r"not ok 1 - a \# TODO b", "a # TODO b", "failed"),
        (r"not ok 1 - a \\# TODO b", "a \\", "xfailed"),
        ("ok 1 - a # time=12.5ms", "a", "passed"),
    ],
)
def test_a_point_is_read_as_harnesses_do(line: str, name: str, outcome: str) -> None:
    assert outcomes(tap("1..1", line)) == {name: outcome}


@pytest.mark.parametrize("line", ["okay", "not  ok 1", "OK 1", "ok1", "1..x", "Bail out"])
def test_what_only_looks_like_tap_is_output(line: str) -> None:
    result = tap("1..1", "ok 1", line)

    assert result.outcome is RunOutcome.PASSED
    assert result.output.text() == f"{line}\n"


def test_reasons_and_times_are_kept() -> None:
    result = tap("1..2", "ok 1 - a # SKIP no network", "ok 2 - b # time=12.5ms")

    assert result.tests["a"].message == "no network"
    assert result.tests["b"].seconds == 0.0125


def test_subtests_that_failed_fail_their_test_whatever_it_says() -> None:
    result = tap("1..1", "    1..2", "    ok 1 - x", "    not ok 2 - y", "ok 1 - a")

    assert outcomes(result) == {"a": "failed"}
    assert result.tests["a"].message == "y failed"


def test_subtests_that_are_missing_fail_their_test() -> None:
    result = tap("1..1", "    1..3", "    ok 1 - x", "ok 1 - a")

    assert outcomes(result) == {"a": "failed"}
    assert result.tests["a"].message == "1 of 3 planned tests were reported"


def test_subtests_that_are_todo_do_not_fail_their_test() -> None:
    assert outcomes(tap("1..1", "    1..1", "    not ok 1 - x # TODO", "ok 1 - a")) == {"a": "passed"}


HEADINGS = ("1..1", "# Subtest: a", "    # Subtest: x")


def test_what_is_below_a_todo_may_fail() -> None:
    inner = ("        not ok 1 - y", "        1..1")

    excused = tap(*HEADINGS, *inner, "    not ok 1 - x # TODO", "    1..1", "ok 1 - a")
    failed = tap(*HEADINGS, *inner, "    ok 1 - x", "    1..1", "ok 1 - a")

    assert outcomes(excused) == {"a": "passed"}
    assert outcomes(failed) == {"a": "failed"}
    assert [phase.subtest for phase in failed.tests["a"].phases] == ["x", "x > y"]


def test_a_plan_that_was_not_kept_deep_inside_fails_the_test() -> None:
    result = tap(*HEADINGS, "        1..2", "        ok 1 - y", "    ok 1 - x", "    1..1", "ok 1 - a")

    assert outcomes(result) == {"a": "failed"}
    assert result.tests["a"].message == "x: 1 of 2 planned tests were reported"


def test_a_brace_without_a_partner_is_part_of_the_name() -> None:
    assert outcomes(tap("1..2", "ok 1 - a {", "ok 2 - b {")) == {"a {": "passed", "b {": "passed"}


def test_the_count_is_told_as_soon_as_a_plan_comes_first() -> None:
    reader = formats.reader("tap")

    assert reader.feed(b"TAP version 14\n1..2\nok 1\n") == [e.SuiteStarted("tap", "", 2)]
    assert not [
        event for event in reader.feed(b"ok 2\n") + reader.close() if isinstance(event, e.SuiteStarted)
    ]


def test_subtests_without_the_point_that_ends_them_are_told_as_a_failure() -> None:
    result = tap("1..1", "# Subtest: a", "    ok 1 - x", "        not ok 1 - y")

    assert result.outcome is RunOutcome.INCOMPLETE
    assert outcomes(result) == {"(subtests)": "failed"}


def test_subtests_in_braces_belong_to_the_point_before_them() -> None:
    result = tap("1..2", "ok 1 - a {", "    ok 1 - x", "    1..1", "}", "ok 2 - b")

    assert outcomes(result) == {"a": "passed", "b": "passed"}
    assert [phase.subtest for phase in result.tests["a"].phases] == ["x"]


def test_streams_one_after_another_are_one_report() -> None:
    stream = ("TAP version 13", "1..1", "ok 1 - a")

    assert outcomes(tap(*stream, *stream)) == {"a": "passed", "a#2": "passed"}
    assert tap(*stream, *stream).outcome is RunOutcome.PASSED
    assert tap(*stream, "TAP version 13", "1..2", "ok 1 - a").outcome is RunOutcome.INCOMPLETE


def test_bailing_out_is_told_and_its_missing_tests_are_no_other_fault() -> None:
    result = tap("1..3", "ok 1 - a", "Bail out! no database")

    assert (result.outcome, result.reason) == (RunOutcome.INCOMPLETE, "no database")
    assert result.finished is not None


def test_a_diagnostic_that_never_ends_is_no_pass() -> None:
    assert tap("1..2", "ok 1 - a", "  ---", "  x: 1", "ok 2 - b").outcome is RunOutcome.INCOMPLETE


def test_the_place_of_a_failure_is_read_from_node_tap() -> None:
    result = tap("1..1", "not ok 1 - a", "  ---", "  at:", "    file: a.js", "    line: 3", "  ...")

    assert result.tests["a"].failure == e.Failure("", "", e.Place("a.js", 3))


@pytest.mark.parametrize(
    "lines, expected",
    [
        (["a: 1"], {"a": "1"}),
        (["'a': 'it''s'", '"b": "x\\ny"'], {"a": "it's", "b": "x\ny"}),
        (["a: |", "  x", "    y", "b: 2"], {"a": "x\n  y", "b": "2"}),
        (["a: |2-", "    x", "  y"], {"a": "  x\ny"}),
        (["a: |-", "  x", "", "  y"], {"a": "x\n\ny"}),
        (["a:", "  b: 1", "  c:", "    d: 2"], {"a": "b: 1\nc:\n  d: 2"}),
        (["a: ~", "b:"], {"a": "", "b": ""}),
        (['a: "unfinished'], {"a": '"unfinished'}),
        (["nonsense", "- 1", "a: x: y"], {"a": "x: y"}),
        (["a: 1  ", "b:  ", "   x ", "", ""], {"a": "1", "b": "x "}),
        (["a: |", "    x", "  y"], {"a": "x\ny"}),
        (["a:", "    x", "  y"], {"a": "  x\ny"}),
        (["a: |", "b: >-", ""], {"a": "", "b": ""}),
        (
            ["a: |", "", "  x", "", "b: '", "c: ''", "d: 'x", "e: x'"],
            {"a": "\nx", "b": "'", "c": "", "d": "'x", "e": "x'"},
        ),
        (['a: "x" # no', 'b: "x"y"'], {"a": '"x" # no', "b": '"x"y"'}),
    ],
)
def test_the_yaml_of_test_tools_is_read(lines: list[str], expected: dict[str, str]) -> None:
    assert diagnostics.read("\n".join(lines)) == expected


@pytest.mark.parametrize(
    "text", ["a", 'qu"ote', "two\nlines", "  indented\nblock", "\n\nframed\n", "été: #x", "'"]
)
def test_what_is_written_as_yaml_is_read_back(text: str) -> None:
    lines = diagnostics.write({"a": text, "b": 1.5})

    assert diagnostics.read("\n".join(lines)) == {"a": text, "b": "1.5"}


@pytest.mark.parametrize(
    "text, lines",
    [
        ("", []),
        ("été", ['a: "été"']),
        ("two\nlines", ["a: |", "  two", "  lines"]),
        ("spaced \nlines ", ["a: |", "  spaced ", "  lines "]),
        ("X\nX", ["a: |", "  X", "  X"]),
        ("\ntwo\nlines", [r'a: "\ntwo\nlines"']),
        ("two\nlines\n", [r'a: "two\nlines\n"']),
        ("two\r\nlines", [r'a: "two\r\nlines"']),
        (" two\nlines", [r'a: " two\nlines"']),
    ],
)
def test_lines_are_a_block_where_every_reader_would_give_them_back(text: str, lines: list[str]) -> None:
    assert list(diagnostics.write({"a": text})) == lines


TAPE = """\
TAP version 13
# adds
not ok 1 should be strictly equal
  ---
    operator: equal
    expected: |-
      3

      three
    actual:   2
    at: Test.<anonymous> (/project/a.js:4:5)
    stack: |-
      Error: should be strictly equal
          at Test.assert (/project/node_modules/tape/lib/test.js:492:48)
  ...

1..1
"""


def test_the_failures_of_tape_have_their_places_and_values() -> None:
    result = read(TAPE.encode(), "tap")

    failure = result.tests["should be strictly equal"].failure
    assert failure is not None
    assert (failure.message, failure.place) == ("expected 3\n\nthree, got 2", e.Place("/project/a.js", 4))
    assert result.outcome is RunOutcome.FAILED


VITEST = """\
TAP version 13
1..1
not ok 1 - a.test.js # time=12.10ms {
    1..1
    not ok 1 - adds # time=3.20ms
        ---
        error:
            name: "AssertionError"
            message: "expected 2 to be 3 // Object.is equality"
        at: "/project/a.test.js:4:20"
        actual: "2"
        expected: "3"
        ...
}
"""


@pytest.mark.parametrize(
    "lines",
    [
        ("error:", "  name: E", "  message: no"),
        ("error:", "  message: no", "  name: E", "  stack: |", "    long"),
        ('error: {"name": "E", "message": "no"}',),
        ("name: E", "message: no", "error:", "  name: F", "  message: yes"),
        ("message:", "  name: E", "  message: no"),
    ],
)
def test_the_message_of_a_mapping_is_its_message(lines: tuple[str, ...]) -> None:
    result = tap("1..1", "not ok 1 - a", "  ---", *(f"  {line}" for line in lines), "  ...")

    failure = result.tests["a"].failure
    assert failure is not None
    assert (failure.type, failure.message) == ("E", "no")


@pytest.mark.parametrize("text", ["name: E", "E: name: x\n    message: no"])
def test_a_text_that_looks_like_a_mapping_is_a_text(text: str) -> None:
    result = tap("1..1", "not ok 1 - a", "  ---", "  error: |", f"    {text}", "  ...")

    failure = result.tests["a"].failure
    assert failure is not None
    assert failure.message.startswith(text.partition("\n")[0])


@pytest.mark.parametrize("at", ['"/p/a.js:4:20"', "Test.<anonymous> (/p/a.js:4:20)", "f (/p/a.js:4:20)"])
def test_the_place_of_a_failure_may_be_text(at: str) -> None:
    result = tap("1..1", "not ok 1 - a", "  ---", "  message: no", f"  at: {at}", "  ...")

    assert result.tests["a"].failure == e.Failure("", "no", e.Place("/p/a.js", 4))


def test_the_failures_of_vitest_have_their_messages() -> None:
    result = read(VITEST.encode(), "tap")

    assert "adds: expected 2 to be 3 // Object.is equality" in (result.tests["a.test.js"].message or "")


def test_a_group_of_node_whose_hook_failed_is_a_failure() -> None:
    data = REPORTS["node/fine.tap"].replace(b"ok 2 - a group", b"not ok 2 - a group")
    result = read(data, "tap")

    assert outcomes(result)["a group"] == "failed"
    assert outcomes(result)["a group > passes"] == "passed"
