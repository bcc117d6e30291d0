"""Processes that were started before anybody knew what they would run: the warm start.

A standby is the next run's process. It is started like any other, imports what every run needs, and waits for
its launch. It serves one run. Whatever is wrong with it, the run gets a cold start.
"""

from __future__ import annotations

import _socket
import os
import select
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from proctor.errors import LaunchError
from proctor.launch import ASKED_VARIABLE, Ahead, Launch
from proctor.process.deadline import Push
from proctor.process.supervise import LAUNCH_FD, Supervised, encode_launch
from proctor.process.tagged import TAG_VARIABLE

HOOK = str(Path(__file__).parent.parent / "inject" / "standby")
VARIABLE = "PROCTOR_STANDBY"  # in which it finds what it is to do
_PATH = "PYTHONPATH"
READY_SECONDS = 60.0  # for one to have imported everything
ANSWER_SECONDS = 3.0  # for one that is ready to take its launch

#: Not a part of what tests depend on: they change from call to call, and the launch brings them.
_PASSING = ("_", "SHLVL", "OLDPWD", "COLUMNS", "LINES", ASKED_VARIABLE, TAG_VARIABLE)
#: What an interpreter writes about its own start-up would be written at another time.
_TALKATIVE = ("PYTHONVERBOSE", "PYTHONPROFILEIMPORTTIME")


class Key(msgspec.Struct, frozen=True):
    """Runs that are equal in this can begin from the same process."""

    argv: tuple[str, ...]  # the part that is known
    ahead: Ahead
    cwd: str
    memory: int
    interpreter: tuple[int, int]  # inode and time of change of its file
    environment: frozenset[tuple[str, str]]


def key_of(launch: Launch, environ: Mapping[str, str]) -> Key | None:
    """None: such a process is always started from nothing."""
    if launch.ahead is None or any(environ.get(name) for name in _TALKATIVE):
        return None
    try:
        python = os.stat(launch.argv[0])
    except OSError:
        return None
    together = {**environ, **launch.environment}
    return Key(
        launch.argv[: launch.ahead.words],
        launch.ahead,
        launch.cwd,
        launch.memory,
        (python.st_ino, python.st_mtime_ns),
        frozenset((name, value) for name, value in together.items() if name not in _PASSING),
    )


class Standby:
    """One process that waits. Its methods are for the thread that has it."""

    def __init__(self, key: Key, environ: Mapping[str, str], tag: str, dropped: frozenset[str]) -> None:
        """Raises LaunchError."""
        self.key, self._environ = key, environ
        self.since = time.monotonic()
        self.ready = False
        self.importing = ""  # the package that it was told to preload and is about to import
        self._words = b""
        try:
            self._socket, theirs = _socket.socketpair()
        except OSError as error:
            raise LaunchError(f"cannot start a standby: {error.strerror}") from error
        launch = Launch(key.argv, key.cwd, environment=_environment(key, dropped), memory=key.memory)
        try:
            self._process = Supervised(launch, tag, environ, theirs.detach())
        except BaseException:
            self._socket.close()
            raise
        self._socket.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def lines(self) -> list[str] | None:
        """What it has written; None: it has ended."""
        try:
            part = self._socket.recv(1 << 16)
        except BlockingIOError:
            return []
        except OSError:
            return None
        *lines, self._words = (self._words + part).split(b"\n")
        found = [line.decode("utf-8", "replace") for line in lines]
        for line in found:
            word, _, rest = line.partition(" ")
            self.ready = self.ready or word == "ready"
            self.importing = rest if word == "importing" else self.importing
        return found if part or found else None

    def begin(self, launch: Launch, environ: Mapping[str, str], tag: str) -> Supervised | str:
        """The process of the run; or why it cannot be that."""
        self._process.rename(tag)
        before = {**self._environ, **dict(self.key.environment)}
        after = {**environ, **launch.environment, TAG_VARIABLE: tag}
        changed = [f"{name}={value}" for name, value in after.items() if before.get(name) != value]
        removed = [name for name in before.keys() - after.keys() if name in _PASSING]
        self._process.wake()
        self._process.wake_main()
        self._socket.settimeout(READY_SECONDS)
        try:
            self._socket.sendall(encode_launch(launch, [*changed, *removed]))
        except OSError as error:
            return f"it is gone: {error.strerror}"
        self._socket.setblocking(False)
        return self._answer()

    def _answer(self) -> Supervised | str:
        asked = time.monotonic()
        poll = select.poll()
        poll.register(self._socket.fileno(), select.POLLIN)
        while True:
            lines = self.lines()
            if lines is None:
                return "it has ended"
            for line in lines:
                if line == "go":
                    self._socket.close()
                    return self._process
                word, _, why = line.partition(" ")
                if word in ("stale", "failed", "dropped"):
                    return why
            left = asked + (ANSWER_SECONDS if self.ready else READY_SECONDS) - time.monotonic()
            if left <= 0:
                return "it does not answer"
            poll.poll(left * 1000)

    def close(self) -> None:
        """Also while it imports something."""
        self._socket.close()
        self._process.push(Push.KILL)
        self._process.close()


def _environment(key: Key, dropped: frozenset[str]) -> dict[str, str]:
    import json

    environment = dict(key.environment)
    asked = {
        "descriptor": LAUNCH_FD,
        "pythonpath": environment[_PATH],
        "preload": [name for name in key.ahead.preload if name not in dropped],
        "started": time.time_ns(),
    }
    return {
        **environment,
        _PATH: f"{HOOK}{os.pathsep}{environment[_PATH]}",
        VARIABLE: json.dumps(asked),
    }
