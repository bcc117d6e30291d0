"""An output that cannot be written costs neither the run nor the other outputs, and is never a success."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.made_runs import passed, run_of
from support.projects import (
    GUARD,
    Ran,
    clean_environment,
    command,
    proctor,
    project_python,
    run_suite,
    write_project,
)

from proctor.archive.inside import Folder
from proctor.cli.output import Outputs
from proctor.cli.text_settings import TextSettings
from proctor.execute import Executed
from proctor.outcome import RunOutcome
from proctor.result import RunResult
from proctor.wire import formats
from proctor.wire.reports import junit_writer

FULL = Path("/dev/full")
NO_ROOM = "could not be written: No space left on device [output]\n"

pytestmark = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    reports = "def test_x(proctor_report): proctor_report(status='pass', name='y')\n"
    return write_project(tmp_path, {"test_a.py": reports})


def into(file: int | Path, root: Path, *arguments: str) -> Ran:
    """stdout goes there."""
    with open(file, "wb") as stdout:
        return proctor(*arguments, cwd=root, stdout=stdout)


def unread() -> int:
    """A pipe whose reader has gone."""
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.parametrize("form", formats.offered("run"))
def test_a_file_that_cannot_be_written_costs_nothing_else(root: Path, form: str) -> None:
    ran = run_suite(root, "--format", "agent", "-o", f"{form}={FULL}", "-o", "json=whole.json")

    assert ran.out.startswith("2 passed")
    assert ran.err == f"proctor: -o {form}={FULL} {NO_ROOM}"
    assert ran.code == 3
    assert json.loads((root / "whole.json").read_text())["outcome"] == "passed"


@pytest.mark.parametrize("form", formats.offered("run"))
def test_a_full_stdout_is_no_success_and_a_reader_who_left_is_no_failure(root: Path, form: str) -> None:
    chosen = ("run", "--python", project_python(), "--format", form)

    assert into(FULL, root, *chosen) == Ran(3, "", f"proctor: stdout {NO_ROOM}")
    assert into(unread(), root, *chosen) == Ran(0, "", "")


def test_a_run_that_failed_stays_one(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": "def test_x(): assert 0\n"})

    ran = run_suite(tmp_path, "-o", f"junit={FULL}")

    assert ran.code == 1
    assert ran.err == f"proctor: -o junit={FULL} {NO_ROOM}"
    for form in formats.offered("run"):
        ran = into(FULL, tmp_path, "run", "--python", project_python(), "--format", form)
        assert ran == Ran(1, "", f"proctor: stdout {NO_ROOM}")


def test_a_summary_for_github_that_cannot_be_written_is_named(root: Path) -> None:
    ran = run_suite(root, "--format", "github", GITHUB_STEP_SUMMARY=str(root / "none" / "summary"))

    assert ran.code == 3
    assert (
        ran.err == f"proctor: {root}/none/summary could not be written: No such file or directory [output]\n"
    )
    assert "2 passed" in ran.out
    shown = proctor(
        "show", "--format", "github", cwd=root, environ=clean_environment(GITHUB_STEP_SUMMARY="/")
    )
    assert (shown.code, shown.err) == (3, "proctor: / could not be written: Is a directory [output]\n")


@pytest.mark.parametrize(
    "verb",
    [
        "--help",
        "runs",
        "doctor",
        "discover",
        "show",
        "show --format json",
        "show last --test test_a.py::test_x",
        "show log --format stream",
        "show log --format human",
        "convert log --to junit",
    ],
)
def test_every_verb_says_so(root: Path, verb: str) -> None:
    run_suite(root, "-o", "events=log")
    python = ("--python", project_python()) if verb == "discover" else ()

    assert into(FULL, root, *verb.split(), *python) == Ran(3, "", f"proctor: stdout {NO_ROOM}")


def test_following_ends_with_its_reader(root: Path) -> None:
    run_suite(root, "-o", "events=log")
    grows, write = os.pipe()
    with open(grows, "rb") as stdin, open(write, "wb", buffering=0) as log, open(unread(), "wb") as stdout:
        log.write((root / "log").read_bytes().splitlines(keepends=True)[0])
        shown = proctor("show", "-", "--follow", "--format", "events", cwd=root, stdin=stdin, stdout=stdout)

    assert shown == Ran(2, "", "")


def test_a_writer_that_fails_costs_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(result: RunResult) -> Iterator[bytes]:
        yield b"half"
        raise ZeroDivisionError

    outputs = Outputs({}, TextSettings())
    with monkeypatch.context() as patched:
        patched.setattr(junit_writer, "write", fails)
        outputs.add_file("junit", str(tmp_path / "half"))
    outputs.add_file("tap", str(tmp_path / "whole"))

    outputs.finish(Executed(run_of(*passed("a"), outcome=RunOutcome.PASSED), Folder(tmp_path)))
    outputs.close()

    assert "ok 1 - a" in (tmp_path / "whole").read_text()
    with pytest.raises(ZeroDivisionError):
        outputs.conclude(0)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("asked", ["run", "run --format json", "runs", "--version", "show --format stream"])
def test_what_was_closed_before_it_began_costs_nothing(root: Path, closed: str, asked: str) -> None:
    run_suite(root)
    verb, *more = asked.split()
    python = ("--python", project_python()) if verb == "run" else ()
    shell = ["sh", "-c", f'exec "$@" {closed}', "sh", *command(verb, *python, *more)]

    ran = subprocess.run(
        shell, cwd=root, env=clean_environment(), capture_output=True, timeout=GUARD, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, b"")
    assert bool(ran.stdout) == (">&-" not in closed.split())
    for log in root.glob(".proctor/runs/*/events.jsonl"):  # nothing else was written to what had its number
        assert all(json.loads(line) for line in log.read_bytes().splitlines())


@pytest.mark.parametrize("asked", ["nothing", "run --nothing", "show nothing"])
def test_a_mistake_that_cannot_be_told_is_still_one(root: Path, asked: str) -> None:
    with open(FULL, "wb") as stderr:
        assert proctor(*asked.split(), cwd=root, stderr=stderr).code == 4
