"""`proctor watch` without a terminal: real files, real changes, real pytest."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.projects import proctor, write_project
from support.watching import Watched, watched

SHOP = {
    "cart.py": "def total(prices): return sum(prices)",
    "test_cart.py": """
        from cart import total

        def test_total(): assert total([1, 2]) == 3
        """,
    "test_other.py": "def test_other(): pass",
}
BROKEN = {"cart.py": "def total(prices): return 0  # prices"}
MENDED = {"cart.py": "def total(prices): return sum(prices)  # all of them"}


def test_a_change_is_followed_by_a_run_and_a_partial_one_says_so(tmp_path: Path) -> None:
    write_project(tmp_path, SHOP)
    with watched(tmp_path) as watch:
        watch.wait_for("2 passed", "all tests")
        write_project(tmp_path, BROKEN)
        watch.wait_for("1 failed", "cart.py changed: ")
        write_project(tmp_path, MENDED)
        watch.wait_for("2 passed", "all tests")

        assert watch.titles[0] == "all tests"
        partial = [title for title in watch.titles if not title.endswith("all tests")]
        assert watch.out.count("not run") >= len(partial)
        assert watch.end() == 128 + signal.SIGTERM
        assert watch.err == ""


def test_the_text_for_agents_is_one_for_each_run(tmp_path: Path) -> None:
    write_project(tmp_path, SHOP)
    with watched(tmp_path, "--format", "agent") as watch:
        watch.wait_for("2 passed")
        write_project(tmp_path, BROKEN)
        watch.wait_for("1 failed")
        assert watch.end(signal.SIGINT) == 128 + signal.SIGINT


WAITING = """
    import os, pathlib, time

    is_there = pathlib.Path("go.py").exists()

    def test_waits():
        pathlib.Path(os.environ["REACHED"]).write_text(str(os.getpid()))
        while not is_there:
            time.sleep(60)
    """


def test_a_change_during_a_run_ends_it_and_the_next_one_begins(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop", {"test_waits.py": WAITING})
    reached = tmp_path / "reached"
    with watched(root, REACHED=str(reached)) as watch:
        watch.wait(lambda _: reached.exists() and reached.read_text())
        write_project(root, {"go.py": ""})
        watch.wait_for("1 passed", "go.py changed: all tests")

        assert "CANCELLED" in watch.out
        assert len(watch.titles) == 2
        assert watch.end() == 143


def test_a_signal_during_a_run_ends_that_too(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop", {"test_waits.py": WAITING})
    reached = tmp_path / "reached"
    with watched(root, REACHED=str(reached)) as watch:
        watch.wait(lambda _: reached.exists() and reached.read_text())
        assert watch.end(signal.SIGINT) == 130
        assert "interrupting" in watch.err
        assert "INTERRUPTED" in watch.last


@pytest.mark.parametrize("git", [True, False])
def test_files_that_do_not_matter_start_nothing(tmp_path: Path, git: bool) -> None:
    write_project(tmp_path, {**SHOP, ".gitignore": "out/\n*.log\n", "data.txt": "1"})
    if git:
        subprocess.run(["git", "init", "-q", tmp_path], check=True)
    with watched(tmp_path, "-o", "json=result.json") as watch:
        watch.wait_for("2 passed")
        write_project(
            tmp_path,
            {
                "out/a/report.py": "1",
                "my.log": "1",
                "__pycache__/x.pyc": "1",
                ".cart.py.swp": "1",
                ".proctor/notes": "1",
                "data.txt": "1",  # the same
            },
        )
        (tmp_path / "empty").mkdir()
        (tmp_path / "cart.py").touch()
        write_project(tmp_path, {"data.txt": "2"})  # the changes before it are known when this one is
        watch.wait_for("2 passed", "data.txt changed: ")

        assert watch.titles == ["all tests", "data.txt changed: all tests"]
        watch.end()
        assert len(json.loads((tmp_path / "result.json").read_text())["tests"]) == 2


WRITING = """
    import os, pathlib, time

    def test_writes():
        pathlib.Path("state.txt").write_text(str(time.time_ns()))
    """


def test_a_file_that_the_tests_write_in_each_run_is_left_alone_and_named(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_writes.py": WRITING})
    with watched(tmp_path) as watch:
        watch.wait_for("state.txt changed in each run: the tests write it")
        runs = len(watch.titles)
        assert runs <= 3
        write_project(tmp_path, {"conftest.py": ""})
        watch.wait_for("1 passed", "conftest.py changed: ")

        assert len(watch.titles) == runs + 1
        numbers = itertools.count()

        def begun(_: Watched) -> bool:
            (tmp_path / "state.txt").write_text(f"mine {next(numbers)}")
            return "state.txt changed: " in watch.titles[-1]

        watch.wait(begun)  # when the run has ended, for which there is no sign: then it counts
        watch.end()


def test_after_a_hundred_quick_changes_the_last_one_is_what_was_run(tmp_path: Path) -> None:
    text = "import cart\n\ndef test_value(): assert cart.VALUE == 'none'\n"
    write_project(tmp_path, {"cart.py": "VALUE = 'none'", "test_cart.py": text})
    with watched(tmp_path, PYTHONDONTWRITEBYTECODE="1") as watch:
        watch.wait_for("1 passed")
        for number in range(100):
            (tmp_path / "cart.py").write_text(f"VALUE = {number}")
        watch.wait_for("1 failed", "cart.py changed: all tests")
        watch.wait_for("assert 99 == 'none'")
        watch.end()


def test_settings_that_cannot_be_read_are_shown_and_watching_goes_on(tmp_path: Path) -> None:
    write_project(tmp_path, SHOP)
    with watched(tmp_path) as watch:
        watch.wait_for("2 passed")
        write_project(tmp_path, {"pyproject.toml": "[tool.proctor"})
        watch.wait(lambda so_far: "[config]" in so_far.err)
        write_project(tmp_path, {"pyproject.toml": "[tool.proctor]"})
        watch.wait(lambda so_far: len(so_far.titles) >= 3 and "2 passed" in so_far.last)
        watch.end()


def test_a_project_behind_a_link_is_watched(tmp_path: Path) -> None:
    write_project(tmp_path / "real", SHOP)
    (tmp_path / "link").symlink_to("real")
    with watched(tmp_path, "-C", "link") as watch:
        watch.wait_for("2 passed")
        write_project(tmp_path / "real", BROKEN)
        watch.wait_for("1 failed", "cart.py changed: ")
        os.rename(tmp_path / "real" / "test_other.py", tmp_path / "gone.py")
        watch.wait_for("1 failed", "test_other.py changed: ")
        watch.end()


def test_a_project_that_is_gone_ends_it_with_a_line(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop", SHOP)
    with watched(root, "-C", str(root), "--no-archive") as watch:
        watch.wait_for("2 passed")
        shutil.rmtree(root)

        assert watch.ended() == 2
        assert watch.err.endswith(f"proctor: {root} is gone: there is nothing left to watch\n")


def test_a_reader_that_is_gone_ends_it(tmp_path: Path) -> None:
    write_project(tmp_path, SHOP)
    with watched(tmp_path) as watch:
        watch.wait_for("2 passed")
        assert watch.process.stdout is not None
        watch.process.stdout.close()

        assert watch.process.wait(60) == 2


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--format", "json"], "`-o json=PATH` writes a file anew in each run"),
        (["nowhere.py"], "no such file: nowhere.py"),
        (["--maxfail", "-1"], "invalid --maxfail"),
    ],
)
def test_what_can_never_run_is_refused_at_once(tmp_path: Path, arguments: list[str], why: str) -> None:
    ran = proctor("watch", *arguments, cwd=write_project(tmp_path, SHOP))

    assert (ran.code, ran.out) == (4, "")
    assert why in ran.err


def test_without_watchfiles_there_is_a_clear_message(tmp_path: Path) -> None:
    script = (
        "import importlib.util as u, sys; find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'watchfiles' else find(name, *more)\n"
        "from proctor.cli.main import main; sys.exit(main(['watch']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path)

    assert done.returncode == 4
    assert "pip install 'proctor[watch]'" in done.stderr
