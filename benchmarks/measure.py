"""How things are measured here: interleaved rounds of real commands, each in an environment of its own."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

REPOSITORY = Path(__file__).parent.parent
CACHE = REPOSITORY / ".cache" / "bench"
PASSING = "def test_{n}():\n    assert {n} + 1 == 1 + {n}\n\n\n"
_PIPE = 1 << 16  # bytes that fit into a pipe
_MUCH = 1 << 12  # bytes after which more can be expected at once


class Spent(NamedTuple):
    cpu: float
    wall: float
    peak: int = 0  # bytes of RSS, of the largest among the command, all it waited for, and us before it


Run: TypeAlias = Callable[[], Spent]


@dataclass
class Cost:
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.cpu)

    @property
    def median_wall(self) -> float:
        return statistics.median(self.wall)

    @property
    def least(self) -> float:
        """For what is small beside the noise, which only ever adds."""
        return min(self.cpu)


def clean_environment(**more: str) -> dict[str, str]:
    """Ours without what would change how Python, pytest or proctor behave; with a history apart from ours."""
    ours = ("PYTHON", "PYTEST", "PROCTOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "XDG_STATE_HOME": str(CACHE / "state"), **more}


def project(name: str, files: Mapping[str, str], below: Path = CACHE) -> Path:
    """Tests for pytest, in a directory of that name."""
    root = below / name
    root.mkdir(parents=True, exist_ok=True)
    for file, text in {"pytest.ini": "[pytest]\n", **files}.items():
        (root / file).write_text(text)
    return root


def many(tests: int, body: str = PASSING, per_file: int = 100) -> dict[str, str]:
    """Files with so many tests; `{n}` in the body of one is its number."""
    return {
        f"test_{start // per_file:04d}.py": "".join(
            body.replace("{n}", str(n)) for n in range(start, min(start + per_file, tests))
        )
        for start in range(0, tests, per_file)
    }


def spend(command: Sequence[str], cwd: Path, codes: Container[int] = (0,), **environ: str) -> Spent:
    """What one run costs; a command that ends with another code is an error of the benchmark."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=clean_environment(**environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        bufsize=0,
    )
    assert process.stdout is not None
    while piece := process.stdout.read(_PIPE):  # somebody reads: that is what output is for
        if len(piece) < _MUCH:
            time.sleep(0.02)
    process.stdout.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in codes:
        raise SystemExit(f"{' '.join(command)} exited with {process.returncode}")
    return Spent(usage.ru_utime + usage.ru_stime, time.perf_counter() - started, usage.ru_maxrss << 10)


def spending(commands: dict[str, list[str]], cwd: Path, codes: Container[int] = (0,)) -> dict[str, Run]:
    return {name: partial(spend, command, cwd, codes) for name, command in commands.items()}


def interleave(commands: dict[str, Run], rounds: int, what: str) -> dict[str, Cost]:
    costs = {name: Cost() for name in commands}
    for number in range(rounds + 1):
        for name, run in commands.items():
            print(f"{what}, round {number} of {rounds}: {name}", file=sys.stderr, flush=True)
            spent = run()
            if number:  # the first round only warms caches
                costs[name].cpu.append(spent.cpu)
                costs[name].wall.append(spent.wall)
    return costs


def environment(name: str, *packages: str) -> Path:
    """A virtual environment of its own, made once; returns its bin directory."""
    home = CACHE / "environments" / name
    if not (home / ".ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        install = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        constraints = ["-c", str(REPOSITORY / "constraints.txt")]
        subprocess.run([*install, *constraints, *packages], check=True, stderr=subprocess.DEVNULL)
        (home / ".ready").touch()
    return home / "bin"


def proctor_environment(extra: str = "") -> Path:
    """proctor as a user has it: installed from its wheel, without what only developers need."""
    shutil.rmtree(CACHE / "environments" / "proctor", ignore_errors=True)
    return environment("proctor", f"{REPOSITORY}[{extra}]" if extra else str(REPOSITORY))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
