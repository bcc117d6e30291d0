"""Whatever a test does: the run ends, its answer is true, nothing stays alive or lies about.

What is the same through every door is in `torture/`; here is what the command line alone has."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from signal import Signals
from typing import Any
from uuid import uuid4

import pytest
from support.projects import (
    GUARD,
    Ran,
    clean_environment,
    command,
    document_of,
    outcomes,
    processes_with,
    project_python,
    run_suite,
    with_enough_time,
    write_project,
)
from torture.kinds.output import PIPES

MARK = "ISOLATION_MARK"


class Place:
    """A project, its surroundings, and the mark that every process started there carries."""

    def __init__(self, base: Path, cache: Path, root: Path | None = None) -> None:
        self.root = root or base / "project"
        self.mark = uuid4().hex
        self.home, self.temporary, self.cache = base / "home", base / "tmp", cache
        for directory in (self.root, self.home, self.temporary):
            directory.mkdir(parents=True, exist_ok=True)
        self.environ = {
            MARK: self.mark,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "XDG_CACHE_HOME": str(cache),
            "PYTHONDONTWRITEBYTECODE": "1",  # what pytest and Python leave behind is not our subject
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        self.written: set[str] = set()

    def write(self, **files: str) -> None:
        """Modules by name."""
        write_project(self.root, {f"{name}.py": text for name, text in files.items()})
        self.written |= {f"{name}.py" for name in files}

    def run(self, *arguments: str) -> Ran:
        return run_suite(self.root, *arguments, **self.environ)

    def document(self, *arguments: str) -> dict[str, Any]:
        return document_of(self.root, *arguments, **self.environ)

    def start(self, *arguments: str, stdout: Any = subprocess.PIPE) -> subprocess.Popen[bytes]:
        """`proctor run` under way."""
        return subprocess.Popen(
            command("run", "--python", project_python(), "--format", "json", *arguments),
            cwd=self.root,
            env=clean_environment(**self.environ),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
        )

    def path(self, name: str) -> Path:
        """A file that a test makes to tell us something."""
        self.written.add(name)
        return self.root / name

    def await_file(self, name: str) -> None:
        until((self.path(name)).exists, f"{name} was not made")

    def run_directory(self) -> Path:
        (found,) = (self.root / ".proctor" / "runs").iterdir()
        return found

    def alive(self) -> list[int]:
        return processes_with(MARK, self.mark)

    def check(self) -> None:
        assert self.alive() == []
        assert list(self.home.iterdir()) == []
        assert list(self.temporary.iterdir()) == []
        assert below(self.cache) <= {"proctor", "proctor/interpreters-2.json"}
        ours = {name for name in below(self.root) if not name.startswith(".proctor")}
        assert ours <= self.written


def below(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def until(condition: Callable[[], object], complaint: str) -> None:
    deadline = time.monotonic() + GUARD
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.03)


def ended(process: subprocess.Popen[bytes]) -> Ran:
    out, _ = process.communicate(timeout=GUARD)
    return Ran(process.returncode, out.decode(), "")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Shared, because what is known of an interpreter is asked for once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def place(tmp_path: Path, cache: Path) -> Iterator[Place]:
    place = Place(tmp_path, cache)
    try:
        yield place
        place.check()
    finally:
        for pid in place.alive():  # only after a failure
            os.kill(pid, signal.SIGKILL)


# Processes that do not want to end ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        "while True: pass",
        "signal.signal(signal.SIGINT, signal.SIG_IGN); [time.sleep(1) for _ in iter(int, 1)]",
        "re.match('(a|a?)+$', 'a' * 60 + 'b')",
        "m = ctypes.create_string_buffer(64); [ctypes.PyDLL(None).pthread_mutex_lock(m) for _ in 'ab']",
    ],
    ids=["loop", "deaf loop", "regular expression", "lock in C"],
)
def test_what_hangs_is_ended_by_the_time_limit_and_named_with_its_line(place: Place, body: str) -> None:
    place.write(
        test_a=f"""
        import ctypes, os, re, signal, time

        def test_first(): pass

        def test_culprit():
            signal.signal(signal.SIGTERM, signal.SIG_IGN); open("reached", "w").close()
            {body}

        def test_later(): pass
        """
    )
    document = with_enough_time(lambda limit: place.document("--timeout", limit), place.path("reached"))

    assert document["outcome"] == "timeout"
    assert outcomes(document) == {"test_a.py::test_first": "passed", "test_a.py::test_culprit": "timeout"}
    assert document["current_test"] == "test_a.py::test_culprit"
    assert document["not_run"] == ["test_a.py::test_later"]
    assert "test_a.py:7" in document["tests"][-1]["message"]


# Output -------------------------------------------------------------------------------------------------


def test_a_flood_of_output_is_whole_on_disk_and_small_in_memory(place: Place) -> None:
    size = 1 << 30
    place.write(
        test_a=f"""
        import os

        def test_a():
            block = b"0123456789abcde\\n" * 4096
            for _ in range({size} // len(block)):
                os.write(1, block)
        """
    )
    document_path = place.path("document.json")
    with open(document_path, "wb") as file:
        process = place.start("--", "-s", stdout=file)
        most = 0
        while process.poll() is None:
            most = max(most, peak_memory(process.pid))
            time.sleep(0.02)
    document = json.loads(document_path.read_bytes())

    assert document["outcome"] == "passed"
    assert size < (place.run_directory() / "output.txt").stat().st_size < size + 10_000
    assert document_path.stat().st_size < 5 << 20
    assert 0 < most < 100 << 20


def peak_memory(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM")), 0)


def test_output_that_is_no_text_is_shown_and_kept(place: Place) -> None:
    place.write(
        test_a=r"""
        import os, time

        def test_a():
            os.write(1, b"binary \x00\xff\xfe end|")
            for byte in "é€😀".encode():
                os.write(1, bytes([byte]))
                time.sleep(0.02)  # so that it is most likely read in pieces; right in either case
            os.write(2, b"cut \xe2\x82")
        """
    )
    document = place.document("--", "-s")

    assert document["outcome"] == "passed"
    assert "binary \x00\\xff\\xfe end|é€😀" in document["text_output"]
    assert document["stderr"] == "cut \\xe2\\x82"
    raw = (place.run_directory() / "output.txt").read_bytes()
    assert b"binary \x00\xff\xfe end|" + "é€😀".encode() in raw
    assert b"cut \xe2\x82" in raw


# Descriptors --------------------------------------------------------------------------------------------

AROUND = (
    "import os, stat, subprocess, sys\n"
    + PIPES
    + """
def test_first(): pass

def test_culprit():
    culprit()

def test_later(): pass

def culprit():
"""
)


def after(place: Place, culprit: str) -> dict[str, Any]:
    """The document of three tests, the second of which does this."""
    place.write(test_a=AROUND + textwrap.indent(culprit, "    "))
    document = place.document()
    assert outcomes(document)["test_a.py::test_first"] == "passed"
    return document


def test_a_file_that_takes_the_number_of_the_channel_gets_none_of_our_bytes(place: Place) -> None:
    document = after(
        place,
        "file = os.open('mine', os.O_CREAT | os.O_WRONLY)\nfor fd in pipes(): os.dup2(file, fd)\n",
    )
    assert document["outcome"] == "incomplete"
    assert b"result " not in place.path("mine").read_bytes()


# Files and directories ----------------------------------------------------------------------------------


def can(*arguments: str) -> bool:
    return bool(shutil.which(arguments[0])) and subprocess.run(arguments, capture_output=True).returncode == 0


def test_another_user_who_may_not_write_gets_a_run_in_the_cache() -> None:
    become = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")
    use = f"exec {shlex.quote(sys.executable)} -c 'import proctor, pytest'"
    if not can(*become, "sh", "-c", use):
        pytest.skip("needs root, setpriv, and an interpreter that others may use")
    with tempfile.TemporaryDirectory() as base:
        os.chmod(base, 0o755)
        root = write_project(Path(base, "project"), {"test_a.py": "def test_a(): pass\n"})
        cache = Path(base, "cache")
        cache.mkdir()
        os.chown(cache, 65534, 65534)
        more = {"XDG_CACHE_HOME": str(cache), "HOME": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [*become, *command("run", "--python", project_python(), "--format", "json")],
            cwd=root,
            env=clean_environment(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=GUARD,
        )
        assert json.loads(done.stdout)["outcome"] == "passed"
        assert below(root) == {"test_a.py"}
        assert len(list(cache.glob("proctor/runs/*/*"))) == 1


def test_with_no_place_for_an_archive_the_answer_is_the_same(place: Place) -> None:
    place.write(test_a="def test_a(): pass\n")
    place.path(".proctor").write_text("mine")
    place.environ["XDG_CACHE_HOME"] = place.environ["HOME"] = "/dev/null"

    document = place.document()

    assert document["outcome"] == "passed"
    assert any("not kept" in notice for notice in document["notices"])


# The end of proctor itself ------------------------------------------------------------------------------

DAEMON = """
    import os, signal, subprocess, sys, time

    def daemon():
        '''Leaves by the book, ignores what it can, and keeps every descriptor.'''
        read, write = os.pipe()
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
                os.write(write, b"%d" % os.getpid())
                while True:
                    time.sleep(60)
            os._exit(0)
        os.wait()
        return int(os.read(read, 20))
"""
WAITING = """
    import helper, pytest, signal, time

    @pytest.fixture
    def thing():
        yield
        open("torn down", "w").close()

    def test_first(): pass

    def test_waits(thing):
        helper.daemon()
        {before}
        open("ready", "w").close()
        while True:
            time.sleep(0.01)

    def test_later(): pass
"""
DEAF = """signal.signal(signal.SIGINT, lambda *_: open("interrupted", "w").close())"""


def waiting(place: Place, before: str = "pass") -> subprocess.Popen[bytes]:
    place.write(helper=DAEMON, test_a=WAITING.format(before=before))
    process = place.start()
    place.await_file("ready")
    return process


@pytest.mark.parametrize(
    "number, outcome",
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "cancelled"), (signal.SIGHUP, "cancelled")],
)
def test_a_signal_to_proctor_ends_the_run_with_a_whole_document(
    place: Place, number: Signals, outcome: str
) -> None:
    process = waiting(place)
    process.send_signal(number)
    ran = ended(process)

    assert ran.code == 2
    assert ran.document["outcome"] == outcome
    assert outcomes(ran.document) == {"test_a.py::test_first": "passed", "test_a.py::test_waits": "error"}
    assert ran.document["not_run"] == ["test_a.py::test_later"]
    assert place.path("torn down").exists() is (number == signal.SIGINT)


def test_a_second_interrupt_ends_what_does_not_listen_to_the_first(place: Place) -> None:
    process = waiting(place, DEAF)
    process.send_signal(signal.SIGINT)
    place.await_file("interrupted")
    process.send_signal(signal.SIGINT)
    ran = ended(process)

    assert ran.code == 2
    assert ran.document["outcome"] == "interrupted"
    assert outcomes(ran.document)["test_a.py::test_first"] == "passed"
    assert ran.document["signal"] == "SIGKILL"
    assert not place.path("torn down").exists()


# Limits, and what cannot be started ---------------------------------------------------------------------


def test_an_interpreter_that_is_not_executable_is_refused(place: Place) -> None:
    place.write(test_a="def test_a(): pass\n")
    place.path("python").write_text("not a program")

    ran = run_suite(place.root, python="./python", **place.environ)

    assert ran.code == 4
    assert "is not executable" in ran.err
    assert ran.out == ""


def test_a_project_that_is_gone_is_refused(place: Place) -> None:
    ran = place.run("-C", "gone")

    assert ran.code == 4
    assert "gone" in ran.err


def test_a_limit_that_the_system_refuses_is_named(place: Place) -> None:
    place.write(test_a="def test_a(): pass\n")

    ran = place.run("--memory", str(1 << 80))

    assert ran.code == 4
    assert "[launch]" in ran.err


# Several at once ----------------------------------------------------------------------------------------

LONG = """
    import os, subprocess, time

    def test_long():
        helper = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        open("ready", "w").close()
        while not os.path.exists("go on"):
            time.sleep(0.01)
        assert helper.poll() is None
"""
SHORT = "import helper\n\ndef test_short(): helper.daemon()\n"


def test_runs_of_different_projects_leave_each_other_alone(tmp_path: Path, cache: Path) -> None:
    long, *short = (Place(tmp_path / str(number), cache) for number in range(4))
    long.write(test_a=LONG)
    first = long.start()
    long.await_file("ready")
    for place in short:
        place.write(helper=DAEMON, test_a=SHORT)
    for process in [place.start() for place in short]:
        assert outcomes(ended(process).document) == {"test_a.py::test_short": "passed"}
    long.path("go on").touch()
    document = ended(first).document

    assert document["outcome"] == "passed", document["tests"]
    for place in (long, *short):
        place.check()


def test_runs_of_the_same_project_leave_each_other_alone(place: Place) -> None:
    place.write(helper=DAEMON, test_a=LONG, test_b=SHORT)
    first = place.start("test_a.py")
    place.await_file("ready")
    documents = [ended(process).document for process in [place.start("test_b.py") for _ in range(3)]]
    place.path("go on").touch()
    documents.append(ended(first).document)

    assert [document["outcome"] for document in documents] == ["passed"] * 4
    ids = {document["run_id"] for document in documents}
    assert {path.name for path in (place.root / ".proctor" / "runs").iterdir()} == ids
