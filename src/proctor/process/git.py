"""Asks git. It changes nothing in the project, runs no hook and waits for nobody."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Mapping, Sequence

from proctor.places import program
from proctor.process.spawn import Spawned
from proctor.process.stop import Stop

PATIENCE = 5.0  # seconds; what takes longer is not worth the answer
#: Variables that git sets for hooks: with them, another repository counts than the one around a directory.
ELSEWHERE = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_REPLACE_REF_BASE",
)
_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
#: A daemon of git's would outlive the run, a hook could do anything, and nothing is fetched.
_OPTIONS = (
    *("--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("-c", "protocol.allow=never"),
)


class Question:
    """A git command under way; its answer is read when it is needed."""

    def __init__(
        self, git: str, arguments: Sequence[str], environ: Mapping[str, str], stdin: bytes = b""
    ) -> None:
        """Raises OSError for lack of descriptors."""
        self._process: Spawned | None = None
        with contextlib.ExitStack() as opened:
            self._read, write = _pipe(opened)
            self._stopped, self._stop = _pipe(opened)
            quiet = os.open(os.devnull, os.O_WRONLY)
            opened.callback(os.close, quiet)
            given = _file(stdin, opened) if stdin else None
            with contextlib.suppress(OSError, ValueError):  # ValueError: a path with a null character
                self._process = Spawned((git, *_OPTIONS, *arguments), [write, quiet], environ, given)
            if given is not None:
                os.close(given)
            os.close(write)
            os.close(quiet)
            opened.pop_all()

    def stop(self) -> None:
        """Ends it: whoever waits for the answer gets None. For any thread, before or after the answer."""
        if self._stop >= 0:
            os.close(self._stop)
            self._stop = -1

    def answer(self, seconds: float = PATIENCE, stop: Stop | None = None) -> bytes | None:
        """What it printed; None if it failed, takes too long, or was stopped. To be called once."""
        until = time.monotonic() + seconds
        pieces: list[bytes] = []
        watched = [self._read, self._stopped, *([stop.fileno()] if stop is not None else [])]
        try:
            while self._process is not None and (left := until - time.monotonic()) > 0:
                ready = select.select(watched, [], [], left)[0]
                if self._read not in ready or self._stopped in ready:
                    return None
                piece = os.read(self._read, 1 << 16)
                if not piece:
                    ended = self._process.wait(max(0.0, until - time.monotonic()))
                    return b"".join(pieces) if ended and self._process.returncode == 0 else None
                pieces.append(piece)
            return None
        finally:
            os.close(self._read)
            os.close(self._stopped)
            if self._process is not None:
                _end(self._process)


def _pipe(opened: contextlib.ExitStack) -> tuple[int, int]:
    """Both ends, which are closed with the stack."""
    ends = os.pipe()
    for end in ends:
        opened.callback(os.close, end)
    return ends


def _file(content: bytes, opened: contextlib.ExitStack) -> int:
    """A file without a name that has this content, to be read; it is closed with the stack."""
    from tempfile import TemporaryFile  # few questions have an input

    with TemporaryFile() as file:
        file.write(content)
        file.flush()
        file.seek(0)
        descriptor = os.dup(file.fileno())
    opened.callback(os.close, descriptor)
    return descriptor


def _end(process: Spawned) -> None:
    """With all that it has started, such as a filter that hangs."""
    if process.returncode is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()


class Git:
    """The repository around a directory."""

    def __init__(self, directory: str, environ: Mapping[str, str]) -> None:
        self._directory = directory
        self._program = program("git", environ, directory)
        self._environ = {name: value for name, value in environ.items() if name not in ELSEWHERE} | _QUIET

    def begin(self, *arguments: str, **variables: str) -> Question | None:
        """A command, with more variables; None without git, or for lack of descriptors."""
        return self._begin(b"", arguments, variables)

    def _begin(self, stdin: bytes, arguments: Sequence[str], variables: Mapping[str, str]) -> Question | None:
        if not self._program:
            return None
        try:
            given = ("-C", self._directory, *arguments)
            return Question(self._program, given, {**self._environ, **variables}, stdin)
        except OSError:
            return None

    def ask(self, *arguments: str, **variables: str) -> bytes | None:
        return self.ask_about(b"", *arguments, **variables)

    def ask_about(self, stdin: bytes, *arguments: str, **variables: str) -> bytes | None:
        """The same of a command that reads its input."""
        question = self._begin(stdin, arguments, variables)
        if question is None:
            return None
        try:
            return question.answer()
        finally:
            question.stop()

    def line(self, *arguments: str, **variables: str) -> str:
        """The answer of one line; empty if there is none."""
        answer = self.ask(*arguments, **variables)
        return os.fsdecode(answer).strip() if answer else ""
