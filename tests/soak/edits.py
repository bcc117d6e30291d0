"""Edits of a project and of its environment, and a run after each: one that may begin in a process which has
waited must say the same as one that is started from nothing."""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
from support.fresh_runs import Warm, warm_project
from support.projects import write_project

#: Tells everything that an edit can change.
_TEST = """
import os, sys
import py
import helper, own

def test_it(pytestconfig):
    told = [helper.told, own.told, getattr(py, "told", 0), getattr(sys, "told", 0), os.environ.get("TOLD")]
    told += [getattr(pytestconfig, name, 0) for name in ("plugin", "conftest", "second")]
    told += [os.path.islink(sys.executable), sys.path, sys.argv, os.getcwd()]
    told += [pytestconfig.getini("xfail_strict")]
    raise AssertionError(told)
"""
_FILES = {"test_it.py": _TEST, "own.py": "told = 0", "lib/x.py": "", "src/y.py": ""}
_INSTALLED = {
    "helper.py": "told = 0",
    "helper.pth": "import helper",
    "plugin.py": "",
    "plugin-1.0.dist-info/METADATA": "Name: plugin\nVersion: 1.0",
    "plugin-1.0.dist-info/entry_points.txt": "[pytest11]\nplugin = plugin",
}


class Editor:
    """Does one thing at a time to a project, and never the same twice."""

    def __init__(self, warm: Warm, chance: random.Random) -> None:
        self._warm, self._chance, self._number = warm, chance, 0

    def edit(self) -> str:
        self._number += 1
        for name in ("py.py", "lib/helper.py"):  # as long as they are there no run is warm
            if self._chance.random() < 0.5:
                (self._warm.root / name).unlink(missing_ok=True)
        deed = self._chance.choice(_DEEDS)
        deed(self)
        return deed.__name__

    def nothing(self) -> None:
        pass

    def test(self) -> None:
        self._write(self._warm.root / "test_it.py", f"{_TEST}\n# {self._number}")

    def module(self) -> None:
        self._write(self._warm.root / "own.py", f"told = {self._number}")

    def conftest(self) -> None:
        text = f"def pytest_configure(config): config.conftest = {self._number}"
        self._write_or_remove(self._warm.root / "conftest.py", text)

    def settings_of_pytest(self) -> None:
        self._write_or_remove(self._warm.root / "pytest.ini", "[pytest]\nxfail_strict = true")

    def other_files(self) -> None:
        names = (f"new_{self._number}.py", f"json/{self._number}.txt", "__pycache__/x.pyc", "src/own_2.py")
        self._write(self._warm.root / self._chance.choice(names), "")

    def hiding_file(self) -> None:
        original = (self._warm.site / "py.py").read_text()
        self._write_or_remove(self._warm.root / "py.py", f"{original}\ntold = {self._number}")

    def hiding_file_on_the_path(self) -> None:
        self._write_or_remove(self._warm.root / "lib/helper.py", f"told = {self._number}")

    def installed_module(self) -> None:
        self._write(self._warm.site / "helper.py", f"told = {self._number}")

    def plugin(self) -> None:
        text = f"def pytest_configure(config): config.plugin = {self._number}"
        self._write(self._warm.site / "plugin.py", text)

    def second_plugin(self) -> None:
        about = self._warm.site / "second-1.0.dist-info"
        if about.exists():
            shutil.rmtree(about)
            return
        text = f"def pytest_configure(config): config.second = {self._number}"
        write_project(self._warm.site, {"second.py": text})
        write_project(about, {"METADATA": "Name: second", "entry_points.txt": "[pytest11]\nsecond = second"})

    def pth_file(self) -> None:
        lines = (f"import sys; sys.told = {self._number}", f"{self._warm.root}/src", "/nowhere")
        self._write_or_remove(self._warm.site / "more.pth", self._chance.choice(lines))

    def sitecustomize(self) -> None:
        text = f"import sys; sys.told = {self._number}"
        self._write_or_remove(self._warm.site / "sitecustomize.py", text)

    def variable(self) -> None:
        self._warm.environ["TOLD"] = str(self._chance.randrange(3))

    def preload(self) -> None:
        preload = self._chance.choice(((), ("helper",)))
        self._warm.settings = msgspec.structs.replace(self._warm.settings, preload=preload)

    def interpreter(self) -> None:
        python = Path(self._warm.python)
        real = os.path.realpath(python)
        fresh = python.with_name("fresh")
        if python.is_symlink():
            shutil.copy2(real, fresh)
            fresh.replace(python)
            return
        home = self._warm.venv / "pyvenv.cfg"
        names = dict(line.partition(" = ")[::2] for line in home.read_text().splitlines())
        fresh.symlink_to(Path(names["home"]) / "python3")
        fresh.replace(python)

    def whole_environment(self) -> None:
        self._recreate(self._warm.venv)

    def whole_project(self) -> None:
        self._recreate(self._warm.root)

    def _recreate(self, path: Path) -> None:
        """Another directory of the same name, with the same files."""
        away = path.with_name(f"away-{self._number}")
        path.rename(away)
        shutil.copytree(away, path, symlinks=True)
        shutil.rmtree(away)

    def _write_or_remove(self, path: Path, text: str) -> None:
        if path.exists() and self._chance.random() < 0.5:
            path.unlink()
        else:
            self._write(path, text)

    def _write(self, path: Path, text: str) -> None:
        """In place, in place without a trace in its time, or by another file."""
        before = path.stat() if path.exists() else None
        way = self._chance.choice(("in place", "without a trace", "by another"))
        if way == "by another":
            write_project(path.parent, {f"{path.name}~": text})
            path.with_name(f"{path.name}~").replace(path)
            return
        write_project(path.parent, {path.name: text})
        if before is not None and way == "without a trace":
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


_DEEDS: tuple[Callable[[Editor], None], ...] = (
    *(3 * [Editor.nothing, Editor.test, Editor.module, Editor.conftest, Editor.other_files]),
    *(Editor.settings_of_pytest, Editor.hiding_file, Editor.hiding_file_on_the_path, Editor.installed_module),
    *(Editor.plugin, Editor.second_plugin, Editor.pth_file, Editor.sitecustomize, Editor.variable),
    *(Editor.preload, Editor.interpreter, Editor.whole_environment, Editor.whole_project),
)


def edit_and_run(home: Path, steps: int, seed: int, tell: Callable[[str], None]) -> tuple[list[str], int]:
    """Where a warm run and a cold one disagree, and how many were warm."""
    chance = random.Random(seed)
    tell(f"seed {seed}: {steps} edits, each with two runs")
    faults: list[str] = []
    done: Counter[str] = Counter()
    with warm_project(home, _FILES) as warm:
        write_project(warm.site, _INSTALLED)
        warm.environ["PYTHONPATH"] = str(warm.root / "lib")
        editor = Editor(warm, chance)
        for step in range(1, steps + 1):
            warm.wait(ready=chance.random() < 0.7)  # otherwise the edit comes while the standby imports
            edit = editor.edit()
            done[edit] += 1
            used = warm.used
            if found := warm.disagreements():
                how = "warm" if warm.used > used else "cold"
                faults.append(f"step {step}, {edit}, {how}: {found[0]}")
                tell(f"FAULT {faults[-1]}")
            if step % 50 == 0:
                tell(f"{step} edits: {warm.used} runs were warm")
        for why, times in Counter(_reason(line) for line in warm.log).most_common():
            tell(f"{times} times: {why}")
        tell(f"edits: {dict(done.most_common())}; {warm.used} runs were warm")
        return faults, warm.used


def _reason(line: str) -> str:
    """Without the paths."""
    return " ".join(word for word in line.split() if os.sep not in word)
