"""`proctor show RUN --output`: the output of the processes of a run, as it came."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.projects import proctor, run_suite, write_project

from proctor.render.secrets import MASK

TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
PROGRAMS = {
    "pyproject.toml": """
        [[tool.proctor.tests]]
        name = "/a"
        command = ["sh", "-c", "echo out; echo err >&2; exit 3"]
        [[tool.proctor.tests]]
        name = "/b"
        command = ["sh", "-c", "printf fine"]
        [[tool.proctor.tests]]
        name = "/silent"
        command = ["true"]
    """
}


def test_each_program_under_its_name(tmp_path: Path) -> None:
    root = write_project(tmp_path, PROGRAMS)
    assert proctor("run", cwd=root).code == 1
    shown = proctor("show", "last", "--output", cwd=root)

    assert (shown.code, shown.err) == (0, "")
    assert shown.out == "--- /a\nout\nerr\n--- /b\nfine--- /silent\n"


def test_the_bytes_of_a_session_are_as_they_came_but_for_secrets(tmp_path: Path) -> None:
    text = f"""
        import os
        def pytest_sessionfinish():
            os.write(1, b"\\xff\\x1b[31mred\\x1b[0m\\r\\n" + b"x" * 300_000 + b"\\ntoken {TOKEN}\\n")
    """
    root = write_project(tmp_path, {"conftest.py": text, "test_a.py": "def test_a(): pass\n"})
    assert run_suite(root).code == 0
    kept = next((root / ".proctor" / "runs").glob("*/output.txt"))
    out = tmp_path / "out"
    for settings, expected in (
        ("", kept.read_bytes().replace(TOKEN.encode(), MASK.encode())),
        ("[tool.proctor]\nmask_secrets = false\n", kept.read_bytes()),
    ):
        write_project(root, {"pyproject.toml": settings})
        with open(out, "wb") as file:
            assert proctor("show", "last", "--output", cwd=root, stdout=file).code == 0
        assert b"\xff\x1b[31mred\x1b[0m\r\n" in expected
        assert out.read_bytes() == expected


def test_a_run_without_output_says_so(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    ran = run_suite(root, "--", "-p", "no:terminal")
    shown = proctor("show", "--output", cwd=root)

    assert ran.code == 0
    assert (shown.code, shown.out) == (0, "")
    assert shown.err.endswith(" has no output\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--output", "--test", "x"), "--test ID shows the output of one test"),
        (("d.json", "--output"), "d.json is a file"),
    ],
)
def test_it_is_for_a_whole_run_that_is_kept(tmp_path: Path, arguments: tuple[str, ...], error: str) -> None:
    write_project(tmp_path, {"d.json": "{}"})
    ran = proctor("show", *arguments, cwd=tmp_path)

    assert ran.code == 4
    assert error in ran.err
