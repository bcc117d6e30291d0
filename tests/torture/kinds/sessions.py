"""What pytest does beside running tests: modules that skip themselves, attempts, clocks, workers."""

from __future__ import annotations

from torture.kind import CULPRIT, FIRST, HEAD, LATER, Kind, culprit, ini

WORKERS = ini("addopts = -p xdist -n 2")
SCRATCH = ("tmp/pytest-of-*",)  # xdist's own
SKIPS = {
    "test_b.py": "import pytest\npytest.importorskip('no_such_module')\n",
    "test_c.py": "import unittest\nraise unittest.SkipTest('their way')\n",
    "pkg/__init__.py": "import pytest\npytest.skip('all of it', allow_module_level=True)\n",
    "pkg/test_p.py": "def test_p(): pass\n",
}
SKIPPED = {"test_b.py": "skipped", "test_c.py": "skipped", "pkg/test_p.py": "skipped"}

# A plugin that runs each test twice and reports the last attempt, or both as one test's.
AGAIN = """
from _pytest.runner import runtestprotocol

def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for attempt in (1, 2):
        item.config.attempt = attempt
        reports = runtestprotocol(item, nextitem=nextitem, log={log})
    for report in () if {log} else reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""
ALL = (FIRST, CULPRIT, LATER)
ATTEMPT = """
import gc
configs = [each for each in gc.get_objects() if type(each).__name__ == "Config"]
(config,) = [each for each in configs if hasattr(each, "attempt")]
assert config.attempt {0}
"""

# Every name that anybody has for the clock, as time machines do it.
CLOCK = """
import _pytest.timing
real, before = time.time, time.time()
def clock():
    return {now}
for module in list(sys.modules.values()):
    if getattr(module, "time", None) is real:
        module.time = clock
assert time.time() != before
"""


def module(name: str, body: str) -> str:
    return f'{HEAD}\n\ndef test_{name}():\n    {body}\n    finished("test_{name}.py::test_{name}")\n'


def skips(name: str, outcome: str, *files: dict[str, str], tests: dict[str, str] | None = None) -> Kind:
    together = {name: text for each in (SKIPS, *files) for name, text in each.items()}
    return Kind(name, together, outcome, SKIPPED | (tests or {}), writes=SCRATCH)


KINDS = [
    skips(
        "modules skip themselves",
        "passed",
        {"test_x.py": module("x", "pass")},
        tests={"test_x.py::test_x": "passed"},
    ),
    skips("all modules skip themselves", "no_tests"),
    skips(
        "modules skip themselves in workers",
        "passed",
        {"test_x.py": module("x", "pass"), **WORKERS},
        tests={"test_x.py::test_x": "passed"},
    ),
    skips("all modules skip themselves in workers", "no_tests", WORKERS),
    skips(
        "modules skip themselves beside a failure",
        "failed",
        {"test_x.py": module("x", "assert 0")},
        tests={"test_x.py::test_x": "failed"},
    ),
    culprit(
        "its plugin hides the attempt that failed",
        ATTEMPT.format("== 2"),
        files={"conftest.py": AGAIN.format(log=False)},
        again=ALL,
    ),
    culprit(
        "its plugin runs it again and it fails",
        ATTEMPT.format("== 1"),
        "failed",
        "failed",
        files={"conftest.py": AGAIN.format(log=False)},
        again=ALL,
    ),
    culprit(
        "its plugin reports both attempts and the last one fails",
        ATTEMPT.format("== 1"),
        "failed",
        "failed",
        files={"conftest.py": AGAIN.format(log=True)},
        again=ALL,
    ),
    *(
        culprit(f"it leaves the clock {words}", CLOCK.format(now=now))
        for words, now in (
            ("at the end of the year 9999", "253402300799.9"),
            ("in 1970", "0.0"),
            ("before 1970", "-62135596800.0"),
            ("running backwards", "2 * before - real()"),
        )
    ),
    Kind(
        "two workers die in different ways",
        {
            "test_a.py": module("a", "os._exit(0)"),
            "test_b.py": module("b", "ctypes.string_at(0)"),
            "test_x.py": module("x", "pass"),
            **ini("addopts = -p xdist -n 1"),  # one after the other: the last one is the current test
        },
        "crashed",
        {"test_a.py::test_a": "crash", "test_b.py::test_b": "crash", "test_x.py::test_x": "passed"},
        writes=SCRATCH,
    ),
    Kind(
        "two files of one name do not match",
        {f"{name}/test_same.py": "def test_it(): pass\n" for name in ("a", "b")},
        "collection_error",
        {},
        not_run=("a/test_same.py::test_it",),
    ),
]
