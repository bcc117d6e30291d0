"""Readers of other tools' reports, fed with what the real tools wrote (`data/foreign`)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import agree, told
from support.made_reports import MADE
from support.pieces import pieces
from support.reports import REPORTS, events_of, outcomes, read, report, tally

from proctor import events as e
from proctor.errors import StreamError, UsageError
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.wire import formats
from proctor.wire.reports.any_report import AnyReport
from proctor.wire.reports.detect import detect

GOLDEN = Path(__file__).parents[1] / "golden"
PYTEST = {
    "test_passes": "passed",
    "test_fails": "failed",
    "test_prints": "passed",
    "test_skipped": "skipped",
    "test_setup_error": "error",
    "test_teardown_error": "error",
    "test_fails_twice": "failed",
    "test_xfailed": "xfailed",
    "test_xpassed": "xpassed",
    "test_xpassed_strictly": "failed",
    "test_named[a b]": "passed",
    r"test_named[<\xe9&>]": "passed",
    "test_named[x::y]": "passed",
}
LIBTEST = {
    "tests::does_not_panic": "failed",
    "tests::fails": "failed",
    "tests::ignored": "skipped",
    "tests::ignored_with_a_reason": "skipped",
    "tests::panics_as_it_should": "passed",
    "tests::passes": "passed",
    "tests::prints": "passed",
    "tests::returns_an_error": "failed",
}
GO = {
    "TestPasses": "passed",
    "TestFails": "failed",
    "TestPrints": "passed",
    "TestSkipped": "skipped",
    "TestGroup/passes": "passed",
    "TestGroup/fails": "failed",
    "TestGroup": "failed",
    "Example": "passed",
}
NODE = {
    "passes": "passed",
    "fails": "failed",
    "throws # not a directive": "failed",
    "skipped": "skipped",
    "todo that fails": "xfailed",
    "todo that passes": "xpassed",
    "prints": "passed",
    "times out": "timeout",
    "a group > adds <&>": "passed",
    "a group > is skipped": "skipped",
    "a group > deeper > subtracts": "passed",
}
JEST = {
    "passes": "passed",
    "fails": "failed",
    "throws": "failed",
    "skipped": "skipped",
    "todo": "skipped",
    "fails as it should": "passed",
    "a group > adds <&>": "passed",
    "a group > deeper > subtracts": "failed",
}
BATS = {
    "passes": "passed",
    "fails # not a directive": "failed",
    "skipped": "skipped",
    "prints": "passed",
    "exits": "failed",
}


def form_of(name: str) -> str:
    form = detect(REPORTS[name], name)
    assert form is not None, name
    return form


def named(prefix: str, tests: dict[str, str]) -> dict[str, str]:
    return {prefix + name: outcome for name, outcome in tests.items()}


IN_FILE = named("checks.py::", PYTEST) | {"checks.py::TestGroup::test_inside": "passed"}
EXPECTED = {
    "pytest/checks.json": IN_FILE,
    "pytest/checks.jsonl": IN_FILE,
    # JUnit has no word for a test that passed unexpectedly.
    "pytest/checks.xml": named("checks::", PYTEST | {"test_xpassed": "passed"})
    | {"checks.TestGroup::test_inside": "passed"},
    "cargo/sums.jsonl": LIBTEST,
    "cargo/text.txt": LIBTEST | {"waits": "skipped", "passes": "passed"},
    "cargo/doc.txt": {
        "src/lib.rs - add (line 3)": "passed",
        "src/lib.rs - add (line 7)": "passed",
    },
    "cargo/talks.jsonl": {"a_prints": "passed", "b_prints": "passed"},
    "cargo/talks.txt": {"a_prints": "passed", "b_prints": "passed"},
    "go/sums.jsonl": named("example.com/sums::", GO),
    "go/bench.jsonl": {"example.com/sums::BenchmarkSum": "passed"},
    "node/sums.tap": NODE | {"with subtests": "failed"},
    "node/sums.xml": NODE
    | {"with subtests > inner passes": "passed", "with subtests > inner fails": "failed"},
    "jest/sums.json": named("/project/sums.test.js::", JEST),
    "ctrf/sums.json": {
        "sums.test.js > passes": "passed",
        "sums.test.js > fails": "failed",
        "sums.test.js > throws": "failed",
        "sums.test.js > skipped": "skipped",
        "sums.test.js > todo": "skipped",
        "sums.test.js > fails as it should": "passed",
        "sums.test.js > a group > a group adds <&>": "passed",
        "sums.test.js > a group > deeper > a group deeper subtracts": "failed",
    },
    "vitest/sums.json": named("/project/sums.test.js::", JEST),
    "vitest/sums.xml": named("sums.test.js::", JEST),
    "bats/sums.tap": BATS,
    "bats/sums-13.tap": BATS,
    "bats/sums.xml": named("sums.bats::", BATS),
    "perl/sums.tap": {
        "passes": "passed",
        "fails": "failed",
        "test 3": "skipped",
        "todo that fails": "xfailed",
        "todo that passes": "xpassed",
        "a group": "failed",
    },
    "tap-j/sums.jsonl": {
        "Sums::passes": "passed",
        "Sums::fails": "failed",
        "Sums::Deeper::raises": "error",
        "Others::left out": "skipped",
        "Others::to be written": "skipped",
        "Others::passes": "passed",
    },
}
COMPLETE_AND_GREEN = [
    "ctrf/fine.json",
    "cargo/doc.txt",
    "cargo/fine.jsonl",
    "go/fine.jsonl",
    "jest/fine.json",
    "node/fine.tap",
    "node/fine.xml",
    "perl/fine.tap",
    "tap-j/fine.jsonl",
    "vitest/fine.json",
    "vitest/fine.xml",
]


@pytest.mark.parametrize("name", EXPECTED)
def test_the_outcomes_are_those_that_the_tool_reported(name: str) -> None:
    result = report(name)

    assert outcomes(result) == EXPECTED[name]
    assert result.outcome is (RunOutcome.FAILED if any(result.counts[o] for o in BAD) else RunOutcome.PASSED)


@pytest.mark.parametrize("name", COMPLETE_AND_GREEN)
def test_a_complete_report_without_a_failure_is_a_pass(name: str) -> None:
    assert report(name).outcome is RunOutcome.PASSED


@pytest.mark.parametrize("name", ["jest/sums.json", "jest/several.json", "vitest/sums.json"])
def test_the_counts_are_those_of_the_report(name: str) -> None:
    said = json.loads(REPORTS[name])
    found = tally(report(name))

    assert found["passed"] == said["numPassedTests"]
    assert found["failed"] == said["numFailedTests"]
    assert found["skipped"] == said["numPendingTests"] + said["numTodoTests"]


def test_the_counts_of_node_are_those_of_its_comments() -> None:
    said = dict(re.findall(r"<!-- (\w+) ([0-9.]+) -->", REPORTS["node/sums.xml"].decode()))
    found = tally(report("node/sums.xml"))

    assert found["passed"] == int(said["pass"])
    # node counts "with subtests", which is a suite in this report, among its failures.
    assert found["failed"] == int(said["fail"]) - 1
    assert found["timeout"] == int(said["cancelled"])
    assert found["skipped"] == int(said["skipped"])
    assert found["xfailed"] + found["xpassed"] == int(said["todo"])


@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("name", [name for name, data in REPORTS.items() if data])
def test_events_do_not_depend_on_how_the_bytes_arrive(name: str, size: int) -> None:
    data, form = REPORTS[name], form_of(name)

    assert events_of(data, form, size) == events_of(data, form)


@pytest.mark.parametrize("name", REPORTS)
def test_everything_a_report_says_becomes_these_events(name: str) -> None:
    form = detect(REPORTS[name], name) or "tap"

    agree(GOLDEN / f"{name.replace('/', '-')}.txt", told(events_of(REPORTS[name], form)))


@pytest.mark.parametrize("form", MADE)
def test_what_no_recorded_report_has_becomes_these_events(form: str) -> None:
    found = []
    for title, data in MADE[form].items():
        reader = formats.reader(form)
        found.append(f"# {title}\n")
        try:
            found += [told(reader.feed(data)), told(reader.close())]
        except StreamError as error:
            found.append(f"{error}\n")
        if artifacts := getattr(reader, "artifacts", ()):
            found.append("".join(f"{artifact}\n" for artifact in artifacts))

    agree(GOLDEN / "made" / f"{form}.txt", "".join(found))


# What a tool calls a success and was none


@pytest.mark.parametrize(
    "name, test, cause",
    [
        ("node/exits.tap", "/project/exits.test.mjs", "no test of this file was reported"),
        ("node/exits.xml", "/project/exits.test.mjs", "no test of this file was reported"),
        ("node/two-files.tap", "/project/exits.test.mjs", "no test of this file was reported"),
        ("vitest/aborts.json", "/project/aborts.test.js::aborts", "left it pending"),
        ("vitest/aborts.xml", "aborts.test.js::aborts", "never ran to its end"),
        ("go/exits.jsonl", "example.com/sums/exits::TestExits", "the process ended during the test"),
        ("go/parallel.jsonl", "example.com/sums/parallel::TestWaits", "cut short: TestPanics panicked"),
        ("pytest/interrupted.json", "interrupted.py::test_interrupts", "never called"),
        ("pytest/interrupted.jsonl", "interrupted.py::test_interrupts", "interrupted"),
        ("pytest/interrupted.xml", "(no name)", "the session ended during it"),
        ("pytest/exits.jsonl", "exits.py::test_exits", "the session has no end"),
        ("cargo/exits.jsonl", "b_exits", "has no end"),
        ("cargo/exits.txt", "b_exits", "has no end"),
        ("cargo/aborts.jsonl", "b_aborts", "has no end"),
        ("cargo/aborts.txt", "b_aborts", "has no end"),
    ],
)
def test_what_never_came_to_its_end_is_an_error_with_a_cause(name: str, test: str, cause: str) -> None:
    result = report(name)

    assert result.tests[test].outcome in (Outcome.ERROR, Outcome.CRASH)
    assert cause in (result.tests[test].message or "")
    assert result.outcome not in (RunOutcome.PASSED, RunOutcome.NO_TESTS)


@pytest.mark.parametrize(
    "name, outcome, reason",
    [
        ("bats/aborts.tap", RunOutcome.INCOMPLETE, "1 of 3 planned tests were reported"),
        ("perl/dies.tap", RunOutcome.INCOMPLETE, "1 of 3 planned tests were reported"),
        ("perl/bails.tap", RunOutcome.INCOMPLETE, "the network is down"),
        ("perl/nothing.tap", RunOutcome.NO_TESTS, ""),
        ("go/empty.jsonl", RunOutcome.NO_TESTS, ""),
        ("pytest/interrupted.jsonl", RunOutcome.INTERRUPTED, "pytest was interrupted"),
        ("pytest/interrupted.json", RunOutcome.INTERRUPTED, "pytest was interrupted"),
        ("cargo/aborts.jsonl", RunOutcome.INCOMPLETE, "a suite has no end"),
    ],
)
def test_a_run_that_did_not_come_to_its_end_says_why(name: str, outcome: RunOutcome, reason: str) -> None:
    result = report(name)

    assert result.outcome is outcome
    assert reason in result.reason


@pytest.mark.parametrize(
    "name, file, message",
    [
        ("pytest/broken.json", "broken.py", "No module named 'not_there'"),
        ("pytest/broken.jsonl", "broken.py", "No module named 'not_there'"),
        ("pytest/broken.xml", "broken", "No module named 'not_there'"),
        ("cargo/broken.txt", 'sums (test "broken")', "cannot find function `missing`"),
        ("go/broken.jsonl", "example.com/sums/broken", "undefined: missing"),
        ("jest/broken.json", "/project/broken.test.js", "Cannot find module './not-there'"),
        ("vitest/broken.json", "/project/broken.test.js", "Cannot find module './not-there'"),
    ],
)
def test_what_could_not_be_built_or_imported_is_a_collection_error(
    name: str, file: str, message: str
) -> None:
    result = report(name)

    assert result.outcome is RunOutcome.COLLECTION_ERROR
    assert [error.file for error in result.collection_errors] == [file]
    assert message in result.collection_errors[0].failure.message


def lines(data: bytes) -> list[int]:
    """Where lines begin, but the first."""
    return [at + 1 for at in range(len(data) - 1) if data[at : at + 1] == b"\n"]


@pytest.mark.parametrize("name", COMPLETE_AND_GREEN)
def test_a_report_that_is_cut_short_is_no_pass(name: str) -> None:
    data, form = REPORTS[name], form_of(name)
    body = data.split(b"# tests")[0].rstrip() + b"\n"  # node's TAP is complete before its comments

    for end in [0, *lines(body)]:
        assert read(body[:end], form).outcome is not RunOutcome.PASSED, body[:end]


@pytest.mark.parametrize("name", ["ctrf/fine.json", "jest/fine.json", "node/fine.xml", "vitest/fine.xml"])
def test_a_document_that_is_cut_anywhere_is_broken(name: str) -> None:
    data, form = REPORTS[name].rstrip(), form_of(name)

    for end in range(0, len(data) - 1, 11):
        with pytest.raises(StreamError):
            events_of(data[:end], form)


@pytest.mark.parametrize(
    "name, old, new, cause",
    [
        ("jest/fine.json", b'"numTotalTests":1', b'"numTotalTests":2', "counts 2 tests and lists 1"),
        ("jest/fine.json", b'"numFailedTests":0', b'"numFailedTests":1', "counts 1 failed"),
        ("jest/fine.json", b'"success":true', b'"success":false', "though no test failed"),
        ("jest/fine.json", b'"wasInterrupted":false', b'"wasInterrupted":true', "interrupted"),
        ("vitest/fine.xml", b'tests="1"', b'tests="2"', "has 1 of its 2 tests"),
        ("vitest/fine.xml", b'failures="0"', b'failures="1"', "says 1 failed; none of its tests did"),
        ("ctrf/fine.json", b'"tests": 1', b'"tests": 2', "its summary has 2 tests, its list 1"),
        ("ctrf/fine.json", b'"failed": 0', b'"failed": 1', "its summary has 1 failed, its list 0"),
        ("ctrf/fine.json", b'"status": "passed"', b'"status": "other"', ""),
        ("cargo/doc.txt", b"2 passed", b"3 passed", "counted 3 tests"),
        ("cargo/fine.jsonl", b'"passed": 1', b'"passed": 2', "counted 3 tests"),
        ("tap-j/fine.jsonl", b'"count":1', b'"count":2', "1 of 2 tests"),
        ("tap-j/fine.jsonl", b'"fail":0', b'"fail":1', "counts 1 fail"),
        ("perl/fine.tap", b"1..2", b"1..1", "2 of 1 planned"),
        ("perl/fine.tap", b"1..2", b"1..2\n1..2", "there are 2 plans"),
        ("perl/fine.tap", b"ok 2", b"ok 3", "test 3 is not in the plan"),
    ],
)
def test_a_report_that_contradicts_itself_is_no_pass(name: str, old: bytes, new: bytes, cause: str) -> None:
    data = REPORTS[name]
    assert data.count(old) >= 1
    result = read(data.replace(old, new), form_of(name))

    assert result.outcome not in (RunOutcome.PASSED, RunOutcome.NO_TESTS)
    assert cause in result.reason


def test_the_colours_of_cargo_and_libtest_change_nothing() -> None:
    data = REPORTS["cargo/text.txt"]
    coloured = re.sub(rb"(?m)^( +Running|error)", b"\x1b[1m\x1b[92m\\1\x1b[0m", data)
    coloured = re.sub(rb"(?m)( \.\.\. |result: )(ok|FAILED|ignored)", b"\\1\x1b[32m\\2\x1b(B\x1b[m", coloured)
    assert coloured.count(b"\x1b[") > 20

    assert outcomes(read(coloured, "libtest")) == outcomes(read(data, "libtest"))
    assert read(coloured, "libtest").outcome is read(data, "libtest").outcome is RunOutcome.FAILED


def test_a_package_that_failed_while_no_test_of_it_did_is_a_collection_error() -> None:
    end = b'{"Action":"fail","Package":"p"}\n'
    result = read(b'{"Action":"output","Package":"p","Output":"panic: in init\\n"}\n' + end, "go-json")

    assert result.outcome is RunOutcome.COLLECTION_ERROR
    assert (
        result.collection_errors[0].failure.message == "failed, though none of its tests did: panic: in init"
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("got 5, want 4", ("5", "4")),
        ("Sum(2, 3) = 5, want 4", ("5", "4")),
        ("name: got: a = b; want: c", ("a = b", "c")),
        ("I want 4", (None, None)),
        ("= 5 want 4", (None, None)),
    ],
)
def test_what_go_got_and_wanted_is_told_where_it_is_written_as_go_writes_it(
    said: str, expected: tuple[Any, ...]
) -> None:
    begin = (
        b'{"Action":"output","Package":"p","Test":"T","Output":"    a_test.go:3: %b\\n"}\n' % said.encode()
    )
    result = read(
        begin + b'{"Action":"fail","Package":"p","Test":"T"}\n{"Action":"fail","Package":"p"}\n', "go-json"
    )

    failure = result.tests["p::T"].failure
    assert failure is not None
    assert (failure.actual, failure.expected) == expected


# Details


def test_a_failure_says_what_was_raised_and_where() -> None:
    places = {
        ("pytest/checks.jsonl", "checks.py::test_fails"): ("AssertionError", "/project/checks.py:12"),
        ("pytest/checks.json", "checks.py::test_fails"): ("AssertionError", "/project/checks.py:12"),
        ("cargo/sums.jsonl", "tests::fails"): ("panic", "src/lib.rs:27"),
        ("cargo/text.txt", "tests::fails"): ("panic", "src/lib.rs:27"),
        ("go/sums.jsonl", "example.com/sums::TestFails"): ("", "sums_test.go:13"),
        ("go/panics.jsonl", "example.com/sums/panics::TestPanics"): (
            "panic",
            "/project/panics/panics_test.go:9",
        ),
        ("jest/sums.json", "/project/sums.test.js::throws"): ("TypeError", "/project/sums.test.js:4"),
        ("vitest/sums.json", "/project/sums.test.js::throws"): ("TypeError", "/project/sums.test.js:5"),
        ("tap-j/sums.jsonl", "Sums::fails"): ("Assertion", "sums.rb:13"),
    }
    for (name, test), (kind, place) in places.items():
        failure = report(name).tests[test].failure
        assert failure is not None
        assert (failure.type, str(failure.place)) == (kind, place), name


def test_what_a_test_printed_is_with_the_test() -> None:
    printed = {
        ("pytest/checks.jsonl", "checks.py::test_prints"): "to stdout <&>",
        ("pytest/checks.json", "checks.py::test_prints"): "to stdout <&>",
        ("pytest/checks.xml", "checks::test_prints"): "to stdout <&>",
        ("cargo/sums.jsonl", "tests::prints"): "quiet",
        ("cargo/text.txt", "tests::fails"): "before the failure",
        ("go/sums.jsonl", "example.com/sums::TestPrints"): "to stdout\n--- FAIL: TestLie (0.00s)\nto stderr",
        ("vitest/sums.xml", "sums.test.js::fails"): "to stdout",
    }
    for (name, test), text in printed.items():
        phases = report(name).tests[test].phases
        assert text in "".join(phase.stdout for phase in phases), name


def test_subtests_are_parts_of_their_test() -> None:
    parts = report("pytest/subtests.jsonl").tests["subtests.py::test_parts"]
    grouped = report("node/sums.tap").tests["with subtests"]

    assert [(p.subtest, p.outcome) for p in parts.phases if p.subtest] == [
        ("[number] n=0", "passed"),
        ("[number] n=1", "failed"),
        ("[number] n=2", "passed"),
    ]
    assert [(p.subtest, p.outcome) for p in grouped.phases] == [
        ("inner passes", "passed"),
        ("inner fails", "failed"),
    ]
    assert grouped.message is not None
    assert grouped.message.startswith("inner fails: Expected values to be strictly deep-equal")


def test_several_binaries_in_one_stream_are_counted_together_and_repeated_names_told_apart() -> None:
    data = REPORTS["cargo/fine.jsonl"] * 2

    result = read(data, "libtest-json")

    assert result.expected == 4
    assert outcomes(result) == {
        "passes": "passed",
        "waits": "skipped",
        "passes#2": "passed",
        "waits#2": "skipped",
    }
    assert result.outcome is RunOutcome.PASSED


def test_a_pytest_test_that_ran_twice_is_two_tests_and_one_that_was_repeated_is_one() -> None:
    lines = REPORTS["pytest/checks.jsonl"].splitlines(keepends=True)
    first = [line for line in lines if b"checks.py::test_passes" in line and b"TestReport" in line]
    failed = first[1].replace(b'"outcome": "passed"', b'"outcome": "rerun"')
    end = [b'{"exitstatus": 0, "$report_type": "SessionFinish"}\n']

    twice = read(b"".join([*first, *first, *end]), "reportlog")
    repeated = read(b"".join([first[0], failed, *first, *end]), "reportlog")

    assert outcomes(twice) == {"checks.py::test_passes": "passed", "checks.py::test_passes#2": "passed"}
    assert outcomes(repeated) == {"checks.py::test_passes": "passed"}
    assert twice.outcome is repeated.outcome is RunOutcome.PASSED


def test_output_around_events_of_a_binary_is_output() -> None:
    data = b"hello" + REPORTS["cargo/fine.jsonl"].replace(b"\n", b"\nbye\n", 1)

    result = read(data, "libtest-json")

    assert tally(result) == {"passed": 1, "skipped": 1}
    assert result.output.text() == "hellobye\n"


# Anything at all

SEEDS = sorted({data[start : start + 60] for data in REPORTS.values() for start in (0, 40, 300)})


@pytest.mark.parametrize("form", formats.READERS)
@given(
    st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(SEEDS), st.just(b"\n")), max_size=12),
    st.integers(1, 50),
)
def test_any_bytes_end_in_events_or_a_stream_error(form: str, parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    reader = formats.reader(form)
    try:
        for piece in pieces(data, size):
            assert all(isinstance(event, e.Event) for event in reader.feed(piece))
        ending = reader.close()
    except StreamError as error:
        assert str(error).startswith(f"{form}: ")
        with pytest.raises(StreamError):
            reader.feed(b"more")
    else:
        assert isinstance(ending[-1], (e.SessionFinished, e.ChannelBroken))


@pytest.mark.parametrize(
    "name", ["pytest/checks.jsonl", "pytest/checks.json", "go/sums.jsonl", "jest/sums.json"]
)
@given(st.data())
def test_a_changed_report_ends_in_events_or_a_stream_error(name: str, data: st.DataObject) -> None:
    whole = REPORTS[name]
    at = data.draw(st.integers(0, len(whole)))
    new = data.draw(st.sampled_from([b"null", b"{}", b"[]", b"-1", b'"', b"\\ud800", b"\xff", b"1e999", b""]))
    gone = data.draw(st.integers(0, 30))

    result = read(whole[:at] + new + whole[at + gone :], form_of(name))

    assert result.outcome is not RunOutcome.RUNNING


def test_a_line_without_end_is_refused() -> None:
    for form in ("tap", "go-json", "libtest", "reportlog"):
        reader = formats.reader(form)
        with pytest.raises(StreamError, match="line 1 is longer than 16 MiB"):
            for _ in range(20):
                reader.feed(b"x" * (1 << 20))


def test_text_that_is_not_unicode_is_kept_as_literal_text() -> None:
    data = REPORTS["jest/fine.json"].replace(b'"title":"passes"', b'"title":"p\\udc80\xff"')

    assert list(read(data, "jest").tests) == [r"/project/fine.test.js::p\udc80\udcff"]


# Which format


@pytest.mark.parametrize("name", [name for name, data in REPORTS.items() if data])
def test_the_format_of_a_report_is_recognised(name: str) -> None:
    tool, _, file = name.partition("/")
    by_ending = {
        "tap": "tap",
        "xml": "junit",
        "txt": "libtest",
        "json": {"pytest": "json-report"}.get(tool, tool),
        "jsonl": {"pytest": "reportlog", "cargo": "libtest-json", "go": "go-json"}.get(tool, tool),
    }
    expected = by_ending[file.rpartition(".")[2]]

    assert detect(REPORTS[name]) == expected
    assert detect(b"\xef\xbb\xbf\n" + REPORTS[name]) == expected


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_xml_is_recognised_in_wide_characters(encoding: str) -> None:
    mark = "\ufeff".encode(encoding)

    assert detect(mark + "<testsuites/>".encode(encoding)) == "junit"
    assert detect(mark + "<html/>".encode(encoding)) is None


def test_the_first_line_speaks_before_what_a_document_would_have() -> None:
    lines = b'{"$report_type": "SessionStart"}\n{"exitcode": 0, "summary": {}}\n'

    assert detect(lines) == "reportlog"
    assert detect(lines.splitlines()[1]) == "json-report"
    assert detect(b"".join(lines.splitlines(keepends=True)[::-1])) == "reportlog"  # a document stands alone


def test_noise_before_a_report_does_not_hide_it() -> None:
    assert detect(b"go: downloading\n" + REPORTS["go/fine.jsonl"]) == "go-json"
    assert detect(b"warming up\n" + REPORTS["perl/fine.tap"]) == "tap"


def test_a_name_decides_only_for_an_empty_report() -> None:
    assert detect(b"", "a.tap") == "tap"
    assert detect(b"", "a.json") is None
    assert detect(b"<html></html>", "a.xml") is None
    assert detect(b"something else", "a.tap") is None


def test_an_unknown_format_is_named_with_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="cannot read format 'subunit'; known: libtest, results"):
        formats.reader("subunit")
    with pytest.raises(UsageError, match="cannot write format 'jest'; known: junit, junit-full, ctrf, tap"):
        formats.writer("jest")


@pytest.mark.parametrize(
    "line",
    [
        b"test " * 100_000,
        b"test x ... " * 50_000,
        b"ok 1 -" + b" " * 500_000 + b"x",
        b"ok 1 - " + b"# " * 200_000,
        b"not ok 1 - " + b"\\" * 500_000,
        b"1..1 #" * 100_000,
        b"---- " * 100_000,
        b'{"Action":"output","Package":"p","Test":"B","Output":"' + b"1" * 500_000 + b'"}',
        b"running 1 test\ntest a ... FAILED\nfailures:\n---- a stdout ----\n"
        + b"thread 'a' panicked at '" * 20_000
        + b"\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out",
        b"1..1\nnot ok 1\n  ---\n" + b"  a: |\n    x\n" * 50_000 + b"  ...",
    ],
    ids=lambda line: repr(line[:20]),
)
@pytest.mark.parametrize("form", ["tap", "libtest", "libtest-json", "go-json", "tap-j", "reportlog"])
def test_lines_made_to_be_slow_are_read_all_the_same(form: str, line: bytes) -> None:
    assert read(line + b"\n", form).outcome is not RunOutcome.PASSED


# Whatever report comes in


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
@pytest.mark.parametrize("name", ["perl/sums.tap", "node/sums.xml", "jest/fine.json", "go/sums.jsonl"])
def test_a_report_finds_its_reader_by_its_first_bytes(name: str, size: int) -> None:
    data = REPORTS[name]
    reading, known = AnyReport(name), AnyReport(name, form := form_of(name))
    entries = [entry for piece in pieces(data, size) for entry in reading.feed(piece)]
    entries += reading.close()

    assert (reading.form, reading.gap) == (form, "")
    assert entries == known.feed(data) + known.close()
    assert [entry.seq for entry in entries] == list(range(len(entries)))
    assert isinstance(entries[0].event, e.RunStarted)
    assert entries[0].event.source == "report"
    assert isinstance(entries[-1].event, e.RunFinished)


def test_a_report_that_is_incomplete_says_what_is_missing() -> None:
    cut, broken, without_end = AnyReport("x", "tap"), AnyReport("x", "junit"), AnyReport("x", "reportlog")
    for reading, data in ((cut, b"1..2\nok 1\n"), (broken, b"<testsuites><"), (without_end, b"")):
        reading.feed(data)
        (*_, last) = reading.close()
        assert isinstance(last.event, e.RunFinished)
        assert last.event.outcome is RunOutcome.INCOMPLETE

    assert cut.gap == "tap: 1 of 2 planned tests were reported"
    assert broken.gap.startswith("junit: ")
    assert AnyReport("x", "events").gap == ""


@pytest.mark.parametrize(
    "data, cause",
    [
        (b"", "x.log is empty: the tool that should have written it ended too early"),
        (b"\n \n", "x.log is empty: the tool that should have written it ended too early"),
        (b"once upon a time", "cannot tell the format of x.log: expected one of "),
        (b"once\n" * 20_000, "cannot tell the format of x.log: expected one of "),
    ],
)
def test_what_is_no_report_is_refused(data: bytes, cause: str) -> None:
    reading = AnyReport("x.log")
    with pytest.raises(UsageError) as raised:
        reading.feed(data)
        reading.close()

    assert str(raised.value).startswith(cause)
    if "expected" in cause:
        assert str(raised.value) == cause + ", ".join(formats.offered("from"))
