"""How long packages take to import, or why nobody knows."""

from __future__ import annotations

from pathlib import Path

from support.packages import python_with
from support.projects import GUARD, clean_environment

from proctor.process.import_times import import_times


def test_a_package_is_measured_with_what_it_imports_and_pytest_and_plugins_are_not(tmp_path: Path) -> None:
    busy = "from time import perf_counter\nend = perf_counter() + 0.05\nwhile perf_counter() < end: pass\n"
    packages = {"a.py": "import b", "b.py": busy, "fails.py": "raise SystemExit(3)"}
    python = python_with(tmp_path, packages)

    wanted = ["a", "b", "fails", "missing", "pytest", "xdist"]
    times = import_times(python, wanted, clean_environment(), GUARD)
    assert times.fault == ""
    assert times.seconds.keys() == {"a", "b"}
    assert min(times.seconds.values()) >= 0.05


def test_what_cannot_be_measured_is_said_plainly(tmp_path: Path) -> None:
    python = python_with(tmp_path, {"ends.py": "import os; os.write(1, b'enough'); os._exit(3)"})
    environ = clean_environment()

    assert import_times(python, ["ends"], environ, GUARD).fault.startswith(f"{python} ended with 3: ")
    assert import_times(python, ["ends"], environ, 0.001).fault == f"{python} did not answer within 0.001 s"
    assert import_times("/nowhere", ["ends"], environ, GUARD).fault.startswith("/nowhere cannot be started")
