"""What a report of another tool gets beside its tests: a beginning, an order, an end and a verdict."""

import pytest

from proctor import events as e
from proctor.launch import Voice
from proctor.outcome import RunOutcome
from proctor.wire import formats
from proctor.wire.reports.any_report import AnyReport
from proctor.wire.reports.detect import HEAD
from proctor.wire.reports.report_run import ReportRun

FINE = b"1..2\nok 1 - a\nok 2 - b\n"
TIMED = b'<testsuites time="2.5"><testsuite time="2.5"><testcase name="a" time="1"/></testsuite></testsuites>'


def of(form: str) -> ReportRun:
    return ReportRun(form, formats.reader(form))


def kinds(entries: list[e.Entry]) -> list[str]:
    return [type(entry.event).__name__ for entry in entries]


def test_a_run_begins_with_the_name_of_the_format_and_nothing_else() -> None:
    (begun, *_) = of("tap").feed(b"")

    assert begun == e.Entry(0, 0.0, 0, e.RunStarted("", "tap", (), "", "", "", source=Voice.REPORT))


def test_entries_are_numbered_through_and_told_once() -> None:
    run = of("tap")
    first, second, last = run.feed(FINE[:12]), run.feed(FINE[12:]), run.close()
    entries = first + second + last

    assert first and second and last
    assert [(entry.seq, entry.at) for entry in entries] == [(n, 0.0) for n in range(len(entries))]
    assert kinds(entries).count("RunStarted") == kinds(entries).count("RunFinished") == 1
    assert kinds(entries).count("TestFinished") == 2
    assert entries[-1].event == e.RunFinished(RunOutcome.PASSED)
    assert run.gap == ""


def test_a_run_took_as_long_as_its_report_says() -> None:
    run = of("junit")
    (*_, last) = run.feed(TIMED) + run.close()

    assert isinstance(last.event, e.RunFinished)
    assert last.event.seconds == 2.5


def test_a_run_without_an_end_took_no_time_and_says_so() -> None:
    run = of("reportlog")
    (*_, last) = run.close()

    assert last.event == e.RunFinished(RunOutcome.INCOMPLETE, reason=run.gap)
    assert run.gap == "reportlog: the session has no end"


def test_a_report_breaks_once_and_what_came_before_stays() -> None:
    run = of("results")
    first = run.feed(b'{"test": "/a", "status": "pass"}\nonce\n')
    later = run.feed(b'{"test": "/b", "status": "pass"}\n') + run.close()

    assert kinds(first) == ["RunStarted", "TestFinished"]
    assert kinds(later) == ["ChannelBroken", "SuiteStarted", "SuiteFinished", "RunFinished"]
    broken, finished = later[0].event, later[-1].event
    assert isinstance(broken, e.ChannelBroken) and broken.reason == run.gap
    assert run.gap.startswith("results: line 2 is not a result: ")
    assert finished == e.RunFinished(RunOutcome.INCOMPLETE, reason=run.gap)


def test_a_report_that_breaks_at_its_end_says_why() -> None:
    run = of("tap")
    entries = run.feed(b"1..2\nok 1\n") + run.close()

    assert kinds(entries).count("ChannelBroken") == 1
    assert run.gap == "tap: 1 of 2 planned tests were reported"


@pytest.mark.parametrize("length", [HEAD - 1, HEAD, HEAD + 1])
def test_bytes_without_a_line_are_waited_for_up_to_a_bound(length: int) -> None:
    reading = AnyReport("x")
    text = b'{"Action": "' + b"x" * (length - 12)
    waited = reading.feed(text[:-1]) == []

    assert waited is (length - 1 < HEAD)
    reading.feed(text[-1:])
    assert reading.form == ("auto" if length < HEAD else "go-json")


def test_a_line_that_tells_nothing_is_followed_by_more() -> None:
    reading = AnyReport("x")

    assert reading.feed(b"npm warn\n") == []
    assert reading.form == "auto"
    assert kinds(reading.feed(FINE))[0] == "RunStarted"
    assert reading.form == "tap"
    assert kinds(reading.close())[-1] == "RunFinished"


def test_a_short_report_is_found_out_at_its_end_and_not_read_twice() -> None:
    reading = AnyReport("x")

    assert reading.feed(b"ok 1") == []
    assert kinds(reading.close()).count("TestFinished") == 1
    assert reading.form == "tap"
