"""Projects that are installed, in each way that there is: their tests must not import the changed tree."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest
from support.projects import GUARD, environment, write_project
from support.repositories import baseline_of, commit, git, leftovers, new_repository

TOOLS = ("setuptools==80.9.0", "wheel", "hatchling", "editables", "flit_core")
GOOD = "def price():\n    return 1\n\n\ndef tax():\n    return 1\n"
BROKEN = GOOD.replace("1", "3", 1)
TESTS = """
    import {module} as shop

    def test_price():
        assert shop.price() == 1

    def test_tax():
        assert shop.tax() == 2
"""
SETUPTOOLS = """
    [build-system]
    requires = ["setuptools"]
    build-backend = "setuptools.build_meta"

    [project]
    name = "shop-of-tests"
    version = "1"

    [tool.setuptools.packages.find]
    where = ["{where}"]
    include = ["shop*", "wares*"]
"""
HATCHLING = """
    [build-system]
    requires = ["hatchling"]
    build-backend = "hatchling.build"

    [project]
    name = "shop-of-tests"
    version = "1"

    [tool.hatch.build.targets.wheel]
    packages = ["src/shop"]

    [tool.hatch.build]
    dev-mode-exact = {exact}
"""
FLIT = """
    [build-system]
    requires = ["flit_core"]
    build-backend = "flit_core.buildapi"

    [project]
    name = "shop"
    version = "1"
    description = "of tests"
"""


@dataclass(frozen=True)
class Way:
    """How a project lies in its tree, and how it is installed."""

    settings: str
    file: str = "src/shop/__init__.py"
    install: tuple[str, ...] = ("-e", ".")
    module: str = "shop"
    more: Mapping[str, str] = field(default_factory=dict)


IN_SRC, FLAT = SETUPTOOLS.format(where="src"), SETUPTOOLS.format(where=".")
NAMESPACE = "src/wares/shop/__init__.py"
WAYS = {
    "setuptools, src": Way(IN_SRC),
    "setuptools, src, strict": Way(IN_SRC, install=("-e", ".", "--config-settings", "editable_mode=strict")),
    "setuptools, src, compat": Way(IN_SRC, install=("-e", ".", "--config-settings", "editable_mode=compat")),
    "setuptools, flat": Way(FLAT, "shop/__init__.py"),
    "setuptools, flat, strict": Way(
        FLAT, "shop/__init__.py", ("-e", ".", "--config-settings", "editable_mode=strict")
    ),
    "setuptools, namespace": Way(IN_SRC, NAMESPACE, module="wares.shop"),
    "setuptools, flat namespace": Way(FLAT, "wares/shop/__init__.py", module="wares.shop"),
    "hatchling": Way(HATCHLING.format(exact="false")),
    "hatchling, exact": Way(HATCHLING.format(exact="true")),
    "flit": Way(FLIT, more={"README": ""}),
    "installed, src": Way(IN_SRC, install=(".",)),
    "installed, flat": Way(FLAT, "shop/__init__.py", install=(".",)),
    "installed, namespace": Way(IN_SRC, NAMESPACE, (".",), "wares.shop"),
}


@cache
def _tools() -> str:
    return environment(sys.executable, (f"pytest=={version('pytest')}", *TOOLS))


def _pip(*arguments: str, cwd: Path) -> None:
    done = subprocess.run(
        [_tools(), "-m", "pip", "-qq", "--disable-pip-version-check", *arguments],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def _environment(tmp_path: Path) -> Path:
    """A virtual environment in which the tools are those of another one, so that nothing is fetched."""
    home = tmp_path / "environment"
    subprocess.run([_tools(), "-m", "venv", "--without-pip", str(home)], check=True, timeout=GUARD)
    site = next(home.glob("lib/python*/site-packages"))
    shared = next(Path(_tools()).parent.parent.glob("lib/python*/site-packages"))
    (site / "tools.pth").write_text(f"{shared}\n")
    return home


def _made(tmp_path: Path, way: Way) -> tuple[Path, str]:
    """A repository with a branch that breaks a test, and an environment in which its project is installed."""
    tests = TESTS.format(module=way.module)
    files = {"pyproject.toml": way.settings, way.file: GOOD, "tests/test_shop.py": tests, **way.more}
    root = new_repository(tmp_path / "shop", files)
    git(root, "switch", "--quiet", "--create", "feature")
    commit(root, {way.file: BROKEN})
    python = str(_environment(tmp_path) / "bin" / "python")
    _pip("--python", python, "install", "--no-build-isolation", "--no-deps", *way.install, cwd=root)
    shutil.rmtree(root / "build" / "lib", ignore_errors=True)
    return root, python


@pytest.mark.parametrize("name", WAYS)
def test_however_a_project_is_installed_its_failures_are_told_by_the_code_of_the_commit(
    tmp_path: Path, name: str
) -> None:
    root, python = _made(tmp_path, WAYS[name])

    found = baseline_of(root, python=python)

    expected = {"tests/test_shop.py::test_price": "passes", "tests/test_shop.py::test_tax": "fails"}
    assert (found.tests, found.reason) == (expected, "")
    assert leftovers(root) == []


def test_a_finder_that_comes_before_every_path_is_noticed(tmp_path: Path) -> None:
    """As of editable installs of scikit-build-core and meson-python."""
    root, python = _made(tmp_path, Way(IN_SRC, install=(".",)))
    site = next((tmp_path / "environment").glob("lib/python*/site-packages"))
    file = str(root / "src/shop/__init__.py")
    finder = f"""
        import importlib.util, sys

        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "shop":
                    return importlib.util.spec_from_file_location(name, {file!r})

        sys.meta_path.insert(0, Finder())
    """
    write_project(site, {"first_finder.py": finder, "first.pth": "import first_finder\n"})

    found = baseline_of(root, python=python)

    assert set(found.tests.values()) == {"unknown"}
    assert found.reason == f"shop would still be imported from {file}"


def test_a_finder_that_waits_until_the_tests_run_is_noticed_by_what_it_opens(tmp_path: Path) -> None:
    finder = """
        import importlib.util, os, sys

        class Finder:
            def find_spec(self, name, path=None, target=None):
                if name == "shop":
                    return importlib.util.spec_from_file_location(name, os.environ["SHOP"])

        sys.meta_path.insert(0, Finder())
    """
    root, python = _made(tmp_path, Way(IN_SRC, more={"conftest.py": finder}))

    found = baseline_of(root, python=python, SHOP=str(root / "src/shop/__init__.py"))

    assert set(found.tests.values()) == {"unknown"}
    assert "of the working tree was read" in found.reason


def test_an_installed_copy_that_comes_first_is_noticed(tmp_path: Path) -> None:
    conftest = """
        import os, sys

        sys.path.insert(0, os.environ["SITE"])
    """
    root, python = _made(tmp_path, Way(IN_SRC, install=(".",), more={"conftest.py": conftest}))
    site = next((tmp_path / "environment").glob("lib/python*/site-packages"))

    found = baseline_of(root, python=python, SITE=str(site))

    assert set(found.tests.values()) == {"unknown"}
    assert found.reason.startswith("shop was imported from ")


def test_an_environment_in_the_project_is_no_part_of_the_working_tree(tmp_path: Path) -> None:
    root, _ = _made(tmp_path, WAYS["setuptools, src"])
    (tmp_path / "environment").rename(root / ".venv")
    write_project(root, {"src/shop/__init__.py": BROKEN})

    found = baseline_of(root, python=str(root / ".venv" / "bin" / "python"))

    assert found.tests["tests/test_shop.py::test_price"] == "passes"


def test_processes_that_tests_start_import_the_commits_code_or_nothing_can_be_told(tmp_path: Path) -> None:
    root, python = _made(tmp_path, WAYS["setuptools, src"])
    starts = """
        import subprocess, sys

        def said(*options):
            code = "import shop; print(shop.price())"
            return subprocess.run([sys.executable, *options, "-c", code], stdout=subprocess.PIPE).stdout

        def test_plain():
            assert said() == b"1\\n"

        def test_isolated():
            assert said("-I") == b"1\\n"
    """
    git(root, "switch", "--quiet", "main")
    commit(root, {"tests/test_started.py": starts})
    git(root, "switch", "--quiet", "feature")
    git(root, "merge", "--quiet", "main")

    plain = baseline_of(root, "tests/test_started.py::test_plain", python=python)
    isolated = baseline_of(root, "tests/test_started.py::test_isolated", python=python)

    assert plain.tests == {"tests/test_started.py::test_plain": "passes"}
    assert isolated.tests == {"tests/test_started.py::test_isolated": "unknown"}
    assert "without PYTHONPATH" in isolated.reason


def test_a_module_that_would_hide_the_standard_librarys_is_not_put_before_it(tmp_path: Path) -> None:
    root, python = _made(tmp_path, Way(IN_SRC, more={"src/queue.py": "broken = True\n"}))

    found = baseline_of(root, python=python)

    assert set(found.tests.values()) == {"unknown"}
    assert "would hide the standard library's queue" in found.reason


def test_generated_code_of_an_install_is_missed_and_not_taken_for_a_failure(tmp_path: Path) -> None:
    """As setuptools-scm and builds of extensions leave it in the tree, ignored by git."""
    needs = "from shop._made import rate\n\n\n" + GOOD
    way = Way(IN_SRC, more={".gitignore": "_made.py\n__pycache__/\n.proctor/\n*.egg-info/\n.pytest_cache/\n"})
    root, python = _made(tmp_path, way)
    git(root, "switch", "--quiet", "main")
    commit(root, {"src/shop/__init__.py": needs})
    git(root, "switch", "--quiet", "--create", "other")
    write_project(
        root, {"src/shop/_made.py": "rate = 1\n", "src/shop/__init__.py": needs.replace("1", "3", 1)}
    )

    found = baseline_of(root, python=python)

    assert set(found.tests.values()) == {"unknown"}
    assert "_made.py" in found.reason
