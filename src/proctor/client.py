"""Report results from a Python program that proctor runs.

    from proctor.client import report

    report("pass", "some/test", files=["server.log"], note="2 retries")

Python 3.7 or newer, the standard library, and nothing of proctor: a project that does not have proctor in
its environment may copy this one file. Every message is checked before a byte of it is sent, because proctor
closes the channel at the first mistake, and is written whole, whatever other processes and signals do.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import select
import signal
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:  # this file does without the cost of `typing`
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from typing import Any, BinaryIO, Union

    Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
    Content = Union[Path, bytearray, memoryview]  # bytes are what is in the file, not where it is
    Files = Union[Iterable[Path], Mapping[str, Content]]

__all__ = [
    "report",
    "begin",
    "duration",
    "exitcode",
    "noop",
    "disconnect",
    "ReportError",
    "NoChannel",
    "ChannelClosed",
    "BadMessage",
    "CannotLock",
    "FileChanged",
]

FD_VARIABLE = "PROCTOR_CONTROL_FD"
PATH_VARIABLE = "PROCTOR_CONTROL"
VARIABLES = (FD_VARIABLE, PATH_VARIABLE, "ATEX_TEST_CONTROL")  # in the order of trust
STATUSES = ("pass", "fail", "info", "warn", "skip", "error")
LINE = 4096  # bytes of a control line, with its LF
ATOMIC = select.PIPE_BUF  # bytes that one write puts on a pipe whole; 4096 on Linux
IN_MEMORY = 64 * 1024  # a longer file is read while it is sent
HELD_BACK = {
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGALRM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGPIPE,  # where a program has made it deadly, a closed channel would be its end
}
_DURATION = re.compile(r"(save|restore|[+-]?([0-9]+[smhd] ?)*[0-9]+[smhd]?)\Z")


class ReportError(Exception):
    """The message could not be sent as it was meant."""


class NoChannel(ReportError):
    """No variable names a channel that can be used: this process does not run under proctor."""


class ChannelClosed(ReportError):
    """There was a channel, and it is closed."""


class BadMessage(ReportError, ValueError):
    """proctor would refuse it and close the channel; nothing was sent."""


class CannotLock(ReportError):
    """Too long for one write, and nothing can keep others from writing in between; nothing was sent."""


class FileChanged(ReportError):
    """A file lost bytes while it was sent. The result was sent, with NUL bytes in place of the lost ones."""


def report(
    status: str | None = None,
    name: str | None = None,
    *,
    files: Files | None = None,
    partial: bool = False,
    testout: str | None = None,
    note: str | None = None,
    **custom: Any,
) -> None:
    """Send one result; without a name it is that of the test itself.

    `files` are paths, each sent under its last part, or a mapping of names to paths or to contents (bytes).
    A file is sent as long as it was when it was opened, even if it grows. What is not a regular file is read
    to its end. A partial result stays open, and is united with later ones of its name until one closes it;
    in `custom`, which may hold anything that JSON can, None then deletes. Strings that are not Unicode are
    sent as literal text (`\\udcff`).
    """
    _check(status, name, testout)
    own = {"name": name, "status": status, "testout": testout, "note": note}
    body: dict[str, Any] = {key: value for key, value in own.items() if value is not None}
    if partial:
        body["partial"] = True
    contents: dict[str, _Content] = {}
    try:
        _open_files(files or (), contents)
        if testout is not None and _literal(testout) in contents:
            raise BadMessage("testout %r is also the name of a file" % testout)
        if contents:
            body["files"] = [{"name": label, "length": file.length} for label, file in contents.items()]
        raw = _encoded({**body, **custom})
        _send(b"result %d\n%b" % (len(raw), raw), contents.values())
    finally:
        for file in contents.values():
            file.close()
    _check_sent(contents)


def begin() -> None:
    """Open the test's own result as an `error`: a premature exit is then no pass. `report` closes it."""
    report("error", partial=True)


def duration(change: str) -> None:
    """The time limit: `90`, `15m`, `1h 30m` set it anew, `+60` and `-60` move it, `save` and `restore`."""
    if not isinstance(change, str) or not _DURATION.match(change):
        known = "a time ('90', '15m', '1h 30m'), + or - a time, 'save' or 'restore'"
        raise BadMessage("invalid duration %r: expected %s" % (change, known))
    _send_line("duration " + change)


def exitcode(code: int) -> None:
    """Report this exit code; it counts instead of the real one."""
    if not isinstance(code, int):
        raise BadMessage("invalid exit code %r: expected a whole number" % (code,))
    _send_line("exitcode %d" % code)


def noop() -> None:
    """Send a message without effect, to check that there is a channel."""
    _send_line("noop")


def disconnect() -> None:
    """Close the channel for every process that has it: no more messages follow."""
    _send_line("disconnect")


# Messages -----------------------------------------------------------------------------------------------


def _check(status: str | None, name: str | None, testout: str | None) -> None:
    if status is not None and status not in STATUSES:
        raise BadMessage("invalid status %r; known: %s" % (status, ", ".join(STATUSES)))
    if name is not None and (not isinstance(name, str) or not name):
        raise BadMessage("invalid name %r: expected a string that is not empty, or None" % (name,))
    if testout is not None:
        _check_file_name(testout, "testout")


def _check_file_name(name: str, what: str) -> None:
    if not isinstance(name, str) or not name:
        raise BadMessage("invalid %s %r: expected a string that is not empty" % (what, name))
    if "\0" in name:
        raise BadMessage("invalid %s %r: it contains NUL" % (what, name))
    for part in name.split("/"):
        if part in ("", ".", ".."):
            raise BadMessage(
                "invalid %s %r: expected a relative path without the part %r" % (what, name, part)
            )
        if len(_literal(part).encode("utf-8")) > 255:
            raise BadMessage("invalid %s: a part has more than 255 bytes: %r..." % (what, part[:40]))


def _open_files(files: Files, contents: dict[str, _Content]) -> None:
    for name, source in _named(files):
        _check_file_name(name, "file name")
        if name in contents:
            raise BadMessage("two files are named %r; a mapping {name: path} tells them apart" % name)
        contents[name] = _Content(source)


def _check_sent(contents: dict[str, _Content]) -> None:
    lost = [(file.lost, file.length, name) for name, file in contents.items() if file.lost]
    if lost:
        shown = ", ".join("%d of %d bytes of %s" % each for each in lost)
        raise FileChanged("files shrank while being sent; NUL bytes took the place of %s" % shown)


def _named(files: Files) -> Iterator[tuple[str, Content]]:
    if isinstance(files, (str, bytes)):
        raise BadMessage("invalid files %r: expected a list of paths or a mapping {name: path}" % (files,))
    if hasattr(files, "items"):
        for name, content in files.items():
            yield _literal(name), content
    else:
        for path in files:
            yield _literal(os.path.basename(os.fsdecode(path))), os.fsdecode(path)


def _literal(text: str) -> str:
    """A lone surrogate has no UTF-8, so it is written as literal text."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(text, str) else text


def _encoded(body: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(body, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadMessage("the result cannot be written as JSON (no NaN, no cycle): %s" % error) from None
    return re.sub("[^\x00-\x7f]", _escaped, text).encode("ascii")


def _escaped(found: re.Match[str]) -> str:
    """A character within a JSON text, as ASCII."""
    return json.dumps(_literal(found.group()))[1:-1]


class _Content:
    """What is sent as one file: bytes, or an open file of which `length` bytes are sent whatever happens."""

    def __init__(self, source: Content) -> None:
        self.lost = 0
        self.data = b""
        self.file: BinaryIO | None = None
        if isinstance(source, (bytes, bytearray, memoryview)):
            self.data = bytes(source)
        else:
            self._open(source)
        if self.file is None:
            self.length = len(self.data)

    def _open(self, path: Path) -> None:
        file = open(path, "rb")  # noqa: SIM115  open until it is sent
        try:
            seen = os.fstat(file.fileno())
            self.length = seen.st_size
            if stat.S_ISREG(seen.st_mode) and self.length > IN_MEMORY:
                self.file = file
            else:  # the size of a pipe, or of a file in /proc, says nothing
                self.data = file.read(self.length or -1) if stat.S_ISREG(seen.st_mode) else file.read()
        finally:
            if self.file is None:
                file.close()

    def pieces(self) -> Iterator[bytes]:
        """Exactly `length` bytes: a cut message would take what follows it for the rest of the file."""
        assert self.file is not None
        left = self.length
        while left:
            data = b"" if self.lost else self._read(min(left, 1 << 20))
            if not data:
                self.lost = self.lost or left
                data = bytes(min(left, 1 << 20))
            left -= len(data)
            yield data

    def _read(self, size: int) -> bytes:
        assert self.file is not None
        try:
            return self.file.read(size)
        except OSError:
            return b""

    def close(self) -> None:
        if self.file is not None:
            self.file.close()


# How it is sent -----------------------------------------------------------------------------------------


def _send_line(line: str) -> None:
    if len(line) >= LINE:
        raise BadMessage(
            "%s... has %d bytes; a control line has at most %d" % (line[:40], len(line), LINE - 1)
        )
    _send(line.encode("ascii") + b"\n", ())


def _send(head: bytes, contents: Collection[_Content]) -> None:
    size = len(head) + sum(content.length for content in contents)
    fd, lockable = _open_channel()
    try:
        if lockable:
            fcntl.flock(fd, fcntl.LOCK_EX)
        elif size > ATOMIC:
            reason = "the channel cannot be opened anew through /proc/self/fd, which a lock of our own needs"
            raise CannotLock("a message of %d bytes: expected at most %d: %s" % (size, ATOMIC, reason))
        _write(fd, _pieces(head, contents))
    finally:
        if lockable:
            fcntl.flock(fd, fcntl.LOCK_UN)  # a child that was forked meanwhile would keep it
        os.close(fd)


def _pieces(head: bytes, contents: Collection[_Content]) -> Iterator[bytes]:
    """What is in memory in one piece, so that a short message is one write."""
    held = [head]
    for content in contents:
        if content.file is None:
            held.append(content.data)
        else:
            yield b"".join(held)
            held = []
            yield from content.pieces()
    yield b"".join(held)


def _write(fd: int, pieces: Iterator[bytes]) -> None:
    """All of it: an exception out of a signal handler between two writes would leave half a message."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, HELD_BACK)
    try:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                try:
                    rest = rest[os.write(fd, rest) :]
                except BlockingIOError:  # whoever shares the description has made it so
                    _wait_for_room(fd)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ECONNRESET, errno.EBADF):
            raise
        if signal.SIGPIPE not in before and signal.SIGPIPE in signal.sigpending():
            signal.sigwait({signal.SIGPIPE})
        cause = "proctor has closed it, most likely because of a channel error, which its report explains"
        raise ChannelClosed("the control channel is closed: %s" % cause) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait_for_room(fd: int) -> None:
    room = select.poll()
    room.register(fd, select.POLLOUT)
    room.poll()


def _open_channel() -> tuple[int, bool]:
    """A descriptor of our own, and whether a lock on it keeps others out."""
    failed, closed = [], False
    for variable in VARIABLES:
        value = os.environ.get(variable, "")
        if not value:
            continue
        try:
            return (_open_path(value), True) if variable == PATH_VARIABLE else _open_number(value)
        except (ValueError, OverflowError):
            failed.append("%s is %r, which is not the number of a descriptor" % (variable, value))
        except OSError as error:
            closed = closed or error.errno in (errno.EBADF, errno.ENXIO)
            failed.append("%s is %s: %s" % (variable, value, error.strerror))
    if closed:
        cause = "proctor has closed it, or what started this program did not pass it on"
        raise ChannelClosed("the control channel is closed: %s (%s)" % (cause, "; ".join(failed)))
    reason = "; ".join(failed) or "none of %s is set" % ", ".join(VARIABLES)
    raise NoChannel("no control channel: %s; proctor gives one to what it runs" % reason)


def _open_number(value: str) -> tuple[int, bool]:
    if not (value.isascii() and value.isdigit()):
        raise ValueError(value)
    fd = int(value)
    _check_kind(fd)
    try:  # an inherited description is shared, and so would be its lock
        return _open_path("/proc/self/fd/%d" % fd), True
    except OSError as error:
        if error.errno == errno.ENXIO and stat.S_ISFIFO(os.fstat(fd).st_mode):
            raise  # a FIFO without a reader
        return os.dup(fd), False


def _open_path(path: str) -> int:
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # waits for no reader
    try:
        _check_kind(fd)
        os.set_blocking(fd, True)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check_kind(fd: int) -> None:
    mode = os.fstat(fd).st_mode
    if not (
        stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    ):  # closed, and the number was used for another file since
        raise OSError(errno.EBADF, "neither a pipe nor a socket, so not the channel")
