"""What is costly to make and only read afterwards: made by one worker of a test session, for all of them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """An empty directory that `make` has filled. Nobody may change it later: other workers read it."""
    base = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # of all workers
    home, ready = base / name, base / f"{name}.ready"
    with open(base / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            home.mkdir()
            make(home)
            ready.touch()
    return home
