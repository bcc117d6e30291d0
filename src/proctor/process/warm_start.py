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
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import TypeAlias

from proctor.errors import LaunchError
from proctor.launch import Launch
from proctor.process.cold_start import ColdStart
from proctor.process.preloads import Preloads
from proctor.process.standby import Key, Standby, State, key_of
from proctor.process.stop import Stop
from proctor.process.supervise import Supervised

MOST = 4  # kinds of runs for which a process waits
UNUSED_SECONDS = 600.0  # until one that nobody needed is ended, and until one that only fails is tried again
MOST_FAILURES = 2  # in a row; the first may have been killed
READY_SECONDS = 60.0  # for one to have imported everything
REST_SECONDS = (
    0.1  # after a run: first its answer is sent, and a call that follows at once has all processors
)
START_PATIENCE = 5.0  # seconds that a run waits for one that is about to be started
_SAID = 100  # lines of the log that are not repeated

Log: TypeAlias = Callable[[str], None]
Clock: TypeAlias = Callable[[], float]


class WarmStart(ColdStart):
    """Starts the processes of one run."""

    def __init__(self, standbys: Standbys, run_id: str, environ: Mapping[str, str], stop: Stop) -> None:
        super().__init__(run_id, environ, stop)
        self._standbys = standbys

    def start(self, launch: Launch) -> Supervised:
        tag = self._tag()
        begun = self._standbys.take(launch, self._environ, tag, self._stop)
        return begun or Supervised(launch, tag, self._environ)


class _Kind:
    """Runs that have one key."""

    def __init__(self) -> None:
        self.environ: Mapping[str, str] = {}  # of the last of them
        self.standby: Standby | None = None
        self.due: float | None = None  # when the next standby is to be started
        self.failures = 0  # of standbys, one after the other, that did not get ready
        self.not_before = 0.0  # what they died of would end the next one, too


class Standbys:
    """Processes that wait for their runs. Any thread may call its methods.

    A thread of its own starts them, reads what they write, and ends those that are of no use.
    """

    def __init__(self, preloads: Preloads, log: Log, clock: Clock = time.monotonic) -> None:
        self._preloads, self._log, self._clock = preloads, log, clock
        self._tag, self._count = f"standby-{os.urandom(8).hex()}", count(1)
        self._changed = threading.Condition()  # what follows is for who holds it, never for long
        self._kinds: OrderedDict[Key, _Kind] = OrderedDict()  # the last one used is the last
        self._unwanted: list[Standby] = []  # to be closed
        self._said: set[str] = set()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._wake_ends: tuple[int, int] | None = None  # of a pipe

    def starter(self, run_id: str, environ: Mapping[str, str], stop: Stop) -> WarmStart:
        return WarmStart(self, run_id, environ, stop)

    def take(
        self, launch: Launch, environ: Mapping[str, str], tag: str, stop: Stop | None = None
    ) -> Supervised | None:
        """The process of this launch, if one waits for it. The next one is wanted after the run."""
        key = key_of(launch, environ)
        standby = self._claim(key, environ) if key is not None else None
        if standby is None:
            return None
        begun = standby.begin(launch, environ, tag, stop)
        with self._changed:
            if begun is not None:
                if kind := self._kinds.get(standby.key):
                    kind.failures = 0
                return begun
            closed = self._closed
            if not closed:
                self._let_go(standby)
        if closed:
            standby.close()
        self._learn(standby)
        return None

    def _claim(self, key: Key, environ: Mapping[str, str]) -> Standby | None:
        with self._changed:
            kind = self._kinds.setdefault(key, _Kind())
            self._kinds.move_to_end(key)
            kind.environ, kind.due = environ, None
            while len(self._kinds) > MOST:
                self._forget(next(iter(self._kinds)))
            self._changed.wait_for(lambda: not _is_starting(kind), START_PATIENCE)
            if kind.standby is None or _is_starting(kind) or self._closed:
                return None
            standby, kind.standby = kind.standby, None
            return standby

    def refill(self) -> None:
        """Start what the next runs will need, after a rest; a run has ended."""
        with self._changed:
            if self._closed or not self._kinds or not self._has_thread():
                return
            for kind in self._kinds.values():
                if kind.standby is None and kind.due is None:
                    kind.due = max(self._clock() + REST_SECONDS, kind.not_before)
            self._wake()

    def close(self, seconds: float | None = None) -> None:
        """No standby is alive after this; or they are about to end, if that takes longer than `seconds`."""
        with self._changed:
            self._closed = True
            self._wake()
            thread = self._thread
        if thread is not None:
            thread.join(seconds)

    def _has_thread(self) -> bool:
        """Starts it, if it can be had."""
        if self._thread is None:
            try:
                self._wake_ends = os.pipe()
                self._thread = threading.Thread(target=self._work, daemon=True, name="standbys")
                self._thread.start()
            except (OSError, RuntimeError) as error:
                self._thread = None
                self._close_pipe()
                self._say(f"no process is kept ready: {error}")
        return self._thread is not None

    def _close_pipe(self) -> None:
        ends, self._wake_ends = self._wake_ends, None
        for end in ends or ():
            os.close(end)

    def _wake(self) -> None:
        if self._wake_ends is not None:
            os.write(self._wake_ends[1], b".")

    def _work(self) -> None:
        while True:
            with self._changed:
                following = self._following()
                unwanted, self._unwanted = self._unwanted, []
                waiting = [kind.standby for kind in self._kinds.values() if kind.standby is not None]
                if self._closed:
                    break
            for standby in unwanted:  # before another one starts: no more than so many are alive
                standby.close()
            if following is not None:
                self._start(following)
            elif not unwanted:
                self._listen(waiting)
        for standby in waiting:
            standby.dismiss()  # so that they end at the same time
        for standby in [*unwanted, *waiting]:
            standby.close()
        with self._changed:
            self._close_pipe()

    def _following(self) -> Standby | None:
        """The one to be started now: of the kind that was used last."""
        now = self._clock()
        for key, kind in reversed(self._kinds.items()):
            if kind.due is not None and kind.due <= now and not self._closed:
                kind.due, kind.standby = None, Standby(key, kind.environ)
                return kind.standby
        return None

    def _start(self, standby: Standby) -> None:
        standby.since = self._clock()
        try:
            standby.start(f"{self._tag}-{next(self._count)}", self._preloads.dropped(standby.key))
        except LaunchError as error:
            self._say(f"no process is kept ready for {standby.key.cwd}: {error}")
        with self._changed:
            if standby.state is State.OVER:
                self._let_go(standby)
            self._changed.notify_all()

    def _listen(self, waiting: Iterable[Standby]) -> None:
        """Until one of them has written something, or something has to be done."""
        assert self._wake_ends is not None
        poll = select.poll()
        poll.register(self._wake_ends[0], select.POLLIN)
        for standby in waiting:
            for descriptor in standby.descriptors:
                poll.register(descriptor, select.POLLIN)
        ready = dict(poll.poll(self._pause()))
        if self._wake_ends[0] in ready:
            os.read(self._wake_ends[0], 4096)
        over = []
        with self._changed:
            for standby in waiting:
                kind = self._kinds.get(standby.key)
                if kind is None or kind.standby is not standby:
                    continue  # a run has it, or nobody needs it
                standby.look(ready)
                if standby.state is State.IMPORTING and self._clock() >= _deadline(standby):
                    standby.end(f"it took more than {READY_SECONDS:g} s")
                if standby.state is State.READY and self._clock() >= _deadline(standby):
                    self._forget(standby.key)
                elif standby.state is State.OVER:
                    self._let_go(standby)
                    kind.due = self._clock() if standby.package else None  # at once, without that package
                    over.append(standby)
        for standby in over:
            self._learn(standby)

    def _pause(self) -> float | None:
        """Milliseconds until something has to be done."""
        with self._changed:
            kinds = self._kinds.values()
            moments = [_deadline(kind.standby) for kind in kinds if kind.standby is not None]
            moments += [kind.due for kind in kinds if kind.due is not None]
        return max(0.0, min(moments) - self._clock()) * 1000 if moments else None

    def _let_go(self, standby: Standby) -> None:
        """It is to be closed, and its kind is without one."""
        kind = self._kinds.get(standby.key)
        if kind is not None and kind.standby is standby:
            kind.standby = None
        self._unwanted.append(standby)
        self._wake()

    def _forget(self, key: Key) -> None:
        kind = self._kinds.pop(key)
        kind.due = None
        if kind.standby is not None:
            self._unwanted.append(kind.standby)
            kind.standby = None  # a run may be waiting for it
            self._changed.notify_all()
            self._wake()

    def _learn(self, standby: Standby) -> None:
        """What the end of one means for the next."""
        key, why = standby.key, standby.why
        if standby.package:
            self._preloads.drop(key, standby.package, why)
            self._say(f"{standby.package} is not preloaded for {key.cwd}: {why}")
            return
        self._say(f"a process that was kept ready for {key.cwd} was not used: {why}")
        with self._changed:
            kind = self._kinds.get(key)
            if kind is None or not standby.failed:
                return
            kind.failures += 1
            if kind.failures == MOST_FAILURES:
                kind.failures, kind.not_before = 0, self._clock() + UNUSED_SECONDS

    def _say(self, line: str) -> None:
        """Once: what is wrong with one is often wrong with the next."""
        with self._changed:
            if line in self._said:
                return
            if len(self._said) == _SAID:
                self._said.clear()
            self._said.add(line)
        self._log(line)


def _is_starting(kind: _Kind) -> bool:
    return kind.standby is not None and kind.standby.state is State.STARTING


def _deadline(standby: Standby) -> float:
    return standby.since + (UNUSED_SECONDS if standby.state is State.READY else READY_SECONDS)
