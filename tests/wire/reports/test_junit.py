"""JUnit XML: the dialects that the fixtures do not have, and documents made to do harm."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterable

import pytest
from support.reports import events_of, outcomes, read

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import Outcome, RunOutcome
from proctor.wire.reports.junit import JunitReader


def suite(inner: str, attributes: str = 'name="s"') -> bytes:
    return f"<testsuite {attributes}>{inner}</testsuite>".encode()


def test_the_words_of_several_writers() -> None:
    result = read(
        suite(
            '<testcase classname="c" name="plain"/>'
            '<testcase classname="c" name="disabled" status="notrun" result="suppressed"/>'
            '<testcase classname="c" name="flaky"><flakyFailure message="once">x</flakyFailure></testcase>'
            '<testcase classname="c" name="fails"><failure/></testcase>'
            '<testcase classname="c" name="both"><error message="e"/><failure message="f"/></testcase>'
        ),
        "junit",
    )

    assert outcomes(result) == {
        "c::plain": "passed",
        "c::disabled": "skipped",
        "c::flaky": "passed",
        "c::fails": "failed",
        "c::both": "failed",
    }


def test_the_names_of_inner_suites_are_part_of_the_id() -> None:
    result = read(
        b'<testsuites><testsuite name="file"><testsuite name="group">'
        b'<testcase classname="c" name="t"/></testsuite></testsuite></testsuites>',
        "junit",
    )

    assert list(result.tests) == ["group::c::t"]


@pytest.mark.parametrize(("skipped", "outcome"), [(2, RunOutcome.PASSED), (3, RunOutcome.INCOMPLETE)])
def test_a_module_that_pytest_skips_for_its_tests_and_its_doctests_counts_twice(
    skipped: int, outcome: RunOutcome
) -> None:
    module = '<testcase classname="" name="t.s">' + '<skipped message="collection skipped"/>' * 2
    inner = f'{module}</testcase><testcase classname="t" name="a"/>'

    result = read(suite(inner, f'name="pytest" tests="3" skipped="{skipped}"'), "junit")

    assert result.outcome is outcome


def test_a_failure_of_the_suite_itself_is_a_collection_error() -> None:
    result = read(suite('<error message="no database"/><testcase name="a"/>'), "junit")

    assert result.outcome is RunOutcome.COLLECTION_ERROR
    assert result.collection_errors == [e.CollectionFailed("s", e.Failure("", "no database"))]


def test_output_of_a_suite_is_output_of_the_run() -> None:
    events = events_of(
        suite('<testcase name="a"/><system-out>one</system-out><system-err>two</system-err>'), "junit"
    )

    assert e.OutputReceived("stdout", "one") in events
    assert e.OutputReceived("stderr", "two") in events


def test_a_place_is_read_from_file_and_line_and_pytest_counts_from_zero() -> None:
    case = '<testcase name="a" file="a.py" line="4"/>'
    ours, theirs = (read(suite(case, f'name="{name}"'), "junit").tests["a"] for name in ("x", "pytest"))

    assert (ours.place, theirs.place) == (e.Place("a.py", 4), e.Place("a.py", 5))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
@pytest.mark.parametrize("size", [1, 0])
def test_the_declared_encoding_is_used(encoding: str, size: int) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><testsuite><testcase name="été"/></testsuite>'

    assert list(read(text.encode(encoding), "junit", size).tests) == ["été"]


LAUGHS = '<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><testsuite>&b;</testsuite>'
OUTSIDE = (
    '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite><testcase name="&x;"/></testsuite>'
)


@pytest.mark.parametrize("size", [1, 0])
@pytest.mark.parametrize(
    "text, words",
    [
        (LAUGHS, "line 1: it declares the entity 'a'"),
        (OUTSIDE, "line 1: it declares the entity 'x'"),
        ('<!DOCTYPE t [<!ENTITY % p "x">]><testsuite/>', "declares the entity 'p'"),
        ('<!DOCTYPE t SYSTEM "http://x/y.dtd"><testsuite>&z;</testsuite>', "undefined entity"),
        ("<testsuite>&z;</testsuite>", "line 1: undefined entity"),
        ("<testsuite>" * 101, "nested deeper than 100"),
        ("<html></html>", "<html> begins no JUnit report"),
        ("<testsuite>\n<testcase name='a'>\n</testsuite>", "line 3: mismatched tag"),
        ("<testsuite>\n\n", "line 3: no element found"),
        ("", "no element found"),
        ("not xml", "line 1: "),
        ("<testsuite/><testsuite/>", "junk after document element"),
        ('<?xml version="1.0" encoding="nonsense"?><testsuite/>', "nonsense"),
        ('<?xml version="1.0" encoding="shift_jis"?><testsuite/>', "multi-byte encodings are not supported"),
    ],
)
def test_a_document_that_is_broken_or_hostile_is_refused_with_its_line(
    text: str, words: str, size: int
) -> None:
    with pytest.raises(StreamError) as caught:
        events_of(text.encode(), "junit", size)

    assert words in str(caught.value)


def test_bytes_that_are_not_in_the_encoding_are_refused_with_their_line() -> None:
    with pytest.raises(StreamError, match=r"line 2: not well-formed \(invalid token\)"):
        events_of(b'<testsuite>\n<testcase name="\xff"/></testsuite>', "junit")


def test_what_came_before_the_fault_is_told_and_the_reader_stays_broken() -> None:
    reader = JunitReader()

    told = reader.feed(b'<testsuite><testcase name="a"/><testcase name="b"/></wrong>')

    assert [event.test for event in told] == ["a"]  # b is held until it is known that no more follows
    for _ in range(2):
        with pytest.raises(StreamError, match="mismatched tag"):
            reader.feed(b"<testcase/>")
    with pytest.raises(StreamError, match="mismatched tag"):
        reader.close()


def peak_of(pieces: Iterable[bytes], reader: JunitReader) -> tuple[int, int]:
    """The most memory in use while reading, in MiB, and the number of tests."""
    tracemalloc.start()
    try:
        tests = 0
        for piece in pieces:
            tests += sum(isinstance(event, e.TestFinished) for event in reader.feed(piece))
        return tracemalloc.get_traced_memory()[1] >> 20, tests
    finally:
        tracemalloc.stop()


def test_a_large_report_of_many_tests_is_read_in_little_memory() -> None:
    case = b'<testcase classname="c" name="%d"><system-out>' + b"x" * 10_000 + b"</system-out></testcase>"
    pieces = (case % number for number in range(10_000))  # 100 MB
    reader = JunitReader()
    reader.feed(b"<testsuite>")

    peak, tests = peak_of(pieces, reader)

    assert tests == 9_999  # and the one that is held
    assert peak < 32


def test_a_text_of_100_mb_keeps_its_head_and_its_tail() -> None:
    reader = JunitReader()
    reader.feed(b'<testsuite><testcase name="a"><failure>head')

    peak, _ = peak_of((b"<![CDATA[" + b"x" * 100_000 + b"]]>" for _ in range(1000)), reader)
    reader.feed(b"tail</failure></testcase></testsuite>")
    test = next(event for event in reader.close() if isinstance(event, e.TestFinished))

    assert peak < 32
    assert test.outcome is Outcome.FAILED
    assert test.traceback is not None
    assert test.traceback.startswith("headxx")
    assert test.traceback.endswith("xxtail")
    assert "characters left out" in test.traceback


def test_a_tag_without_end_is_refused() -> None:
    reader = JunitReader()
    reader.feed(b'<testsuite><testcase name="')

    with pytest.raises(StreamError, match="a tag or comment of more than 16 MiB"):
        for _ in range(100):
            reader.feed(b"x" * (1 << 20))


def test_a_test_with_failures_without_end_is_refused() -> None:
    with pytest.raises(StreamError, match="a test with more than 100 failures or properties"):
        events_of(suite('<testcase name="a">' + "<failure>x</failure>" * 101 + "</testcase>"), "junit")


def test_only_node_names_every_class_test() -> None:
    assert list(read(suite('<testcase classname="test" name="a"/>'), "junit").tests) == ["test::a"]
