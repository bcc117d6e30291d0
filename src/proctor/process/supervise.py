"""Start one launch behind its supervisor and hand over what it says, as it says it."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from proctor.errors import LaunchError
from proctor.launch import Launch
from proctor.process.deadline import Push
from proctor.process.stop import Stop
from proctor.process.tagged import TAG_VARIABLE, kill_tagged

SUPERVISOR = str(Path(__file__).with_name("supervisor.py"))
CONTROL_FD = 3  # as supervisor.py places it
READ = 1 << 16
BATCH_SECONDS = 0.004  # a busy channel is read in batches: a wake-up costs more than a message
GONE_SECONDS = 12.0  # for the supervisor to end the tree; it gives up itself before that


class Chunk(msgspec.Struct, frozen=True):
    stream: str  # control, stdout, stderr
    data: bytes


class Supervised:
    """A launch that is running. Use as a context manager: on the way out nothing of it is alive."""

    def __init__(self, launch: Launch, tag: str, environ: Mapping[str, str]) -> None:
        self.exit_status: int | None = None  # as Python has it: minus the signal's number
        self.done = False
        self._tag = tag
        self._ends: dict[int, str] = {}
        self._busy = False
        self._words = b""
        self._start(launch, {**environ, **launch.environment})

    def _start(self, launch: Launch, environ: dict[str, str]) -> None:
        pipes = {stream: os.pipe() for stream in ("control", "stdout", "stderr")}
        self._ends = {read: stream for stream, (read, _) in pipes.items()}
        self._socket, theirs = socket.socketpair()
        control = pipes["control"][1]
        try:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", SUPERVISOR, str(theirs.fileno()), str(control)],
                stdin=subprocess.DEVNULL,
                stdout=pipes["stdout"][1],
                stderr=pipes["stderr"][1],
                pass_fds=(theirs.fileno(), control),
                start_new_session=True,
                cwd="/",
                env={},
            )
        finally:
            theirs.close()
            for _, write in pipes.values():
                os.close(write)
        try:
            self._socket.sendall(encode_launch(launch, self._environment(environ)))
            self._await_start(launch)
        except BaseException:
            self.close()
            raise

    def _environment(self, environ: dict[str, str]) -> dict[str, str]:
        number = str(CONTROL_FD)
        return {
            **environ,
            TAG_VARIABLE: self._tag,
            "PROCTOR_CONTROL_FD": number,
            "PROCTOR_CONTROL": f"/dev/fd/{number}",
            "ATEX_TEST_CONTROL": number,
        }

    def _await_start(self, launch: Launch) -> None:
        while b"\n" not in self._words:
            part = self._socket.recv(4096)
            if not part:
                raise LaunchError(f"the supervisor of {launch.argv[0]} ended before it could start anything")
            self._words += part
        line, _, self._words = self._words.partition(b"\n")
        word, _, rest = line.decode().partition(" ")
        if word == "failed":
            number, _, where = rest.partition(" ")
            raise LaunchError(f"cannot start {where or launch.argv[0]}: {os.strerror(int(number))}")
        for end in self._ends:
            os.set_blocking(end, False)
        self._socket.setblocking(False)

    def __enter__(self) -> Supervised:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def push(self, push: Push) -> None:
        try:
            self._socket.send(push.value)
        except OSError:
            pass  # it has ended by itself

    def wait(self, seconds: float | None, stop: Stop) -> list[Chunk]:
        """What there is to read, after at most `seconds`; nothing if nothing came."""
        watched: list[int] = [self._socket.fileno(), stop.fileno()]
        if self._busy:
            _ready(watched, BATCH_SECONDS)
        ready = _ready([*watched, *self._ends], seconds)
        if stop.fileno() in ready:
            stop.clear()
        chunks = [self._read(end) for end in list(self._ends) if end in ready]
        self._busy = any(0 < len(chunk.data) < READ // 2 for chunk in chunks)
        if self._socket.fileno() in ready:
            self._listen(chunks)
        return [chunk for chunk in chunks if chunk.data]

    def _read(self, end: int) -> Chunk:
        stream = self._ends[end]
        try:
            data = os.read(end, READ)
        except BlockingIOError:
            return Chunk(stream, b"")
        if not data:
            self._forget(end)
        return Chunk(stream, data)

    def _forget(self, end: int) -> None:
        del self._ends[end]
        os.close(end)

    def _listen(self, chunks: list[Chunk]) -> None:
        try:
            part = self._socket.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        self._words += part
        *lines, self._words = self._words.split(b"\n")
        gone = not part
        for line in lines:
            word, _, rest = line.partition(b" ")
            if word == b"exit":
                self.exit_status = os.waitstatus_to_exitcode(int(rest))
            gone = gone or word == b"gone"
        if gone:
            self._drain(chunks)
            self.done = True

    def _drain(self, chunks: list[Chunk]) -> None:
        """Every process is dead: what they wrote is in the pipes, and more cannot come."""
        for end in list(self._ends):
            while end in self._ends:
                chunk = self._read(end)
                if not chunk.data:
                    break  # somebody we did not start holds the other end; no reason to wait for them
                chunks.append(chunk)

    def stop_hearing(self) -> None:
        """Close our end of the control channel: who writes there gets EPIPE."""
        for end, stream in list(self._ends.items()):
            if stream == "control":
                self._forget(end)

    def close(self) -> None:
        """Nothing that this launch started is alive after this, whatever it did to its supervisor."""
        if not self.done:
            self.push(Push.KILL)
        self._socket.close()
        try:
            self._supervisor.wait(GONE_SECONDS if not self.done else 2.0)
        except subprocess.TimeoutExpired:
            self._supervisor.kill()
            self._supervisor.wait()
        if not self.done or self._supervisor.returncode != 0:
            kill_tagged(self._tag)
        for end in list(self._ends):
            self._forget(end)


def _ready(descriptors: list[int], seconds: float | None) -> set[int]:
    """Like select, without its limit on how large a descriptor's number may be."""
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    return {descriptor for descriptor, _ in poll.poll(None if seconds is None else max(0.0, seconds) * 1000)}


def encode_launch(launch: Launch, environ: Mapping[str, str]) -> bytes:
    """Length in ten digits, then fields that each end with NUL: see supervisor.py."""
    pairs = [f"{name}={value}" for name, value in environ.items()]
    fields = [str(launch.memory), launch.cwd, str(len(launch.argv)), *launch.argv, *pairs]
    for field in fields:
        if "\0" in field:
            raise LaunchError(f"cannot start a program with NUL in {field!r}")
    body = b"".join(os.fsencode(field) + b"\0" for field in fields)
    return b"%010d" % len(body) + body


def signal_name(exit_code: int) -> str | None:
    if exit_code >= 0:
        return None
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"
