from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from signal import Signals
from typing import Any
from uuid import uuid4

import pytest
from support.projects import GUARD, processes_with

from proctor.errors import LaunchError
from proctor.launch import Launch
from proctor.process import supervise
from proctor.process.cold_start import ColdStart
from proctor.process.deadline import Push
from proctor.process.process import signal_name
from proctor.process.spawn import Spawned
from proctor.process.stop import Stop
from proctor.process.supervise import FREE_FD, SUPERVISOR, Supervised, encode_launch
from proctor.process.tagged import TAG_VARIABLE, kill_tagged, tagged

FOREVER = "import time\nwhile True: time.sleep(60)\n"


@contextlib.contextmanager
def stopper() -> Iterator[Stop]:
    stop = Stop()
    try:
        yield stop
    finally:
        stop.close()


@pytest.fixture
def stop() -> Iterator[Stop]:
    with stopper() as stop:
        yield stop


@pytest.fixture
def tag() -> str:
    return f"test-{uuid4().hex}"


def python(code: str, **more: Any) -> Launch:
    return Launch((sys.executable, "-c", code), "/", **more)


def heard(process: Supervised, stop: Stop, until: bytes | None = None) -> dict[str, bytes]:
    """What the process says until it is gone, or until it has said `until` on stdout."""
    streams = {"control": b"", "stdout": b"", "stderr": b""}
    deadline = time.monotonic() + GUARD
    watch = ColdStart("run", {}, stop)
    while not process.done and not (until and until in streams["stdout"]):
        assert time.monotonic() < deadline
        for chunk in next(chunks for _, chunks in watch.wait([process], 0.2)):
            streams[chunk.stream] += chunk.data
    return streams


def run(launch: Launch, tag: str, stop: Stop) -> tuple[int | None, dict[str, bytes]]:
    with contextlib.closing(Supervised(launch, tag, os.environ)) as process:
        streams = heard(process, stop)
    assert tagged(tag) == []
    return process.exit_status, streams


# What a program gets, and what comes back


def test_each_stream_arrives_whole_and_apart(tag: str, stop: Stop) -> None:
    code = "import os; [os.write(fd, bytes([65 + fd]) * 300_000) for fd in (1, 2, 3)]; raise SystemExit(7)"
    status, streams = run(python(code), tag, stop)

    assert status == 7
    assert streams == {"stdout": b"B" * 300_000, "stderr": b"C" * 300_000, "control": b"D" * 300_000}


def test_a_program_finds_the_channel_in_its_environment_and_no_other_descriptor(tag: str, stop: Stop) -> None:
    code = (
        "import os; os.write(int(os.environ['PROCTOR_CONTROL_FD']), b'hello');"
        "print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:-1])"
    )
    _, streams = run(python(code), tag, stop)

    assert streams["control"] == b"hello"
    assert streams["stdout"] == b"[0, 1, 2, 3]\n"


def test_arguments_directory_and_environment_arrive_as_they_are(tag: str, stop: Stop, tmp_path: Path) -> None:
    directory = tmp_path / "with space ü\n and more"
    directory.mkdir()
    code = "import os, sys; print(ascii([sys.argv[1:], os.getcwd(), os.environ['ODD']]))"
    odd = "a=b\nc \udcff"
    launch = Launch(
        (sys.executable, "-c", code, "", "x y", "*", "\udcfe"), str(directory), environment={"ODD": odd}
    )
    _, streams = run(launch, tag, stop)

    assert eval(streams["stdout"]) == [["", "x y", "*", "\udcfe"], str(directory), odd]


def test_signals_are_as_a_fresh_program_expects_them(tag: str, stop: Stop) -> None:
    code = (
        "import signal as s;"
        "odd = [n for n in s.valid_signals() if s.getsignal(n) not in (s.SIG_DFL, s.default_int_handler)];"
        "print([*map(int, odd)], s.pthread_sigmask(s.SIG_BLOCK, ())); raise SystemExit(7)"
    )
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    handler = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        status, streams = run(python(code), tag, stop)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGCHLD, handler)

    ignored_by_every_python = [int(signal.SIGPIPE), int(signal.SIGXFSZ)]
    assert status == 7
    assert streams["stdout"].decode() == f"{ignored_by_every_python} set()\n"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM])
def test_a_death_by_signal_is_minus_its_number(tag: str, stop: Stop, number: Signals) -> None:
    status, _ = run(python(f"import os; os.kill(os.getpid(), {int(number)})"), tag, stop)

    assert status == -number
    assert signal_name(status) == number.name


def test_a_signal_without_a_name_is_called_by_its_number() -> None:
    assert signal_name(0) is None
    assert signal_name(3) is None
    assert signal_name(-200) == "signal 200"


def test_a_memory_limit_binds_every_process_below(tag: str, stop: Stop) -> None:
    code = (
        "import subprocess, sys\n"
        "grab = 'try: bytearray(600 << 20)\\nexcept MemoryError: print(\"no\")'\n"
        "exec(grab); sys.stdout.flush()\n"
        "subprocess.run([sys.executable, '-c', grab])"
    )
    _, streams = run(python(code, memory=400 << 20), tag, stop)

    assert streams["stdout"] == b"no\nno\n"


# Pushes


def test_pushes_go_from_an_interrupt_to_an_end(tag: str, stop: Stop) -> None:
    code = (
        "import os, signal, time, faulthandler; faulthandler.enable(); signal.signal(signal.SIGINT,"
        " lambda *_: os.write(1, b'interrupted\\n')); os.write(1, b'ready\\n')\n"
    )
    with contextlib.closing(Supervised(python(code + FOREVER), tag, os.environ)) as process:
        heard(process, stop, until=b"ready")
        process.push(Push.INTERRUPT)
        heard(process, stop, until=b"interrupted")
        process.push(Push.ABORT)
        streams = heard(process, stop)

    assert process.exit_status == -signal.SIGABRT
    assert b"Fatal Python error: Aborted" in streams["stderr"]


def test_a_kill_ends_what_is_stopped_and_what_ignores_everything(tag: str, stop: Stop) -> None:
    code = (
        "import os, signal\n"
        "for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP): signal.signal(n, signal.SIG_IGN)\n"
        "if os.fork() == 0: os.setsid(); os.kill(os.getpid(), signal.SIGSTOP)\n"
        "print('ready', flush=True)\n"
    )
    with contextlib.closing(Supervised(python(code + FOREVER), tag, os.environ)) as process:
        heard(process, stop, until=b"ready")
        process.push(Push.KILL)
        heard(process, stop)
    assert process.exit_status == -signal.SIGKILL
    assert tagged(tag) == []


def test_leaving_early_ends_everything(tag: str, stop: Stop) -> None:
    with contextlib.closing(
        Supervised(python("print('ready', flush=True)\n" + FOREVER), tag, os.environ)
    ) as process:
        heard(process, stop, until=b"ready")
    assert tagged(tag) == []


def test_a_wish_to_stop_wakes_the_reader_at_once(tag: str, stop: Stop) -> None:
    from proctor.outcome import RunOutcome

    with contextlib.closing(Supervised(python(FOREVER), tag, os.environ)) as process:
        stop.ask(RunOutcome.CANCELLED)
        began = time.monotonic()
        assert ColdStart("run", {}, stop).wait([process], GUARD) == [(process, [])]
        assert time.monotonic() - began < GUARD / 2


# What a program may do to its supervisor


def test_a_supervisor_that_is_killed_takes_the_program_with_it_and_its_orphans_are_found(
    tag: str, stop: Stop
) -> None:
    code = (
        "import os, signal, subprocess, sys\n"
        "subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
        "os.kill(os.getppid(), signal.SIGKILL)\n"
    )
    status, _ = run(python(code + FOREVER), tag, stop)

    assert status is None


def test_a_supervisor_is_deaf_to_all_signals_that_can_be_refused(tag: str, stop: Stop) -> None:
    code = (
        "import os, signal\n"
        "for n in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}: os.kill(os.getppid(), n)\n"
        "raise SystemExit(3)"
    )
    status, _ = run(python(code), tag, stop)

    assert status == 3


def test_a_supervisor_that_is_stopped_is_woken(tag: str, stop: Stop) -> None:
    status, _ = run(python("import os, signal; os.kill(os.getppid(), signal.SIGSTOP)"), tag, stop)

    assert status == 0


def test_a_supervisor_that_is_stopped_before_it_has_reported_its_process_is_woken(
    tag: str, stop: Stop, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = Supervised._start_supervisor

    def stopped(self: Supervised, *more: Any) -> None:
        start(self, *more)
        self._supervisor.send_signal(signal.SIGSTOP)

    monkeypatch.setattr(Supervised, "_start_supervisor", stopped)

    assert run(python("pass"), tag, stop)[0] == 0


def test_a_supervisor_that_cannot_be_woken_is_given_up(
    tag: str, stop: Stop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    monkeypatch.setattr(supervise, "GONE_SECONDS", 0.5)
    monkeypatch.setattr(Supervised, "wake", lambda self: None)
    code = (
        f"import os, signal, time\nwhile not os.path.exists({str(begun)!r}): time.sleep(0.01)\n"
        "os.kill(os.getppid(), signal.SIGSTOP); print('ready', flush=True)\n"
    )
    with contextlib.closing(Supervised(python(code + FOREVER), tag, os.environ)) as process:
        begun.touch()  # it has reported that its process runs
        heard(process, stop, until=b"ready")
        process.push(Push.KILL)
        heard(process, stop)
    assert process.exit_status is None
    assert tagged(tag) == []


def test_a_closed_channel_is_told_apart_from_the_end_of_the_program(tag: str, stop: Stop) -> None:
    for code, cut_off in (
        ("import os; os.close(3)\n" + FOREVER, True),
        ("import os; os._exit(0)", False),
        ("import os; os.kill(os.getpid(), 9)", False),
        ("import os, threading, time\nfor _ in range(20): threading.Thread(target=time.sleep, args=[9],"
         " daemon=True).start()\nos._exit(0)", False),
    ):  # fmt: skip
        with contextlib.closing(Supervised(python(code), tag, os.environ)) as process:
            deadline = time.monotonic() + GUARD
            watch = ColdStart("run", {}, stop)
            while not process.done and not process.cut_off:
                assert time.monotonic() < deadline
                watch.wait([process], 0.2)
        assert process.cut_off is cut_off, code


# What is left: nothing


def test_twenty_runs_leave_no_descriptor_and_no_zombie(tag: str) -> None:
    code = "import os, subprocess\nif os.fork() == 0: os.setsid(); os.execlp('sleep', 'sleep', '1000')"
    before, already = set(os.listdir("/proc/self/fd")), children()  # a browser of other tests, say
    with stopper() as stop:
        for number in range(20):
            launch = python(code) if number % 2 else Launch(("/nowhere/python",), "/")
            with contextlib.suppress(LaunchError):
                run(launch, tag, stop)

    assert set(os.listdir("/proc/self/fd")) == before
    assert children() == already
    assert processes_with(TAG_VARIABLE, tag) == []


def children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def test_orphans_are_buried_while_the_program_goes_on(tag: str, stop: Stop) -> None:
    """A zombie of a test's is a process that the test can still see."""
    code = (
        "import os, sys, time\n"
        "read, write = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    pid = os.fork()\n"
        "    if pid: os.write(write, b'%d' % pid)\n"
        "    os._exit(0)\n"
        "os.wait(); pid = int(os.read(read, 20))\n"
        f"end = time.monotonic() + {GUARD}\n"
        "while os.path.exists(f'/proc/{pid}') and time.monotonic() < end: time.sleep(0.01)\n"
        "print(os.path.exists(f'/proc/{pid}'))"
    )
    _, streams = run(python(code), tag, stop)

    assert streams["stdout"] == b"False\n"


def test_a_tag_finds_only_its_own(tag: str) -> None:
    mine, other = (
        subprocess.Popen(["sleep", "1000"], env={TAG_VARIABLE: name}) for name in (tag, tag + "-other")
    )
    try:
        assert tagged(tag) == [mine.pid]
        kill_tagged(tag)
        assert mine.wait(GUARD) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for process in (mine, other):
            process.kill()
            process.wait()


# Launches that fail


def test_a_program_that_is_not_there_is_named(tag: str) -> None:
    with pytest.raises(LaunchError, match="cannot start /nowhere/python: No such file"):
        Supervised(Launch(("/nowhere/python",), "/"), tag, os.environ)


def test_a_program_that_is_none_is_named(tag: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a program")
    (tmp_path / "text").chmod(0o755)
    with pytest.raises(LaunchError, match=r"cannot start .*/text: Exec format error"):
        Supervised(Launch((str(tmp_path / "text"),), "/"), tag, os.environ)


def test_a_directory_that_is_not_there_is_named(tag: str) -> None:
    with pytest.raises(LaunchError, match="cannot start /nowhere: No such file"):
        Supervised(Launch((sys.executable,), "/nowhere"), tag, os.environ)


def test_an_impossible_memory_limit_is_named(tag: str) -> None:
    with pytest.raises(LaunchError, match=f"a limit of {1 << 80} bytes: Invalid argument"):
        Supervised(Launch((sys.executable,), "/", memory=1 << 80), tag, os.environ)


@pytest.mark.parametrize("argument", ["a\0b", "\ud800"])
def test_what_no_program_can_be_given_is_refused_before_anything_starts(tag: str, argument: str) -> None:
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(LaunchError, match="cannot start a program"):
        Supervised(Launch((sys.executable, argument), "/"), tag, os.environ)

    assert set(os.listdir("/proc/self/fd")) == before


def test_a_supervisor_that_cannot_be_started_leaves_nothing_open(
    tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = set(os.listdir("/proc/self/fd"))
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(LaunchError, match="cannot start a supervisor: No such file"):
        Supervised(Launch(("true",), "/"), tag, os.environ)

    assert set(os.listdir("/proc/self/fd")) == before


# The protocol, spoken by hand


def test_a_launch_is_its_length_and_fields_that_end_with_nul() -> None:
    launch = Launch(("/bin/x", "", "ü"), "/dir", memory=5)

    assert encode_launch(launch, ["A=1=2"]) == b"0000000026" + b"5\0/dir\x003\0/bin/x\0\0\xc3\xbc\0A=1=2\0"


@contextlib.contextmanager
def supervisor_by_hand(tag: str) -> Iterator[tuple[socket.socket, Spawned]]:
    ours, theirs = socket.socketpair()
    control, write = os.pipe()
    with open(os.devnull, "wb") as null:
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FREE_FD) for end in (null, null, write, theirs)]
    process = Spawned([sys.executable, "-I", "-S", "-c", SUPERVISOR], ends, {TAG_VARIABLE: tag})
    for end in ends:
        os.close(end)
    theirs.close()
    os.close(write)
    ours.settimeout(GUARD)
    try:
        yield ours, process
    finally:
        ours.close()
        os.close(control)
        process.wait(GUARD)
        kill_tagged(tag)


def said(sock: socket.socket) -> list[str]:
    words = b""
    while part := sock.recv(4096):
        words += part
    return words.decode().splitlines()


def test_the_supervisor_tells_pid_exit_and_gone_in_this_order(tag: str) -> None:
    with supervisor_by_hand(tag) as (sock, _):
        sock.sendall(encode_launch(python("raise SystemExit(4)"), []))
        lines = said(sock)

    assert [line.split()[0] for line in lines] == ["pid", "exit", "gone"]
    assert os.waitstatus_to_exitcode(int(lines[1].split()[1])) == 4


def test_the_supervisor_tells_the_exit_of_what_it_was_told_to_kill(tag: str) -> None:
    with supervisor_by_hand(tag) as (sock, process):
        sock.sendall(encode_launch(python(FOREVER), []) + b"k")
        lines = said(sock)

    assert lines[1:] == [f"exit {int(signal.SIGKILL)}", "gone"]
    assert process.returncode == 0


@pytest.mark.parametrize(
    "stub",
    [
        "raise ImportError",
        "def dlopen(*_): raise OSError",
        "",
        "dlopen = dlsym = lambda *_: 1\ndef call_function(*_): return -1",
    ],
    ids=["no module", "no library", "other names", "refused"],
)
def test_a_supervisor_that_cannot_adopt_orphans_says_so(
    tag: str, stop: Stop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stub: str
) -> None:
    """Its interpreter finds another `_ctypes`, as on a system whose Python has none or an unlike one."""
    (tmp_path / "_ctypes.py").write_text(stub)
    found_first = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
    monkeypatch.setattr(supervise, "SUPERVISOR", found_first + SUPERVISOR)

    with contextlib.closing(Supervised(python("raise SystemExit(4)"), tag, os.environ)) as process:
        assert not process.adopts
        heard(process, stop)

    assert process.exit_status == 4


def test_a_supervisor_adopts_orphans(tag: str) -> None:
    with contextlib.closing(Supervised(python(FOREVER), tag, os.environ)) as process:
        assert process.adopts


@pytest.mark.parametrize("size", [0, 5, 10, 20])
def test_a_supervisor_whose_launch_is_cut_short_ends(tag: str, size: int) -> None:
    with supervisor_by_hand(tag) as (sock, process):
        sock.sendall(encode_launch(python(FOREVER), [])[:size])
        sock.close()
        assert process.wait(GUARD)
    assert process.returncode == 1


def test_the_tree_dies_though_proctor_died_with_words_unread(tag: str) -> None:
    """Then the supervisor's next read is an error instead of an end of input."""
    code = "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
    with supervisor_by_hand(tag) as (sock, process):
        sock.sendall(encode_launch(python(code + FOREVER), [f"{TAG_VARIABLE}={tag}"]))
        sock.recv(1)
        sock.close()
        assert process.wait(GUARD)
    assert process.returncode == 0
    assert tagged(tag) == []
