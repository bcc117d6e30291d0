"""How long a process that waits needs to prove that what it has imported is what is there."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

INJECTED = Path(__file__).parent.parent / "src" / "proctor" / "inject"
FILES = 2000  # imported modules
_PACKAGES = 50
_ROUNDS = 25

_CHECK = """
import importlib, os, sys, time
sys.path.pop(0)
from _proctor_injected_load import load
freshness = load("proctor_freshness")
places = freshness.Places()
for number in range(int(sys.argv[1])):
    importlib.import_module("many.p%d.m%d" % (number % int(sys.argv[2]), number))
seen = freshness.Seen(places, [], time.time_ns() + 10**9)
times = []
for _ in range(int(sys.argv[3])):
    begun = time.perf_counter()
    assert not seen.stale(os.getcwd())
    times.append(time.perf_counter() - begun)
print(min(times))
"""


def check_seconds(python: str = sys.executable, files: int = FILES) -> float:
    """With so many modules imported. The best of a few checks: a busy machine matters less."""
    with tempfile.TemporaryDirectory() as home:
        for number in range(_PACKAGES):
            (Path(home) / "many" / f"p{number}").mkdir(parents=True)
            (Path(home) / "many" / f"p{number}" / "__init__.py").touch()
        (Path(home) / "many" / "__init__.py").touch()
        for number in range(files):
            (Path(home) / "many" / f"p{number % _PACKAGES}" / f"m{number}.py").touch()
        done = subprocess.run(
            [python, "-c", _CHECK, str(files), str(_PACKAGES), str(_ROUNDS)],
            env={**os.environ, "PYTHONPATH": f"{INJECTED / 'path'}{os.pathsep}{home}"},
            check=True,
            capture_output=True,
            text=True,
        )
    return float(done.stdout)


if __name__ == "__main__":
    print(f"{FILES} imported files: {check_seconds() * 1000:.1f} ms")
