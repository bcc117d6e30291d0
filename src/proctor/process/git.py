"""Asks git. It changes nothing in the project, runs no hook and waits for nobody."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Mapping, Sequence

from proctor.places import program
from proctor.process.spawn import Spawned
from proctor.process.stop import Stop

PATIENCE = 5.0  # seconds; what takes longer is not worth the answer
#: Variables that name another repository than the one around a directory: git sets them for hooks.
ELSEWHERE = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
)
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
#: A daemon of git's would outlive the run, and a hook could do anything.
_OPTIONS = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


class Question:
    """A git command under way; its answer is read when it is needed."""

    def __init__(self, git: str, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
        self._read, write = os.pipe()
        quiet = os.open(os.devnull, os.O_WRONLY)
        try:
            # Descriptors of a child become 1 and 2, so ours must not be these.
            given = [os.dup(write), os.dup(quiet)]
            try:
                self._process: Spawned | None = Spawned((git, *_OPTIONS, *arguments), given, environ)
            finally:
                for descriptor in given:
                    os.close(descriptor)
        except OSError:
            self._process = None
        finally:
            os.close(write)
            os.close(quiet)

    def answer(self, seconds: float = PATIENCE, stop: Stop | None = None) -> bytes | None:
        """What it printed; None if it failed, takes too long, or was stopped. To be called once."""
        if self._process is None:
            os.close(self._read)
            return None
        until = time.monotonic() + seconds
        pieces: list[bytes] = []
        watched = [self._read] if stop is None else [self._read, stop.fileno()]
        try:
            while (left := until - time.monotonic()) > 0:
                ready = select.select(watched, [], [], left)[0]
                if self._read not in ready:
                    return None
                piece = os.read(self._read, 1 << 16)
                if not piece:
                    ended = self._process.wait(max(0.0, until - time.monotonic()))
                    return b"".join(pieces) if ended and self._process.returncode == 0 else None
                pieces.append(piece)
            return None
        finally:
            os.close(self._read)
            self._process.kill()


class Git:
    """The repository around a directory."""

    def __init__(self, directory: str, environ: Mapping[str, str]) -> None:
        self._directory = directory
        self._program = program("git", environ, directory)
        self._environ = {name: value for name, value in environ.items() if name not in ELSEWHERE} | _QUIET

    def begin(self, *arguments: str, **variables: str) -> Question | None:
        """A command, with more variables; None without git."""
        if not self._program:
            return None
        return Question(self._program, ("-C", self._directory, *arguments), {**self._environ, **variables})

    def ask(self, *arguments: str, **variables: str) -> bytes | None:
        question = self.begin(*arguments, **variables)
        return None if question is None else question.answer()

    def line(self, *arguments: str, **variables: str) -> str:
        """The answer of one line; empty if there is none."""
        answer = self.ask(*arguments, **variables)
        return os.fsdecode(answer).strip() if answer else ""
