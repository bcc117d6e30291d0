"""A run that did not pass is never called green, whatever the process did and whatever it said."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from support.projects import (
    GUARD,
    clean_environment,
    command,
    document_of,
    outcomes,
    project_python,
    run_suite,
    with_enough_time,
    write_project,
)

BEFORE = "def test_first(): pass\n\n\ndef test_second(): pass\n\n\n"
AFTER = "\n\ndef test_later(): pass\n\n\ndef test_last(): pass\n"
FIRST_TWO = {"test_a.py::test_first": "passed", "test_a.py::test_second": "passed"}
LAST_TWO = ["test_a.py::test_later", "test_a.py::test_last"]


def suite(tmp_path: Path, body: str, head: str = "import ctypes, os, signal, sys, pytest\n\n\n") -> Path:
    return write_project(
        tmp_path, {"test_a.py": head + BEFORE + "def test_culprit():\n" + body + "\n" + AFTER}
    )


CULPRIT = "test_a.py::test_culprit"
LINE = 11  # of the culprit's first statement


@pytest.mark.parametrize(
    "body, code, name",
    [
        ("    os._exit(3)", 3, None),
        ("    ctypes.string_at(0)", -signal.SIGSEGV, "SIGSEGV"),
        ("    os.abort()", -signal.SIGABRT, "SIGABRT"),
        ("    os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM, "SIGTERM"),
    ],
)
def test_a_process_that_dies_is_a_crash_of_the_test_that_ran(
    tmp_path: Path, body: str, code: int, name: str | None
) -> None:
    ran = run_suite(suite(tmp_path, body), "--format", "json")

    document = ran.document
    assert ran.code == 2
    assert document["outcome"] == "crashed"
    assert (document["exit_code"], document["signal"]) == (code, name)
    assert outcomes(document) == {**FIRST_TWO, CULPRIT: "crash", **dict.fromkeys(LAST_TWO, "passed")}
    assert (document["current_test"], document["not_run"]) == (CULPRIT, [])
    assert (document["restarts"], document["tests"][-1]["session"]) == (1, 2)
    (culprit,) = [test for test in document["tests"] if test["node_id"] == CULPRIT]
    line = LINE if name in ("SIGSEGV", "SIGABRT") else LINE - 1  # its own line where faulthandler speaks
    assert f"test_a.py:{line}" in culprit["message"]


def test_a_segfault_in_product_code_names_that_line(tmp_path: Path) -> None:
    files = {
        "native.py": "import ctypes\n\n\ndef peek():\n    return ctypes.string_at(0)\n",
        "test_a.py": "from native import peek\n\n\ndef test_peek():\n    peek()\n",
        "pytest.ini": "[pytest]\npythonpath = .\n",
    }
    document = document_of(write_project(tmp_path, files))

    (test,) = document["tests"]
    assert test["message"] == "SIGSEGV (Segmentation fault) at native.py:5"
    assert 'test_a.py", line 5 in test_peek' in test["traceback"]


def test_a_crash_in_teardown_is_a_crash_of_that_test(tmp_path: Path) -> None:
    source = """
        import os, pytest

        @pytest.fixture
        def bomb():
            yield
            os._exit(0)

        def test_before(): pass
        def test_bomb(bomb): pass
        def test_after(): pass
    """
    document = document_of(write_project(tmp_path, {"test_a.py": source}))

    assert document["outcome"] == "crashed"
    assert document["current_test"] == "test_a.py::test_bomb"
    assert outcomes(document)["test_a.py::test_after"] == "passed"


def test_a_keyboard_interrupt_names_the_test_and_the_line(tmp_path: Path) -> None:
    ran = run_suite(suite(tmp_path, "    raise KeyboardInterrupt"), "--format", "json")

    document = ran.document
    assert ran.code == 2
    assert document["outcome"] == "interrupted"
    assert outcomes(document) == {**FIRST_TWO, CULPRIT: "error"}
    assert f"test_a.py:{LINE}" in document["tests"][-1]["message"]
    assert document["not_run"] == LAST_TWO


@pytest.mark.parametrize(
    "call, outcome",
    [
        ("pytest.exit('stop', returncode=0)", "incomplete"),
        ("pytest.exit('stop', returncode=1)", "incomplete"),
        ("pytest.exit('stop', returncode=3)", "incomplete"),
        ("pytest.exit('stop', returncode=4)", "incomplete"),
        ("pytest.exit('stop')", "interrupted"),
    ],
)
def test_an_exit_that_a_test_asks_for_is_not_a_pass(tmp_path: Path, call: str, outcome: str) -> None:
    ran = run_suite(suite(tmp_path, f"    {call}"), "--format", "json")

    assert ran.code == 2
    assert ran.document["outcome"] == outcome
    assert ran.document["reason"] == "stop"
    assert ran.document["not_run"] == LAST_TWO


@pytest.mark.parametrize(
    "body",
    [
        "    while True: pass",
        "    while True:\n        try: signal.pause()\n        except KeyboardInterrupt: pass",
    ],
)
def test_an_infinite_loop_ends_at_the_limit_and_is_named(tmp_path: Path, body: str) -> None:
    root = suite(tmp_path, "    open('reached', 'w').close()\n" + body)
    ran = with_enough_time(
        lambda limit: run_suite(root, "--timeout", limit, "--format", "json"), root / "reached"
    )

    document = ran.document
    assert ran.code == 2
    assert document["outcome"] == "timeout"
    assert outcomes(document) == {**FIRST_TWO, CULPRIT: "timeout"}
    assert document["current_test"] == CULPRIT
    assert "test_a.py:1" in document["tests"][-1]["message"]
    assert document["not_run"] == LAST_TWO


def test_a_limit_during_collection_is_a_timeout_too(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "while True: pass\n"})

    document = document_of(root, "--timeout", "2")

    assert document["outcome"] == "timeout"
    assert document["tests"] == []


def test_a_worker_of_xdist_that_dies_is_a_crash_with_its_line(tmp_path: Path) -> None:
    document = document_of(suite(tmp_path, "    ctypes.string_at(0)"), "-n", "2")

    assert document["outcome"] == "crashed"
    found = outcomes(document)
    assert found.pop(CULPRIT) == "crash"
    assert set(found.values()) == {"passed"}
    assert len(found) == 4
    culprit = next(test for test in document["tests"] if test["node_id"] == CULPRIT)
    assert f"test_a.py:{LINE}" in culprit["message"]


def test_a_worker_of_xdist_that_exits_is_a_crash(tmp_path: Path) -> None:
    document = document_of(suite(tmp_path, "    os._exit(0)"), "-n", "2")

    assert document["outcome"] == "crashed"
    assert outcomes(document)[CULPRIT] == "crash"


def test_xdist_gives_the_same_outcomes_as_one_process(tmp_path: Path) -> None:
    source = """
        import pytest

        @pytest.fixture
        def broken(): raise OSError("no")

        def test_pass(): pass
        def test_fail(): assert 1 == 2
        def test_error(broken): pass
        @pytest.mark.skip(reason="later")
        def test_skip(): pass
        @pytest.mark.xfail
        def test_xfail(): assert 0
    """
    root = write_project(tmp_path, {"test_a.py": source, "test_bad.py": "import nowhere\n"})
    alone = document_of(root, "test_a.py")
    shared = document_of(root, "test_a.py", "-n", "2")

    assert outcomes(shared) == outcomes(alone)
    assert {t["node_id"]: t["message"] for t in shared["tests"]} == {
        t["node_id"]: t["message"] for t in alone["tests"]
    }
    broken = document_of(root, "-n", "2")
    assert broken["outcome"] == "collection_error"
    assert [error["file"] for error in broken["collection_errors"]] == ["test_bad.py"]


def test_failfast_leaves_the_rest_not_run_and_the_run_failed(tmp_path: Path) -> None:
    document = document_of(suite(tmp_path, "    assert 0"), "-x")

    assert document["outcome"] == "failed"
    assert document["exit_code"] == 1
    assert document["not_run"] == LAST_TWO


def test_a_plugin_that_fails_a_green_run_is_believed(tmp_path: Path) -> None:
    conftest = "def pytest_sessionfinish(session):\n    session.exitstatus = 1\n"
    root = write_project(tmp_path, {"conftest.py": conftest, "test_a.py": "def test_x(): pass\n"})

    ran = run_suite(root, "--format", "json")

    assert ran.document["outcome"] == "failed"
    assert "no test failed" in ran.document["reason"]
    assert ran.code == 1


def test_pytest_without_a_session_is_no_pass(tmp_path: Path) -> None:
    ran = run_suite(write_project(tmp_path, {"test_a.py": BEFORE}), "--format", "json", "--", "--markers")

    assert ran.code == 5
    assert ran.document["outcome"] == "no_tests"


def test_killing_pytest_from_outside_keeps_what_was_reported(tmp_path: Path) -> None:
    """The test tells its pid through a FIFO, so that nobody has to guess when it runs."""
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    body = f"    open({str(fifo)!r}, 'w').write(str(os.getpid()))\n    signal.pause()"
    root = suite(tmp_path, body)
    arguments = command("run", "--python", project_python(), "--format", "json")
    process = subprocess.Popen(arguments, cwd=root, env=clean_environment(), stdout=subprocess.PIPE)
    os.kill(int(fifo.read_text()), signal.SIGKILL)
    out, _ = process.communicate(timeout=GUARD)

    import json

    document = json.loads(out)
    assert document["outcome"] == "crashed"
    assert outcomes(document) == {**FIRST_TWO, CULPRIT: "crash", **dict.fromkeys(LAST_TWO, "passed")}


def test_a_time_limit_that_a_test_sets_over_the_channel_is_a_timeout_of_that_test(tmp_path: Path) -> None:
    body = """    import time\n    os.write(200, b"duration 1\\n"), time.sleep(120)"""
    ran = run_suite(suite(tmp_path, body), "--format", "json")

    document = ran.document
    assert (ran.code, document["outcome"]) == (2, "timeout")
    assert outcomes(document) == {**FIRST_TWO, CULPRIT: "timeout"}
    assert (document["current_test"], document["not_run"]) == (CULPRIT, LAST_TWO)
    assert document["tests"][-1]["message"] == f"time limit reached at test_a.py:{LINE + 1}"


def test_an_expression_that_pytest_fails_to_evaluate_is_a_usage_error(tmp_path: Path) -> None:
    ran = run_suite(suite(tmp_path, "    pass"), "--format", "human", "--", "-k", "(" * 900 + "a" + ")" * 900)

    assert ran.code == 4
    assert "cannot evaluate the -k or -m expression: RecursionError" in ran.out
    assert "INTERNAL" not in ran.out
