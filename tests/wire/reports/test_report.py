"""What readers of reports share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from support.full_runs import CASES, result_of

from proctor.errors import StreamError, UsageError
from proctor.outcome import Outcome
from proctor.wire import formats
from proctor.wire.reports import node, report
from proctor.wire.reports.report import count_of, finished, moment, refined, scope, seconds_of

GOOD, BAD = b'{"test":"a"}\n', b"{\n"


def test_what_was_told_before_a_fault_is_handed_out_and_then_it_stays_broken() -> None:
    reader = formats.reader("results")

    assert [event.test for event in reader.feed(GOOD + BAD + GOOD)] == ["a"]
    for again in (partial(reader.feed, GOOD), partial(reader.feed, b""), reader.close):
        with pytest.raises(StreamError, match="line 2"):
            again()


def test_a_fault_before_anything_was_told_is_raised_at_once() -> None:
    reader = formats.reader("results")
    for again in (partial(reader.feed, BAD), partial(reader.feed, GOOD), reader.close):
        with pytest.raises(StreamError, match="line 1"):
            again()
    closing = formats.reader("results")
    assert closing.feed(b"{") == []
    for _ in range(2):
        with pytest.raises(StreamError, match="line 1"):
            closing.close()


@pytest.mark.parametrize(
    "groups, parts",
    [
        ([], []),
        ([""], [""]),
        (["a", "b"], ["a > b"]),
        (["x" * 500], ["x" * 500]),
        (["x" * 300, "y" * 198], ["x" * 300 + " > " + "y" * 194 + "..."]),
    ],
)
def test_groups_are_the_first_part_of_a_name_and_cut_where_they_are_very_long(
    groups: list[str], parts: list[str]
) -> None:
    assert scope(groups, " > ") == parts


def test_a_line_and_a_document_may_be_as_long_as_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MAX_LINE", 3 << 20)
    monkeypatch.setattr(report, "MAX_DOCUMENT", 3 << 20)
    for form, told in (
        ("go-json", "line 2 is longer than 3 MiB"),
        ("jest", "the report is larger than 3 MiB"),
    ):
        first = b"\n" if form == "go-json" else b" "
        size = (3 << 20) - (form == "jest")
        reader = formats.reader(form)
        assert reader.feed(first) == reader.feed(b"x" * size) == []
        with pytest.raises(StreamError, match=told):
            reader.feed(b"x")


def test_a_mark_of_the_order_of_bytes_begins_a_document_too() -> None:
    plain, marked = formats.reader("ctrf"), formats.reader("ctrf")
    data = b'{"results":{"tests":[],"summary":{"tests":0}}}'
    plain.feed(data)
    marked.feed(b"\xef\xbb\xbf" + data)

    assert marked.close() == plain.close()


@pytest.mark.parametrize(
    "text, seconds",
    [
        ("0.5", 0.5),
        ("1,234.5", 1234.5),
        (None, 0),
        ("", 0),
        ("x", 0),
        ("-1", 0),
        ("inf", 0),
        ("nan", 0),
        ("1e3", 1000),
        ("9,999,999,999", 9_999_999_999),
        ("1e10", 0),
    ],
)
def test_a_duration_is_a_number_or_none(text: str | None, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    "text, count", [("12", 12), ("9" * 9, 999999999), ("9" * 10, 0), (None, 0), ("-1", 0), ("²", 0)]
)
def test_a_count_is_a_number_of_a_few_digits_or_none(text: str | None, count: int) -> None:
    assert count_of(text) == count


@pytest.mark.parametrize(
    "text, at",
    [
        ("1970-01-01T00:00:01Z", 1),
        ("1970-01-01T01:00:01+01:00", 1),
        ("1970-01-01T00:00:01", 0),
        ("", 0),
        (None, 0),
    ],
)
def test_a_moment_has_its_zone_or_is_none(text: str | None, at: int) -> None:
    assert moment(text) == at


@pytest.mark.parametrize(
    "outcome, word, expected",
    [
        (Outcome.PASSED, "xpassed", Outcome.XPASSED),
        (Outcome.PASSED, "failed", Outcome.PASSED),
        (Outcome.FAILED, "crash", Outcome.CRASH),
        (Outcome.FAILED, "passed", Outcome.FAILED),
        (Outcome.SKIPPED, "not_run", Outcome.NOT_RUN),
        (Outcome.SKIPPED, "skippy", Outcome.SKIPPED),
        (Outcome.FAILED, None, Outcome.FAILED),
    ],
)
def test_our_own_word_is_believed_if_it_is_of_the_same_kind(
    outcome: Outcome, word: str | None, expected: Outcome
) -> None:
    assert refined(outcome, word) is expected


@pytest.mark.parametrize("outcome", Outcome)
def test_output_makes_a_test_one_phase_of_the_same_kind(outcome: Outcome) -> None:
    (phase,) = finished("a", outcome, 0.5, stdout="out", properties={"k": 1}).phases
    words = {"passed": "passed", "xpassed": "passed", "info": "passed", "warn": "passed"}
    skipped = dict.fromkeys(("skipped", "xfailed", "not_run"), "skipped")

    assert (phase.outcome, phase.status) == ((words | skipped).get(outcome, "failed"), outcome)
    assert finished("a", outcome).phases == ()
    assert finished("a", outcome, properties={"k": 1}).properties == {"k": 1}


@pytest.mark.parametrize(
    "find, verb, known",
    [
        (formats.reader, "read", formats.READERS),
        (formats.run_reader, "read", formats.offered("from")),
        (formats.writer, "write", formats.WRITERS),
    ],
)
def test_an_unknown_format_is_an_error_that_names_the_known_ones(
    find: Callable[[str], object], verb: str, known: tuple[str, ...]
) -> None:
    with pytest.raises(UsageError) as raised:
        find("morse")

    assert str(raised.value) == f"cannot {verb} format 'morse'; known: {', '.join(known)}"


def test_what_a_format_cannot_hold_is_said() -> None:
    everything = ["files", "links to output", "properties", "keywords", "subtests", "warnings"]
    everything += ["output outside of tests", "notices"]
    result = result_of(CASES["one"])

    assert formats.left_out("tap", result) == everything
    assert formats.left_out("junit", result) == everything
    assert formats.left_out("junit-full", result) == [
        what for what in everything if what not in ("files", "properties")
    ]
    assert formats.left_out("ctrf", result) == [
        what for what in everything if what not in ("files", "properties", "keywords", "subtests")
    ]
    assert formats.left_out("tap", result_of(CASES["bench"])) == []


@pytest.mark.parametrize("end", ["js", "mjs", "cjs", "ts", "mts", "cts"])
def test_node_reports_on_files_of_its_own_kinds(end: str) -> None:
    assert node.is_file(f"/p/a.{end}")
    assert not node.is_file(f"p/a.{end}")
    assert not node.is_file("/p/a.py")
