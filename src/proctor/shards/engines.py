"""Engines: whatever runs functions elsewhere, behind the Executor of the standard library."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from proctor.errors import UsageError
from proctor.nearest import did_you_mean
from proctor.shards import host
from proctor.shards.host import Live

LOCAL, DASK = "local", "dask"


class Engine(Protocol):
    """An Executor, and what else it may be able to do."""

    name: str  # what users call it
    warning: str  # what they should know before the run; empty: nothing

    def executor(self) -> Executor:
        """A new one: asked for again if one breaks. Raises UsageError if there is none to be had."""
        ...

    def listen(self, live: Live) -> str:
        """Have live events sent to `live`, and return what tells a shard where to send them; empty: it cannot
        do that."""
        ...

    def workers(self) -> int | None:
        """How many could take work now; None: it does not know."""
        ...

    def close(self) -> None: ...


class Plain:
    """An engine that can do no more than any Executor."""

    warning = ""

    def __init__(self, name: str, factory: Callable[[], Executor]) -> None:
        self.name, self._factory = name, factory
        self._made: list[Executor] = []

    def executor(self) -> Executor:
        try:
            made = self._factory()
        except Exception as error:  # noqa: BLE001  it is the user's own function
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

    def workers(self) -> int | None:
        return None

    def close(self) -> None:
        for made in self._made:
            try:
                made.shutdown(wait=False, cancel_futures=True)
            except Exception:  # noqa: BLE001  the run is over, whatever it says
                pass


class Local(Plain):
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
        return Local(shards)
    if kind == DASK and rest:
        from proctor.shards.dask_engine import Dask

        return Dask(rest)
    if not colon or not rest or not kind or kind in (LOCAL, DASK):
        near = did_you_mean(name, (LOCAL,))
        expected = ": expected local, dask:ADDRESS or MODULE:FACTORY"
        raise UsageError(f"invalid --engine {name!r}{near or expected}")
    return Plain(name, _factory(kind, rest, root))


def _factory(module: str, name: str, root: Path) -> Callable[[], Executor]:
    if str(root) not in sys.path:
        sys.path.append(str(root))  # last: no file of the project takes the place of another module
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except Exception as error:  # noqa: BLE001  a module may raise anything
        raise UsageError(f"--engine {module}:{name}: {type(error).__name__}: {error}") from None
    if not callable(found):
        raise UsageError(
            f"--engine {module}:{name} is {found!r}: expected a function that returns an Executor"
        )
    made: Callable[[], Executor] = found
    return made
