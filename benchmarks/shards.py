"""What plans, shards, merges and engines cost, against their limits; pytest-split beside them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from measure import (
    CACHE,
    Run,
    clean_environment,
    environment,
    interleave,
    many,
    proctor_environment,
    project,
    spend,
    spending,
    table,
)
from shard_logs import TESTS, write_shards

PLANNED, PARTS = 1_000_000, 1_000
MERGED = {100: 1, 1_000: 10}  # shards: in times of the first
OUTPUT = (200, 2_000)  # bytes of each test
PLAN = """
import sys
from proctor.shards import plan as plans
from proctor.shards.split import Group, by_time
tests, shards, path = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
files = [f"tests/package_{n % 97:02d}/test_module_{n:06d}.py" for n in range(tests // 50)]
names = [f"TestThing::test_behaviour_{n}[value]" for n in range(50)]
groups = [Group(f, "pytest", [f"{f}::{name}" for name in names]) for f in files]
seconds = {test: (len(test) * 7 + at) % 100 / 100 for g in groups for at, test in enumerate(g.tests)}
with open(path, "wb") as file:
    file.write(plans.encode(plans.Plan(shards=by_time(groups, seconds, 0.01, shards))))
"""
READ = """
import sys
from pathlib import Path
from proctor.shards import plan as plans
sys.exit(plans.read(Path(sys.argv[3])).total != int(sys.argv[1]))
"""
FILES, PER_FILE = 20, 10  # of the trial project: 200 tests
CLUSTER = """
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        print(cluster.scheduler_address, flush=True)
        input()
"""
THREADS = """
from concurrent.futures import ThreadPoolExecutor
def two(): return ThreadPoolExecutor(2)
"""
FEW, MANY = 8, 40  # shards that dask is given: the difference has no start in it


def bench_shards(quick: bool) -> str:
    """Plans of 1,000,000 tests; merges of shards of 1,000 tests, of which one fails; 200 tests in two shards,
    beside pytest-split; shards over dask on this machine. CPU is that of all processes together."""
    load = os.getloadavg()[0]
    bin_, python = proctor_environment(), environment("pytest", "pytest") / "python"
    parts = [
        _planning(bin_, quick),
        _merging(bin_, python, quick),
        _two_shards(bin_, quick),
        _dispatch(quick),
    ]
    parts.append(f"Load of the machine before and after: {load:.1f}, {os.getloadavg()[0]:.1f}.\n")
    return "\n".join(parts)


def _planning(bin_: Path, quick: bool) -> str:
    tests = PLANNED // 10 if quick else PLANNED
    path = str(CACHE / "plan.json")
    rows = []
    for name, code in (("dividing and writing (limits: 10 s, 1,000 MB)", PLAN), ("reading", READ)):
        spent = spend([str(bin_ / "python"), "-c", code, str(tests), str(PARTS), path], CACHE)
        rows.append([name, f"{spent.cpu:.1f}", f"{spent.peak / 1e6:.0f}"])
    return f"### A plan of {tests:,} tests, {PARTS:,} shards\n\n{table(['', 'CPU s', 'peak MB'], rows)}"


def _merging(bin_: Path, python: Path, quick: bool) -> str:
    cases = [(shards, OUTPUT[0]) for shards in MERGED] + [(min(MERGED), OUTPUT[1])]
    rows, first = [], 0.0
    for shards, output in [(shards // 10, output) for shards, output in cases] if quick else cases:
        root, names, size = write_shards(shards, output, bin_, python)
        command = [str(bin_ / "proctor"), "merge", *names, "--plan", "plan.json", "--format", "agent"]
        spent = spend(command, root, codes=(1,))
        first = first or spent.cpu
        ratio = f"{spent.cpu / first:.1f}"
        peak = f"{spent.peak / 1e6:.0f}"
        rows.append([f"{shards:,}", f"{output:,}", f"{size / 1e6:.0f}", f"{spent.cpu:.1f}", ratio, peak])
        shutil.rmtree(root)
    head = ["shards", "bytes of output a test", "MB of logs", "CPU s", "ratio", "peak MB"]
    return f"### Merging shards of {TESTS:,} tests; ten times the shards: at most 12\n\n{table(head, rows)}"


def sleeps() -> list[list[float]]:
    """Seconds of the tests of each file: uneven, 16 s in all."""
    return [[0.01 + 0.14 * ((7 * file + 3) % FILES) / FILES] * PER_FILE for file in range(FILES)]


def trial() -> Path:
    """200 tests that sleep, in 20 files."""
    files = {}
    for number, file in enumerate(sleeps()):
        tests = "".join(
            f"def test_{at}():\n    time.sleep({seconds:.4f})\n\n\n" for at, seconds in enumerate(file)
        )
        files[f"test_{number:02d}.py"] = f"import time\n\n\n{tests}"
    return project("trial", files)


def best_split(seconds: Sequence[float]) -> float:
    """The longer of two parts, as even as files allow: whole milliseconds, by what sums can be reached."""
    reached, whole = {0}, [round(one * 1000) for one in seconds]
    for one in whole:
        reached |= {one + before for before in reached}
    return min(max(part, sum(whole) - part) for part in reached) / 1000


def _two_shards(bin_: Path, quick: bool) -> str:
    root = trial()
    shutil.rmtree(root / ".proctor", ignore_errors=True)
    split = environment("split", "pytest", "pytest-split") / "python"
    python = environment("pytest", "pytest") / "python"
    own = [str(bin_ / "proctor"), "run", "--python", str(python), "--format", "agent"]
    spend(own, root)  # now the history knows what takes how long
    best = best_split([sum(file) for file in sleeps()])
    commands = {
        "a start: one test of 10 ms": [*own, "test_19.py::test_0", "--no-history", "--no-archive"],
        "`proctor run --engine local --shards 2`": [*own, "--engine", "local", "--shards", "2"],
    }
    costs = interleave(spending(commands, root), 1 if quick else 3, "two shards")
    start, ran = (min(cost.wall) for cost in costs.values())
    rows = [["best possible split, by file", f"{best:.2f}", ""], ["one start", f"{start:.2f}", ""]]
    limit = "of both together (limit: 1.06)"
    rows.append(["`proctor run --engine local --shards 2`", f"{ran:.2f}", f"{ran / (best + start):.3f}"])
    rows += _planned(own, root, best + start)
    rows += _split(split, root)
    return f"### 200 tests that sleep, in two shards at once\n\n{table(['', 'wall s', limit], rows)}"


def _planned(own: list[str], root: Path, ideal: float) -> list[list[str]]:
    """The same with a plan, as two CI jobs would."""
    proctor, _, *rest = own
    plan = str(CACHE / "trial-plan.json")
    subprocess.run(
        [proctor, "plan", "--shards", "2", "-o", plan, *rest[:2]],
        cwd=root,
        env=clean_environment(),
        check=True,
        capture_output=True,
    )
    logs = [str(CACHE / f"trial-{number}.jsonl") for number in (1, 2)]
    commands = [
        [*own, "--plan", plan, "--shard", f"{number}/2", "-o", f"events={log}"]
        for number, log in enumerate(logs, 1)
    ]
    wall, _ = _together(commands, root)
    merge = [proctor, "merge", *logs, "--plan", plan, "--format", "json"]
    merged = subprocess.run(merge, cwd=root, env=clean_environment(), check=True, capture_output=True)
    ran = len(json.loads(merged.stdout)["tests"])
    return [[f"`proctor run --plan … --shard I/2`: {ran} of 200 ran", f"{wall:.2f}", f"{wall / ideal:.3f}"]]


def _split(python: Path, root: Path) -> list[list[str]]:
    """pytest-split, with one file of times for both jobs, and with one for each, as a cache may have it."""
    base = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    times, others = CACHE / "split-1.json", CACHE / "split-2.json"
    spend([*base, "--store-durations", f"--durations-path={times}"], root)
    took = json.loads(times.read_text())
    later = {test: took[test] * (3 if at < 100 else 1) for at, test in enumerate(sorted(took))}
    others.write_text(json.dumps(later))
    rows = []
    for name, paths in (("the same times", (times, times)), ("times of their own", (times, others))):
        reports = [CACHE / f"split-{group}.xml" for group in (1, 2)]
        commands = [
            [*base, "--splits=2", f"--group={group}", f"--durations-path={path}", f"--junitxml={report}"]
            for group, (path, report) in enumerate(zip(paths, reports, strict=True), 1)
        ]
        wall, codes = _together(commands, root)
        cases = {
            (case.get("classname"), case.get("name"))
            for report in reports
            for case in ElementTree.parse(report).iter("testcase")
        }
        green = "both green" if codes == [0, 0] else f"exit codes {codes}"
        rows.append(
            [f"pytest-split, two jobs with {name}: {len(cases)} of 200 ran, {green}", f"{wall:.2f}", ""]
        )
    return rows


def _together(commands: Sequence[list[str]], root: Path) -> tuple[float, list[int]]:
    """The wall time of the slowest, all started at once, and their exit codes."""
    started = time.perf_counter()
    running = [
        subprocess.Popen(command, cwd=root, env=clean_environment(), stdout=subprocess.DEVNULL)
        for command in commands
    ]
    codes = [one.wait() for one in running]
    return time.perf_counter() - started, codes


def _dispatch(quick: bool) -> str:
    """What a shard takes longer over dask than in a thread here, with two workers each."""
    title = "### Shards over dask, two workers on this machine"
    if find_spec("distributed") is None:
        return f"{title}\n\nNot measured: distributed is not installed.\n"
    root = project("dispatch", {**many(MANY, per_file=1), "threads.py": THREADS})
    python = environment("pytest", "pytest") / "python"
    own = [
        str(Path(sys.executable).with_name("proctor")),
        "run",
        "--python",
        str(python),
        "--format",
        "agent",
    ]
    with _cluster() as address:
        commands = {
            f"{engine} {shards}": [*own, "--engine", engine, "--shards", str(shards)]
            for engine in (f"dask:{address}", "threads:two")
            for shards in (FEW, MANY)
        }
        runs: dict[str, Run] = {
            name: partial(spend, command, root, PYTHONPATH=str(root)) for name, command in commands.items()
        }
        costs = interleave(runs, 1 if quick else 3, "dispatch")
    dask_few, dask, threads_few, threads = (min(cost.wall) for cost in costs.values())
    each = [
        (more - few) / (MANY - FEW) * 2 * 1000 for few, more in ((dask_few, dask), (threads_few, threads))
    ]
    rows = [
        ["dask", f"{dask_few:.2f}", f"{dask:.2f}", f"{each[0]:.0f}"],
        ["threads", f"{threads_few:.2f}", f"{threads:.2f}", f"{each[1]:.0f}"],
        ["difference (limit: 60)", "", "", f"{each[0] - each[1]:.0f}"],
    ]
    head = ["", f"wall s, {FEW} shards", f"wall s, {MANY} shards", "ms of a worker for each more"]
    return f"{title}\n\n{table(head, rows)}"


@contextmanager
def _cluster() -> Iterator[str]:
    """The address of a scheduler with two workers."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLUSTER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=clean_environment(),
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate("\n")
