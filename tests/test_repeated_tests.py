"""Plugins that run a test several times, in forked processes or at another time: their verdict stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
from support.projects import (
    GUARD,
    clean_environment,
    document_of,
    environment,
    outcomes,
    proctor,
    write_project,
)
from support.sessions import pytest_session

from proctor import events as e

PLUGINS = ("flaky", "rerunfailures", "pytest-retry", "pytest_forked", "flakefinder", "repeat")
REQUIREMENTS = [
    "pytest==8.4.2",
    "pytest-xdist==3.8.0",
    "flaky==3.8.1",
    "pytest-rerunfailures==16.0.1",
    "pytest-retry==1.7.0",
    "pytest-repeat==0.9.4",
    "pytest-flakefinder==1.1.0",
    "pytest-forked==1.7.5",
    "time-machine==2.16.0",
    "freezegun==1.5.5",
]
SOURCE = """
    import logging
    import pytest

    tries = {}

    def attempt(name):
        tries[name] = tries.get(name, 0) + 1
        return tries[name]

    def test_plain(): pass

    @MARK
    def test_second():
        number = attempt("second")
        print("attempt", number)
        logging.warning("attempt %d", number)
        assert number == 2

    @MARK
    def test_never():
        assert attempt("never") == 99

    @pytest.fixture
    def unsteady():
        assert attempt("unsteady") == 2

    @MARK
    def test_setup(unsteady): pass

    @pytest.fixture
    def untidy():
        yield
        if attempt("untidy") == 1:
            logging.warning("left behind")

    @MARK
    def test_teardown(untidy):
        assert attempt("teardown") == 2

    @pytest.mark.xfail(strict=True, reason="known")  # pytest counts each attempt at one, we count the test
    def test_expected(): assert 0

    @MARK
    def test_skip():
        if attempt("skip") == 2:
            pytest.skip("later")
        assert 0
"""
MARKS = {
    "flaky": "pytest.mark.flaky(max_runs=3)",
    "rerunfailures": "pytest.mark.flaky(reruns=2)",
    "pytest-retry": "pytest.mark.flaky(retries=2)",
}


@pytest.fixture(scope="module")
def python() -> str:
    try:
        return environment(sys.executable, REQUIREMENTS)
    except subprocess.CalledProcessError:
        pytest.skip("the package index does not give these plugins")


def only(*plugins: str) -> list[str]:
    return [f"-pno:{other}" for other in PLUGINS if other not in plugins]


def own(python: str, root: Path, *arguments: str) -> tuple[int, dict[str, int]]:
    """The exit code of pytest itself, and the counts of its last line."""
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments]
    ran = subprocess.run(
        command,
        cwd=root,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )
    last = ran.stdout.strip().splitlines()[-1]
    words = "passed|failed|error|skipped|xfailed|deselected"
    return ran.returncode, {word: int(count) for count, word in re.findall(rf"(\d+) ({words})", last)}


def agrees(python: str, root: Path, *arguments: str) -> dict[str, Any]:
    """Our document, which has the exit code and the counts of pytest itself."""
    document = document_of(root, "--", *arguments, python=python)
    code, counts = own(python, root, *arguments)
    summary = document["summary"] | {"error": document["summary"]["errors"]}
    summary["passed"] += summary["flaky"]  # which is no plain pass to us
    assert document["exit_code"] == code
    assert {word: summary[word] for word in ("passed", "failed", "error", "skipped", "xfailed")} == {
        word: counts.get(word, 0) for word in ("passed", "failed", "error", "skipped", "xfailed")
    }
    return document


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "xdist"])
@pytest.mark.parametrize("plugin", MARKS)
def test_the_last_attempt_counts_and_earlier_ones_leave_nothing(
    tmp_path: Path, python: str, plugin: str, workers: list[str]
) -> None:
    root = write_project(tmp_path, {"test_a.py": SOURCE.replace("MARK", MARKS[plugin])})
    document = agrees(python, root, *only(plugin), *workers)

    tests = {test["node_id"].partition("::test_")[2]: test for test in document["tests"]}
    assert tests["second"]["outcome"] == tests["plain"]["outcome"] == "passed"
    assert "failure" not in tests["second"] and tests["second"]["message"] is None
    assert (tests["never"]["outcome"], tests["never"]["failure"]["place"]) == (
        "failed",
        {"file": "test_a.py", "line": 21},
    )
    assert "3 == 99" in tests["never"]["message"] and "3 == 99" in tests["never"]["failure"]["message"]
    (second,) = [test for test in document["json_report"]["tests"] if "second" in test["nodeid"]]
    assert second["call"]["outcome"] == "passed"
    if plugin != "pytest-retry":  # which leaves the output of the first attempt in pytest's own report
        assert second["call"]["stdout"] == "attempt 2\n"
    (teardown,) = [test for test in document["json_report"]["tests"] if "teardown" in test["nodeid"]]
    assert "log" not in teardown["teardown"]


ENVIRONMENTS = {
    ("rerunfailures", "16.0.1"): REQUIREMENTS,
    ("rerunfailures", "10.3"): ["pytest==7.4.4", "pytest-xdist==3.6.1", "pytest-rerunfailures==10.3"],
    ("flaky", "3.8.1"): REQUIREMENTS,
    ("flaky", "3.7.0"): ["pytest==7.4.4", "pytest-xdist==3.6.1", "flaky==3.7.0"],
    ("pytest-retry", "1.7.0"): REQUIREMENTS,
    ("pytest-retry", "1.6.3"): ["pytest==8.4.2", "pytest-xdist==3.6.1", "pytest-retry==1.6.3"],
}
TRIED = """
    import pytest, time

    tries = {}

    def attempt(name):
        tries[name] = tries.get(name, 0) + 1
        return tries[name]

    def test_plain(): assert attempt("plain") == 2

    @MARK
    def test_first(): pass

    @MARK
    def test_third():
        number = attempt("third")
        print("attempt", number)
        time.sleep(0.01)
        assert number == 3, "try %d" % number

    @MARK
    def test_never(): raise ValueError("try %d" % attempt("never"))

    @MARK
    def test_last(): assert attempt("last") == 2, "x" * 100
"""


@pytest.mark.parametrize("workers", [[], ["-n2"]], ids=["alone", "xdist"])
@pytest.mark.parametrize("plugin, release", ENVIRONMENTS, ids=str)
def test_every_attempt_is_recorded(tmp_path: Path, plugin: str, release: str, workers: list[str]) -> None:
    python = environment(sys.executable, ENVIRONMENTS[plugin, release])
    root = write_project(tmp_path, {"test_a.py": TRIED.replace("MARK", MARKS[plugin])})

    ended = pytest_session(root, *only(plugin), *workers, python=python).ended

    tests = {name.partition("::test_")[2]: test for name, test in ended.items()}
    assert {name: (str(test.outcome), len(test.attempts)) for name, test in tests.items()} == {
        "plain": ("failed", 0),
        "first": ("passed", 0),
        "third": ("passed", 2),
        "never": ("failed", 2),
        "last": ("passed", 1),
    }
    for name, words in (("third", "AssertionError: try %d"), ("never", "ValueError: try %d")):
        for number, tried in enumerate(tests[name].attempts, 1):
            assert tried.outcome == "failed"
            assert (tried.message or "").startswith(words % number)
            assert tried.failure is not None and tried.failure.message.startswith(words % number)
            assert tried.failure.place is not None and tried.failure.place.file == "test_a.py"
    assert all(tried.seconds >= 0.01 for tried in tests["third"].attempts)
    assert tests["third"].failure is None and tests["third"].message is None
    assert "try 3" in (tests["never"].message or "")


@pytest.mark.parametrize("plugin", ["rerunfailures", "pytest-retry"])
def test_every_attempt_in_a_worker_is_recorded(tmp_path: Path, python: str, plugin: str) -> None:
    root = write_project(tmp_path, {"test_a.py": TRIED.replace("MARK", MARKS[plugin])})
    root = write_project(root, {"test_b.py": "def test_b(): pass\n"})

    ended = pytest_session(root, *only(plugin), python=python, asked={"workers": 2}).ended

    third = ended["test_a.py::test_third"]
    assert third.worker
    assert [(tried.message or "").partition("\n")[0] for tried in third.attempts] == [
        f"AssertionError: try {number}" for number in (1, 2)
    ]


@pytest.mark.parametrize(
    "source, tries",
    [
        ("def test_a(unsteady): pass", ["error"]),
        ("def test_a(untidy): pass", ["error"]),
        ("def test_a(untidy): assert attempt('a') == 2", ["failed"]),
        ("def test_a(unsteady, untidy): assert attempt('a') == 2", ["error", "failed"]),
    ],
)
def test_a_try_is_one_whichever_of_its_phases_fail(
    tmp_path: Path, python: str, source: str, tries: list[str]
) -> None:
    fixtures = """
        import pytest

        tries = {}

        def attempt(name):
            tries[name] = tries.get(name, 0) + 1
            return tries[name]

        @pytest.fixture
        def unsteady(): assert attempt("unsteady") > 1, "setup"

        @pytest.fixture
        def untidy():
            yield
            assert attempt("untidy") > 1, "teardown"
    """
    root = write_project(tmp_path, {"test_a.py": fixtures})
    with (root / "test_a.py").open("a") as file:
        file.write(f"\n{source}\n")

    heard = pytest_session(root, "--reruns=2", *only("rerunfailures"), python=python)

    (test,) = heard.of(e.TestFinished)
    assert (heard.ran.code, str(test.outcome)) == (0, "passed")
    assert [str(tried.outcome) for tried in test.attempts] == tries


@pytest.mark.parametrize("option", [["--min-passes=2"], ["--min-passes=2", "-n2"], ["--max-runs=3"]])
def test_passes_that_are_repeated_by_force_stay_green(tmp_path: Path, python: str, option: list[str]) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_a(): pass\ndef test_b(): pass\n"})
    document = agrees(python, root, "--force-flaky", "--max-runs=2", *option, *only("flaky"))

    assert document["outcome"] == "passed"


@pytest.mark.parametrize(
    "plugin, options", [("repeat", ["--count=3"]), ("flakefinder", ["--flake-finder", "--flake-runs=3"])]
)
def test_each_repetition_under_a_name_of_its_own_counts(
    tmp_path: Path, python: str, plugin: str, options: list[str]
) -> None:
    source = "n = 0\ndef test_a():\n    global n\n    n += 1\n    assert n != 2\n"
    document = agrees(python, write_project(tmp_path, {"test_a.py": source}), *options, *only(plugin))

    assert sorted(outcomes(document).values()) == ["failed", "passed", "passed"]


def test_a_test_of_which_every_attempt_is_hidden_is_no_pass(tmp_path: Path) -> None:
    conftest = """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            for report in runtestprotocol(item, nextitem=nextitem, log=False):
                if report.when != "call":
                    item.ihook.pytest_runtest_logreport(report=report)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            return True
    """
    root = write_project(tmp_path, {"conftest.py": conftest, "test_a.py": "def test_a(): pass\n"})
    document = document_of(root)

    assert (document["outcome"], outcomes(document)) == ("failed", {"test_a.py::test_a": "error"})


def test_an_attempt_that_is_to_be_rerun_and_never_is_no_pass(tmp_path: Path) -> None:
    conftest = """
        def pytest_runtest_logreport(report):
            pass

        def pytest_runtest_makereport(item, call):
            from _pytest.reports import TestReport
            report = TestReport.from_item_and_call(item, call)
            if report.when == "call":
                report.outcome = "rerun"
            return report
    """
    root = write_project(tmp_path, {"conftest.py": conftest, "test_a.py": "def test_a(): assert 0\n"})
    document = document_of(root)

    assert (document["outcome"], outcomes(document)) == ("failed", {"test_a.py::test_a": "error"})


CRASHES = {
    "test_a.py": "import ctypes\n\ndef test_segfault():\n    ctypes.string_at(0)\n",
    "test_b.py": """
        import os, ctypes, pytest

        def test_exit():
            os._exit(0)

        @pytest.mark.parametrize("kind", ["exit", "segfault", "pass"])
        def test_kinds(kind):
            if kind == "exit":
                os._exit(3)
            if kind == "segfault":
                ctypes.string_at(0)
    """,
}


@pytest.mark.parametrize("how", [["-n2"], ["--forked"], ["--forked", "-n2"]], ids=" ".join)
def test_a_dump_is_told_only_of_the_process_that_wrote_it(
    tmp_path: Path, python: str, how: list[str]
) -> None:
    root = write_project(tmp_path, CRASHES)
    document = document_of(root, "--", *how, *only("pytest_forked"), python=python)

    tests = {test["node_id"]: test for test in document["tests"]}
    assert document["outcome"] == "crashed"
    assert [test for test, found in tests.items() if found["outcome"] == "passed"] == [
        "test_b.py::test_kinds[pass]"
    ]
    segfault, exits = (
        tests["test_a.py::test_segfault"],
        (tests["test_b.py::test_exit"], tests["test_b.py::test_kinds[exit]"]),
    )
    if "Segmentation fault" in segfault["message"]:  # its words had come by then
        assert segfault["message"].endswith("Segmentation fault at test_a.py:4")
    for test in exits:
        assert "Segmentation fault" not in test["message"] and "place" not in test["failure"]
    shown = proctor("show", document["run_id"], "--format", "agent", cwd=root).out
    assert re.findall(r"^x\d", shown, re.M) == []  # each death has a cause of its own


TIMES = {
    "time_machine in 9999": "import time_machine as t; t.travel('9999-12-31').start()",
    "time_machine in 1970": "import time_machine as t; t.travel(0, tick=False).start()",
    "freezegun in 1970": "import freezegun as f; f.freeze_time('1970-01-01').start()",
    "freezegun in 9999": "import freezegun as f; f.freeze_time('9999-12-31').start()",
    "clocks replaced": "import time; time.time = time.monotonic = time.perf_counter = lambda: float('nan')",
    "clocks that run back": """
        import itertools, time
        back = itertools.count(1e9, -1e6)
        time.time = time.monotonic = time.perf_counter = lambda: next(back)
    """,
}


@pytest.mark.parametrize(
    "time, when, runner",
    [
        *((time, "in a test", "pytest") for time in TIMES),
        ("time_machine in 9999", "at import", "pytest"),
        ("time_machine in 1970", "at import", "pytest"),
        ("time_machine in 9999", "in a test", "unittest"),
        ("clocks replaced", "at import", "unittest"),
    ],
)
def test_a_clock_that_a_test_changes_for_good_costs_nothing(
    tmp_path: Path, python: str, time: str, when: str, runner: str
) -> None:
    code = dedent(TIMES[time]).strip()
    body = indent(code if when == "in a test" else "pass", " " * 8)
    lines = [
        "import unittest",
        code if when == "at import" else "",
        "class TestTime(unittest.TestCase):",
        f"    def test_a(self):\n{body}",
        "    def test_b(self): pass",
    ]
    root = write_project(tmp_path, {"test_a.py": "\n".join(lines) + "\n"})
    document = document_of(root, "--runner", runner, python=python)

    assert (document["outcome"], document["summary"]["passed"]) == ("passed", 2), document["reason"]
    assert all(test["duration"] >= 0 for test in document["tests"])
