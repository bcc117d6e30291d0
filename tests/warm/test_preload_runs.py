"""A run that finds packages preloaded is the run that would have imported them itself."""

from __future__ import annotations

import json
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from support.mcp_client import Talk, talk, until
from support.packages import python_with
from support.projects import Ran, clean_environment, document_of, proctor, write_project

from proctor.process.preloads import FILE

#: Notes when it was imported: before Python has found `-m pytest`, or later.
GOOD = """
    import os, sys
    with open(os.environ["NOTES"], "a") as notes:
        notes.write("imported %d %s\\n" % (os.getpid(), sys.argv[0]))

    def check(value):
        assert value == 1, "of good"
"""
BAD = {
    "ends": "import os; os._exit(0)",
    "prints": "print('hello')",
    "forks": "import os; os.fork()",
    "raises": "raise ValueError('no')",
}
WHY = {
    "ends": "its import ended the process",
    "prints": r"prints 'hello\n'",
    "forks": "starts a process",
    "raises": "raises ValueError: no",
}
TESTS = """
    import os, sys
    EARLY = "good" in sys.modules

    import good

    def test_when_it_was_imported():
        with open(os.environ["NOTES"], "a") as notes:
            notes.write("ran %d\\n" % os.getpid())
        assert not EARLY

    def test_what_it_says():
        good.check(2)

    def test_it_is_a_module_like_any_other():
        import importlib
        assert type(good.__spec__.loader).__module__ == "_frozen_importlib_external"
        assert importlib.reload(good) is good
        assert not [finder for finder in sys.meta_path if "proctor" in type(finder).__module__]
"""


class Preloading:
    """A project, its environment, and what its processes have noted."""

    def __init__(self, home: Path, files: dict[str, str], *preload: str) -> None:
        self.cache, self.notes = home / "cache", home / "notes"
        self.expected = len(BAD.keys() & preload)  # to be dropped
        after = preload[preload.index("good") :]
        self.imports = 1 + len(BAD.keys() & after)  # of `good`, all but one of them in vain
        self.python = python_with(home / "environment", {"good.py": GOOD, **_modules(BAD)})
        settings = f"preload = {json.dumps(preload)}\nhistory = false\n"
        self.root = write_project(home / "project", {"proctor.toml": settings, **files})
        self.environ = {
            "XDG_CACHE_HOME": str(self.cache),
            "NOTES": str(self.notes),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def served(self) -> AbstractContextManager[Talk]:
        environ: dict[str, Any] = self.environ
        return talk(self.root, "--python", self.python, **environ)

    def warm_document(self, client: Talk) -> dict[str, Any]:
        """Of a run that began in a process which had imported the package."""
        client.document("execute_tests")
        until(self.has_standby)
        run_id = client.document("execute_tests")["run_id"]
        noted = self.noted()
        (ran,) = [pid for word, pid, _ in noted if word == "ran"][1:]
        assert ("imported", ran, "-m") in noted
        (path,) = (self.root / ".proctor" / "runs").glob(f"{run_id}*/result.json")
        document: dict[str, Any] = json.loads(path.read_bytes())
        return document

    def noted(self) -> list[tuple[str, str, str]]:
        """What happened, the process, and what that is."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return [(word, pid, " ".join(rest)) for word, pid, *rest in map(str.split, lines)]

    def has_standby(self) -> bool:
        """All that cannot be preloaded is known, and the rest is imported in a process that waits."""
        waiting = [pid for word, pid, name in self.noted() if (word, name) == ("imported", "-m")]
        dropped = [entry["package"] for entry in self.dropped()]
        if len(dropped) < self.expected or len(waiting) < self.imports:
            return False
        return _is_alive(waiting[-1])

    def dropped(self) -> list[dict[str, Any]]:
        file = self.cache / "proctor" / FILE
        entries: list[dict[str, Any]] = json.loads(file.read_bytes()) if file.exists() else []
        return entries

    def cold_document(self) -> dict[str, Any]:
        return document_of(self.root, python=self.python, **self.environ)

    def doctor(self) -> Ran:
        environ = clean_environment(**self.environ)
        return proctor("doctor", "--python", self.python, cwd=self.root, environ=environ)


def _is_alive(pid: str) -> bool:
    return os.path.isdir(f"/proc/{pid}")


def _modules(texts: dict[str, str]) -> dict[str, str]:
    return {f"{name}.py": text for name, text in texts.items()}


def facts(document: dict[str, Any]) -> Any:
    """What both runs must have in common."""
    keys = ("outcome", "tests", "warnings", "collection_errors", "not_run")
    return _masked({key: document.get(key) for key in keys})


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _masked(each) for key, each in value.items() if key not in ("started", "duration")}
    if isinstance(value, list):
        return [_masked(each) for each in value]
    return 0 if isinstance(value, float) else value


def test_what_cannot_be_preloaded_is_named_by_doctor_and_the_rest_is_used(tmp_path: Path) -> None:
    files = {"test_a.py": TESTS}
    project = Preloading(tmp_path, files, "ends", "prints", "good", "forks", "raises")
    with project.served() as client:
        warm = project.warm_document(client)

    assert facts(warm) == facts(project.cold_document())
    said = project.doctor().out
    assert "warm start: on for `proctor mcp` and `proctor watch`\npreloaded: good\n" in said
    for name, why in WHY.items():
        assert f"not preloaded: {name}: {why}\n" in said


@pytest.mark.parametrize(
    "conftest",
    [
        "import pytest; pytest.register_assert_rewrite('good')",
        "pytest_plugins = ['good']",
        "import sys, types; sys.modules['good'] = types.SimpleNamespace(check=print)",
    ],
    ids=["rewritten", "plugin", "replaced"],
)
def test_a_run_that_wants_a_package_in_another_way_has_it_in_that_way(conftest: str, tmp_path: Path) -> None:
    tests = """
        import os, good

        def test_what_it_says():
            with open(os.environ["NOTES"], "a") as notes:
                notes.write("ran %d\\n" % os.getpid())
            good.check(2)
    """
    project = Preloading(tmp_path, {"test_a.py": tests, "conftest.py": conftest}, "good")
    with project.served() as client:
        warm = project.warm_document(client)

    assert facts(warm) == facts(project.cold_document())
    assert warm["warnings"] == []


def test_a_package_comes_with_what_it_needs_and_with_nothing_else(tmp_path: Path) -> None:
    tests = """
        import os, sys
        import better

        def test_which_are_there():
            with open(os.environ["NOTES"], "a") as notes:
                notes.write("ran %d\\n" % os.getpid())
            assert sys.modules["good"] is better.good
            assert sys.modules["wide.inner"] is better.wide.inner
            assert "finds" not in sys.modules and "Finds" not in map(str, sys.meta_path)
            import finds
            assert str(sys.meta_path[-1]) == "Finds"
            import finds_made
            assert finds_made is finds.made and "lone" not in sys.modules
    """
    finds = """
        import sys, types

        class Finds:
            def __str__(self):
                return "Finds"

            def find_spec(self, name, path=None, target=None):
                if name == "finds_made":
                    from importlib.machinery import ModuleSpec
                    return ModuleSpec(name, self)

            def create_module(self, spec):
                return made

            def exec_module(self, module):
                pass

        made = types.ModuleType("finds_made")
        sys.meta_path.append(Finds())
    """
    installed = {
        "better": "import good, wide.inner",
        "lone": "",
        "finds": finds,
        "wide/__init__": "",
        "wide/inner": "",
    }
    project = Preloading(tmp_path, {"test_a.py": tests}, "wide", "finds", "lone", "good", "better")
    (site,) = Path(project.python).parent.parent.glob("lib/*/site-packages")
    write_project(site, _modules(installed))
    with project.served() as client:
        warm = project.warm_document(client)

    assert facts(warm) == facts(project.cold_document())
    assert warm["outcome"] == "passed"


def test_a_run_whose_arguments_name_a_package_begins_without_it(tmp_path: Path) -> None:
    project = Preloading(tmp_path, {"test_a.py": TESTS}, "good")
    with project.served() as client:
        project.warm_document(client)
        until(project.has_standby)
        client.document("execute_tests", keywords="good or when")

    noted = project.noted()
    ran = [pid for word, pid, _ in noted if word == "ran"][-1]
    assert ("imported", ran, "-m") not in noted


def test_doctor_says_why_nothing_is_kept_ready(tmp_path: Path) -> None:
    project = Preloading(tmp_path, {"test_a.py": TESTS}, "good")
    write_project(project.root, {"proctor.toml": "warm = false\n"})

    assert "warm start: off (`warm = false` in the settings)\n" in project.doctor().out


def test_doctor_lists_what_took_long_to_import(tmp_path: Path) -> None:
    from proctor.imported import FOLDER

    slow = "from time import perf_counter\nend = perf_counter() + 0.1\nwhile perf_counter() < end: pass\n"
    project = Preloading(tmp_path, {"test_a.py": TESTS}, "good")
    (site,) = Path(project.python).parent.parent.glob("lib/*/site-packages")
    write_project(site, _modules({"slow": slow, "noisy": f"print('x')\n{slow}", "fails": "raise SystemExit"}))
    assert "candidates" not in project.doctor().out

    _note_imports(project, ["fails", "good", "iniconfig", "not_there", "noisy", "pytest", "slow", "xdist"])
    said = project.doctor().out
    assert "candidates" in said, said
    (line,) = (line for line in said.splitlines() if "candidates" in line)
    assert line.startswith("preload candidates (imported by the last run): ")
    assert {word.split()[0] for word in line.rpartition(": ")[2].split(", ")} == {"slow", "noisy"}
    assert all(word.endswith(" ms") for word in line.rpartition(": ")[2].split(", "))
    assert FOLDER in os.listdir(project.cache / "proctor")


def _note_imports(project: Preloading, packages: list[str]) -> None:
    """As a session does that was asked to."""
    from proctor.imported import asking_for_imports
    from proctor.launch import ASKED_VARIABLE, Launch, Session

    launch = asking_for_imports(
        Launch(("",), str(project.root), speech=Session(continues=True)), project.root, project.environ
    )
    asked = json.loads(launch.environment[ASKED_VARIABLE])["imports"]
    Path(asked["file"]).write_text(json.dumps({"modules": {}, "packages": packages}))
