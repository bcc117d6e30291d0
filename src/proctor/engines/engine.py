"""Engines: whatever runs functions elsewhere, behind the Executor of the standard library."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from proctor.engines import host
from proctor.engines.host import Live
from proctor.errors import UsageError
from proctor.nearest import did_you_mean
from proctor.outcome import RunOutcome

LOCAL, DASK = "local", "dask"
_CLOSE = 2.0  # seconds that executors have to end


class Engine(Protocol):
    """An Executor, and what else it may be able to do."""

    name: str  # what users call it
    warning: str  # what they should know before the run; empty: nothing

    def executor(self) -> Executor:
        """A new one: asked for again if one breaks. Raises UsageError if there is none to be had."""
        ...

    def listen(self, live: Live) -> str:
        """Has live events sent to `live`. Returns the word by which `host` finds where a shard sends them;
        empty: the engine cannot carry live events."""
        ...

    def recall(self, reason: RunOutcome) -> bool:
        """Has shards on all machines stop early and return what they have. False: the engine cannot do it."""
        ...

    def lack(self) -> str:
        """Why nothing can go on now, such as `no worker at dask:…`; empty: nothing is known to be wrong."""
        ...

    def close(self) -> None: ...


class PlainEngine:
    """An engine that can do no more than any Executor."""

    warning = ""

    def __init__(self, name: str, factory: Callable[[], Executor]) -> None:
        self.name, self._factory = name, factory
        self._made: list[Executor] = []

    def executor(self) -> Executor:
        try:
            made = self._factory()
        except (Exception, SystemExit) as error:  # noqa: BLE001  it is the user's own function
            raise UsageError(f"--engine {self.name} raised {type(error).__name__}: {error}") from None
        if not isinstance(made, Executor):
            raise UsageError(
                f"--engine {self.name} returned {made!r}: expected a concurrent.futures.Executor"
            )
        self._made.append(made)
        return made

    def listen(self, live: Live) -> str:
        del live
        return ""

    def recall(self, reason: RunOutcome) -> bool:
        del reason
        return False

    def lack(self) -> str:
        return ""

    def close(self) -> None:
        """Waits until executors have ended what they started, such as the processes of a pool: our own
        process ends without asking them. But not for long: one may never end."""
        closing = [threading.Thread(target=_shut_down, args=(made,), daemon=True) for made in self._made]
        for thread in closing:
            thread.start()
        until = time.monotonic() + _CLOSE
        for thread in closing:
            thread.join(max(0.0, until - time.monotonic()))


def _shut_down(made: Executor) -> None:
    try:
        made.shutdown(wait=True, cancel_futures=True)
    except BaseException:  # noqa: BLE001  the run is over, whatever it says
        pass


class LocalEngine(PlainEngine):
    """Threads of this process. Each runs a shard in processes of its own."""

    def __init__(self, shards: int) -> None:
        super().__init__(LOCAL, lambda: ThreadPoolExecutor(shards, "proctor-shard"))
        self._word = ""

    def listen(self, live: Live) -> str:
        self._word = host.listen(live)
        return self._word

    def close(self) -> None:
        super().close()
        host.forget(self._word)


def engine(name: str, shards: int, root: Path) -> Engine:
    """By its name on the command line: local, dask:ADDRESS or MODULE:FACTORY."""
    kind, colon, rest = name.partition(":")
    if name == LOCAL:
        return LocalEngine(shards)
    if kind == DASK and rest:
        from proctor.engines.dask_engine import DaskEngine

        return DaskEngine(rest)
    if not colon or not rest or not kind or kind in (LOCAL, DASK):
        near = did_you_mean(name, (LOCAL,))
        expected = ": expected local, dask:ADDRESS or MODULE:FACTORY"
        raise UsageError(f"invalid --engine {name!r}{near or expected}")
    return PlainEngine(name, _factory(kind, rest, root))


def _factory(module: str, name: str, root: Path) -> Callable[[], Executor]:
    if str(root) not in sys.path:
        sys.path.append(str(root))  # last: no file of the project takes the place of another module
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except (Exception, SystemExit) as error:  # noqa: BLE001  a module may raise anything
        raise UsageError(f"--engine {module}:{name}: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise UsageError(
            f"--engine {module}:{name} is {found!r}: expected a function that returns an Executor"
        )
    made: Callable[[], Executor] = found
    return made
