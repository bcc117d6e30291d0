"""The cold start: each process gets a supervisor. Waits for all processes of a run and reads in batches."""

from __future__ import annotations

import select
from collections.abc import Iterable, Mapping, Sequence
from itertools import count

from proctor.launch import Launch
from proctor.process.pace import Pace
from proctor.process.process import Chunk
from proctor.process.stop import Stop
from proctor.process.supervise import Supervised


class ColdStart:
    """Starts the processes of one run and waits for their output or for a request to stop."""

    def __init__(self, run_id: str, environ: Mapping[str, str], stop: Stop) -> None:
        self._run_id, self._environ, self._stop = run_id, environ, stop
        self._started = count(1)
        self._pace = Pace()

    def start(self, launch: Launch) -> Supervised:
        return Supervised(launch, self._tag(), self._environ)

    def _tag(self) -> str:
        """Of the next process."""
        return f"{self._run_id}-{next(self._started)}"

    def wait(self, processes: Sequence[Supervised], seconds: float) -> list[tuple[Supervised, list[Chunk]]]:
        """What each has written, after at most `seconds`."""
        sockets = [self._stop.fileno(), *(process.socket for process in processes)]
        ends = [end for process in processes for end in process.ends]
        diverted = any(process.diversion for process in processes)  # straight to a file, at full speed
        pause = 0.0 if diverted else min(self._pace.pause, seconds)
        if pause:
            _ready(sockets, pause, hung_up=ends)
        ready = _ready([*sockets, *ends], seconds - pause)
        if not ready:
            for process in processes:
                process.wake()
        if self._stop.fileno() in ready:
            self._stop.clear()
        found = [(process, process.gather(ready)) for process in processes]
        self._pace.read(max((p.fullness(chunk) for p, chunks in found for chunk in chunks), default=0.0))
        return found


def _ready(descriptors: Iterable[int], seconds: float, hung_up: Iterable[int] = ()) -> set[int]:
    """Like select, without its limit on how large a descriptor's number may be.

    Those in `hung_up` count only when every writer has closed its end.
    """
    poll = select.poll()
    for descriptor in descriptors:
        poll.register(descriptor, select.POLLIN)
    for descriptor in hung_up:
        poll.register(descriptor, 0)
    return {descriptor for descriptor, _ in poll.poll(max(0.0, seconds) * 1000)}
