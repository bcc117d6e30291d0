"""The warm start: how soon the server answers after a pause and without one, and what waiting takes up."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from measure import CACHE, REPOSITORY, Cost, Run, clean_environment, environment, many, project, spend, table
from servers import HELLO, PROCTOR, TESTS, Server, Talk, call, servers

PAUSE = 2.0  # seconds since the previous answer of the same server
SETTLING = 1.0  # seconds after each call in which nothing is measured: the next process gets ready
IN_A_ROW = 5  # calls without a pause
FILES = 2_000  # that were imported
WARM, WITHOUT_PAUSE, MEGABYTES, MILLISECONDS = 0.35, 1.05, 35, 5  # limits
PRELOADED = ("numpy", "sqlalchemy")
PYTEST, COLD = "`pytest -q`", "`proctor mcp --no-warm`"


def bench_warm(quick: bool) -> str:
    """`execute_tests` with ten tests, two seconds after the previous answer, beside a server that keeps no
    process ready, `pytest -q` of the same interpreter, and two servers from PyPI. Then the same with tests
    that import numpy and sqlalchemy, which the project preloads; and calls without a pause."""
    with ExitStack() as open_servers:
        suites = [_Suite(open_servers), _Suite(open_servers, PRELOADED)]
        _take_turns(suites, 2 if quick else 14)
        return "\n".join(
            [
                *(suite.table() for suite in suites),
                _without_pause(suites[0], 1 if quick else 8),
                _waiting(suites[0], 3 if quick else 30),
            ]
        )


class _Suite:
    """Ten tests, the servers that run them, and pytest itself."""

    def __init__(self, open_servers: ExitStack, packages: tuple[str, ...] = ()) -> None:
        self._packages = packages
        imports = "".join(f"import {name}\n" for name in packages)
        files = {name: imports + text for name, text in many(TESTS).items()}
        settings = f"[tool.proctor]\npreload = {list(packages)}\n"
        self.root = root = project("-".join(("suite-warm", *packages)), {**files, "pyproject.toml": settings})
        self.python = environment("-".join(("pytest", *packages)), "pytest", *packages) / "python"
        self.costs: dict[str, Cost] = {}
        self.talks: dict[str, tuple[Talk, Server]] = {}
        self.runs: dict[str, Run] = {PYTEST: partial(spend, [str(self.python), "-m", "pytest", "-q"], root)}
        for name, server in _asked(root, self.python, peers=not packages).items():
            talk = Talk(server.command, root)
            open_servers.callback(talk.close)
            talk.ask("initialize", HELLO)
            talk.say(method="notifications/initialized")
            self.talks[name] = talk, server
            self.runs[name] = partial(call, talk, server)

    def table(self) -> str:
        plain = self.costs[PYTEST].median_wall
        rows = []
        for name, cost in self.costs.items():
            limit = f" (limit: {WARM})" if name == PROCTOR else ""
            wall = cost.median_wall
            rows.append([name, f"{wall * 1000:.0f}", f"{wall / plain:.2f}{limit}"])
        about = f", which import {' and '.join(self._packages)}" if self._packages else ""
        title = f"### {TESTS} tests{about}, rounds: {len(self.costs[PYTEST].wall)}\n"
        return f"{title}\n{table(['', 'wall ms', 'ratio'], rows)}"


def _asked(root: Path, python: Path, peers: bool) -> dict[str, Server]:
    """Servers by name, in the order of the table."""
    found = servers(root, python)
    ours = found[PROCTOR]
    others = {name: server for name, server in found.items() if server.tool and name != PROCTOR}
    cold = Server([*ours.command, "--no-warm"], ours.tool, ours.arguments, ours.shows)
    return {PROCTOR: ours, COLD: cold, **(others if peers else {})}


def _take_turns(suites: list[_Suite], rounds: int) -> None:
    answered: dict[str, float] = {}
    for number in range(rounds + 1):
        for suite_number, suite in enumerate(suites):
            for name, run in suite.runs.items():
                print(f"warm, round {number} of {rounds}: {name}", file=sys.stderr, flush=True)
                which = f"{suite_number} {name}"
                time.sleep(max(0.0, answered.get(which, 0.0) + PAUSE - time.monotonic()))
                spent = run()
                answered[which] = time.monotonic()
                if number:  # the first round only warms caches
                    suite.costs.setdefault(name, Cost()).wall.append(spent.wall)
                if name == PROCTOR:
                    time.sleep(SETTLING)


def _without_pause(suite: _Suite, rounds: int) -> str:
    seconds: dict[str, list[float]] = {COLD: [], PROCTOR: []}
    for number in range(rounds):
        print(f"warm, without a pause, round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        for name, found in seconds.items():
            suite.runs[name]()  # after a pause, as it were
            found += [suite.runs[name]().wall for _ in range(IN_A_ROW)]
            time.sleep(SETTLING)
    cold, warm = (statistics.median(found) for found in seconds.values())
    rows = [
        [COLD, f"{cold * 1000:.0f}", "1.00"],
        [PROCTOR, f"{warm * 1000:.0f}", f"{warm / cold:.2f} (limit: {WITHOUT_PAUSE})"],
    ]
    title = f"### {TESTS} tests, each call as soon as the last one was answered, calls: {rounds * IN_A_ROW}\n"
    return f"{title}\n{table(['', 'wall ms', 'ratio'], rows)}"


def _waiting(suite: _Suite, rounds: int) -> str:
    """While nobody asks for anything, all that the server has started is the process that waits."""
    suite.runs[PROCTOR]()
    time.sleep(PAUSE)
    below = _descendants(suite.talks[PROCTOR][0].process.pid)
    if len(below) != 2:
        raise SystemExit(f"a supervisor and an interpreter should wait, and these do: {below}")
    megabytes = sum(map(_proportional, below)) / 1e6
    rows = [
        [
            "memory of the process that waits and of its supervisor, MB (PSS)",
            f"{megabytes:.1f}",
            f"{MEGABYTES}",
        ],
        [
            f"proof that {FILES:,} imported files are unchanged, CPU ms",
            f"{_proof(suite, rounds) * 1000:.1f}",
            f"{MILLISECONDS}",
        ],
    ]
    return f"### What waits\n\n{table(['', '', 'limit'], rows)}"


def _descendants(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task").glob("*/children")
    found = [int(child) for file in children for child in file.read_text().split()]
    return found + [below for child in found for below in _descendants(child)]


def _proportional(pid: int) -> int:
    """Bytes: what is shared counts for each by its part."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(text.partition("\nPss:")[2].split()[0]) << 10


def _proof(suite: _Suite, rounds: int) -> float:
    """CPU seconds: the median, in an interpreter that has imported so many files."""
    folder = CACHE / "imported"
    for number in range(FILES // 100):
        package = folder / f"package_{number:02d}"
        package.mkdir(parents=True, exist_ok=True)
        for module in ("__init__", *(f"module_{part:02d}" for part in range(99))):
            (package / f"{module}.py").touch()
    command = [str(suite.python), str(Path(__file__).with_name("staleness.py")), str(folder), str(rounds)]
    path = str(REPOSITORY / "src" / "proctor" / "inject" / "path")
    done = subprocess.run(
        command,
        env=clean_environment(PYTHONPATH=path),
        cwd=suite.root,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)
