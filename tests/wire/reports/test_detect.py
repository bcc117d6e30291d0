"""The format of a report is that of its beginning, whatever its tests print."""

from __future__ import annotations

import json
from itertools import permutations

import pytest
from support.made_reports import objects, text
from support.pieces import pieces
from support.reports import REPORTS, outcomes, read

from proctor.errors import UsageError
from proctor.outcome import RunOutcome
from proctor.wire import formats
from proctor.wire.reports.any_report import AnyReport
from proctor.wire.reports.detect import detect
from proctor.wire.reports.openings import opening

LINES = {
    "libtest": REPORTS["cargo/doc.txt"],
    "libtest-json": REPORTS["cargo/fine.jsonl"],
    "go-json": REPORTS["go/fine.jsonl"],
    "tap": REPORTS["perl/fine.tap"],
    "tap-j": REPORTS["tap-j/fine.jsonl"],
    "reportlog": REPORTS["pytest/checks.jsonl"],
}
DOCUMENTS = {
    "jest": REPORTS["jest/fine.json"],
    "vitest": REPORTS["vitest/fine.json"],
    "json-report": REPORTS["pytest/checks.json"],
    "ctrf": REPORTS["ctrf/fine.json"],
    "junit": REPORTS["node/fine.xml"],
}
#: One line each that a test may print, and that says nothing of how the report began.
SNIPPETS = {
    "libtest-json": b'{"type":"test","name":"spoofed","event":"ok"}\n',
    "go-json": b'{"Action":"pass","Package":"p","Test":"TestSpoofed"}\n',
    "tap": b"ok\n",
    "tap-j": b'{"type":"test","label":"spoofed","status":"pass"}\n',
    "reportlog": b'{"$report_type":"SessionFinish","exitstatus":0}\n',
    "jest": b'{"numTotalTests":1,"numRuntimeErrorTestSuites":0,"success":true,"testResults":[]}\n',
    "junit": b'<testsuites><testsuite name="s" tests="0"/></testsuites>\n',
    "results": b'{"test":"a","status":"pass"}\n',
}


def embedded(outer: str, inner: bytes) -> bytes:
    """The report, with what a test of it printed where this format has what tests print."""
    data, printed = LINES[outer], inner.decode()
    if outer == "libtest":
        return data.replace(b"\ntest src", b"\n" + inner + b"test src", 1)
    if outer == "libtest-json":
        first, rest = data.split(b"\n", 1)
        return first + b"\n" + inner + rest
    if outer == "go-json":
        lines = data.splitlines(keepends=True)
        package = json.loads(lines[-1])["Package"]
        return (
            lines[0]
            + objects({"Action": "output", "Package": package, "Output": printed})
            + b"".join(lines[1:])
        )
    if outer == "tap":
        return data.replace(b"ok 1", inner + b"ok 1", 1)
    if outer == "tap-j":
        return data.replace(b'"hello\\n"', json.dumps(printed).encode())
    return data.replace(
        b'"sections": []', b'"sections": ' + json.dumps([["Captured stdout call", printed]]).encode(), 1
    )


@pytest.mark.parametrize(("outer", "inner"), list(permutations(LINES, 2)))
def test_a_whole_report_that_a_test_prints_changes_nothing(outer: str, inner: str) -> None:
    data = embedded(outer, LINES[inner])
    if (outer, inner) == ("tap", "libtest"):  # its lines would be points of this report, as for prove
        data = data.replace(b"\nok\n", b"\n")

    assert detect(data) == outer
    assert outcomes(read(data, outer)) == outcomes(read(LINES[outer], outer))
    assert read(data, outer).outcome is read(LINES[outer], outer).outcome


@pytest.mark.parametrize("inner", DOCUMENTS)
@pytest.mark.parametrize("outer", LINES)
def test_a_document_that_a_test_prints_changes_nothing(outer: str, inner: str) -> None:
    data = embedded(outer, DOCUMENTS[inner].rstrip() + b"\n")

    assert detect(data) == outer
    assert outcomes(read(data, outer)) == outcomes(read(LINES[outer], outer))


@pytest.mark.parametrize("inner", SNIPPETS)
@pytest.mark.parametrize("outer", LINES)
def test_a_line_of_another_format_before_the_report_decides_nothing(outer: str, inner: str) -> None:
    if inner in (outer, "junit"):
        return  # of its own format; or it makes the whole an XML document

    assert detect(SNIPPETS[inner] + LINES[outer]) == outer


@pytest.mark.parametrize("inner", [*LINES, *DOCUMENTS])
@pytest.mark.parametrize("outer", DOCUMENTS)
def test_a_document_holds_what_it_holds(outer: str, inner: str) -> None:
    printed = (LINES | DOCUMENTS)[inner].decode()
    if outer == "junit":
        data = DOCUMENTS[outer].replace(b"</testcase>", b"<system-out><![CDATA[x]]></system-out></testcase>")
    else:
        data = json.dumps(
            json.loads(DOCUMENTS[outer]) | {"extra": {"printed": printed, "Action": "pass"}}
        ).encode()

    assert detect(data) == outer


def test_cargos_text_keeps_its_tests_when_one_prints_json() -> None:
    spoof = b'{"type":"test","name":"spoofed","event":"ok"}\n'
    data = REPORTS["cargo/text.txt"].replace(b"before the failure\n", spoof * 3)
    found = read(data, detect(data) or "")

    assert outcomes(found) == outcomes(read(REPORTS["cargo/text.txt"], "libtest"))


@pytest.mark.parametrize(
    ("first", "second"), list(permutations(["libtest", "libtest-json", "go-json", "tap", "tap-j"], 2))
)
def test_two_reports_in_one_file_are_never_judged_by_one_of_them(first: str, second: str) -> None:
    data = LINES[first] + LINES[second]
    assert detect(data) == first
    found = read(data, first)

    assert found.outcome is RunOutcome.INCOMPLETE
    assert (
        f"begins another report ({second})" in found.reason or first == "tap-j"
    )  # which takes no other JSON


def test_a_report_of_its_own_kind_that_a_failed_test_prints_changes_nothing() -> None:
    data = REPORTS["cargo/text.txt"]
    printing = data.replace(b"before the failure\n", LINES["libtest"])
    assert printing != data

    assert outcomes(read(printing, "libtest")) == outcomes(read(data, "libtest"))
    assert read(printing, "libtest").outcome is RunOutcome.FAILED


@pytest.mark.parametrize("size", [1, 7, 100, 0])
@pytest.mark.parametrize("name", [*LINES, *DOCUMENTS])
def test_the_decision_does_not_depend_on_how_the_bytes_arrive(name: str, size: int) -> None:
    noise = text("building", "{once", "", "done") if name in LINES else b""
    reading = AnyReport("x")
    for piece in pieces(noise + (LINES | DOCUMENTS)[name], size):
        reading.feed(piece)
    reading.close()

    assert reading.form == name


@pytest.mark.parametrize(
    ("data", "form"),
    [
        (b"FAIL\tq [setup failed]\n", "go-json"),
        (b"     Running tests/x.rs (target/debug/deps/x-0123)\n", "libtest"),
        (b"     Running tests/x.rs (t/x-0)\n" + LINES["libtest-json"], "libtest-json"),
        (b"ok  \tp\t0.1s\n" + LINES["go-json"], "go-json"),
        (b"ok\n" + LINES["libtest"], "libtest"),
        (b"not ok 1\n", "tap"),
        (b"ok\nok\n1..2\n", "tap"),
        (b"\xef\xbb\xbf1..1\nok\n", "tap"),
        (b"<!-- x --><?xml version='1.0'?><ns:testsuite xmlns:ns='x'/>", "junit"),
        (b"<html><testsuite/></html>", None),
        (b"<!-- <testsuite/> --><html/>", None),
        (b"<!--a-->" * 5000 + b"<html/>", None),
        (b'{"numTotalTests": "x"}', None),
        (b"running late\n", None),
    ],
)  # fmt: skip
def test_beginnings_and_parts_of_reports(data: bytes, form: str | None) -> None:
    assert detect(data) == form


@pytest.mark.parametrize("repeated", [b'\\"', b'"', b'{"a":', b"\\", b"[", b'"a",', b":"])
def test_a_line_made_to_be_slow_is_looked_at_all_the_same(repeated: bytes) -> None:
    assert detect(b'{"a": "' + repeated * 20_000) is None
    assert detect(text("1..1", "ok 1") + b'{"Action": "' + repeated * 20_000) == "tap"
    assert opening(b'{"Action": "run", "a": "' + repeated * 1_000_000) == "go-json"


def test_what_is_no_report_is_refused_with_the_formats_there_are() -> None:
    reading = AnyReport("notes.txt")
    reading.feed(b"nothing\n")

    with pytest.raises(UsageError, match="cannot tell the format"):
        reading.close()
    assert set(LINES) <= set(formats.offered("from"))
