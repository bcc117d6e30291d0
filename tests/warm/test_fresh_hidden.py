"""A module that was imported would now be found elsewhere: then the process that has it is out of date."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.imported_process import FRESH, archive, imported, rewrite
from support.projects import write_project

SHADOWS = {
    "a module": {"{}/wave.py": ""},
    "a package": {"{}/wave/__init__.py": ""},
    "bytecode": {"{}/wave.pyc": ""},
}
HARMLESS = {
    "a directory without __init__": {"{}/wave/data.txt": ""},
    "another name": {"{}/wave.more.py": "", "{}/wave_more.py": "", "{}/wave.txt": ""},
}


@pytest.mark.parametrize("where", ["root", "place"])
@pytest.mark.parametrize("files", SHADOWS.values(), ids=list(SHADOWS))
def test_a_file_hides_a_module_that_was_imported(tmp_path: Path, where: str, files: dict[str, str]) -> None:
    (tmp_path / "place").mkdir()
    with imported(tmp_path, "import wave") as process:
        write_project(tmp_path, {name.format(where): text for name, text in files.items()})

        assert "wave" in process.stale()
        assert "hides what was imported" in process.stale()


@pytest.mark.parametrize("where", ["root", "place"])
@pytest.mark.parametrize("files", HARMLESS.values(), ids=list(HARMLESS))
def test_what_python_would_not_import_hides_nothing(
    tmp_path: Path, where: str, files: dict[str, str]
) -> None:
    (tmp_path / "place").mkdir()
    with imported(tmp_path, "import wave") as process:
        write_project(tmp_path, {name.format(where): text for name, text in files.items()})
        (tmp_path / where / "wave.py").symlink_to("nowhere")

        assert process.stale() == FRESH


def test_a_module_is_not_hidden_by_itself_nor_by_what_comes_later(tmp_path: Path) -> None:
    write_project(tmp_path, {"root/own.py": "", "root/first/two.py": "", "place/two.py": ""})
    path = ":".join(str(tmp_path / part) for part in ("root", "root/first", "place"))
    with imported(tmp_path, "import own, two", path=path) as process:
        assert process.stale() == FRESH
        assert process.stale() == FRESH


def test_what_is_built_in_or_frozen_cannot_be_hidden(tmp_path: Path) -> None:
    with imported(tmp_path, "import time, sys, _frozen_importlib") as process:
        write_project(tmp_path, {"root/time.py": "", "root/sys.py": "", "root/_frozen_importlib.py": ""})

        assert process.stale() == FRESH


def test_a_module_that_was_missing_and_is_there_now(tmp_path: Path) -> None:
    code = "try:\n  import optional\nexcept ImportError: pass"
    with imported(tmp_path, code) as process:
        assert process.stale() == FRESH

        write_project(tmp_path, {"root/optional.py": ""})

        assert "optional.py hides" in process.stale()


@pytest.mark.parametrize("name", ["sitecustomize", "usercustomize"])
def test_what_python_imports_by_itself_is_there_now(tmp_path: Path, name: str) -> None:
    (tmp_path / "place").mkdir()
    with imported(tmp_path, "") as process:
        write_project(tmp_path, {f"place/{name}.py": ""})

        assert f"{name}.py hides" in process.stale()


def test_what_python_imports_by_itself_has_failed_and_is_mended(tmp_path: Path) -> None:
    write_project(tmp_path, {"place/sitecustomize.py": "raise ImportError"})
    code = "sys.modules.pop('sitecustomize', None)"
    with imported(tmp_path, code) as process:
        assert process.stale() == FRESH

        rewrite(tmp_path / "place/sitecustomize.py", "x = 1")

        assert "sitecustomize.py has changed" in process.stale()


def test_a_part_of_a_namespace_comes_to_another_part(tmp_path: Path) -> None:
    write_project(tmp_path, {"place/space/one.py": "", "other/x.py": ""})
    path = f"{tmp_path}/other:{tmp_path}/place"
    with imported(tmp_path, "import space.one", path=path) as process:
        assert process.stale() == FRESH

        write_project(tmp_path, {"other/space/one.py": ""})

        assert "hides what was imported" in process.stale()


def test_something_new_in_a_namespace_that_was_there(tmp_path: Path) -> None:
    write_project(tmp_path, {"place/space/inner/one.py": ""})
    with imported(tmp_path, "import space.inner.one") as process:
        assert process.stale() == FRESH

        write_project(tmp_path, {"place/space/inner/one/__init__.py": ""})

        assert "has changed" in process.stale()


def test_an_archive_that_nobody_has_looked_into_hides_a_module(tmp_path: Path) -> None:
    archive(tmp_path / "place", wave="")
    code = "sys.path.remove(os.environ['PLACE']); import wave; sys.path.insert(0, os.environ['PLACE'])"
    with imported(tmp_path, code) as process:
        assert "hides the wave that was imported" in process.stale()


LATE = "places.early = set(sys.modules)\nimport wave"


@pytest.mark.parametrize("when", ["before", "later", "later, in a new directory"])
def test_a_file_that_may_come_before_a_module_that_was_imported_too_early(tmp_path: Path, when: str) -> None:
    """pytest puts directories of tests on the path, and then a test would import that file."""
    files = {"root/tests/deep/wave.py" if "new" in when else "root/tests/wave.py": ""}
    write_project(
        tmp_path, {"root/tests/test_it.py": "", "place/x.py": ""} | (files if when == "before" else {})
    )
    with imported(tmp_path, LATE) as process:
        if when != "before":
            assert process.stale() == FRESH
            write_project(tmp_path, files)

        assert "wave.py may hide" in process.stale()


@pytest.mark.parametrize("file", ["root/tests/optional.py", "root/tests/optional/x.py", "root/optional/x.py"])
def test_a_file_that_a_module_imported_too_early_has_looked_for_in_vain(tmp_path: Path, file: str) -> None:
    """Also a directory alone: it is found as a namespace."""
    write_project(tmp_path, {"root/tests/test_it.py": "", "place/x.py": ""})
    code = "places.early = set(sys.modules)\ntry:\n  import optional\nexcept ImportError: pass"
    with imported(tmp_path, code) as process:
        assert process.stale() == FRESH

        write_project(tmp_path, {file: ""})

        assert "optional" in process.stale()


def test_files_in_a_project_that_cannot_come_before_such_a_module(tmp_path: Path) -> None:
    files = (
        "package/__init__.py",
        "package/wave.py",
        ".hidden/wave.py",
        "venv/pyvenv.cfg",
        "venv/lib/wave.py",
    )
    write_project(tmp_path, {"place/x.py": ""} | {f"root/{name}": "" for name in files})
    (tmp_path / "root/loop").symlink_to(tmp_path / "root")
    with imported(tmp_path, LATE) as process:
        assert process.stale() == FRESH

        write_project(tmp_path, {"root/package/more/__init__.py": "", "root/package/more/wave.py": ""})

        assert process.stale() == FRESH


def test_a_package_of_the_project_itself_may_be_imported_early(tmp_path: Path) -> None:
    write_project(tmp_path, {"root/src/own/__init__.py": "", "root/src/own/part.py": ""})
    code = "places.early = set(sys.modules)\nimport own.part"
    with imported(tmp_path, code, path=str(tmp_path / "root" / "src")) as process:
        write_project(tmp_path, {"root/tests/test_own.py": ""})

        assert process.stale() == FRESH
