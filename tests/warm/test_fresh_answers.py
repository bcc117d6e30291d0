"""What a process that has imported something says of it, after one thing has changed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from py_compile import compile as compile_file
from typing import Any

import pytest
from support.imported_process import FRESH, archive, imported, replace, rewrite
from support.projects import clean_environment, interpreters, write_project


def through_another_link(path: Path, text: str) -> None:
    os.link(path, path.parent.parent / "other")
    rewrite(path.parent.parent / "other", text)


@pytest.mark.parametrize("in_site", [True, False], ids=["installed", "elsewhere"])
@pytest.mark.parametrize("edit", [rewrite, replace, through_another_link, lambda path, _: path.unlink()])
@pytest.mark.parametrize("file", ["place/one.py", "place/many/__init__.py", "place/many/part.py"])
def test_a_file_that_was_imported_and_has_changed(
    tmp_path: Path, in_site: bool, edit: Callable[[Path, str], None], file: str
) -> None:
    files = ("place/one.py", "place/many/__init__.py", "place/many/part.py")
    write_project(tmp_path, dict.fromkeys(files, "x = 1"))
    with imported(tmp_path, "import one, many.part", in_site=in_site) as process:
        assert process.stale() == FRESH

        edit(tmp_path / file, "x = 2")

        assert "has changed" in process.stale()


def test_a_file_beside_them_that_was_not_imported_may_change(tmp_path: Path) -> None:
    write_project(tmp_path, {"place/one.py": "", "place/other.py": "", "root/test_it.py": ""})
    with imported(tmp_path, "import one") as process:
        rewrite(tmp_path / "place/other.py", "x = 2")
        replace(tmp_path / "root/test_it.py", "x = 2")
        write_project(tmp_path, {"place/third.py": "", "root/more/__init__.py": "", "root/json.txt": ""})

        assert process.stale() == FRESH


def test_an_archive_on_the_path_is_another_one_now(tmp_path: Path) -> None:
    archive(tmp_path / "place", zipped="x = 1")
    with imported(tmp_path, "import zipped") as process:
        assert process.stale() == FRESH

        archive(tmp_path / "place", zipped="x = 2")

        assert "place has changed" in process.stale()


@pytest.mark.parametrize("later", ["root", "place"])
def test_an_entry_of_the_path_comes_or_goes(tmp_path: Path, later: str) -> None:
    (tmp_path / "place").mkdir()
    path = f"{tmp_path}/absent:{tmp_path}/place"
    with imported(tmp_path, "", path=path) as process:
        assert process.stale() == FRESH

        if later == "root":
            (tmp_path / "absent").mkdir()
        else:
            (tmp_path / "place").rmdir()

        assert "has changed" in process.stale()


@pytest.mark.parametrize("name", ["new.pth", "new-1.0.dist-info", "sitecustomize.py", "gone.pth"])
def test_a_site_directory_has_changed(tmp_path: Path, name: str) -> None:
    write_project(tmp_path, {"place/gone.pth": ""})
    with imported(tmp_path, "", in_site=True) as process:
        assert process.stale() == FRESH

        path = tmp_path / "place" / name
        path.unlink() if path.exists() else path.touch()

        assert "place has changed" in process.stale()


@pytest.mark.parametrize("target", ["pth", "directory"])
def test_a_pth_file_names_another_directory_or_one_that_is_there_now(tmp_path: Path, target: str) -> None:
    write_project(tmp_path, {"place/own.pth": f"# {tmp_path}/commented\nimport os\n{tmp_path}/src\n"})
    with imported(tmp_path, "", in_site=True) as process:
        (tmp_path / "commented").mkdir()
        assert process.stale() == FRESH

        if target == "pth":
            rewrite(tmp_path / "place/own.pth", "")
        else:
            (tmp_path / "src").mkdir()

        assert "has changed" in process.stale()


def test_a_pth_file_in_a_directory_that_may_be_read_as_a_site(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    with imported(tmp_path, "") as process:
        write_project(tmp_path, {"place/new.pth": ""})

        assert "new.pth may be read" in process.stale()


def test_the_user_site_did_not_exist_and_does_now(tmp_path: Path) -> None:
    code = "freshness.site.ENABLE_USER_SITE = True; places = freshness.Places()"
    with imported(tmp_path, code, PYTHONUSERBASE=str(tmp_path / "base")) as process:
        assert process.stale() == FRESH

        version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
        (tmp_path / "base" / "lib" / version / "site-packages").mkdir(parents=True)

        assert "has changed" in process.stale()


def test_a_site_directory_behind_a_link_that_leads_elsewhere_now(tmp_path: Path) -> None:
    write_project(tmp_path, {"old/one.py": "", "new/one.py": ""})
    (tmp_path / "place").symlink_to("old")
    with imported(tmp_path, "import one", in_site=True) as process:
        assert process.stale() == FRESH

        (tmp_path / "place").unlink()
        (tmp_path / "place").symlink_to("new")

        assert "has changed" in process.stale()


def test_a_link_that_has_changed_while_something_was_imported(tmp_path: Path) -> None:
    """The files behind it are old, whichever it was."""
    write_project(tmp_path, {"old/one.py": "", "new/one.py": ""})
    (tmp_path / "place").symlink_to("old")
    code = """
        import one
        place = os.environ["PLACE"]
        freshness.SLACK = freshness.COARSE = 0  # files are older by less than that
        started = max(os.stat(path).st_ctime_ns for path in ("../old", "../new", "../new/one.py")) + 1
        while time.time_ns() < started + 10**8:
            pass  # the clock of the file system has gone on
        os.unlink(place)
        os.symlink("new", place)
    """
    with imported(tmp_path, code) as process:
        assert "place led to another place" in process.stale()


@pytest.mark.parametrize(("older", "told"), [(19, "changed while it was imported"), (21, FRESH)])
def test_a_file_that_changed_while_it_was_imported(tmp_path: Path, older: int, told: str) -> None:
    """It is older than the process by so many milliseconds."""
    write_project(tmp_path, {"place/one.py": ""})
    os.utime(tmp_path / "place/one.py", (1, 1))
    code = f"import one\nstarted = os.stat(one.__file__).st_ctime_ns + {older} * 10**6"
    with imported(tmp_path, code, PYTHONDONTWRITEBYTECODE="1") as process:
        assert told in process.stale()
        assert bool(process.stale()) == bool(told)


def test_a_clock_that_counts_whole_seconds_is_believed_less(tmp_path: Path) -> None:
    code = """
        assert not freshness._is_after(5 * 10**9 + 1, 6 * 10**9)
        assert freshness._is_after(5 * 10**9, 6 * 10**9)
        assert not freshness._is_after(5 * 10**9, 8 * 10**9)
    """
    with imported(tmp_path, code) as process:
        assert process.stale() == FRESH


def test_a_file_that_says_it_is_of_the_future_is_no_reason(tmp_path: Path) -> None:
    write_project(tmp_path, {"place/one.py": ""})
    os.utime(tmp_path / "place/one.py", (time.time() + 1e6, time.time() + 1e6))
    with imported(tmp_path, "import one") as process:
        assert process.stale() == FRESH


ODD = """
import sys, types, importlib.util

class Lazy:
    def __getattr__(self, name):
        raise RuntimeError("nobody may ask")

if __name__ == "replaced":
    sys.modules[__name__] = Lazy()
sys.modules["odd.none"] = None
sys.modules["odd.number"] = 5
sys.modules["odd.dynamic"] = types.ModuleType("odd.dynamic")
sys.modules["odd.string"] = types.ModuleType("odd.string")
sys.modules["odd.string"].__file__ = "<string>"
sys.modules["odd.spec"] = types.ModuleType("odd.spec")
sys.modules["odd.spec"].__spec__ = 5
"""


def test_whatever_is_among_the_modules(tmp_path: Path) -> None:
    write_project(tmp_path, {"place/odd.py": ODD, "place/replaced.py": ODD})
    with imported(tmp_path, "import odd, replaced") as process:
        assert process.stale() == FRESH

        rewrite(tmp_path / "place/replaced.py", ODD + "x = 2")

        assert "replaced.py has changed" in process.stale()


def test_a_module_that_is_loaded_when_it_is_used_is_not_loaded_by_the_question(tmp_path: Path) -> None:
    write_project(tmp_path, {"place/lazy.py": "open('loaded', 'w')"})
    code = """
        import importlib.util
        spec = importlib.util.find_spec("lazy")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = importlib.util.module_from_spec(spec)
        sys.modules["lazy"] = module
        spec.loader.exec_module(module)
    """
    with imported(tmp_path, code) as process:
        assert process.stale() == FRESH
        assert not (tmp_path / "root/loaded").exists()


def test_bytecode_without_a_source_is_another_one_now(tmp_path: Path) -> None:
    source = write_project(tmp_path, {"one.py": "x = 1"}) / "one.py"
    (tmp_path / "place").mkdir()
    compile_file(str(source), str(tmp_path / "place/one.pyc"))
    with imported(tmp_path, "import one") as process:
        write_project(tmp_path, {"place/other.py": ""})  # the directory is any directory
        assert process.stale() == FRESH

        compile_file(
            str(write_project(tmp_path, {"one.py": "x = 2"}) / "one.py"), str(tmp_path / "place/one.pyc")
        )

        assert "one.pyc has changed" in process.stale()


@pytest.mark.parametrize("prefix", ["", "cache"])
def test_bytecode_was_written_anew_and_its_source_was_not(tmp_path: Path, prefix: str) -> None:
    """Python does not compare them where it was told not to, and runs what the bytecode says."""
    source = write_project(tmp_path, {"place/one.py": "x = 1"}) / "place/one.py"
    more: dict[str, Any] = {"PYTHONPYCACHEPREFIX": str(tmp_path / prefix)} if prefix else {}
    compiling = [
        sys.executable,
        "-m",
        "compileall",
        "-qf",
        "--invalidation-mode",
        "unchecked-hash",
        str(source),
    ]
    subprocess.run(compiling, check=True, env=clean_environment(**more))
    rewrite(source, "x = 2")
    with imported(tmp_path, "import one; assert one.x == 1", **more) as process:
        assert process.stale() == FRESH

        subprocess.run(compiling, check=True, env=clean_environment(**more))

        assert "has changed" in process.stale()


def test_a_data_file_of_a_package_that_is_worked_on(tmp_path: Path) -> None:
    write_project(tmp_path, {"place/many/__init__.py": "", "place/many/data/deep/words.txt": "one"})
    with imported(tmp_path, "import many") as process:
        assert process.stale() == FRESH

        rewrite(tmp_path / "place/many/data/deep/words.txt", "two")

        assert "words.txt has changed" in process.stale()


def test_a_data_file_of_an_installed_package_that_was_preloaded(tmp_path: Path) -> None:
    write_project(tmp_path, {"place/many/__init__.py": "", "place/many/data/words.txt": "one"})
    late = "places.early = set(sys.modules)\nimport many"
    with imported(tmp_path, late, in_site=True) as process:
        assert process.stale() == FRESH

        rewrite(tmp_path / "place/many/data/words.txt", "two")

        assert "words.txt has changed" in process.stale()


def test_the_directory_is_another_one_of_the_same_name(tmp_path: Path) -> None:
    with imported(tmp_path, "") as process:
        (tmp_path / "root").rename(tmp_path / "away")
        assert process.stale(then=f"os.chdir({str(tmp_path / 'away')!r})") != FRESH
        (tmp_path / "root").mkdir()

        assert process.stale() != FRESH


def test_a_directory_that_was_moved_and_is_reached_by_a_link(tmp_path: Path) -> None:
    with imported(tmp_path, "") as process:
        (tmp_path / "root").rename(tmp_path / "away")
        (tmp_path / "root").symlink_to("away")

        assert process.stale() != FRESH


def test_nobody_remembers_what_was_in_a_directory_where_files_come_and_go(tmp_path: Path) -> None:
    """Within one tick of the clock a directory that has changed looks as before."""
    (tmp_path / "place").mkdir()
    code = """
        import importlib.util, importlib.metadata
        assert importlib.util.find_spec("late") is None
        assert not [d for d in importlib.metadata.distributions() if d.metadata["Name"] == "late"]
        before = os.stat(os.environ["PLACE"])
    """
    with imported(tmp_path, code) as process:
        write_project(tmp_path, {"place/late.py": "", "place/late-1.dist-info/METADATA": "Name: late"})
        process.stale("os.utime(os.environ['PLACE'], ns=(before.st_atime_ns, before.st_mtime_ns))")
        process.stale(
            "import late; print(len(list(importlib.metadata.distributions(name='late'))), flush=True)"
        )

        assert process.tell() == "1"


@pytest.mark.parametrize("version", interpreters())
def test_every_python_knows_it(tmp_path: Path, version: str) -> None:
    if tuple(map(int, version.split("."))) < (3, 7):
        pytest.skip("it has no standby")
    write_project(tmp_path, {"place/one.py": ""})
    with imported(tmp_path, "import one, wave", python=interpreters()[version]) as process:
        assert process.stale() == FRESH
        replace(tmp_path / "place/one.py", "x = 1")
        assert "one.py has changed" in process.stale()
