"""Each row of the reference's tables of what makes a report incomplete, tried on what real tools wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.made_reports import objects, text
from support.reports import REPORTS, read, result_of

from proctor import events as e
from proctor.launch import Voice
from proctor.outcome import BAD, RunOutcome
from proctor.relay import Relay
from proctor.result import RunResult
from proctor.wire.reports.pytest_text import TextReader

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "formats.md"
CAPTURED = Path(__file__).parents[1] / "captured"

INCOMPLETE, FAILED, CRASHED = RunOutcome.INCOMPLETE, RunOutcome.FAILED, RunOutcome.CRASHED
NOT_COLLECTED = RunOutcome.COLLECTION_ERROR
GO, CARGO, JSON = (REPORTS[name] for name in ("go/fine.jsonl", "cargo/doc.txt", "cargo/fine.jsonl"))
PERL, NODE, TAP_J = (REPORTS[name] for name in ("perl/fine.tap", "node/fine.tap", "tap-j/fine.jsonl"))
LIBTEST = CARGO[CARGO.index(b"running") :]
GO_LINES = GO.splitlines(keepends=True)
VERSIONED = b"TAP version 13\n" + PERL
PYTEST = (CAPTURED / "pytest-4.6-uncaptured.txt").read_bytes()
TALLY = PYTEST.rstrip().splitlines(keepends=True)[-1]


def but(data: bytes, old: bytes, new: bytes = b"") -> bytes:
    assert old in data
    return data.replace(old, new, 1)


def build(action: str, output: str = "") -> bytes:
    return objects({"ImportPath": "q [q.test]", "Action": action, "Output": output})


#: section -> row -> reports, each with what it becomes
ROWS: dict[str, dict[str, list[tuple[str, bytes, RunOutcome]]]] = {
    "go test -json": {
        "a package without an end": [("go-json", b"".join(GO_LINES[:-1]), INCOMPLETE)],
        "a test without an end": [
            (
                "go-json",
                b"".join(line for line in GO_LINES if b'"pass"' not in line or b"Test" not in line),
                INCOMPLETE,
            ),
            ("go-json", REPORTS["go/exits.jsonl"], CRASHED),
        ],
        "a package that failed while none of its tests did": [
            ("go-json", but(GO, GO_LINES[-1], but(GO_LINES[-1], b'"pass"', b'"fail"')), NOT_COLLECTED)
        ],
        "a `build-fail` that no package names": [
            (
                "go-json",
                build("build-output", "./a.go:3:4: undefined: x\n") + build("build-fail") + GO,
                NOT_COLLECTED,
            ),
            ("go-json", GO + build("build-fail"), NOT_COLLECTED),
        ],
        "a plain `FAIL` with a package: `[setup failed]`, `[build failed]` or a time": [
            ("go-json", GO + b"FAIL\tq [setup failed]\n", NOT_COLLECTED),
            ("go-json", b"# q\na.go:3:4: oh\nFAIL\tq [build failed]\n" + GO, NOT_COLLECTED),
            ("go-json", GO + b"--- FAIL: TestA (0.00s)\nFAIL\tq\t0.012s\nFAIL\n", NOT_COLLECTED),
            ("go-json", b"FAIL\tq [setup failed]\n", NOT_COLLECTED),
            ("go-json", GO + b"FAIL    q [build failed]\r\n", NOT_COLLECTED),
        ],
        "a plain `FAIL` alone, while nothing failed": [
            ("go-json", GO + b"FAIL\n", INCOMPLETE),
            ("go-json", b"--- FAIL: TestA (0.00s)\n" + GO, INCOMPLETE),
        ],
        "a package that prints `FAIL` and does not end with it": [
            ("go-json", but(GO, b'"Output":"ok  \\t', b'"Output":"FAIL\\t'), INCOMPLETE)
        ],
        "a line with an `Action` that is cut or damaged": [
            ("go-json", GO + GO_LINES[0][: GO_LINES[0].index(b'"Package"')] + b"\n", INCOMPLETE)
        ],
        "no event at all": [("go-json", b"go: cannot find main module\n", INCOMPLETE)],
    },
    "libtest, text": {
        "a suite without its `test result:`": [
            ("libtest", LIBTEST[: LIBTEST.index(b"test result")], INCOMPLETE),
            ("libtest", REPORTS["cargo/aborts.txt"], INCOMPLETE),
        ],
        "a `test result:` whose counts are not those of the lines": [
            ("libtest", but(LIBTEST, b"2 passed", b"1 passed"), INCOMPLETE),
            ("libtest", but(LIBTEST, b"2 passed; 0 failed", b"1 passed; 1 failed"), INCOMPLETE),
            (
                "libtest",
                but(LIBTEST, b"2 passed; 0 failed; 0 ignored", b"1 passed; 0 failed; 1 ignored"),
                INCOMPLETE,
            ),
            ("libtest", but(LIBTEST, b"2 passed", b"99999999999999999999 passed"), INCOMPLETE),
        ],
        "`running N tests`, and a `test result:` of another number": [
            ("libtest", but(LIBTEST, b"running 2 tests", b"running 1 test"), INCOMPLETE),
            ("libtest", but(LIBTEST, b"running 2 tests", b"running 99999999999 tests"), INCOMPLETE),
        ],
        "`test result: FAILED` without a failed test, or `ok` with one": [
            ("libtest", but(LIBTEST, b"result: ok", b"result: FAILED"), INCOMPLETE),
            ("libtest", but(REPORTS["cargo/text.txt"], b"result: FAILED", b"result: ok"), INCOMPLETE),
        ],
        "a result, or a `test result:`, outside of the suites": [
            ("libtest", LIBTEST + b"test more ... FAILED\n", INCOMPLETE),
            ("libtest", LIBTEST + LIBTEST[LIBTEST.index(b"test result") :], INCOMPLETE),
        ],
        "no suite at all": [("libtest", b"    Finished `test` profile in 0.01s\n", INCOMPLETE)],
    },
    "cargo, text": {
        "`error: could not compile`": [
            ("libtest", REPORTS["cargo/broken.txt"], NOT_COLLECTED),
            ("libtest-json", JSON + b"error: could not compile `x` (lib test)\n", NOT_COLLECTED),
        ],
        "more `Running` and `Doc-tests` than suites; one of them as the last line": [
            ("libtest", CARGO + b"     Running tests/x.rs (target/debug/deps/x-0123)\n", INCOMPLETE),
            ("libtest", CARGO + b"     Running target/debug/deps/x-0123\n", INCOMPLETE),
            ("libtest", CARGO + b"\x1b[1m\x1b[92m     Running\x1b[0m tests/x.rs (target/x-01)\n", INCOMPLETE),
            ("libtest", CARGO + b"     Running `/p/target/debug/deps/x-0123`\n", INCOMPLETE),
            ("libtest", CARGO + b"   Doc-tests other\n\n", INCOMPLETE),
            ("libtest", b"     Running tests/x.rs (target/debug/deps/x-0123)\n" + CARGO, INCOMPLETE),
            ("libtest-json", JSON + b"     Running tests/x.rs (target/debug/deps/x-0123)\n", INCOMPLETE),
        ],
        "`error: test failed, to rerun pass` of more targets than suites that failed": [
            ("libtest", CARGO + b"error: test failed, to rerun pass `--test x`\n", INCOMPLETE),
            ("libtest", CARGO + b"error: doctest failed, to rerun pass `--doc`\n", INCOMPLETE),
            (
                "libtest",
                CARGO + b"\x1b[1m\x1b[91merror\x1b[0m: test failed, to rerun pass `--test x`\n",
                INCOMPLETE,
            ),
            ("libtest", CARGO + b"error: 1 target failed:\n    `--lib`\n", INCOMPLETE),
            (
                "libtest",
                REPORTS["cargo/text.txt"] + b"error: test failed, to rerun pass `--test x`\n",
                INCOMPLETE,
            ),
            ("libtest-json", JSON + b"error: test failed, to rerun pass '--test x'\n", INCOMPLETE),
        ],
        "any other `error:`, while nothing failed": [
            ("libtest", CARGO + b"error: failed to run custom build command for `x`\n", INCOMPLETE),
            ("libtest", CARGO + b"error[E0425]: cannot find function\n", INCOMPLETE),
        ],
    },
    "libtest-json": {
        "a suite without an end": [
            ("libtest-json", b"".join(JSON.splitlines(keepends=True)[:-1]), INCOMPLETE),
            ("libtest-json", REPORTS["cargo/aborts.jsonl"], INCOMPLETE),
        ],
        "an end of a suite that had not begun": [
            ("libtest-json", JSON + JSON.splitlines(keepends=True)[-1], INCOMPLETE)
        ],
        "an end whose counts are not those of the tests": [
            ("libtest-json", but(JSON, b'"passed": 1', b'"passed": 2'), INCOMPLETE),
            ("libtest-json", but(JSON, b'"passed": 1, "failed": 0', b'"passed": 0, "failed": 1'), INCOMPLETE),
        ],
        "a `test_count`, and an end of another number": [
            ("libtest-json", but(JSON, b'"test_count": 2', b'"test_count": 1'), INCOMPLETE),
            ("libtest-json", but(JSON, b'"test_count": 2', b'"test_count": 999999999999'), INCOMPLETE),
        ],
        "an end that says `failed` without a failed test, or `ok` with one": [
            ("libtest-json", but(JSON, b'"suite", "event": "ok"', b'"suite", "event": "failed"'), INCOMPLETE)
        ],
        "no suite at all": [("libtest-json", b"noise\n", INCOMPLETE)],
    },
    "TAP": {
        "no plan, or one that was not kept": [
            ("tap", but(PERL, b"1..2\n"), INCOMPLETE),
            ("tap", but(PERL, b"1..2", b"1..3"), INCOMPLETE),
            ("tap", but(PERL, b"1..2", b"1..999999999999999999999"), INCOMPLETE),
            ("tap", but(NODE, b"\n1..2", b"\n1..1"), INCOMPLETE),
            ("tap", REPORTS["perl/dies.tap"], INCOMPLETE),
            ("tap", but(PERL, b"1..2", b"1..2 # of them"), INCOMPLETE),
        ],
        "two plans, or a plan between the tests": [
            ("tap", PERL + b"1..2\n", INCOMPLETE),
            (
                "tap",
                text(*PERL.decode().splitlines()[1:2], "1..2", *PERL.decode().splitlines()[2:]),
                INCOMPLETE,
            ),
        ],
        "a number that is not the next one: twice, left out, out of order": [
            ("tap", but(PERL, b"ok 2", b"ok 1"), INCOMPLETE),
            ("tap", but(PERL, b"ok 2", b"ok 3"), INCOMPLETE),
            ("tap", b"1..2\nok 2\nok 1\n", INCOMPLETE),
        ],
        "`TAP version` after a test, or one that is neither 13 nor 14": [
            ("tap", but(PERL, b"1..2\n") + b"TAP version 13\n1..2\n", INCOMPLETE),
            ("tap", b"TAP version 12\n" + PERL, INCOMPLETE),
            ("tap", b"TAP version 99999999999999\n" + PERL, INCOMPLETE),
        ],
        "diagnostics without an end": [
            ("tap", VERSIONED + b"  ---\n  message: x\n", INCOMPLETE),
            ("tap", but(NODE, b"  ...\n"), INCOMPLETE),
        ],
        "diagnostics that are empty or no YAML, after `TAP version`": [
            ("tap", VERSIONED + b"  ---\n  ...\n", INCOMPLETE),
            ("tap", VERSIONED + b"  ---\n  nonsense\n  ...\n", INCOMPLETE),
        ],
        "a line that is not TAP, after `pragma +strict`": [
            ("tap", but(VERSIONED, b"13\n", b"13\npragma +strict\n") + b"garbage\n", INCOMPLETE),
            ("tap", but(VERSIONED, b"13\n", b"13\npragma -x, +strict\n") + b"garbage\n", INCOMPLETE),
        ],
        "`not ok` with `# SKIP`, except in the TAP 13 of bats": [
            ("tap", but(PERL, b"ok 2", b"not ok 2 # SKIP"), FAILED),
            ("tap", but(REPORTS["bats/sums.tap"], b"ok 3 skipped", b"not ok 3 skipped"), FAILED),
        ],
        "subtests that failed, or break these rules, under a test that is ok": [
            ("tap", b"1..1\n    not ok 1 - x\n    1..1\nok 1 - a\n", FAILED),
            ("tap", b"1..1\n    ok 1 - x\n    ok 1 - x\n    1..2\nok 1 - a\n", FAILED),
            ("tap", b"1..1\n    1..999999999\n    ok 1 - x\nok 1 - a\n", FAILED),
        ],
        "a group of node that is `not ok` while its tests are ok": [
            ("tap", but(NODE, b"ok 2 - a group", b"not ok 2 - a group"), FAILED)
        ],
        "`Bail out!`": [
            ("tap", PERL + b"Bail out!\n", INCOMPLETE),
            ("tap", PERL + b"   Bail out! x\n", INCOMPLETE),
        ],
        "another report after the last test": [
            ("tap", PERL + GO, INCOMPLETE),
            ("tap", PERL + LIBTEST, INCOMPLETE),
        ],
    },
    "TAP-J": {
        "no `suite`, or a second one": [
            ("tap-j", b"".join(TAP_J.splitlines(keepends=True)[1:]), INCOMPLETE),
            (
                "tap-j",
                TAP_J.splitlines(keepends=True)[0].replace(b'"count":1', b'"count":9') + TAP_J,
                INCOMPLETE,
            ),
        ],
        "no `final`, or a second one": [
            ("tap-j", b"".join(TAP_J.splitlines(keepends=True)[:-1]), INCOMPLETE),
            ("tap-j", TAP_J + TAP_J.splitlines(keepends=True)[-1], INCOMPLETE),
        ],
        "a `count` of the suite that was not kept": [
            ("tap-j", but(TAP_J, b'"count":1', b'"count":2'), INCOMPLETE),
            ("tap-j", but(TAP_J, b'"count":1', b'"count":999999999999999999'), INCOMPLETE),
        ],
        "counts of `final` that are not those of the tests": [
            ("tap-j", but(TAP_J, b'"fail":0', b'"fail":1'), INCOMPLETE),
            ("tap-j", but(TAP_J, b'"total":1', b'"total":2'), INCOMPLETE),
        ],
        "a test before the suite or after `final`": [
            ("tap-j", TAP_J.splitlines(keepends=True)[2] + but(TAP_J, b'"count":1', b'"count":2'), INCOMPLETE)
        ],
        "a line in braces that is not TAP-J": [("tap-j", TAP_J + b"{once\n", INCOMPLETE)],
    },
    "pytest, text": {
        "no tally at the end": [("pytest", but(PYTEST, TALLY), CRASHED)],
        "a tally that is not the sum of the lines": [
            ("pytest", but(PYTEST, TALLY, b"= 99 passed in 0.1 seconds ="), INCOMPLETE)
        ],
        "a test that began and has no result": [("pytest", b"collected 1 item\n\nt.py::test_a ", CRASHED)],
    },
}
CASES = [
    pytest.param(form, data, outcome, id=f"{section}: {row} {number}")
    for section, rows in ROWS.items()
    for row, reports in rows.items()
    for number, (form, data, outcome) in enumerate(reports)
]


def judged(form: str, data: bytes) -> RunResult:
    if form != "pytest":
        return read(data, form)
    relay = Relay(e.RunStarted("", "pytest", (), "", "", "", source=Voice.TEXT), [])
    reader = TextReader("pytest")
    for event in [*reader.feed(data.decode()), *reader.close(), e.ProcessExited(0)]:
        relay.publish(event, 0.0)
    return relay.close(0.0)


@pytest.mark.parametrize(("form", "data", "outcome"), CASES)
def test_what_the_reference_lists_is_no_pass(form: str, data: bytes, outcome: RunOutcome) -> None:
    result = judged(form, data)

    assert result.outcome is outcome, result.reason
    assert result.reason or result.collection_errors or any(result.counts[bad] for bad in BAD)


@pytest.mark.parametrize("form", ["go-json", "libtest", "libtest-json", "tap", "tap-j"])
def test_the_reports_that_were_changed_are_a_pass(form: str) -> None:
    whole = {"go-json": GO, "libtest": CARGO, "libtest-json": JSON, "tap": VERSIONED, "tap-j": TAP_J}

    assert read(whole[form], form).outcome is RunOutcome.PASSED


def rows_of(section: str) -> Iterator[str]:
    body = REFERENCE.read_text().partition(f"### {section}\n")[2].partition("\n#")[0]
    yield from re.findall(r"^\| (?!what is found)(.+?) \| ?.*\|$", body, re.M)


@pytest.mark.parametrize("section", ROWS)
def test_the_reference_lists_exactly_what_is_tried_here(section: str) -> None:
    assert list(rows_of(section)) == list(ROWS[section])


def test_a_report_of_nothing_is_never_a_pass() -> None:
    assert result_of([]).outcome is RunOutcome.INCOMPLETE
