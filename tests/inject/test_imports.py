"""Which modules a session has imported, as it writes down itself."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.projects import clean_environment, project_python, write_project

import proctor_pytest
from proctor.config import Settings
from proctor.execute import Request, execute
from proctor.imported import Imported, asking_for_imports, read_imported
from proctor.launch import ASKED_VARIABLE, Launch, Lines, Session
from proctor.plan_run import Asked, plan_run, writing_down_imports
from proctor.process.stop import Stop
from proctor.result import RunResult

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "TOTAL = 1",
    "src/shop/unused.py": "",
    "src/shop/late.py": "",
    "tests/test_cart.py": """
        import os, sys, unittest
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "src"))
        from shop import cart
        class TestCart(unittest.TestCase):
            def test_total(self):
                import shop.late
    """,
    "tests/test_broken.py": "import nowhere_at_all",
}


def run(root: Path, asks: bool = True, **more: Any) -> tuple[RunResult, Imported]:
    """A run whose session is asked for what it imports, and what it wrote."""
    environ = clean_environment(XDG_CACHE_HOME=str(root.parent / "cache"), HOME=str(root.parent))
    plan = plan_run(Asked(root=root, python=project_python(), archive=False, **more), Settings(), environ)
    result = execute(Request(writing_down_imports(plan) if asks else plan, Stop())).result
    return result, read_imported(root, environ)


@pytest.mark.parametrize(
    "how",
    [
        {"runner": "pytest"},
        {"runner": "unittest"},
        {"runner": "pytest", "workers": "2", "parallel": "fork"},
        {"runner": "pytest", "workers": "2", "parallel": "xdist"},
    ],
    ids=["pytest", "unittest", "forks", "xdist"],
)
def test_a_session_names_the_modules_and_the_test_files_of_the_project(
    tmp_path: Path, how: dict[str, Any]
) -> None:
    root = write_project(tmp_path / "project", FILES)
    result, found = run(root, **how)
    real = os.path.realpath(root)

    assert result.tests or result.collection_errors
    assert found.modules["shop.cart"] == f"{real}/src/shop/cart.py"
    assert "shop.unused" not in found.modules
    assert set(found.tests) == {f"{real}/tests/test_cart.py", f"{real}/tests/test_broken.py"}
    assert all(file.startswith(f"{real}/") for file in found.modules.values())
    assert found.packages == [] or how["runner"] == "pytest"
    assert not {"pytest", "_pytest", "pluggy", "xdist", "proctor"} & set(found.packages)


def test_a_document_says_the_same_whether_it_was_asked_or_not(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", FILES)
    (asked, _), (plain, _) = (run(root, asks, runner="pytest") for asks in (True, False))

    assert {t: end.outcome for t, end in asked.tests.items()} == {
        t: end.outcome for t, end in plain.tests.items()
    }
    assert asked.collection_errors == plain.collection_errors
    assert (asked.outcome, asked.warnings, asked.notices) == (plain.outcome, plain.warnings, plain.notices)


def test_only_sessions_that_heed_it_are_asked(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    launch = Launch((), "", speech=Lines("tap"))
    assert asking_for_imports(launch, tmp_path, environ) is launch


@pytest.mark.parametrize("text", ["", "[]", '{"modules": 1}', '{"modules": {"a": "\\udc80"}}', "\ufffd"])
def test_a_record_that_cannot_be_read_is_empty(tmp_path: Path, text: str) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path)}
    assert read_imported(tmp_path, environ) == Imported()
    asked = asking_for_imports(Launch((), "", speech=Session(continues=True)), tmp_path, environ)
    Path(json.loads(asked.environment[ASKED_VARIABLE])["imports"]["file"]).write_text(text)
    assert read_imported(tmp_path, environ) == Imported()
    assert read_imported(tmp_path, {}) == Imported()


def written(root: Path, added: dict[str, Any], plugins: Iterable[object] = ()) -> dict[str, Any]:
    """By this process, with more modules for as long as it takes."""
    file = root / "record.json"
    imports = proctor_pytest._load("proctor_imports").Imports(
        {"file": str(file), "root": str(root)}, json.dumps
    )
    sys.modules.update(added)
    try:
        imports.write([], plugins)
    finally:
        for name in added:
            del sys.modules[name]
    return json.loads(file.read_text())


def module(file: object, kind: type[ModuleType] = ModuleType) -> ModuleType:
    made = kind("made")
    ModuleType.__setattr__(made, "__file__", file)
    return made


class Hostile(ModuleType):
    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(name)


class Text(str):
    def startswith(self, *_: object) -> bool:
        raise SystemExit


def test_modules_of_every_kind_are_looked_at_without_calling_them(tmp_path: Path) -> None:
    modules: dict[str, Any] = {
        "made_plain": module(f"{tmp_path}/plain.py"),
        "made_up": module(f"{tmp_path}/tests/../src//up.py"),
        "made_hostile": module(f"{tmp_path}/hostile.py", Hostile),
        "made_text": module(Text(f"{tmp_path}/text.py")),
        "made_none": None,
        "made_number": 1,
        "made_nowhere": module(None),
        "made_\udc80": module(f"{tmp_path}/half.py"),
        "made_half": module(f"{tmp_path}/\udc80.py"),
        "made_far": module(f"{tmp_path}-other/far.py"),
        "made_of_venv": module(f"{tmp_path}/.venv/lib/python3/site-packages/made_of_venv/__init__.py"),
        "made_alias": module("/usr/lib/python3/dist-packages/other.py"),
        "_made_private": module("/usr/lib/python3/dist-packages/_made_private.py"),
        "made_single": module("/usr/lib/python3/dist-packages/made_single.cpython-311.so"),
        "made_plugin.sub": module("/x/site-packages/made_plugin/sub.py"),
    }
    plugin = ModuleType("made_plugin.sub")
    found = written(tmp_path, modules, [plugin, object()])

    assert found["modules"] == {
        "made_plain": f"{tmp_path}/plain.py",
        "made_up": f"{tmp_path}/src/up.py",
        "made_hostile": f"{tmp_path}/hostile.py",
    }
    assert {name for name in found["packages"] if name.startswith(("made", "_made"))} == {
        "made_of_venv",
        "made_single",
    }


def test_a_project_that_is_known_by_a_link_has_its_real_path(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    modules = {"made_one": module(f"{link}/one.py"), "made_two": module(f"{real}/two.py")}
    assert written(link, modules)["modules"] == {"made_one": f"{real}/one.py", "made_two": f"{real}/two.py"}


def test_the_interpreter_in_a_project_is_not_the_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "base_prefix", f"{tmp_path}/python")
    modules = {"made_lib": module(f"{tmp_path}/python/lib/lib.py"), "made_own": module(f"{tmp_path}/own.py")}
    assert written(tmp_path, modules)["modules"] == {"made_own": f"{tmp_path}/own.py"}


def test_a_place_that_cannot_be_written_to_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "record.json").mkdir()
    kind = proctor_pytest._load("proctor_imports").Imports
    kind({"file": str(tmp_path / "record.json"), "root": str(tmp_path)}, json.dumps).write([])
    kind({"file": str(tmp_path / "nowhere" / "x"), "root": str(tmp_path)}, json.dumps).write([])
    assert os.listdir(tmp_path) == ["record.json"]


def test_a_fork_writes_nothing(tmp_path: Path) -> None:
    kind = proctor_pytest._load("proctor_imports").Imports
    imports = kind({"file": str(tmp_path / "record.json"), "root": str(tmp_path)}, json.dumps)
    if not (child := os.fork()):
        imports.write([])
        os._exit(0)
    os.waitpid(child, 0)
    assert os.listdir(tmp_path) == []
