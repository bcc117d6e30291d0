"""The warm start: a run takes the standby that fits, if there is one. Keeps one for each kind of run.

Belongs to a process that lives on between runs, such as the server; after its death, however that comes, no
standby is alive.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from itertools import count
from typing import TypeAlias

from proctor.errors import LaunchError
from proctor.launch import Launch
from proctor.process.cold_start import ColdStart
from proctor.process.preloads import Preloads
from proctor.process.standby import READY_SECONDS, Key, Standby, key_of
from proctor.process.stop import Stop
from proctor.process.supervise import Supervised

MOST = 4  # kinds of runs for which a process waits
UNUSED_SECONDS = 600.0  # until one that nobody needed is ended

Log: TypeAlias = Callable[[str], None]


class WarmStart(ColdStart):
    """Starts the processes of one run."""

    def __init__(self, standbys: Standbys, run_id: str, environ: Mapping[str, str], stop: Stop) -> None:
        super().__init__(run_id, environ, stop)
        self._standbys = standbys

    def start(self, launch: Launch) -> Supervised:
        tag = self._tag()
        begun = self._standbys.take(launch, self._environ, tag)
        return begun or Supervised(launch, tag, self._environ)


class Standbys:
    """Processes that wait for their runs. Any thread may call its methods."""

    def __init__(self, preloads: Preloads, log: Log) -> None:
        self._preloads, self._log = preloads, log
        self._changed = threading.Condition()  # what follows is for who holds it
        self._wanted: OrderedDict[Key, Mapping[str, str]] = OrderedDict()  # environments; oldest first
        self._starting: set[Key] = set()
        self._waiting: dict[Key, Standby] = {}
        self._failed: set[Key] = set()
        self._closed = False
        self._tag, self._count = f"standby-{os.urandom(8).hex()}", count(1)
        self._wake_read, self._wake_write = os.pipe()
        self._thread: threading.Thread | None = None

    def starter(self, run_id: str, environ: Mapping[str, str], stop: Stop) -> WarmStart:
        return WarmStart(self, run_id, environ, stop)

    def take(self, launch: Launch, environ: Mapping[str, str], tag: str) -> Supervised | None:
        """The process of this launch, if one waits for it. From now on the next one is wanted."""
        key = key_of(launch, environ)
        if key is None:
            return None
        with self._changed:
            self._wanted[key] = environ
            self._wanted.move_to_end(key)
            self._changed.wait_for(lambda: key not in self._starting)  # faster than another start
            standby = self._waiting.pop(key, None)
        if standby is None:
            return None
        begun = standby.begin(launch, environ, tag)
        if isinstance(begun, Supervised):
            return begun
        self._log(f"a standby was not used: {begun}")
        _close(standby)
        return None

    def refill(self) -> None:
        """Start what the next runs will need; a run has ended."""
        with self._changed:
            while len(self._wanted) > MOST:
                key, _ = self._wanted.popitem(last=False)
                if standby := self._waiting.pop(key, None):
                    _close(standby)
            known = {*self._waiting, *self._starting, *self._failed}
            missing = {} if self._closed else {k: env for k, env in self._wanted.items() if k not in known}
            self._starting.update(missing)
            if missing and self._thread is None:
                self._thread = threading.Thread(target=self._tend, daemon=True)
                self._thread.start()
        for key, environ in missing.items():
            self._start(key, environ)

    def _start(self, key: Key, environ: Mapping[str, str]) -> None:
        """Its key is among those that are starting."""
        standby = None
        try:
            tag = f"{self._tag}-{next(self._count)}"
            standby = Standby(key, environ, tag, self._preloads.dropped(key))
        except LaunchError as error:
            self._log(f"no standby: {error}")
        with self._changed:
            self._starting.discard(key)
            if standby is not None and not self._closed:
                self._waiting[key], standby = standby, None
            self._changed.notify_all()
        if standby is not None:
            _close(standby)
        self._wake()

    def close(self) -> None:
        """No standby is alive after this."""
        with self._changed:
            self._closed = True
            alive, self._waiting = list(self._waiting.values()), {}
        self._wake()
        for standby in alive:
            standby.close()

    def _wake(self) -> None:
        os.write(self._wake_write, b".")

    def _tend(self) -> None:
        """Reads what they write, and ends those that nobody needs."""
        while True:
            with self._changed:
                if self._closed:
                    return
                standbys = list(self._waiting.values())
                poll = select.poll()
                poll.register(self._wake_read, select.POLLIN)
                for standby in standbys:
                    poll.register(standby.fileno(), select.POLLIN)
            left = [_deadline(standby) - time.monotonic() for standby in standbys]
            ready = {descriptor for descriptor, _ in poll.poll(max(0.0, min(left, default=60.0)) * 1000)}
            if self._wake_read in ready:
                os.read(self._wake_read, 4096)
            again: list[Key] = []
            with self._changed:
                for standby in standbys:
                    if self._waiting.get(standby.key) is standby and not self._look(standby):
                        del self._waiting[standby.key]
                        again += [standby.key] if standby.key in self._wanted else []
                        _close(standby)
                again = [key for key in again if key in self._starting]
            for key in again:
                self._start(key, self._wanted[key])

    def _look(self, standby: Standby) -> bool:
        """Whether it can go on waiting."""
        key, lines = standby.key, standby.lines()
        for line in lines or ():
            word, _, rest = line.partition(" ")
            if word == "dropped":
                package, _, why = rest.partition(" ")
                return self._without(key, package, why)
            if word == "failed":
                self._failed.add(key)
                self._log(f"no standby for {key.cwd}: {rest}")
                return False
        if standby.ready:
            late = time.monotonic() > _deadline(standby)
            if late:
                del self._wanted[key]
            return not late and lines is not None
        if lines is None and standby.importing:
            return self._without(key, standby.importing, "its import ended the process")
        if time.monotonic() > _deadline(standby):
            if standby.importing:
                return self._without(key, standby.importing, f"its import took more than {READY_SECONDS:g} s")
            self._failed.add(key)
            return False
        return lines is not None

    def _without(self, key: Key, package: str, why: str) -> bool:
        self._log(f"{package} is not preloaded for {key.cwd}: {why}")
        self._preloads.drop(key, package, why)
        self._starting.add(key)
        return False


def _deadline(standby: Standby) -> float:
    return standby.since + (UNUSED_SECONDS if standby.ready else READY_SECONDS)


def _close(standby: Standby) -> None:
    """Nobody waits for it."""
    threading.Thread(target=standby.close, daemon=True).start()
