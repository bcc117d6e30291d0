"""What workers, containment and isolation cost, and what they lose; pytest-xdist beside them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from measure import (
    CACHE,
    Cost,
    clean_environment,
    environment,
    interleave,
    many,
    proctor_environment,
    project,
    spending,
    table,
)

SLEEPING = "import time\n\n\n" + "".join(f"def test_{n}():\n    time.sleep(0.01)\n\n\n" for n in range(10))
SLOW_TO_COLLECT = """import time

while time.process_time() < {seconds}:
    pass


def test_one():
    pass
"""
CRASHING = "import ctypes\n\n\ndef test_{n}():\n    ctypes.string_at(0)\n\n\n"
HANGING = "import time\n\n\ndef test_{n}():\n    time.sleep(3600)\n\n\n"
BAD = dict.fromkeys((77, 250, 251, 600, 999), CRASHING) | dict.fromkeys((150, 400, 850), HANGING)
CRASHES, TESTS_BETWEEN = 4, 25
SIZES = {2_000: 5, 20_000: 3}  # tests: rounds
ROUNDS = {"sleeping": 5, "collecting": 3, "prices": 5}
LIMITED = (0, 1, 2)  # exit codes: with crashes in it, a run does not pass


@dataclass(frozen=True)
class Tools:
    pytest: list[str]
    xdist: list[str]
    proctor: list[str]


def bench_workers(quick: bool) -> str:
    """Workers that proctor forks after one collection, beside those of pytest-xdist, of which each collects
    anew; what crashes and hangs cost, and a process for each test. A ratio is to the same tool without
    workers. CPU is that of all processes together."""
    load = os.getloadavg()[0]
    tools = _tools()
    sizes = {2_000: 1} if quick else SIZES
    parts = [_trivial(tools, tests, rounds) for tests, rounds in sizes.items()]
    parts += [_sleeping(tools, quick), _uneven(tools, quick), _collecting(tools, quick)]
    parts += [_losses(tools), _prices(tools, quick)]
    parts.append(f"Load of the machine before and after: {load:.1f}, {os.getloadavg()[0]:.1f}.\n")
    return "\n".join(parts)


def _tools() -> Tools:
    pytest = environment("pytest", "pytest") / "python"
    xdist = environment("xdist", "pytest", "pytest-xdist", "pytest-timeout") / "python"
    plain = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    own = [str(proctor_environment() / "proctor"), "run", "--format", "agent", "--python", str(pytest)]
    return Tools([str(pytest), *plain], [str(xdist), *plain], own)


def _trivial(tools: Tools, tests: int, rounds: int) -> str:
    root = project(f"suite-{tests}", many(tests))
    title = f"### {tests:,} trivial tests, CPU, rounds: {rounds}\n"
    return f"{title}\n{_compared(tools, root, 2, rounds, 'limit: 1.15')}"


def _sleeping(tools: Tools, quick: bool) -> str:
    root = project("sleeping", {f"test_{n:02d}.py": SLEEPING for n in range(40)})
    rounds = 1 if quick else ROUNDS["sleeping"]
    title = f"### 40 files with 10 tests that sleep 10 ms, wall time, rounds: {rounds}\n"
    return f"{title}\n{_compared(tools, root, 2, rounds, 'limit: 0.56', wall=True)}"


def _uneven(tools: Tools, quick: bool) -> str:
    """One test that takes as long as all others together, in the smallest file."""
    files = {f"test_{n:02d}.py": SLEEPING for n in range(16)}
    files["test_slow.py"] = "import time\n\n\ndef test_slow():\n    time.sleep(1.6)\n"
    root = project("uneven", files)
    rounds = 1 if quick else ROUNDS["sleeping"]
    _run(tools.proctor, root)  # now the history knows what takes how long
    pairs = {
        "`proctor run -n 2 --no-history`": [*tools.proctor, "-n", "2", "--no-history"],
        "`proctor run -n 2`": [*tools.proctor, "-n", "2"],
    }
    costs = interleave(spending(pairs, root), rounds, root.name)
    rows = [
        [name, f"{cost.median_wall:.3f}", f"{cost.median_wall / 1.6:.2f}"] for name, cost in costs.items()
    ]
    title = (
        f"### 160 tests that sleep 10 ms, and one of 1.6 s, in 2 workers; ideal: 1.6 s, rounds: {rounds}\n"
    )
    return f"{title}\n{table(['command', 'wall s', 'of the ideal'], rows)}"


def _collecting(tools: Tools, quick: bool) -> str:
    seconds, rounds = (1, 1) if quick else (5, ROUNDS["collecting"])
    files = {"test_0.py": SLOW_TO_COLLECT.format(seconds=seconds)} | many(400, per_file=10)
    root = project("slow-to-collect", files)
    title = f"### A suite whose collection takes {seconds} s, CPU, rounds: {rounds}\n"
    return f"{title}\n{_compared(tools, root, 4, rounds, 'limit: 1.15')}"


def _compared(tools: Tools, root: Path, workers: int, rounds: int, limit: str, wall: bool = False) -> str:
    """proctor and xdist with workers, each against the same without."""
    several = ["-n", str(workers)]
    pairs = {
        "`pytest -q`": tools.pytest,
        f"`pytest -q -n {workers}`, xdist": [*tools.xdist, *several],
        "`proctor run`": tools.proctor,
        f"`proctor run -n {workers}`": [*tools.proctor, *several],
    }
    costs = interleave(spending(pairs, root), rounds, root.name)
    spent = [cost.median_wall if wall else cost.median for cost in costs.values()]
    ratios = ["1.00", f"{spent[1] / spent[0]:.2f}", "1.00", f"{spent[3] / spent[2]:.2f} ({limit})"]
    rows = [[name, f"{each:.3f}", ratio] for name, each, ratio in zip(costs, spent, ratios, strict=True)]
    return table(["command", "wall s" if wall else "CPU s", "ratio"], rows)


# What is lost


def _losses(tools: Tools) -> str:
    tests = 1_000
    per_file = 100
    texts = ((n, BAD.get(n, "def test_{n}():\n    pass\n\n\n").replace("{n}", str(n))) for n in range(tests))
    files: dict[str, str] = {}
    for n, text in texts:
        name = f"test_{n // per_file}.py"
        files[name] = files.get(name, "") + text
    root = project("crashes", files)
    limited, xml = [*tools.proctor, "--test-timeout", "1"], CACHE / "crashes.xml"
    by_xdist = [*tools.xdist, "--timeout", "1", f"--junitxml={xml}"]
    without = {
        "`pytest -q --timeout 1`": tests - _in_report(by_xdist, root, xml),
        "`pytest -q --timeout 1 -n 2`, xdist": tests - _in_report([*by_xdist, "-n", "2"], root, xml),
        "`proctor run --test-timeout 1`": tests - _with_result(limited, root),
        "`proctor run --test-timeout 1 -n 2`": tests - _with_result([*limited, "-n", "2"], root),
    }
    limits = ["", "", " (limit: 0)", " (limit: 0)"]
    rows = [[name, f"{n}{limit}"] for (name, n), limit in zip(without.items(), limits, strict=True)]
    title = f"### {tests:,} tests, 5 of which crash and 3 hang (limit: 1 s)\n"
    return f"{title}\n{table(['command', 'tests without a result'], rows)}"


def _in_report(command: list[str], root: Path, xml: Path) -> int:
    xml.unlink(missing_ok=True)
    _run(command, root)
    if not xml.exists():
        return 0  # pytest died
    return len(
        {(case.get("classname"), case.get("name")) for case in ElementTree.parse(xml).iter("testcase")}
    )


def _with_result(command: list[str], root: Path) -> int:
    out = _run([*command, "--format", "json"], root)
    results = {test["node_id"]: test["outcome"] for test in json.loads(out)["tests"]}
    bad = sorted(name for name, outcome in results.items() if outcome in ("crash", "timeout"))
    if bad != sorted(f"test_{n // 100}.py::test_{n}" for n in BAD):
        raise SystemExit(f"{' '.join(command)} blames {bad}")
    return len([name for name, outcome in results.items() if outcome != "not_run"])


def _run(command: list[str], root: Path) -> str:
    print("losses:", *command[1:], file=sys.stderr, flush=True)
    environ = clean_environment()
    done = subprocess.run(
        command, cwd=root, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    return done.stdout


# What one more costs


def _prices(tools: Tools, quick: bool) -> str:
    tests, rounds = 1_000, 1 if quick else ROUNDS["prices"]
    calm, stormy = _weather(False), _weather(True)
    runs = spending(
        {"serial": tools.proctor, "isolate": [*tools.proctor, "--isolate"]},
        project(f"suite-{tests}", many(tests)),
    )
    two = [*tools.proctor, "-n", "2"]
    runs |= spending({"calm": tools.proctor, "calm -n 2": two}, calm)
    runs |= spending({"stormy": tools.proctor, "stormy -n 2": two}, stormy, LIMITED)
    costs = interleave(runs, rounds, "prices")
    rows = [
        _price("`--isolate`, each test", costs, "isolate", "serial", tests),
        _price("a crash and the session that goes on", costs, "stormy", "calm", CRASHES),
        _price("a crash and the worker that goes on", costs, "stormy -n 2", "calm -n 2", CRASHES),
    ]
    title = f"### A process for each test, and a crash, rounds: {rounds}\n"
    return f"{title}\n{table(['what', 'CPU ms'], rows)}"


def _weather(crashes: bool) -> Path:
    """Files with a crash in the middle, or without."""
    middle = CRASHING if crashes else ""
    files = {}
    for n in range(CRASHES):
        before, after = (
            "".join(f"def test_{n}_{m}_{part}():\n    pass\n\n\n" for m in range(TESTS_BETWEEN))
            for part in ("before", "after")
        )
        files[f"test_{n}.py"] = before + middle.replace("{n}", f"{n}_crash") + after
    return project("stormy" if crashes else "calm", files)


def _price(what: str, costs: Mapping[str, Cost], dear: str, cheap: str, amount: int) -> list[str]:
    cpu = (costs[dear].median - costs[cheap].median) / amount
    return [what, f"{cpu * 1000:.1f}"]
