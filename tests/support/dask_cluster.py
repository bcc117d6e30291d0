"""Schedulers of dask and their workers, on loopback: real processes, forked from one that knows dask."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from support.projects import GUARD, clean_environment

_NURSERY = Path(__file__).with_name("dask_nursery.py")
Value = TypeVar("Value")


class Nursery:
    """Forks what it is asked for."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_NURSERY)],
            env=clean_environment(PYTHONPATH=str(_NURSERY.parents[1])),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def fork(self, request: Mapping[str, Any]) -> int:
        """The process id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        """All that it has forked is killed."""
        self._process.communicate(timeout=GUARD)


@contextmanager
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    try:
        yield made
    finally:
        made.close()


class Cluster:
    """A scheduler. What it and its workers write is in `log`."""

    def __init__(self, nursery: Nursery, folder: Path, security: Mapping[str, Any]) -> None:
        self.folder, self.log = folder, folder / "log"
        self._nursery, self._security = nursery, dict(security)
        self.workers: dict[str, int] = {}  # process ids
        found = folder / "address"
        self.scheduler = self._fork(file=str(found), protocol="tls" if security else "tcp")
        self.address = wait_for(lambda: found.read_text() if found.exists() else "", "a scheduler")

    @property
    def engine(self) -> str:
        return f"dask:{self.address}"

    def start_worker(self, name: str, threads: int = 1, hidden: Path | None = None, **environ: str) -> int:
        """Its process id. It works as soon as the scheduler knows it. `hidden`: what it does not see."""
        self.workers[name] = self._fork(
            name=name,
            threads=threads,
            scheduler=self.address,
            directory=str(self.folder / f"worker-{name}"),
            hidden=str(hidden or ""),
            environ=environ,
        )
        return self.workers[name]

    def kill(self, name: str) -> None:
        os.kill(self.workers.pop(name), signal.SIGKILL)

    def close(self) -> None:
        for pid in (*self.workers.values(), self.scheduler):
            kill(pid)

    def _fork(self, **request: Any) -> int:
        usual = {"cwd": str(self.folder), "log": str(self.log), "hidden": "", "environ": {}}
        return self._nursery.fork({**usual, "security": self._security, **request})


@contextmanager
def cluster(
    nursery: Nursery, folder: Path, *workers: str, security: Mapping[str, Any] = {}
) -> Iterator[Cluster]:
    """With a scheduler and these workers. All of it ends with the block."""
    folder.mkdir(parents=True)
    made = Cluster(nursery, folder, security)
    try:
        for name in workers:
            made.start_worker(name)
        yield made
    finally:
        made.close()


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def wait_for(found: Callable[[], Value], what: str) -> Value:
    """The first true value of the function."""
    until = time.monotonic() + GUARD
    while time.monotonic() < until:
        if value := found():
            return value
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come within {GUARD} s")


@cache
def can_hide() -> bool:
    """Whether this machine lets a process have a file system of its own, which `hidden` needs."""
    asked = ["unshare", "--user", "--map-root-user", "--mount", "true"]
    return subprocess.run(asked, stderr=subprocess.DEVNULL).returncode == 0
