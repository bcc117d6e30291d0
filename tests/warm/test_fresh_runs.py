"""A run that could begin in a process which waits shows what is there now; and what makes no difference does
not keep it from using that process."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest
from support.fresh_runs import Warm, copied_environment, warm_project
from support.projects import write_project

Deed: TypeAlias = Callable[[Warm], object]

NEW, OLD = "AssertionError: new", "AssertionError: old"
#: In site-packages: Python imports `helper` when it starts, and a plugin is there.
INSTALLED = {
    "helper.pth": "import helper",
    "helper.py": "told = 'old'",
    "plugin.py": "def pytest_configure(config): config.told = 'old'",
    "plugin-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: plugin\nVersion: 1.0",
    "plugin-1.0.dist-info/entry_points.txt": "[pytest11]\nplugin = plugin",
}


def asserting(expression: str, imports: str = "os, sys") -> str:
    return f"import {imports}\ndef test_it(pytestconfig):\n    raise AssertionError({expression})"


@dataclass(frozen=True)
class Change:
    told: str  # an expression of a test: "old", and "new" after the change
    after: Deed
    before: Deed = lambda warm: None
    imports: str = "os, sys"


def write(name: str, text: str) -> Deed:
    """A file of the project."""
    return lambda warm: write_project(warm.root, {name: text})


def install(name: str, text: str) -> Deed:
    return lambda warm: write_project(warm.site, {name: text})


def replace(name: str, text: str) -> Deed:
    """By another file, as editors do."""

    def deed(warm: Warm) -> None:
        write_project(warm.root, {f"{name}~": text})
        (warm.root / f"{name}~").replace(warm.root / name)

    return deed


def rewrite(warm: Warm) -> None:
    path = warm.site / "helper.py"
    before = path.stat()
    path.write_text(path.read_text().replace("'old'", "'new'"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def src_on_path(warm: Warm) -> None:
    write_project(warm.site, {"src.pth": f"{warm.root}/src"})


def with_user_site(warm: Warm) -> None:
    config = warm.venv / "pyvenv.cfg"
    config.write_text(config.read_text().replace("false", "true"))


def user_site(warm: Warm) -> None:
    write_project(warm.root.parent / USER, {"new.pth": TELLS})


def install_plugin(warm: Warm) -> None:
    about = {"METADATA": "Name: more\nVersion: 1.0", "entry_points.txt": "[pytest11]\nmore = more"}
    write_project(warm.site / "more-1.0.dist-info", about)
    write_project(warm.site, {"more.py": PLUGIN.replace(".told", ".more")})


def upgrade(warm: Warm) -> None:
    (warm.site / "plugin-1.0.dist-info").rename(warm.site / "plugin-2.0.dist-info")
    write_project(warm.site, {"plugin.py": PLUGIN})


def both(*deeds: Deed) -> Deed:
    return lambda warm: [deed(warm) for deed in deeds]


def setting(name: str, value: str) -> Deed:
    return lambda warm: warm.environ.update({name: value.format(warm.root)})


def recreate(warm: Warm) -> None:
    warm.root.rename(warm.root.with_name("away"))
    shutil.copytree(warm.root.with_name("away"), warm.root)
    write_project(warm.root, {"value.txt": "new"})


def another_venv(warm: Warm) -> None:
    """Made long before; a link leads to it now."""
    warm.venv.unlink()
    warm.venv.symlink_to("other")


def behind_a_link(warm: Warm) -> None:
    other = copied_environment(warm.venv.with_name("other"))
    written = {**INSTALLED, "helper.py": "told = 'new'"}
    write_project(other / warm.site.relative_to(warm.venv), written)
    warm.venv.rename(warm.venv.with_name("first"))
    warm.venv.symlink_to("first")


def another_interpreter(warm: Warm) -> None:
    real = os.path.realpath(warm.python)
    os.unlink(warm.python)
    shutil.copy(real, warm.python)


def hide_py(warm: Warm) -> None:
    write_project(warm.root, {"py.py": (warm.site / "py.py").read_text() + "\ntold = 'new'"})


def archive(warm: Warm) -> None:
    with zipfile.ZipFile(warm.root / "lib.zip", "w") as file:
        file.writestr("helper.py", "told = 'new'")


def preload_it(warm: Warm) -> None:
    warm.settings = msgspec.structs.replace(warm.settings, preload=("helper",))
    rewrite(warm)


USER = f"user/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
HELPED = "helper.told"
TELLS = "import sys; sys.told = 'new'"
PLUGIN = "def pytest_configure(config): config.told = 'new'"
FINDING = "import importlib.util\ndef can_find(name): return importlib.util.find_spec(name) is not None"
SYS = "getattr(sys, 'told', 'old')"
PATHS = "'new' if any(place.endswith('/src') for place in sys.path) else 'old'"

#: Where the process that has waited is of no use.
STALE = {
    "pytest itself": Change(
        "getattr(pytest, 'told', 'old')",
        lambda warm: append(warm.site / "pytest/__init__.py"),
        imports="pytest",
    ),
    "a module, in place and of the same size and time": Change(HELPED, rewrite, imports="helper"),
    "a module, by another file": Change(
        HELPED,
        lambda warm: (warm.site / "h").rename(warm.site / "helper.py"),
        install("h", "told = 'new'"),
        "helper",
    ),
    "a new sitecustomize": Change(SYS, install("sitecustomize.py", TELLS)),
    "a new pth file": Change(SYS, install("new.pth", TELLS)),
    "an edited pth file": Change(SYS, install("helper.pth", TELLS)),
    "a pth file that is gone": Change(
        "'old' if 'helper' in sys.modules else 'new'", lambda warm: (warm.site / "helper.pth").unlink()
    ),
    "a directory that a pth file names": Change(PATHS, lambda warm: (warm.root / "src").mkdir(), src_on_path),
    "the user's site": Change(SYS, user_site, with_user_site),
    "a package that was installed": Change(
        "'new' if can_find('another') else 'old'",
        install("another.py", ""),
        write("finding.py", FINDING),
        "os\nfrom finding import can_find",
    ),
    "a plugin that was installed": Change("getattr(pytestconfig, 'more', 'old')", install_plugin),
    "a plugin that was upgraded": Change("pytestconfig.told", upgrade),
    "a plugin that was removed": Change(
        "getattr(pytestconfig, 'told', 'new')", lambda warm: shutil.rmtree(warm.site / "plugin-1.0.dist-info")
    ),
    "another interpreter": Change("'old' if os.path.islink(sys.executable) else 'new'", another_interpreter),
    "another environment behind a link": Change(HELPED, another_venv, behind_a_link, "helper"),
    "settings of the environment": Change(PATHS.replace("src", "more"), setting("PYTHONPATH", "{}/more")),
    "a variable": Change("os.environ['TOLD']", setting("TOLD", "new"), setting("TOLD", "old")),
    "the preloads": Change(HELPED, preload_it, imports="helper"),
    "another directory of that name": Change(
        "open('value.txt').read().strip()", recreate, write("value.txt", "old")
    ),
    "a file of the project that hides a module": Change("getattr(py, 'told', 'old')", hide_py, imports="py"),
    "a file on PYTHONPATH that hides a module": Change(
        HELPED,
        write("lib/helper.py", "told = 'new'"),
        both(setting("PYTHONPATH", "{}/lib"), write("lib/x.py", "")),
        "helper",
    ),
    "an archive on PYTHONPATH": Change(HELPED, archive, setting("PYTHONPATH", "{}/lib.zip"), "helper"),
}

#: Where it is used, and what is new is seen.
FRESH = {
    "a conftest": Change(
        "pytestconfig.conf",
        write("conftest.py", "def pytest_configure(config): config.conf = 'new'"),
        write("conftest.py", "def pytest_configure(config): config.conf = 'old'"),
    ),
    "pytest.ini": Change(
        "'new' if pytestconfig.getini('markers')[0] == 'told: new' else 'old'",
        write("pytest.ini", "[pytest]\nmarkers = told: new"),
    ),
    "pyproject.toml": Change(
        "'new' if pytestconfig.getini('xfail_strict') else 'old'",
        write("pyproject.toml", "[tool.pytest.ini_options]\nxfail_strict = true"),
        write("pyproject.toml", ""),
    ),
    "a module of the project": Change(
        "own.told", write("own.py", "told = 'new'"), write("own.py", "told = 'old'"), "own"
    ),
    "a module in src, by another file": Change(
        "own.told",
        replace("src/own.py", "told = 'new'"),
        both(write("src/own.py", "told = 'old'"), src_on_path),
        "own",
    ),
    "a new module in src": Change(
        "sometimes.told",
        both(write("src/own.py", "told = 'new'"), write("sometimes.py", "from own import told")),
        both(write("sometimes.py", "told = 'old'"), write("src/x.py", ""), src_on_path),
        "sometimes",
    ),
    "the entry points of a plugin": Change(
        "getattr(pytestconfig, 'told', 'new')", install("plugin-1.0.dist-info/entry_points.txt", "")
    ),
    "an installed module that Python has not imported": Change(
        "pytestconfig.told", install("plugin.py", PLUGIN)
    ),
    "directories that hide nothing": Change(
        "'new' if os.path.isdir('json') else 'old'",
        both(write("json/x.txt", ""), write("__pycache__/x.pyc", ""), write("tests/.x", "")),
    ),
}


def append(path: Path) -> None:
    path.write_text(path.read_text() + "\ntold = 'new'\n")


@pytest.fixture
def warm(tmp_path: Path) -> Iterator[Warm]:
    with warm_project(tmp_path, {}) as warm:
        write_project(warm.site, INSTALLED)
        yield warm


def told(warm: Warm) -> str:
    (end,) = warm.ends().values()
    return end.partition("\n")[0]


def told_after(change: Change, warm: Warm) -> str:
    """By a run after the change, for which a process waited before it."""
    change.before(warm)
    write_project(warm.root, {"test_it.py": asserting(change.told, change.imports)})
    warm.get_ready()
    change.after(warm)
    return told(warm)


@pytest.mark.parametrize("change", STALE.values(), ids=list(STALE))
def test_what_has_changed_is_seen_by_the_next_run(warm: Warm, change: Change) -> None:
    assert told_after(change, warm) == NEW
    assert warm.used == 0
    assert not [line for line in warm.log if "while it was imported" in line]


@pytest.mark.parametrize("change", FRESH.values(), ids=list(FRESH))
def test_what_a_run_reads_itself_is_no_reason_to_start_anew(warm: Warm, change: Change) -> None:
    assert told_after(change, warm) == NEW
    assert (warm.used, warm.log) == (1, [])


def test_the_same_questions_are_answered_in_the_old_way_before_anything_changes(warm: Warm) -> None:
    """Or the tests above could not fail."""
    changes = {**STALE, **FRESH}
    alone = {"a variable", "another environment behind a link", "the user's site"}
    alone |= {"a directory that a pth file names"}
    for number, (name, change) in enumerate(changes.items()):
        if name not in alone:
            change.before(warm)
            write_project(warm.root, {f"test_{number}.py": asserting(change.told, change.imports)})

    found = {end.partition("\n")[0] for end in warm.ends().values()}

    assert found == {OLD}


@pytest.mark.parametrize("name", ["code", "cmd", "pdb"])
def test_a_file_beside_tests_comes_before_what_pytest_imports_late(warm: Warm, name: str) -> None:
    """pytest itself imports it only when conftest.py, and the directory of that, are there."""
    write_project(
        warm.root, {"pytest.ini": "[pytest]\ntestpaths = tests", "tests/test_it.py": asserting("1")}
    )
    warm.get_ready()
    conftest = f"import {name}\ndef pytest_configure(config): config.found = getattr({name}, 'told', 'old')"
    write_project(
        warm.root / "tests", {"conftest.py": conftest, "test_it.py": asserting("pytestconfig.found")}
    )
    write_project(warm.root / "tests", {f"{name}.py": f"from {name}_of_python import *\ntold = 'new'"})
    source = Path(os.__file__).with_name(f"{name}.py").read_text()
    write_project(warm.root / "tests", {f"{name}_of_python.py": source})

    assert told(warm) == NEW
    assert warm.used == 1
