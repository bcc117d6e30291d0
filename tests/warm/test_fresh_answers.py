"""What a process that has imported something says of it, after one thing has changed."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from py_compile import compile as compile_file
from typing import Any

import pytest
from support.projects import clean_environment, interpreters, write_project

from proctor.process.standby import HOOK

INJECTED = Path(HOOK).parent
SECOND = 1_000_000_000
FRESH = ""

_ASKED = """
import os, sys, time
sys.path.pop(0)
from _proctor_injected_load import load
freshness = load("proctor_freshness")
started = time.time_ns() + int(sys.argv[2])
if sys.argv[1] == "in the site":
    usual = freshness.site.getsitepackages()
    freshness.site.getsitepackages = lambda: [*usual, os.environ["PLACE"]]
places = freshness.Places()
exec(sys.argv[3])
seen = freshness.Seen(places, [], started)
print("ready", flush=True)
for line in sys.stdin:
    print(seen.stale(os.getcwd()) or "fresh", flush=True)
    exec(line)
"""


class Asked:
    """A process that has imported something. `place` is on its path, `root` is where it is."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.tell()

    def tell(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def stale(self, then: str = "") -> str:
        """Why it must not be used; empty: it may. It does `then` when it has answered."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{then}\n")
        self._process.stdin.flush()
        return self.tell().replace("fresh", "") if then == "" else self.tell()


@contextmanager
def imported(
    home: Path,
    code: str,
    *,
    in_site: bool = False,
    path: str = "",
    early: int = SECOND,
    python: str = sys.executable,
    **environ: str,
) -> Iterator[Asked]:
    """A process that has done `code`, with `home/place` on its path: as a site directory, or any other.

    Usually it believes that it was started a second later than it was, and so that all files are older.
    """
    (home / "root").mkdir(exist_ok=True)
    place = home / "place"
    where = "in the site" if in_site else "elsewhere"
    environ = {"PYTHONPATH": f"{INJECTED}/path:{path or place}", "PLACE": str(place), **environ}
    process = subprocess.Popen(
        [python, "-c", _ASKED, where, str(early), textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=home / "root",
        env=clean_environment(**environ),
    )
    try:
        yield Asked(process)
    finally:
        process.communicate()


def rewrite(path: Path, text: str) -> None:
    """In place, without a trace in its time of change."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path, text: str) -> None:
    """As editors do."""
    fresh = path.with_name("~fresh")
    fresh.write_text(text)
    fresh.replace(path)


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
    path = f"{tmp_path}/root:{tmp_path}/root/first:{tmp_path}/place"
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


def archive(path: Path, **modules: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, text in modules.items():
            file.writestr(f"{name}.py", text)


def test_an_archive_on_the_path_is_another_one_now(tmp_path: Path) -> None:
    archive(tmp_path / "place", zipped="x = 1")
    with imported(tmp_path, "import zipped") as process:
        assert process.stale() == FRESH

        archive(tmp_path / "place", zipped="x = 2")

        assert "place has changed" in process.stale()


def test_an_archive_that_nobody_has_looked_into_hides_a_module(tmp_path: Path) -> None:
    archive(tmp_path / "place", wave="")
    code = "sys.path.remove(os.environ['PLACE']); import wave; sys.path.insert(0, os.environ['PLACE'])"
    with imported(tmp_path, code) as process:
        assert "hides the wave that was imported" in process.stale()


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


def test_a_file_that_code_of_a_site_directory_reads_by_a_variable(tmp_path: Path) -> None:
    write_project(tmp_path, {"root/.coveragerc": "", "place/x.py": ""})
    with imported(tmp_path, "", COVERAGE_PROCESS_START=".coveragerc") as process:
        assert process.stale() == FRESH

        rewrite(tmp_path / "root/.coveragerc", "[run]")

        assert ".coveragerc has changed" in process.stale()


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
    with imported(tmp_path, code, path=f"{tmp_path}/root/src") as process:
        write_project(tmp_path, {"root/tests/test_own.py": ""})

        assert process.stale() == FRESH


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
