"""The event log: how fast it is written and read, and what showing a very long one takes."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.reports import pytest_report_to_serializable
from measure import CACHE, proctor_environment, spend, table
from pytest_reportlog.plugin import ReportLogPlugin  # type: ignore[import-untyped]

from proctor import events as e
from proctor.fold import begin
from proctor.outcome import Outcome
from proctor.wire.stream import log as jsonl

TESTS = 5_000
BATCH = 64  # tests that arrive together in a busy run
SHOWN = (100_000, 1_000_000)


def bench_log(quick: bool) -> str:
    """CPU microseconds for what is logged of one passing test, the least of all rounds: proctor's start and
    end with three phases; the same lines as dicts through the standard library's json; the three reports of
    pytest-reportlog through its own writer. Then `proctor show --format dots` of a long stream."""
    entries = _entries()
    result = begin(
        e.RunStarted("20260101-000000-abcdef", "pytest", (), "/p", "python", "2026-01-01T00:00:00Z")
    )
    lines = jsonl.encode_lines(entries, result).splitlines()
    plain = [json.loads(line) for line in lines]
    step = BATCH * 2
    batches = [entries[at : at + step] for at in range(0, len(entries), step)]
    ways: dict[str, tuple[Callable[[], object], Callable[[], object] | None]] = {
        "proctor, as typed events": (
            lambda: [jsonl.encode_lines(batch, result) for batch in batches],
            lambda: [jsonl.decode(line) for line in lines],
        ),
        "json, as dicts": (
            lambda: [json.dumps(line) for line in plain],
            lambda: [json.loads(line) for line in lines],
        ),
    }
    with tempfile.TemporaryDirectory() as directory:
        ways["pytest-reportlog"] = (_reportlog(Path(directory) / "log"), None)
        rounds = 3 if quick else 30
        rows = [
            [name, _least(write, rounds), _least(read, rounds) if read else ""]
            for name, (write, read) in ways.items()
        ]
    return "\n".join([table(["", "written, µs", "read, µs"], rows), _showing(quick)])


def _entries() -> list[e.Entry]:
    phases = tuple(e.Phase(when, "passed", 0.0001) for when in ("setup", "call", "teardown"))
    entries = []
    for number in range(TESTS):
        name, place = f"tests/test_{number // 100:04d}.py::test_{number:05d}", e.Place("tests/test.py", 4)
        entries.append(e.Entry(2 * number, number / 1e3, 0, e.TestStarted(name, place)))
        done = e.TestFinished(name, Outcome.PASSED, 0.0003, place=place, phases=phases)
        entries.append(e.Entry(2 * number + 1, number / 1e3, 0, done))
    return entries


def _reportlog(path: Path) -> Callable[[], object]:
    hook = SimpleNamespace(
        pytest_report_to_serializable=lambda report, **_: pytest_report_to_serializable(report)
    )
    config: Any = SimpleNamespace(
        hook=hook, option=SimpleNamespace(report_log_exclude_logs_on_passed_tests=False)
    )
    log = ReportLogPlugin(config, path)
    reports = [
        pytest.TestReport(
            f"tests/test_{number // 100:04d}.py::test_{number:05d}",
            ("tests/test.py", 3, "test"),
            {},
            "passed",
            None,
            when,
            duration=0.0001,
        )
        for number in range(TESTS)
        for when in ("setup", "call", "teardown")
    ]
    return lambda: [log.pytest_runtest_logreport(report) for report in reports]


def _least(work: Callable[[], object], rounds: int) -> str:
    spent = []
    for _ in range(rounds):
        started = time.process_time()
        work()
        spent.append(time.process_time() - started)
    return f"{min(spent) / TESTS * 1e6:.1f}"


def _showing(quick: bool) -> str:
    proctor = str(proctor_environment() / "proctor")
    rows = []
    for tests in SHOWN[: 1 if quick else None]:
        print(f"showing {tests:,} tests", file=sys.stderr, flush=True)
        path = _stream(tests)
        spent = spend([proctor, "show", str(path), "--format", "dots"], CACHE)
        rows.append([f"{tests:,}", f"{spent.cpu / tests * 1e6:.1f}", f"{spent.peak / 1e6:.0f}"])
        path.unlink()
    return table(["tests shown", "µs a test", "peak RSS, MB"], rows)


def _stream(tests: int) -> Path:
    path = CACHE / "shown.jsonl"
    with path.open("w") as file:
        suite = {"type": "suite", "name": "many", "build": "", "count": tests, "rustc": "none"}
        file.write(json.dumps(suite) + "\n")
        for number in range(tests):
            label = f"tests/test_{number // 100:04d}.py::test_{number:07d}"
            file.write(f'{{"type":"test","label":"{label}","status":"ok","duration":1200}}\n')
        file.write(json.dumps({"type": "final", "results": {"ok": tests, "fail": 0, "ignore": 0}}) + "\n")
    return path
