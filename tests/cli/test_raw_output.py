"""`-s` and `--show-output`: what the test processes write, on stderr as it comes."""

from __future__ import annotations

import io
import os
import pty
import subprocess
from pathlib import Path

import pytest
from support.made_runs import run_of
from support.projects import (
    GUARD,
    clean_environment,
    command,
    document_of,
    proctor,
    project_python,
    run_suite,
    write_project,
)

from proctor.cli.raw_output import AfterOutput, RawOutput
from proctor.config import Settings
from proctor.errors import UsageError
from proctor.events import Entry, OutputReceived, TestStarted
from proctor.prepare import prepare
from proctor.render.secrets import MASK
from proctor.spec import RunSpec

PRINTS = """
    import sys
    def test_a():
        print("from stdout")
        print("from stderr", file=sys.stderr)
"""
WAITS = """
    import pathlib, time
    def test_a():
        print("waiting")
        while not pathlib.Path("go").exists(): time.sleep(0.01)
"""
UNITTEST = """
    import pathlib, time, unittest
    class T(unittest.TestCase):
        def test_a(self):
            print("waiting")
            while not pathlib.Path("go").exists(): time.sleep(0.01)
"""


@pytest.mark.parametrize(("runner", "text"), [("pytest", WAITS), ("unittest", UNITTEST)])
def test_output_appears_while_the_test_runs(tmp_path: Path, runner: str, text: str) -> None:
    root = write_project(tmp_path, {"test_a.py": text})
    options = ("--python", project_python(), "--runner", runner, "--format", "agent", "-s")
    with subprocess.Popen(
        command("run", *options),
        cwd=root,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stderr is not None
        while b"waiting" not in (line := running.stderr.readline()):
            assert line, "the run ended"
        (root / "go").touch()
        out, _ = running.communicate(timeout=GUARD)

    assert (running.returncode, out) == (0, b"1 passed\n")


def test_the_text_of_pytest_is_shown_and_tests_are_captured_as_ever(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": PRINTS})
    ran = run_suite(root, "--show-output", "--format", "json")

    assert ran.err == ran.document["text_output"]
    assert "= test session starts =" in ran.err and "from stdout" not in ran.err
    call = ran.document["json_report"]["tests"][0]["call"]
    assert (call["stdout"], call["stderr"]) == ("from stdout\n", "from stderr\n")


def test_without_these_options_stderr_has_nothing(tmp_path: Path) -> None:
    assert run_suite(write_project(tmp_path, {"test_a.py": PRINTS}), "--format", "agent").err == ""


def test_the_output_of_programs_is_shown_as_they_write_it(tmp_path: Path) -> None:
    tests = '[[tool.proctor.tests]]\nname = "/a"\ncommand = ["sh", "-c", "echo one; exit 1"]\n'
    root = write_project(tmp_path, {"pyproject.toml": tests})
    ran = proctor("run", "-s", "--format", "agent", cwd=root, environ=clean_environment())

    assert (ran.code, ran.err) == (1, "one\n")


def test_on_a_shared_terminal_there_is_no_live_display_and_each_text_has_lines_of_its_own(
    tmp_path: Path,
) -> None:
    root = write_project(
        tmp_path, {"test_a.py": "def test_a():\n    print('half a line', end='')\n    assert 0\n"}
    )
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        command("run", "--python", project_python(), "-s", "--format", "human"),
        cwd=root,
        env=clean_environment(TERM="xterm", NO_COLOR="1"),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 1 << 16):
            seen += data
    except OSError:  # Linux: the other side has been closed
        pass
    os.close(ours)
    text = seen.decode().replace("\r\n", "\n")

    assert running.wait(GUARD) == 1
    assert "\x1b" not in text
    assert "half a line" in text
    assert "\nFAILED test_a.py::test_a at test_a.py:3: assert 0\n" in text
    assert text.splitlines()[-1].startswith("1 failed in ")


def test_a_tool_that_holds_output_back_is_refused_if_it_is_alone(tmp_path: Path) -> None:
    write_project(tmp_path, {"Cargo.toml": "[package]\nname = 'a'\n", "src/lib.rs": ""})
    with pytest.raises(UsageError, match="-s: cargo has no such option; it is for pytest, unittest, command"):
        prepare(RunSpec(str(tmp_path), runner="cargo", no_capture=True), Settings(), None, os.environ)


def test_secrets_are_masked_unless_the_settings_say_otherwise() -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    for mask in (True, False):
        file = io.BytesIO()
        raw = RawOutput(file, mask)
        event = OutputReceived("stdout", f"token {token}\n")
        raw.handle(Entry(0, 0.0, 0, event), run_of())
        assert file.getvalue().decode() == f"token {MASK if mask else token}\n"


def test_what_is_written_beside_the_output_begins_on_a_line_of_its_own() -> None:
    terminal, result = io.BytesIO(), run_of()
    raw = RawOutput(terminal, mask=False)
    beside = AfterOutput(terminal, raw)
    beside.write(b"first\n")
    for text in ("half", " a line"):
        raw.handle(Entry(0, 0.0, 0, OutputReceived("stdout", text)), result)
    beside.write(b"second\n")
    raw.handle_all(
        Entry(0, 0.0, 0, TestStarted("t")), [TestStarted("t"), OutputReceived("stderr", "x\n")], result
    )
    beside.write(b"third\n")
    beside.flush()

    assert terminal.getvalue() == b"first\nhalf a line\nsecond\nx\nthird\n"


def test_nobody_has_to_read_stderr() -> None:
    class Closed(io.BytesIO):
        def write(self, data: object) -> int:
            raise BrokenPipeError

    raw = RawOutput(Closed(), mask=False)
    for text in ("a", "b\n"):
        raw.handle(Entry(0, 0.0, 0, OutputReceived("stdout", text)), run_of())


def test_the_document_says_how_pytest_was_asked(tmp_path: Path) -> None:
    document = document_of(write_project(tmp_path, {"test_a.py": PRINTS}), "-s")

    assert "--capture=no" in document["command"]
    assert "stdout" not in document["json_report"]["tests"][0]["call"]
