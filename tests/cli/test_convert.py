"""`proctor convert`, as a script meets it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.projects import GUARD, Ran, clean_environment, command, proctor, project_python
from support.reports import FOREIGN, REPORTS

from proctor.cli.convert import main
from proctor.result import RunResult
from proctor.wire.reports import junit_writer

TARGETS = ("json", "stream", "events", "junit", "ctrf", "tap")


def convert(name: str, target: str, *more: str) -> Ran:
    return proctor(
        "convert", str(FOREIGN / name.replace("/", "/reports/")), "--to", target, *more, cwd=FOREIGN
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["go/fine.jsonl", "vitest/sums.json"])
def test_a_complete_report_is_converted_with_exit_code_0_whatever_its_outcomes(
    name: str, target: str
) -> None:
    ran = convert(name, target)

    assert ran.code == 0
    assert ran.out
    assert ran.err.count("\n") <= 1


def test_the_document_has_the_tests_of_the_report() -> None:
    document = convert("jest/several.json", "json").document

    assert document["outcome"] == "collection_error"
    assert (document["runner"], document["source"]) == ("jest", "report")
    assert document["summary"]["total"] == 9
    assert document["summary"]["failed"] == 3
    assert document["collection_errors"][0]["file"] == "/project/broken.test.js"


def test_events_end_with_the_verdict() -> None:
    lines = [json.loads(line) for line in convert("cargo/sums.jsonl", "events").out.splitlines()]

    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert lines[-1]["type"] == "final"
    assert lines[-1]["results"] == {"ok": 3, "fail": 3, "ignore": 2}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "name, words",
    [("perl/dies.tap", "1 of 3 planned tests were reported"), ("cargo/aborts.jsonl", "a suite has no end")],
)
def test_what_is_there_of_an_incomplete_report_is_written_and_the_exit_code_is_2(
    name: str, words: str, target: str
) -> None:
    ran = convert(name, target)

    assert ran.code == 2
    assert "first" in ran.out
    assert words in ran.out
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_a_broken_report_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "cut.xml"
    path.write_bytes(REPORTS["pytest/checks.xml"][:-100])

    ran = proctor("convert", str(path), "--to", "junit", cwd=tmp_path)

    assert ran.code == 2
    assert "no element found" in ran.err
    assert "line " in ran.err
    suite = ElementTree.fromstring(ran.out)[0]
    assert suite[-1].get("name") == "run"
    assert suite[-1][0].get("type") == "incomplete"


def test_stdin_is_read_and_a_file_written(tmp_path: Path) -> None:
    done = subprocess.run(
        command("convert", "-", "--to", "tap", "-o", "out.tap"),
        cwd=tmp_path,
        env=clean_environment(),
        input=REPORTS["go/sums.jsonl"],
        capture_output=True,
        timeout=GUARD,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, b"")
    assert (
        (tmp_path / "out.tap")
        .read_text()
        .startswith("TAP version 14\n1..8\nok 1 - example.com/sums::TestPasses")
    )


def test_what_the_format_cannot_hold_is_said_once(tmp_path: Path) -> None:
    ran = convert("pytest/checks.json", "tap")

    assert ran.code == 0
    assert ran.err == "proctor: tap cannot hold keywords, warnings: left out\n"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["nowhere.xml", "--to", "tap"], "nowhere.xml: No such file or directory"),
        (
            ["unclear.log", "--to", "tap"],
            "cannot tell the format of unclear.log: expected one of libtest, json, stream, events",
        ),
        (["empty.json", "--to", "tap"], "empty.json is empty: the tool that should have written it"),
        (
            ["unclear.log", "--from", "subunit", "--to", "tap"],
            "cannot read format 'subunit'; known: libtest, json, stream, events",
        ),
        (["unclear.log", "--to", "jest"], "invalid --to 'jest'"),
        (["unclear.log"], "--to"),
        (["a.tap", "--to", "junit", "-o", "./a.tap"], "./a.tap is the input itself: expected another file"),
        (["a.tap", "--to", "tap", "-o", "no/where"], "no/where: No such file or directory"),
    ],
)
def test_a_request_that_makes_no_sense_is_one_line_and_exit_code_4(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    (tmp_path / "unclear.log").write_text("nothing to see\n")
    (tmp_path / "a.tap").write_text("1..1\nok 1\n")
    (tmp_path / "empty.json").touch()

    ran = proctor("convert", *arguments, cwd=tmp_path)

    assert ran.code == 4
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


def test_a_wrong_request_leaves_the_output_alone(tmp_path: Path) -> None:
    (tmp_path / "out.xml").write_text("precious")
    (tmp_path / "unclear.log").write_text("nothing to see\n")

    ran = proctor("convert", "unclear.log", "--to", "junit", "-o", "out.xml", cwd=tmp_path)

    assert ran.code == 4
    assert (tmp_path / "out.xml").read_text() == "precious"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("target", TARGETS)
def test_an_output_that_cannot_be_written_is_never_a_success(target: str) -> None:
    ran = convert("go/all.jsonl", target, "-o", "/dev/full")

    assert ran.code == 3
    assert ran.err == "proctor: /dev/full could not be written: No space left on device [output]\n"


def test_a_writer_that_fails_is_never_a_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(result: RunResult) -> Iterator[bytes]:
        yield b"half"
        raise ZeroDivisionError

    monkeypatch.setattr(junit_writer, "write", fails)
    (tmp_path / "fine.tap").write_text("1..1\nok 1 - a\n")

    with pytest.raises(ZeroDivisionError):
        main([str(tmp_path / "fine.tap"), "--to", "junit", "-o", str(tmp_path / "out.xml")])


def test_only_the_formats_in_use_are_imported() -> None:
    code = (
        "import sys; from proctor.cli.main import main; "
        "main(['convert', sys.argv[1], '--to', 'tap', '-o', '/dev/null']); "
        "print([name for name in sys.modules if name.startswith('proctor.wire.')])"
    )
    path = str(FOREIGN / "perl" / "reports" / "fine.tap")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=GUARD)

    assert "proctor.wire.reports.tap_writer" in done.stdout
    assert "proctor.wire.reports.junit" not in done.stdout
    assert "proctor.wire.reports.jest" not in done.stdout


# Our own formats


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with every kind of outcome, in all the formats that we read back."""
    root = tmp_path_factory.mktemp("own")
    (root / "test_a.py").write_text(
        "import pytest\n"
        "def test_passes(proctor_report): proctor_report('warn', 'part', note='slow')\n"
        "def test_fails(): assert 1 == 2\n"
        "@pytest.mark.skip(reason='later')\ndef test_skips(): pass\n"
        "@pytest.mark.xfail\ndef test_expected(): assert 0\n"
        "@pytest.fixture\ndef broken(): raise RuntimeError('no')\n"
        "def test_errs(broken): pass\n"
    )
    forms = ("json", "events", "stream", "results", "junit", "ctrf", "tap")
    wishes = [f"-o{form}=out.{form}" for form in forms]
    ran = proctor("run", "--python", project_python(), *wishes, cwd=root)
    assert ran.code == 1
    return root


def outcomes(root: Path, name: str) -> tuple[str, dict[str, str]]:
    ran = proctor("convert", name, "--to", "json", cwd=root)
    assert ran.code == 0, ran.err
    found = ran.document
    return found["outcome"], {test["node_id"]: test["outcome"] for test in found["tests"]}


@pytest.mark.parametrize("form", ["json", "events"])
def test_what_we_write_we_read_back(project: Path, form: str) -> None:
    said = json.loads((project / "out.json").read_text())

    assert outcomes(project, f"out.{form}") == (
        "failed",
        {test["node_id"]: test["outcome"] for test in said["tests"]},
    )


def test_parts_that_no_suite_announced_are_a_suite_of_their_own_in_the_stream(project: Path) -> None:
    ran = proctor("convert", "out.stream", "--to", "names", cwd=project)

    assert ran.code == 0
    assert "FAILED  test_a.py::test_fails" in ran.out
    assert "warn    test_a.py::test_passes/part" in ran.out


@pytest.mark.parametrize("form", ["junit", "ctrf", "tap"])
def test_what_a_run_writes_for_others_has_all_its_tests(project: Path, form: str) -> None:
    verdict, found = outcomes(project, f"out.{form}")

    assert verdict == "failed"
    assert len(found) == 6
    assert sum(outcome in ("failed", "error") for outcome in found.values()) == 2


def test_results_are_read_as_the_tests_and_parts_that_they_are(project: Path) -> None:
    _, found = outcomes(project, "out.results")

    assert found["test_a.py::test_passes/part"] == "warn"
    assert found["test_a.py::test_fails"] == "failed"


def test_several_runs_do_not_fit_into_one_document_and_leave_no_file(project: Path) -> None:
    one = (project / "out.stream").read_bytes()
    other = re.sub(rb'"run":"[^"]*"', b'"run":"another"', one)
    (project / "two").write_bytes(one + other)

    (project / "there.xml").write_text("before")

    for name in ("new.xml", "there.xml"):
        ran = proctor("convert", "two", "--to", "junit", "-o", name, cwd=project)
        assert ran.code == 4
        assert "2 runs and junit holds one" in ran.err
    shown = proctor("show", "two", "--format", "json", cwd=project)

    assert (shown.code, shown.out) == (4, "")
    assert not (project / "new.xml").exists()
    assert (project / "there.xml").read_text() == "before"
    assert not list(project.glob("*.part"))


@pytest.mark.parametrize("form", ["human", "libtest", "dots", "names", "tree", "summary", "agent", "github"])
def test_a_report_is_converted_to_text(project: Path, form: str) -> None:
    ran = proctor("convert", "out.ctrf", "--to", form, cwd=project)

    assert ran.code == 0
    assert "test_fails" in ran.out
