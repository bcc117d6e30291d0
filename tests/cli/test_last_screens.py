"""What stays on the screen at the end of a run: real runs at a real terminal."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.projects import project_python, write_project
from support.terminal import Terminal, at_terminal

LOGGED = """
    import logging
    import pytest

    def account(name):
        logging.getLogger("accounts").warning("the quota of %s is low", name)
        return {"user": {"name": name, "quota": 7}, "roles": ["reader"]}

    def test_account():
        found = account("ann")
        assert found == {"user": {"name": "ann", "quota": 9}, "roles": ["reader"]}

    def test_words():
        assert "the quick brown fox jumps over the lazy dog" == "the quick brown cat jumps over the lazy dog"

    @pytest.mark.skip(reason="not here")
    def test_skip():
        pass
"""


def ended(root: Path, *arguments: str, columns: int, rows: int, **environ: str) -> Terminal:
    verb = arguments or ("run", "--python", project_python())
    with at_terminal(root, *verb, columns=columns, rows=rows, **environ) as terminal:
        terminal.end()
        return terminal


def test_thirty_causes_fit_on_one_screen_with_the_verdict(tmp_path: Path) -> None:
    """Each in one line, cut where the terminal ends."""
    tests = "".join(
        f"def test_{n}():\n    assert {n} == {n + 1}, 'order {n} ' + 'x' * 200\n" for n in range(30)
    )
    screen = ended(write_project(tmp_path, {"test_orders.py": tests}), columns=120, rows=40)

    lines = screen.lines
    assert screen.process.returncode == 1
    assert "30 causes" in lines
    assert re.fullmatch(r"30 failed in \d+\.\d\ds", lines[-1])
    causes = lines[lines.index("30 causes") + 1 : -1]
    assert len(causes) == 30
    for n, line in enumerate(causes):
        assert line.startswith(f"FAILED test_orders.py::test_{n} :{2 * n + 2} ")
        assert len(line) == 120 and line.endswith("…")
    assert screen.styles("test_orders.py::test_29") == {"default", "bold"}


@pytest.mark.parametrize(("columns", "rows"), [(60, 50), (80, 60), (200, 60)])
def test_a_failure_is_wrapped_at_words_coloured_and_linked(tmp_path: Path, columns: int, rows: int) -> None:
    screen = ended(write_project(tmp_path, {"test_a.py": LOGGED}), columns=columns, rows=rows)

    lines = screen.lines
    assert all(len(line) <= columns for line in lines)
    assert "  ['user']['quota']: 7 != 9" in lines
    assert any("WARNING  accounts:test_a.py:5" in line for line in lines)
    assert screen.styles("+ the quick") == {"green"}
    assert screen.styles("- the quick") == {"red"}
    assert screen.styles("E       ") == {"red"}
    assert screen.styles("def test_words")  # source, in colours that a terminal theme decides on
    assert screen.styles("1 skipped") == {"brown"}
    assert b"\x1b]8;" in screen.raw and b"file://" in screen.raw
    assert not any("use -v" in line.lower() for line in lines)


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours_nothing_is_lost(tmp_path: Path, environ: dict[str, str]) -> None:
    screen = ended(write_project(tmp_path, {"test_a.py": LOGGED}), columns=100, rows=60, **environ)

    assert "  ['user']['quota']: 7 != 9" in screen.lines
    assert not re.search(rb"\x1b\[[0-9;]*3[0-7]m", screen.raw)


def test_a_run_shown_again_at_a_terminal_is_the_same_report(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": LOGGED})
    live = ended(root, columns=100, rows=60)
    again = ended(root, "show", columns=100, rows=60)

    def report(screen: Terminal) -> list[str]:
        text = "\n".join(screen.lines)
        return text[text.index("--- ") : text.index("\n2 failed")].split("\n")

    assert report(again) == report(live)
    assert again.styles("+ the quick") == {"green"}
    table = ended(root, "runs", columns=100, rows=60)
    assert table.lines[0].split()[:3] == ["RUN", "AGE", "OUTCOME"]
    assert table.styles("2 failed") == {"red"}
