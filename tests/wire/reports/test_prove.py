"""Agreement with perl's `prove` about reports in TAP: what it calls a failure is no pass, and the reverse."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.mutated_tap import reports
from support.projects import GUARD, proctor, write_project
from support.reports import read

from proctor.outcome import RunOutcome
from proctor.result import RunResult
from proctor.wire.reports import node

HARNESS = r"""
use TAP::Harness;
open(my $silence, ">", "/dev/null");
for my $file (@ARGV) {
    my $harness = TAP::Harness->new({ verbosity => -3, stdout => $silence });
    my $found = eval { local $SIG{__WARN__} = sub { }; $harness->runtests($file) };
    my $errors = $found ? join(" ", map { $_->parse_errors } $found->parsers) : "";
    $errors =~ s/\n/ /g;
    print $found ? $found->get_status : "FAIL", "\t$errors\n";  # bailing out ends the harness
}
"""


def prove(texts: list[str], directory: Path) -> list[tuple[str, str]]:
    """PASS, FAIL or NOTESTS, and what cannot be parsed, for each."""
    files = [directory / f"{number:04}.tap" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    command = ["perl", "-e", HARNESS, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=GUARD, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == len(texts), done.stderr
    return [(row[0], row[1]) for row in rows]


def only_for_prove(text: str, errors: str) -> bool:
    """It does not know version 14, and reads less YAML than there is."""
    return bool(re.search("^TAP version 14", text, re.M)) or "YAMLish" in errors


def only_for_us(text: str, result: RunResult) -> bool:
    """It does not look at subtests, reads no YAML before version 13, and does not know node."""
    inside: list[object] = [
        test for test in result.tests.values() if test.phases or "(subtests)" in test.test
    ]
    inside += re.findall("^tap: .+: ", result.reason)  # node's groups
    silent = any(test.message == node.SILENT for test in result.tests.values())
    unread = "have no end" in result.reason and not re.match(r"TAP version 13\n", text)
    return bool(inside) or silent or unread


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
@pytest.mark.parametrize("seed", [1, 2])
def test_prove_and_we_agree_about_200_garbled_reports(tmp_path: Path, seed: int) -> None:
    texts = list(reports(seed, 200))
    judged = prove(texts, tmp_path)
    wrong = []
    for text, (status, errors) in zip(texts, judged, strict=True):
        result = read(text.encode(), "tap")
        passed = result.outcome is RunOutcome.PASSED
        if status != "PASS" and passed and not only_for_prove(text, errors):
            wrong.append((status, errors, text))
        if status == "PASS" and not passed and not only_for_us(text, result):
            wrong.append((status, result.reason, text))

    assert wrong == []
    assert sum(status == "PASS" for status, _ in judged) > 20
    assert sum(status == "FAIL" for status, _ in judged) > 80


AGREED = {
    "a number twice": "1..2\nok 1\nok 1\n",
    "a number that is not next": "1..2\nok 2\nok 1\n",
    "a plan in the middle": "ok 1\n1..2\nok 2\n",
    "two plans": "1..1\nok 1\n1..1\n",
    "no plan": "ok 1\n",
    "a plan with other words": "1..1 # of them\nok 1\n",
    "a version in the middle": "ok 1\nTAP version 13\n1..1\n",
    "a version that nobody knows": "TAP version 99\n1..1\nok 1\n",
    "garbage under strict": "TAP version 13\npragma +strict\n1..1\nok 1\ngarbage\n",
    "an empty line under strict": "TAP version 13\npragma +strict\n1..1\n\nok 1\n",
    "cut inside diagnostics": "TAP version 13\n1..1\nok 1\n  ---\n  a: 1\n",
    "diagnostics that a test follows": "TAP version 13\n1..2\nok 1\n  ---\n  a: 1\nok 2\n",
    "diagnostics that are not YAML": "TAP version 13\n1..1\nok 1\n  ---\n  nonsense\n  ...\n",
    "empty diagnostics": "TAP version 13\n1..1\nok 1\n  ---\n  ...\n",
    "not ok and skipped": "1..1\nnot ok 1 # SKIP x\n",
    "a directive behind another mark": "1..1\nnot ok 1 - a # b # TODO x\n",
    "a directive behind a time": "1..1\nnot ok 1 - a # time=1ms # TODO x\n",
    "a word that only begins like a directive": "1..1\nnot ok 1 # TODO_x\n",
    "a point with a colon": "1..1\nok 1\nok: fine\n",
    "bailing out with two blanks before": "1..1\nok 1\n  Bail out!\n",
}
ALSO_PASSED = {
    "strict taken back": "TAP version 13\npragma +strict\npragma -strict\n1..1\nok 1\ngarbage\n",
    "strict without a version": "pragma +strict\n1..1\nok 1\ngarbage\n",
    "tests to do, in the plan": "1..2 todo 2\nok 1\nnot ok 2\n",
    "a point without a blank": "1..1\nok-1\n",
    "a plan at the end": "ok\nok\n1..2\n",
    "garbage": "1..1\ngarbage\nok 1\n  more\n",
    "a directive without a blank": "1..1\nnot ok 1 a#todo\n",
    "a version in small letters": "tap version 13\n1..1\nok 1\n",
}


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
@pytest.mark.parametrize(("text", "status"), [
    *((text, "FAIL") for text in AGREED.values()), *((text, "PASS") for text in ALSO_PASSED.values())
], ids=[*AGREED, *ALSO_PASSED])  # fmt: skip
def test_prove_and_we_agree_about_each_rule(tmp_path: Path, text: str, status: str) -> None:
    assert prove([text], tmp_path)[0][0] == status
    assert (read(text.encode(), "tap").outcome is RunOutcome.PASSED) == (status == "PASS")


@pytest.mark.parametrize(
    ("texts", "passed"), [(AGREED, False), (ALSO_PASSED, True)], ids=["failed", "passed"]
)
def test_a_program_that_prints_it_and_exits_with_0_is_judged_in_the_same_way(
    tmp_path: Path, texts: dict[str, str], passed: bool
) -> None:
    programs = {f"t/{n}.t": f"#!/bin/sh\ncat <<'.'\n{text}.\n" for n, text in enumerate(texts.values())}
    ran = proctor("run", "--runner", "tap", "--format", "json", cwd=write_project(tmp_path, programs))

    found = {suite["name"]: suite["outcome"] for suite in ran.document["suites"]}
    assert found.keys() == programs.keys()
    assert {outcome == "passed" for outcome in found.values()} == {passed}
