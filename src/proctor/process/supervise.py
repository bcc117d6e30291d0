"""Starts one launch under a supervisor of its own and reads what both write."""

from __future__ import annotations

import _socket  # of `socket`, which costs a start-up several milliseconds, this much is needed
import fcntl
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from proctor.errors import LaunchError
from proctor.launch import Launch
from proctor.process.deadline import Push
from proctor.process.process import Chunk, Diversion
from proctor.process.spawn import Spawned
from proctor.process.tagged import TAG_VARIABLE, kill_tagged

# As a module, because only those have a bytecode cache.
SUPERVISOR = (
    f"import sys; sys.path.append({str(Path(__file__).parent)!r}); import supervisor; supervisor.start_up()"
)
CONTROL_FD, LAUNCH_FD = 3, 5  # as supervisor.py places them
FREE_FD = 10  # and above: not used by the supervisor
STREAMS = ("control", "stdout", "stderr")
USUAL_CAPACITY = 1 << 16  # of a pipe
CAPACITY = 1 << 18  # asked for the channel, so that it can be read in few large batches
FILE_CAPACITY = 1 << 20  # while a large file arrives
AT_ONCE = 1 << 23  # bytes of a file that are taken before others have their turn
READ = CAPACITY
HEAD_READ = 1 << 14  # after a file, where the head of another may come: the rest of that can be diverted too
LAST_READS = 64  # of each pipe when all is over: more than a pipe holds
START_SECONDS = 60.0  # for the supervisor to start the program: a directory may be on a slow network
_WAKE_SECONDS = 1.0  # without an answer, after which a supervisor may have been stopped
GONE_SECONDS = 25.0  # for the supervisor to end the tree; it gives up itself before that
PF_EXITING = 0x4  # in the flags of /proc/PID/stat


class Supervised:
    """A process under a supervisor of its own; after `close` nothing of it is alive."""

    def __init__(
        self, launch: Launch, tag: str, environ: Mapping[str, str], launch_end: int | None = None
    ) -> None:
        """`launch_end`: a descriptor that the process gets as LAUNCH_FD. It is closed here."""
        self.exit_status: int | None = None  # as Python has it: minus the signal's number
        self.done = False  # there will be nothing more to read
        self.cut_off = False  # the program closed the control channel and lived on
        self.adopts = True  # what leaves its parent stays within reach of the supervisor
        self._tags = [tag]
        self.diversion: Diversion | None = None
        self._read_next = READ
        self._ends: dict[int, str] = {}
        self._capacity = dict.fromkeys(STREAMS, USUAL_CAPACITY)
        self._words = b""
        self._main_pid = 0
        self._give_up_at: float | None = None
        environ = {**environ, **launch.environment, TAG_VARIABLE: tag}
        try:
            variables = _with_channel(environ).items()
            message = encode_launch(launch, [f"{name}={value}" for name, value in variables])
            self._start_supervisor(environ, launch_end)
        finally:
            if launch_end is not None:
                os.close(launch_end)
        try:
            self._start(launch, message)
        except BaseException:
            self.close()
            raise

    def _start_supervisor(self, environ: Mapping[str, str], launch_end: int | None) -> None:
        theirs: list[int] = []
        try:
            self._socket, their_socket = _socket.socketpair()
        except OSError as error:
            raise LaunchError(f"cannot start a supervisor: {error.strerror}") from error
        try:
            for stream in ("stdout", "stderr", "control"):
                read, write = os.pipe()
                self._ends[read] = stream
                theirs.append(_out_of_the_way(write))
                if stream == "control":
                    self._capacity[stream] = _resize(read, USUAL_CAPACITY, CAPACITY)
            theirs.append(_out_of_the_way(their_socket.detach()))
            argv = [sys.executable, "-I", "-S", "-c", SUPERVISOR]
            if launch_end is not None:
                theirs.append(fcntl.fcntl(launch_end, fcntl.F_DUPFD_CLOEXEC, FREE_FD))
                argv.append(str(LAUNCH_FD))
            self._supervisor = Spawned(argv, theirs, environ)
        except OSError as error:
            self._socket.close()
            self._forget_all()
            where = f": {error.filename}" if error.filename else ""
            raise LaunchError(f"cannot start a supervisor: {error.strerror}{where}") from error
        finally:
            their_socket.close()
            for end in theirs:
                os.close(end)

    def _start(self, launch: Launch, message: bytes) -> None:
        self._socket.settimeout(START_SECONDS)
        try:
            self._socket.sendall(message)
            while b"\n" not in self._words:
                part = self._answer(time.monotonic() + START_SECONDS)
                if not part:
                    raise LaunchError(f"the supervisor of {launch.argv[0]} ended before it could start it")
                self._words += part
        except TimeoutError:
            raise LaunchError(f"{launch.argv[0]} did not start within {START_SECONDS:g} s") from None
        except OSError as error:
            raise LaunchError(f"the supervisor of {launch.argv[0]} is gone: {error.strerror}") from error
        line, _, self._words = self._words.partition(b"\n")
        word, *rest = line.decode().split()
        if word == "failed":
            raise LaunchError(_why_not(launch, *rest))
        self._main_pid = int(rest[0])
        self.adopts = rest[1:] != ["weak"]
        for end in self._ends:
            os.set_blocking(end, False)
        self._socket.setblocking(False)

    def _answer(self, until: float) -> bytes:
        """Raises TimeoutError. A program can stop its supervisor before that has reported it."""
        self._socket.settimeout(_WAKE_SECONDS)
        while True:
            try:
                return self._socket.recv(4096)
            except TimeoutError:
                if time.monotonic() >= until:
                    raise
                self.wake()

    def push(self, push: Push) -> None:
        if push is Push.KILL and self._give_up_at is None:
            self._give_up_at = time.monotonic() + GONE_SECONDS
        self.wake()
        try:
            self._socket.send(push.value)
        except OSError:
            pass  # it has ended by itself

    def add_tag(self, tag: str) -> None:
        """From now on what it starts has this tag; the process itself keeps its first one."""
        self._tags.append(tag)

    def wake(self) -> None:
        """A test may have stopped the supervisor, which then neither reads nor writes."""
        self._supervisor.send_signal(signal.SIGCONT)

    def wake_main(self) -> None:
        """Somebody may have stopped the process itself."""
        try:
            os.kill(self._main_pid, signal.SIGCONT)
        except OSError:
            pass  # it has ended

    @property
    def ends(self) -> list[int]:
        """Descriptors to read from."""
        return list(self._ends)

    @property
    def outputs(self) -> list[int]:
        """Those of stdout and stderr."""
        return [end for end, stream in self._ends.items() if stream != "control"]

    @property
    def socket(self) -> int:
        """The descriptor on which the supervisor reports."""
        return self._socket.fileno()

    def gather(self, ready: set[int]) -> list[Chunk]:
        """Reads from the descriptors that are ready."""
        chunks = [self._read(end) for end in self.ends if end in ready]
        if self.socket in ready:
            self._listen()
        if self._give_up_at is not None and time.monotonic() > self._give_up_at:
            self.done = True
        if self.done:
            self._drain(chunks)
        return [chunk for chunk in chunks if chunk.data or chunk.moved]

    def fullness(self, chunk: Chunk) -> float:
        """How full the pipe was from which this was read."""
        return max(len(chunk.data), chunk.moved) / self._capacity[chunk.stream]

    def _read(self, end: int) -> Chunk:
        stream = self._ends[end]
        if stream == "control" and self.diversion is not None:
            moved = self._divert(end, self.diversion)
            if moved:
                self._read_next = HEAD_READ
                return Chunk(stream, b"", moved)
        size, self._read_next = self._read_next, READ
        try:
            data = os.read(end, size)
        except BlockingIOError:
            return Chunk(stream, b"")
        if self._capacity[stream] > CAPACITY:
            self._capacity[stream] = _resize(end, self._capacity[stream], CAPACITY)
        if not data:
            self._forget(end)
            if stream == "control":
                self.cut_off = self.exit_status is None and _lives(self._main_pid)
        return Chunk(stream, data)

    def _divert(self, end: int, diversion: Diversion) -> int:
        """Bytes that went from the pipe to the file within the kernel; 0 where that cannot be done."""
        self.diversion = None  # it holds for one read: only who reads the stream knows what comes next
        if diversion.left > FILE_CAPACITY > self._capacity["control"]:
            self._capacity["control"] = _resize(end, self._capacity["control"], FILE_CAPACITY)
        moved, most = 0, min(diversion.left, AT_ONCE)
        try:
            while moved < most:
                if not (count := os.splice(end, diversion.descriptor, most - moved)):
                    break
                moved += count
        except (AttributeError, OSError):
            pass  # the pipe is empty, or this cannot be done: then it is read
        return moved

    def _forget(self, end: int) -> None:
        del self._ends[end]
        os.close(end)

    def _forget_all(self) -> None:
        for end in list(self._ends):
            self._forget(end)

    def _listen(self) -> None:
        try:
            part = self._socket.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        self._words += part
        *lines, self._words = self._words.split(b"\n")
        for line in lines:
            word, _, rest = line.partition(b" ")
            if word == b"exit":
                self.exit_status = os.waitstatus_to_exitcode(int(rest))
            elif word == b"gone":
                self.done = True
        self.done = self.done or not part  # without a part the supervisor is dead

    def _drain(self, chunks: list[Chunk]) -> None:
        """Every process is dead: what they wrote is in the pipes, and more cannot come."""
        for end in list(self._ends):
            for _ in range(LAST_READS):
                chunk = self._read(end)
                if not chunk.data:
                    break  # or a process that we did not start holds the other end: do not wait for it
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
        seconds = GONE_SECONDS if self._give_up_at is None else self._give_up_at - time.monotonic()
        if not self._supervisor.wait(seconds):
            self._supervisor.kill()
        if self._supervisor.returncode != 0:  # it did not report that all are gone
            for tag in self._tags:
                kill_tagged(tag)
        self._forget_all()


def _out_of_the_way(end: int) -> int:
    """A copy with a number that none of the supervisor's descriptors has."""
    try:
        return fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, FREE_FD)
    finally:
        os.close(end)


def _resize(pipe: int, now: int, wanted: int) -> int:
    """How much the pipe holds now. A user may have only so much in pipes: then it stays as it is."""
    try:
        return fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, wanted)
    except (AttributeError, OSError):
        return now


def _with_channel(environ: Mapping[str, str]) -> dict[str, str]:
    fd = str(CONTROL_FD)
    names = {"PROCTOR_CONTROL_FD": fd, "PROCTOR_CONTROL": f"/dev/fd/{fd}", "ATEX_TEST_CONTROL": fd}
    return {**environ, **names}


def _why_not(launch: Launch, step: str, number: str) -> str:
    """What the supervisor's `failed` means."""
    what = {"directory": launch.cwd, "memory": f"with a limit of {launch.memory} bytes"}
    return f"cannot start {what.get(step, launch.argv[0])}: {os.strerror(int(number))}"


def _lives(pid: int) -> bool:
    """Alive, and not on its way out: the descriptors of a process are closed before its end is seen."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        state, *fields = stat[stat.rindex(b")") + 2 :].split()
        return state not in (b"Z", b"X") and not int(fields[5]) & PF_EXITING
    except (OSError, ValueError, IndexError):
        return False


def encode_launch(launch: Launch, variables: Iterable[str]) -> bytes:
    """Length in ten digits, then fields that each end with NUL: see supervisor.py. `variables`: K=V each."""
    fields = [str(launch.memory), launch.cwd, str(len(launch.argv)), *launch.argv, *variables]
    for field in fields:
        if "\0" in field:
            raise LaunchError(f"cannot start a program with NUL in {field!r}")
    try:
        body = b"".join(os.fsencode(field) + b"\0" for field in fields)
    except UnicodeEncodeError as error:
        raise LaunchError(
            f"cannot start a program: {error.object!r} cannot be encoded for this system"
        ) from error
    return b"%010d" % len(body) + body
