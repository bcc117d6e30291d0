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
from contextlib import suppress
from enum import Enum
from pathlib import Path

import msgspec

from proctor.errors import LaunchError
from proctor.launch import ASKED_VARIABLE, Ahead, Launch
from proctor.process.deadline import Push
from proctor.process.stop import Stop
from proctor.process.supervise import LAUNCH_FD, Supervised, encode_launch
from proctor.process.tagged import TAG_VARIABLE

HOOK = str(Path(__file__).parent.parent / "inject" / "standby")
VARIABLE = "PROCTOR_STANDBY"  # in which it finds what it is to do
_PATH = "PYTHONPATH"
ANSWER_SECONDS = 3.0  # for one that is ready to take its launch
IMPORT_SECONDS = 10.0  # for one that still imports to write its next line: most runs need the same modules

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


class State(Enum):
    """Of a standby, in this order. Each may be followed by the last."""

    STARTING = "starting"  # it has no process yet
    IMPORTING = "importing"
    READY = "ready"
    TAKEN = "taken"  # its process is the process of a run
    OVER = "over"  # of no use, because of `why`


_WAITING = (State.IMPORTING, State.READY)


class Standby:
    """One process that waits. Its methods are for one thread at a time; none but `start`, `begin` and `close`
    waits for anything."""

    def __init__(self, key: Key, environ: Mapping[str, str]) -> None:
        self.key, self._environ = key, environ
        self.state = State.STARTING
        self.since = 0.0  # for who has it: when it was started
        self.why = ""
        self.failed = False  # by itself: the next one may well do the same
        self.package = ""  # the one that it was told to preload and is importing, or could not import
        self._words = b""
        self._socket: _socket.socket | None = None
        self._process: Supervised | None = None
        self._outputs: list[int] = []  # descriptors on which nothing is expected yet

    def start(self, tag: str, dropped: frozenset[str]) -> None:
        """`dropped`: packages that are not to be preloaded. Raises LaunchError; it is over then."""
        try:
            self._socket, theirs = _socket.socketpair()
            self._socket.setblocking(False)
            launch = Launch(
                self.key.argv,
                self.key.cwd,
                environment=_environment(self.key, dropped),
                memory=self.key.memory,
            )
            self._process = Supervised(launch, tag, self._environ, theirs.detach())
        except (LaunchError, OSError) as error:
            self.end(str(error))
            raise LaunchError(str(error)) from error
        self._outputs = self._process.outputs
        self.state = State.IMPORTING

    @property
    def descriptors(self) -> list[int]:
        """Those that have news for `look`."""
        if self._socket is None or self._process is None:
            return []
        return [*self._outputs, self._socket.fileno(), self._process.socket]

    def look(self, ready: Mapping[int, int]) -> None:
        """`ready`: descriptors, and what poll says of them."""
        if self._socket is None or self._process is None:
            return
        if self._socket.fileno() in ready:
            self._listen()
        for output in self._outputs[:]:
            if ready.get(output, 0) & select.POLLIN and self.state in _WAITING:
                self.end("it wrote something before its run")
                self.failed = True  # though it may have become ready at the same moment
            elif output in ready:
                self._outputs.remove(output)  # closed: it is about to end, or does without
        if (
            self._process.socket in ready and self.state in _WAITING
        ):  # its supervisor tells of an end, or is dead
            self._has_ended()

    def _has_ended(self) -> None:
        self.end("its import ended the process" if self.package else "it has ended")

    def _listen(self) -> None:
        assert self._socket is not None
        try:
            part = self._socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        *lines, self._words = (self._words + part).split(b"\n")
        for line in lines:
            self._hear(line.decode("utf-8", "replace"))
        if not part and self.state in _WAITING:
            self._has_ended()

    def _hear(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if self.state is State.OVER:
            return  # the first reason counts
        if word == "importing":
            self.package = rest
        elif word == "dropped":
            self.package, _, why = rest.partition(" ")
            self.end(why)
        elif word == "ready":
            self.state, self.package = State.READY, ""
        elif word == "go":
            self.state = State.TAKEN
        else:  # stale, failed
            self.package = ""
            self.end(rest)

    def end(self, why: str) -> None:
        self.failed = self.state is State.IMPORTING
        self.state, self.why = State.OVER, why

    def begin(
        self, launch: Launch, environ: Mapping[str, str], tag: str, stop: Stop | None
    ) -> Supervised | None:
        """The process of the run; None: it is over. Gives up when the run is to stop."""
        assert self._process is not None and self._socket is not None
        before = {**self._environ, **dict(self.key.environment)}
        after = {**environ, **launch.environment, TAG_VARIABLE: tag}
        changed = [f"{name}={value}" for name, value in after.items() if before.get(name) != value]
        removed = [name for name in before.keys() - after.keys() if name in _PASSING]
        try:
            message = encode_launch(launch, [*changed, *removed])
        except LaunchError as error:
            self.end(str(error))
            return None
        self._process.wake()
        self._process.wake_main()
        self._talk(message, stop)
        if self.state is not State.TAKEN:
            return None
        self._process.add_tag(tag)
        self._socket.close()
        return self._process

    def _talk(self, message: bytes, stop: Stop | None) -> None:
        """Until it has taken the launch, or is over."""
        assert self._socket is not None
        heard, seen, left = time.monotonic(), (self.state, self.package), message
        while self.state in _WAITING:
            if self.state is State.READY:
                if left is message and not self._is_silent():
                    return
                left = self._send(left)
            patience = ANSWER_SECONDS if self.state is State.READY else IMPORT_SECONDS
            rest = heard + patience - time.monotonic()
            ready = self._wait(rest, stop, bool(left) and self.state is State.READY)
            if stop is not None and stop.reason is not None:
                self._give_up("the run was stopped")
            elif not ready and rest <= 0:
                self._give_up("it does not answer")
            else:
                self.look(ready)
            if (self.state, self.package) != seen:
                heard, seen = time.monotonic(), (self.state, self.package)

    def _is_silent(self) -> bool:
        """Whether it has written nothing before it became ready: once the launch is sent, nobody can tell."""
        poll = select.poll()
        for output in self._outputs:
            poll.register(output, select.POLLIN)
        self.look(dict(poll.poll(0)))
        return self.state is State.READY

    def _wait(self, seconds: float, stop: Stop | None, writes: bool) -> dict[int, int]:
        """What poll says of its descriptors; `writes`: there is more to send."""
        assert self._socket is not None
        poll = select.poll()
        for descriptor in [*self.descriptors, *([stop.fileno()] if stop is not None else [])]:
            poll.register(descriptor, select.POLLIN)
        if writes:
            poll.register(self._socket.fileno(), select.POLLIN | select.POLLOUT)
        return dict(poll.poll(max(0.0, seconds) * 1000))

    def _send(self, message: bytes) -> bytes:
        """What is left of it."""
        assert self._socket is not None
        try:
            return message[self._socket.send(message) :] if message else b""
        except BlockingIOError:
            return message
        except OSError:
            return b""  # it has ended, and may have said why

    def _give_up(self, why: str) -> None:
        """It cannot begin after this; if it has already, it is taken."""
        assert self._socket is not None
        with suppress(OSError):
            self._socket.shutdown(_socket.SHUT_RD)
        self._listen()
        if self.state is not State.TAKEN:
            self.end(why)
            self.package, self.failed = "", False

    def dismiss(self) -> None:
        """It is about to end, also while it imports something."""
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            self._process.push(Push.KILL)

    def close(self) -> None:
        """Nothing of it is alive after this."""
        self.dismiss()
        if self._process is not None:
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
