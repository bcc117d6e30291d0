"""Whatever a test does: the run ends, its answer is true, nothing stays alive or lies about."""

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
from typing import Any
from uuid import uuid4

import pytest
from proctor_testing import (
    GUARD,
    Ran,
    clean_environment,
    command,
    document_of,
    outcomes,
    processes_with,
    project_python,
    run_suite,
    write_project,
)

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
        assert below(self.cache) <= {"proctor", "proctor/interpreters-1.json"}
        ours = {name for name in below(self.root) if not name.startswith(".proctor")}
        assert ours <= self.written


def below(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*")}


def until(condition: Callable[[], object], complaint: str) -> None:
    deadline = time.monotonic() + GUARD
    while not condition():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.01)


def ended(process: subprocess.Popen[bytes]) -> Ran:
    out, _ = process.communicate(timeout=GUARD)
    return Ran(process.returncode, out.decode(), "")


@pytest.fixture(scope="session")
def cache(tmp_path_factory) -> Path:
    """Shared, because what is known of an interpreter is asked for once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def place(tmp_path, cache) -> Iterator[Place]:
    place = Place(tmp_path, cache)
    try:
        yield place
        place.check()
    finally:
        for pid in place.alive():  # only after a failure
            os.kill(pid, signal.SIGKILL)


# Processes that want to stay ----------------------------------------------------------------------------

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


def test_a_daemon_that_ignores_signals_and_holds_the_pipes_ends_with_the_run(place):
    place.write(helper=DAEMON, test_a="import helper\n\ndef test_a(): assert helper.daemon() > 1\n")

    document = place.document("--", "-s")

    assert document["outcome"] == "passed"
    assert outcomes(document) == {"test_a.py::test_a": "passed"}


def test_a_process_in_a_session_of_its_own_ends_with_the_run(place):
    place.write(
        test_a="""
        import subprocess

        def test_a():
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            subprocess.Popen(["sh", "-c", "trap '' TERM HUP INT; while :; do sleep 1000; done"])
        """
    )
    assert place.document()["outcome"] == "passed"


def test_a_stopped_process_ends_with_the_run(place):
    place.write(helper=DAEMON, test_a="import helper, os\n\ndef test_a(): os.kill(helper.daemon(), 19)\n")
    assert place.document()["outcome"] == "passed"


def test_a_process_without_our_environment_ends_with_the_run(place):
    place.write(
        test_a="""
        import subprocess

        def test_a():
            process = subprocess.Popen(["sleep", "1000"], start_new_session=True, env={})
            open("pid", "w").write(str(process.pid))
        """
    )
    assert place.document()["outcome"] == "passed"
    assert not Path("/proc", place.path("pid").read_text()).exists()


def test_a_bomb_of_forks_is_cleared_away(place):
    """Some fork and end so fast that their numbers are gone before one can look; most have mercy on us."""
    place.write(
        bomb="""
        import os, time

        made = os.open("made", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        number = 0
        while os.fstat(made).st_size < 200:
            os.write(made, b".")
            if os.fork() == 0:
                os.setsid()
                number = os.fstat(made).st_size
        while not os.path.exists("stop"):  # which nobody makes
            if os.fork() and number < 8:
                os._exit(0)
            if number >= 8:
                time.sleep(60)
        """,
        test_a="""
        import os, subprocess, sys, time

        def test_a():
            subprocess.Popen([sys.executable, "bomb.py"])
            while not (os.path.exists("made") and os.path.getsize("made") >= 200):
                time.sleep(0.01)
        """,
    )
    assert place.document("--timeout", str(GUARD))["outcome"] == "passed"
    assert place.path("made").stat().st_size >= 200


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
def test_what_hangs_is_ended_by_the_time_limit_and_named_with_its_line(place, body):
    place.write(
        test_a=f"""
        import ctypes, os, re, signal, time

        def test_first(): pass

        def test_culprit():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            {body}

        def test_later(): pass
        """
    )
    document = place.document("--timeout", "4")

    assert document["outcome"] == "timeout"
    assert outcomes(document) == {"test_a.py::test_first": "passed", "test_a.py::test_culprit": "timeout"}
    assert document["current_test"] == "test_a.py::test_culprit"
    assert document["not_run"] == ["test_a.py::test_later"]
    assert "test_a.py:7" in document["tests"][-1]["message"]


# Output -------------------------------------------------------------------------------------------------


def test_a_flood_of_output_is_whole_on_disk_and_small_in_memory(place):
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


def test_output_that_is_no_text_is_shown_and_kept(place):
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

AROUND = """
import os, stat, subprocess, sys

def is_pipe(fd):
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    except OSError:
        return False

def pipes():
    '''All but standard output: the channel is among them.'''
    return [int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and is_pipe(int(fd))]

def test_first(): pass

def test_culprit():
    culprit()

def test_later(): pass

def culprit():
"""


def after(place: Place, culprit: str) -> dict[str, Any]:
    """The document of three tests, the second of which does this."""
    place.write(test_a=AROUND + textwrap.indent(culprit, "    "))
    document = place.document()
    assert outcomes(document)["test_a.py::test_first"] == "passed"
    return document


def test_a_test_that_closes_every_descriptor_leaves_the_run_incomplete(place):
    document = after(place, "os.closerange(3, 1024)")

    assert document["outcome"] == "incomplete"
    assert "channel" in document["reason"]
    assert outcomes(document)["test_a.py::test_culprit"] == "error"
    assert document["not_run"] == ["test_a.py::test_later"]


def test_garbage_on_the_channel_leaves_the_run_incomplete(place):
    document = after(place, r"for fd in pipes(): os.write(fd, b'\xff this is not ours\n')")

    assert document["outcome"] == "incomplete"
    assert "control channel" in document["reason"]
    assert document["not_run"] == ["test_a.py::test_later"]


def test_a_file_that_takes_the_number_of_the_channel_gets_none_of_our_bytes(place):
    document = after(
        place,
        "file = os.open('mine', os.O_CREAT | os.O_WRONLY)\nfor fd in pipes(): os.dup2(file, fd)\n",
    )
    assert document["outcome"] == "incomplete"
    assert b"result " not in place.path("mine").read_bytes()


def test_a_forked_child_that_goes_on_through_pytest_does_not_speak_for_its_parent(place):
    document = after(
        place,
        "pid = os.fork()\n"
        "if pid: assert os.waitpid(pid, 0)[1] == 256\n"
        "else: raise AssertionError('only in the child')\n",
    )
    assert document["outcome"] == "passed"
    assert set(outcomes(document).values()) == {"passed"}
    assert document["summary"]["total"] == 3


def test_a_nested_run_of_pytest_does_not_speak_for_the_one_around_it(place):
    document = after(
        place,
        "arguments = [sys.executable, '-m', 'pytest', 'test_a.py::test_first']\n"
        "assert subprocess.run(arguments, close_fds=False).returncode == 0\n",
    )
    assert document["outcome"] == "passed"
    assert document["summary"]["total"] == 3


def test_standard_input_is_at_its_end(place):
    place.write(
        test_a="import os, sys\n\ndef test_a(): assert os.read(0, 1) == sys.stdin.buffer.read() == b''\n"
    )

    assert place.document("--", "-s")["outcome"] == "passed"


@pytest.mark.parametrize("arguments", [(), ("--", "-s")], ids=["captured", "not captured"])
def test_a_breakpoint_does_not_hang(place, arguments):
    place.write(test_a="def test_a(): breakpoint()\n\ndef test_later(): pass\n")

    document = place.document(*arguments)

    assert document["outcome"] != "passed"
    assert outcomes(document).get("test_a.py::test_a") != "passed"


# Files and directories ----------------------------------------------------------------------------------


@pytest.fixture
def kept_elsewhere(place, tmp_path) -> Iterator[Callable[[], Path]]:
    """Gives the place a cache of its own, and says which run is kept there."""
    place.cache = tmp_path / "own cache"
    place.environ["XDG_CACHE_HOME"] = str(place.cache)

    def only_run() -> Path:
        (kept,) = place.cache.glob("proctor/runs/*/*")
        return kept

    yield only_run
    place.root.mkdir(exist_ok=True)
    shutil.rmtree(place.cache / "proctor" / "runs")


@pytest.mark.parametrize("then, outcome", [("pass", "crashed"), ("os.mkdir(here)", "passed")])
def test_a_test_that_deletes_its_project_is_told_of_and_kept_in_the_cache(
    place, kept_elsewhere, then, outcome
):
    """Without its directory pytest itself dies at the end, and that is what we say."""
    place.write(
        test_a=f"""
        import os, shutil

        def test_first(): pass

        def test_culprit():
            here = os.getcwd()
            shutil.rmtree(here)
            {then}

        def test_later(): print("x" * 100_000)
        """
    )
    document = place.document()

    names = ("first", "culprit", "later")
    assert outcomes(document) == {f"test_a.py::test_{name}": "passed" for name in names}
    assert document["outcome"] == outcome
    assert below(place.root) == set()
    kept = kept_elsewhere()
    assert kept.name == document["run_id"]
    assert json.loads((kept / "result.json").read_bytes())["summary"] == document["summary"]
    assert b"test_later" in (kept / "events.jsonl").read_bytes()
    assert (kept / "output.txt").stat().st_size > 0


NAMES = ["with space", "ünïcödé 東京", 'quo\'te "double"', "-dash", "per%20cent", "new\nline"]


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_project_may_have_any_name(tmp_path, cache, name):
    place = Place(tmp_path, cache, tmp_path / name)
    place.write(**{"test_it's ü": "def test_a(): pass\n\ndef test_b(): assert 0\n"})

    document = place.document()

    assert outcomes(document) == {"test_it's ü.py::test_a": "passed", "test_it's ü.py::test_b": "failed"}
    assert document["outcome"] == "failed"
    place.check()


def can(*arguments: str) -> bool:
    return bool(shutil.which(arguments[0])) and subprocess.run(arguments, capture_output=True).returncode == 0


def test_a_read_only_project_is_kept_in_the_cache(place, kept_elsewhere):
    if not can("unshare", "--mount", "true"):
        pytest.skip("needs the right to mount: root may write to what only its mode protects")
    place.write(test_a="def test_a(): pass\n")
    read_only = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && cd "$0" && exec "$@"'
    arguments = command("run", "--python", project_python(), "--format", "json")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", read_only, str(place.root), *arguments],
        env=clean_environment(**place.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
    )
    document = json.loads(done.stdout)

    assert document["outcome"] == "passed"
    assert below(place.root) == {"test_a.py"}
    assert kept_elsewhere().name == document["run_id"]


def test_another_user_who_may_not_write_gets_a_run_in_the_cache():
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


def test_a_file_in_place_of_the_archive_sends_the_run_to_the_cache(place, kept_elsewhere):
    place.write(test_a="def test_a(): pass\n")
    place.path(".proctor").write_text("mine")

    document = place.document()

    assert document["outcome"] == "passed"
    assert place.path(".proctor").read_text() == "mine"
    assert kept_elsewhere().name == document["run_id"]


def test_with_no_place_for_an_archive_the_answer_is_the_same(place):
    place.write(test_a="def test_a(): pass\n")
    place.path(".proctor").write_text("mine")
    place.environ["XDG_CACHE_HOME"] = place.environ["HOME"] = "/dev/null"

    document = place.document()

    assert document["outcome"] == "passed"
    assert any("not kept" in notice for notice in document["notices"])


# Tests that turn against their keeper -------------------------------------------------------------------

AGAINST = """
    import helper, os, signal, time

    def test_first(): pass

    def test_culprit():
        helper.daemon()
        os.kill(os.getppid(), signal.{name})
        while True:
            time.sleep(60)
"""


def test_a_test_that_kills_its_supervisor_ends_the_run_unpassed(place):
    place.write(helper=DAEMON, test_a=AGAINST.format(name="SIGKILL"))

    document = place.document()

    assert document["outcome"] == "incomplete"
    assert outcomes(document) == {"test_a.py::test_first": "passed", "test_a.py::test_culprit": "error"}


def test_a_test_that_stops_its_supervisor_and_hangs_reaches_the_time_limit(place):
    place.write(helper=DAEMON, test_a=AGAINST.format(name="SIGSTOP"))

    document = place.document("--timeout", "4")

    assert document["outcome"] == "timeout"
    assert outcomes(document) == {"test_a.py::test_first": "passed", "test_a.py::test_culprit": "timeout"}


def test_a_test_that_stops_its_supervisor_and_passes_has_passed(place):
    place.write(test_a="import os, signal\n\ndef test_a(): os.kill(os.getppid(), signal.SIGSTOP)\n")

    assert place.document()["outcome"] == "passed"


# The end of proctor itself ------------------------------------------------------------------------------

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


def test_nothing_survives_the_sudden_death_of_proctor_and_what_it_knew_is_on_disk(place):
    process = waiting(place)
    events = place.run_directory() / "events.jsonl"
    until(lambda: b'"status":"ok"' in events.read_bytes(), "the first test was not recorded")
    assert len(place.alive()) >= 4  # proctor, supervisor, pytest, daemon

    process.kill()
    process.communicate()

    until(lambda: not place.alive(), "something survived")
    lines = [json.loads(line) for line in events.read_bytes().splitlines()]
    finished = [line["label"] for line in lines if line["type"] == "test" and line["status"] == "ok"]
    assert finished == ["test_a.py::test_first"]
    assert not place.path("torn down").exists()


@pytest.mark.parametrize(
    "number, outcome",
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "cancelled"), (signal.SIGHUP, "cancelled")],
)
def test_a_signal_to_proctor_ends_the_run_with_a_whole_document(place, number, outcome):
    process = waiting(place)
    process.send_signal(number)
    ran = ended(process)

    assert ran.code == 2
    assert ran.document["outcome"] == outcome
    assert outcomes(ran.document) == {"test_a.py::test_first": "passed", "test_a.py::test_waits": "error"}
    assert ran.document["not_run"] == ["test_a.py::test_later"]
    assert place.path("torn down").exists() is (number == signal.SIGINT)


def test_a_second_interrupt_ends_what_does_not_listen_to_the_first(place):
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


def test_a_memory_limit_keeps_a_test_from_passing(place):
    place.write(test_a="def test_first(): pass\n\ndef test_a(): assert bytearray(2 << 30)\n")

    document = place.document("--memory", "1G")

    assert document["outcome"] in ("failed", "crashed")
    assert outcomes(document)["test_a.py::test_first"] == "passed"
    assert outcomes(document)["test_a.py::test_a"] in ("failed", "crash")


def test_an_interpreter_that_is_not_executable_is_refused(place):
    place.write(test_a="def test_a(): pass\n")
    place.path("python").write_text("not a program")

    ran = run_suite(place.root, python="./python", **place.environ)

    assert ran.code == 4
    assert "is not executable" in ran.err
    assert ran.out == ""


def test_a_project_that_is_gone_is_refused(place):
    ran = place.run("-C", "gone")

    assert ran.code == 4
    assert "gone" in ran.err


def test_a_limit_that_the_system_refuses_is_named(place):
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


def test_runs_of_different_projects_leave_each_other_alone(tmp_path, cache):
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


def test_runs_of_the_same_project_leave_each_other_alone(place):
    place.write(helper=DAEMON, test_a=LONG, test_b=SHORT)
    first = place.start("test_a.py")
    place.await_file("ready")
    documents = [ended(process).document for process in [place.start("test_b.py") for _ in range(3)]]
    place.path("go on").touch()
    documents.append(ended(first).document)

    assert [document["outcome"] for document in documents] == ["passed"] * 4
    ids = {document["run_id"] for document in documents}
    assert {path.name for path in (place.root / ".proctor" / "runs").iterdir()} == ids
