"""Files and directories: too many, oddly named, full, read-only, gone, or not what they seem."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from torture.kind import CULPRIT, FIRST, HEAD, SIZE, Kind, culprit, ini

RUN = """
import glob

def run():
    '''The directory of this run.'''
    (found,) = glob.glob(os.getcwd() + "/.proctor/runs/*")
    return found

def proctor():
    '''The process above our supervisor.'''
    with open(f"/proc/{os.getppid()}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])
"""


@contextmanager
def mounted(*arguments: str | Path) -> Iterator[None]:
    done = subprocess.run(["mount", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"needs the right to mount: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(arguments[-1])], check=True)


@contextmanager
def on_a_small_disk(root: Path) -> Iterator[None]:
    """The project, as it is, on a disk of one megabyte."""
    files = {path.name: path.read_bytes() for path in root.iterdir()}
    with mounted("-t", "tmpfs", "-o", "size=1m", "tmpfs", root):
        for name, data in files.items():
            (root / name).write_bytes(data)
        yield


@contextmanager
def with_a_small_disk(root: Path) -> Iterator[None]:
    (root / "disk").mkdir()
    with mounted("-t", "tmpfs", "-o", "size=64k", "tmpfs", root / "disk"):
        yield


@contextmanager
def behind_a_link(root: Path) -> Iterator[None]:
    """Its archive is a link to another project's, as a repository may contain it."""
    other = root.parent / "other" / ".proctor"
    (other / "runs" / "20260101-000001-abcdef").mkdir(parents=True)
    (root / ".proctor").symlink_to(other)
    yield


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    with mounted("--bind", root, root):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(root)], check=True)
        yield


@contextmanager
def with_many_files(root: Path) -> Iterator[None]:
    for folder in range(20 * SIZE):
        data = root / f"data{folder}"
        data.mkdir()
        (data / "0.txt").touch()
        for number in range(1, 1000):
            os.link(data / "0.txt", data / f"{number}.txt")  # which costs less than another file
    yield


@contextmanager
def with_odd_names(root: Path) -> Iterator[None]:
    """Every byte that a name can have, names as long as can be, links that lead nowhere or in circles."""
    here = os.fsencode(root)
    for byte in set(range(1, 256)) - {ord("/")}:
        with open(here + b"/odd " + bytes([byte]), "w"):
            pass
    (root / ("n" * 255)).touch()
    (root / "circle").symlink_to("circle")
    (root / "around").mkdir()
    (root / "around" / "again").symlink_to("..")
    (root / "nowhere").symlink_to("/nowhere/at/all")
    (root / "test_nowhere.txt").symlink_to("missing")
    yield


def named(name: str, file: str, shown: str | None = None, **more: Any) -> Kind:
    """One test in a file of that name; `shown` is how its id has it."""
    test = f"{shown or file}::test_it"
    source = HEAD + f"def test_it():\n    finished({test!r})\n"
    return Kind(name, {file: source}, "passed", {test: "passed"}, **more)


TWICE = """
runs = []

def test_first():
    finished("{first}")

def test_culprit():
    runs.append(1)
    {body}
"""


def twice(name: str, body: str, **more: Any) -> Kind:
    """One test that is run twice under the same id, and fails once."""
    tests = TWICE.format(first=FIRST, body=body)
    conftest = "def pytest_collection_modifyitems(items): items.append(items[-1])"
    return Kind(
        name,
        {"test_a.py": HEAD + tests, "conftest.py": conftest},
        "failed",
        {FIRST: "passed", CULPRIT: "failed"},
        **more,
    )


AVOIDED = ini("norecursedirs = around data*")  # by pytest, which would follow links, and look at each file
MANY = """
@pytest.mark.parametrize("number", range({count}), ids=lambda number: "x" * 1000 + str(number))
def test_many(number):
    finished("test_a.py::test_many[%s%d]" % ("x" * 1000, number))
"""
NAMES = [
    Kind(
        "its tests have ids of a thousand characters",
        {"test_a.py": HEAD + MANY.format(count=1000 * SIZE)},
        "passed",
        {f"test_a.py::test_many[{'x' * 1000}{number}]": "passed" for number in range(1000 * SIZE)},
        ways={"-n 2": {}},
    ),
    named("its name has 255 bytes", "test_" + "n" * 247 + ".py"),
    named("its name is no UTF-8", "test_\udcff\udc80.py", r"test_\udcff\udc80.py", ways={"--isolate": {}}),
    named("its name is full of shell", "test_a b;$(touch pwned)'\"`|&.py"),
    named("its project has an odd name", "test_a.py", project="-p ü\n%2F$(touch pwned) '\""),
    named("its project's name is no UTF-8", "test_a.py", project="\udcff\udc80"),
    twice("a test is run twice and fails at last", "assert len(runs) == 1", ways={"-n 2": {}}),
    twice("a test is run twice and passes at last", "assert len(runs) == 2", ways={"-n 2": {}}),
    culprit("files have every name there is", "pass", files=AVOIDED, setting=with_odd_names),
    culprit("files are many", "pass", files=AVOIDED, setting=with_many_files),
]


def fills(place: str) -> str:
    return f"""
        with open({place!r}, "wb") as file:
            try:
                while True: file.write(b"x" * 65536); file.flush()
            except OSError as error:
                assert error.errno == 28
    """


FULL = [
    culprit(
        "it fills its disk, which is proctor's too",
        fills("fill"),
        setting=on_a_small_disk,
        kept="cache",
        writes=("project/fill",),
    ),
    culprit(
        "it fills its own disk",
        "open('disk/fill', 'wb').write(b'x' * 100_000)",
        "failed",
        "failed",
        setting=with_a_small_disk,
        writes=("project/disk/fill",),
    ),
    culprit(
        "its project is read-only",
        "with pytest.raises(OSError): open('mine', 'w')",
        setting=read_only,
        kept="cache",
    ),
]
GONE = [
    culprit("it deletes its own file", "os.unlink(__file__)", writes=("project/test_a.py",)),
    culprit("it deletes where it is", "os.mkdir('../here'); os.chdir('../here'); os.rmdir('../here')"),
    culprit(
        "it deletes its project",
        "shutil.rmtree(os.getcwd())",
        "crashed",
        writes=("project*",),
        kept="cache",
        ways={"--isolate": {}},
    ),
    culprit(
        "it deletes its project and makes another",
        "here = os.getcwd(); shutil.rmtree(here); os.mkdir(here)",
        writes=("project*",),
        kept="cache",
    ),
    culprit(
        "it deletes the run's directory",
        "shutil.rmtree(run())",
        head=RUN,
        kept="cache",
        writes=("project/.proctor*",),
    ),
    culprit(
        "it deletes all there is of the archive",
        "shutil.rmtree('.proctor')",
        head=RUN,
        kept="cache",
        writes=("project/.proctor*",),
    ),
    culprit(
        "it deletes its home",
        "for name in ('HOME', 'TMPDIR', 'XDG_CACHE_HOME'): shutil.rmtree(os.environ[name], True)",
        writes=("home", "tmp*", "cache*"),
    ),
]
WITHIN = [
    culprit(
        "a file is in the archive's place",
        "assert open('.proctor').read() == 'mine'",
        files={".proctor": "mine"},
        kept="cache",
    ),
    culprit(
        "it writes to its own record",
        """
        for name in os.listdir(run()):
            with open(run() + "/" + name, "ab") as file:
                file.write(b'{"type":"final","passed":true}\\n')
        """,
        head=RUN,
    ),
    culprit(
        "it puts directories in its record's place",
        """
        for name in ("result.json", "files/1"):
            os.makedirs(f"{run()}/{name}/x")
        """,
        head=RUN,
        kept="project",
    ),
    culprit(
        "it puts links in its record's way",
        """
        for name in ("result.json", f".result.json.{proctor()}", f".run.json.{proctor()}"):
            os.symlink(os.path.abspath("../victim"), f"{run()}/{name}")
        """,
        head=RUN,
    ),
    culprit(
        "it puts a link in its run's place",
        """
        os.mkdir("../elsewhere")
        open("../elsewhere/lock", "w").close()
        here = run()
        os.rename(here, "../was")
        os.symlink(os.path.abspath("../elsewhere"), here)
        """,
        head=RUN,
        kept="cache",
        writes=("elsewhere", "elsewhere/lock", "was*", "project/.proctor/runs/*"),
    ),
    culprit("a link is in the archive's place", "pass", setting=behind_a_link, kept="cache"),
    culprit(
        "it puts a link in the archive's place",
        """
        shutil.copytree(".proctor", "../elsewhere")
        os.rename(".proctor", "../was")
        os.symlink(os.path.abspath("../elsewhere"), ".proctor")
        """,
        kept="cache",
        writes=("elsewhere*", "was*", "project/.proctor*"),
    ),
    culprit(
        "it puts a link in the place of the archive's runs",
        """
        os.makedirs("../elsewhere")
        os.rename(".proctor/runs", "../was")
        os.symlink(os.path.abspath("../elsewhere"), ".proctor/runs")
        """,
        kept="cache",
        writes=("elsewhere", "was*", "project/.proctor*"),
    ),
    culprit(
        "it puts pipes and hard links in its record's way",
        """
        os.mkfifo(f"{run()}/result.json")
        os.mkfifo(f"{run()}/.run.json.{proctor()}")
        os.link("test_a.py", f"{run()}/.result.json.{proctor()}")
        """,
        head=RUN,
    ),
]
KINDS = [*NAMES, *FULL, *GONE, *WITHIN]
