"""Processes that only exist on paper: what they write and how they end is a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from proctor.errors import LaunchError
from proctor.launch import Launch
from proctor.process.deadline import Push
from proctor.process.process import Chunk, Diversion


class Scripted:
    """Writes one chunk at each look and ends when there are no more; a push can end it earlier. One that is
    `stubborn` ends only when it is killed."""

    def __init__(
        self, chunks: Iterable[Chunk], exit_status: int, hangs: bool, adopts: bool, stubborn: bool
    ) -> None:
        self.exit_status: int | None = None
        self.done = self.cut_off = self.closed = self.deaf = False
        self.adopts = adopts
        self.diversion: Diversion | None = None
        self.pushes: list[Push] = []
        self._chunks, self._ends_with, self._hangs = list(chunks), exit_status, hangs
        self._stubborn = stubborn

    def push(self, push: Push) -> None:
        self.pushes.append(push)
        if not self._stubborn or push is Push.KILL:
            self._hangs, self._ends_with = False, -15

    def write(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)

    def stop_hearing(self) -> None:
        self.deaf = True

    def close(self) -> None:
        self.closed = True

    def look(self) -> list[Chunk]:
        if self._chunks:
            return [self._chunks.pop(0)]
        if not self._hangs:
            self.exit_status, self.done = self._ends_with, True
        return []


class Script:
    """Starts scripted processes by the names of their launches; one without a script cannot be started.

    A second script under the same name is for the second start of that launch, and so on.
    """

    def __init__(self) -> None:
        self.started: dict[str, Scripted] = {}
        self.launches: list[Launch] = []
        self.most_at_once = 0
        self.on_wait: Callable[[], None] = lambda: None
        self.passes: Callable[[float], None] = lambda seconds: None  # gets how long a wait may take
        self._scripts: dict[str, list[Scripted]] = {}

    def add(
        self,
        name: str,
        *chunks: bytes | Chunk,
        code: int = 0,
        hangs: bool = False,
        adopts: bool = True,
        stubborn: bool = False,
    ) -> None:
        """Bytes are written to stdout."""
        written = [chunk if isinstance(chunk, Chunk) else Chunk("stdout", chunk) for chunk in chunks]
        process = Scripted(written, code, hangs, adopts, stubborn)
        self._scripts.setdefault(name, []).append(process)

    def start(self, launch: Launch) -> Scripted:
        if not self._scripts.get(launch.name):
            raise LaunchError(f"cannot start {launch.name}: no such file")
        self.launches.append(launch)
        self.started[launch.name] = self._scripts[launch.name].pop(0)
        return self.started[launch.name]

    def wait(self, processes: Sequence[Scripted], seconds: float) -> list[tuple[Scripted, list[Chunk]]]:
        assert seconds >= 0
        self.most_at_once = max(self.most_at_once, len(processes))
        self.on_wait()
        self.passes(seconds)
        return [(process, process.look()) for process in processes]
