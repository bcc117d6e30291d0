"""Whether a session may fork: what speaks against it is named, and xdist or one process does the work."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from support.projects import environment, write_project
from support.sessions import Heard, session_of

TWO: dict[str, Any] = {"workers": 2}
TESTS = {"test_a.py": "def test_a(): pass\n", "test_b.py": "def test_b(): pass\n"}
THREAD = """
    import threading
    stop = threading.Event()
    threading.Thread(target=stop.wait, name="watchdog", daemon=True).start()
    def pytest_sessionfinish(): stop.set()
"""
READERS = {
    "import": "import os\nNAME = os.environ.get('PYTEST_XDIST_WORKER', 'one')\n",
    "getenv": "import os\nNAME = os.getenv('PYTEST_XDIST_WORKER_COUNT')\n",
    "bytes": "import os\nNAME = os.environb.get(b'PYTEST_XDIST_TESTRUNUID')\n",
    "contains": "import os\nNAME = 'PYTEST_XDIST_WORKER' in os.environ\n",
    "configure": "import os\ndef pytest_configure(config): os.environ.get('PYTEST_XDIST_WORKER')\n",
    "workerinput": "def pytest_configure(config): hasattr(config, 'workerinput')\n",
    "sessionstart": "def pytest_sessionstart(session): getattr(session.config, 'workerinput', {})\n",
    "library": "import string, os\ndef pytest_configure(config):\n    from helper import ask; ask()\n",
}
ALONE = "def test_a(worker_id): assert worker_id == 'master'\n"
HELPER = "import os\ndef ask(): return os.environ.get('PYTEST_XDIST_WORKER')\n"


def session_with(
    root: Path, conftest: str, asked: dict[str, Any], *arguments: str, python: str = ""
) -> Heard:
    files = {"conftest.py": conftest, "helper.py": HELPER, "pytest.ini": "[pytest]\n", **TESTS}
    return session_of(write_project(root, files), asked, *arguments, python=python)


def assert_not_forked(told: Heard, reason: str) -> None:
    """The tests ran in one process, and a notice says why."""
    assert told.code == 0
    assert (set(told.outcomes.values()), told.workers) == ({"passed"}, {""})
    (notice,) = told.notices
    assert notice.startswith("-n 2 is not used, the tests run in one process: ")
    assert reason in notice


@pytest.mark.parametrize("conftest", READERS.values(), ids=READERS)
def test_a_project_that_asks_for_its_worker_before_there_is_one_is_not_forked(
    tmp_path: Path, conftest: str
) -> None:
    told = session_with(tmp_path, conftest, TWO)

    assert_not_forked(told, ".py:")
    assert "before the workers start" in told.notices[0]


def test_a_module_of_tests_that_asks_when_it_is_imported_is_not_forked(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_c.py": READERS["import"] + "def test_c(): pass\n"})
    told = session_with(tmp_path, "", TWO)

    assert_not_forked(told, "test_c.py:2 reads PYTEST_XDIST_WORKER")


def test_a_fixture_may_ask_and_so_may_all_that_a_test_calls(tmp_path: Path) -> None:
    conftest = """
        import os, subprocess, sys, pytest
        os.environ.get("HOME"); dict(os.environ); os.environ.copy(); os.environ.setdefault("MINE", "1")
        @pytest.fixture(autouse=True, scope="session")
        def database(request):
            name = "test_" + request.config.workerinput["workerid"]
            assert name == "test_" + os.environ["PYTEST_XDIST_WORKER"]
            assert os.environ["MINE"] == "1" and type(os.environ._data) is dict
            assert os.environb[b"MINE"] == b"1" and "workerinput" not in vars(type(request.config))
            code = "import os; print(os.environ['PYTEST_XDIST_WORKER'], os.environ['MINE'])"
            assert subprocess.check_output([sys.executable, "-c", code]).split()[1] == b"1"
    """
    told = session_with(tmp_path, conftest, TWO)

    assert (told.code, told.notices, told.workers) == (0, [], {"gw0", "gw1"})


def test_a_thread_that_is_alive_is_named(tmp_path: Path) -> None:
    assert_not_forked(
        session_with(tmp_path, THREAD, TWO), "1 other thread is alive: watchdog (threading.Event.wait)"
    )


def test_what_is_unsafe_is_an_error_where_forking_was_asked_for(tmp_path: Path) -> None:
    told = session_with(tmp_path, THREAD, {**TWO, "parallel": "fork", "xdist": True})

    assert (told.code, told.outcomes) == (4, {})
    assert "--parallel fork is not possible here: 1 other thread is alive" in told.err
    told = session_with(tmp_path, READERS["import"], {**TWO, "parallel": "fork"})
    assert (told.code, told.outcomes) == (4, {})
    assert "conftest.py:2 reads PYTEST_XDIST_WORKER before the workers start" in told.err


@pytest.mark.parametrize(("conftest", "collects"), [(THREAD, True), (READERS["import"], False)])
def test_what_is_unsafe_is_handed_over_where_xdist_is(tmp_path: Path, conftest: str, collects: bool) -> None:
    told = session_with(tmp_path, conftest, {**TWO, "xdist": True})

    assert told.outcomes == {}
    assert told.handed_over
    assert ("collected 2 items" in told.out) == collects


def test_isolated_tests_are_not_handed_over(tmp_path: Path) -> None:
    told = session_with(tmp_path, THREAD, {"isolate": True, "xdist": True})

    assert told.notices[0].startswith("--isolate is not used, the tests run in one process: 1 other thread")
    assert told.outcomes == {"test_a.py::test_a": "passed", "test_b.py::test_b": "passed"}


def test_a_project_that_turns_xdist_on_keeps_it(tmp_path: Path) -> None:
    told = session_with(tmp_path, "", {**TWO, "xdist": True}, "-n", "1")

    assert (told.code, told.notices, told.workers) == (0, [], {""})
    assert "1 worker" in told.out


def test_a_hook_for_nodes_of_xdist_needs_xdist(tmp_path: Path) -> None:
    conftest = """
        import pytest
        @pytest.hookimpl(optionalhook=True)
        def pytest_configure_node(node): node.workerinput["port"] = 1
    """
    bare = environment(sys.executable, [f"pytest=={version('pytest')}"])

    assert_not_forked(
        session_with(tmp_path, conftest, TWO, python=bare), "conftest.py has the hook pytest_configure_node"
    )
    assert session_with(tmp_path, conftest, {**TWO, "xdist": True}).handed_over


def test_a_debugger_wants_one_process(tmp_path: Path) -> None:
    assert_not_forked(session_with(tmp_path, "", TWO, "--pdb"), "--pdb works in one process only")


@pytest.mark.parametrize(
    "files",
    [
        {"test_a.py": ALONE},
        {
            "test_a.py": "import pytest\n@pytest.mark.xdist_group('db')\n" + ALONE,
            "test_b.py": "import pytest\n@pytest.mark.xdist_group(name='db')\ndef test_b(): pass\n",
        },
    ],
    ids=["one test", "one group"],
)
def test_nothing_to_divide_needs_no_worker_and_no_notice(tmp_path: Path, files: dict[str, str]) -> None:
    bare = environment(sys.executable, [f"pytest=={version('pytest')}"])
    root = write_project(tmp_path, {"conftest.py": THREAD, **files})
    told = session_of(root, {**TWO, "parallel": "fork"}, "--strict-markers", python=bare)

    assert (told.code, told.notices, told.workers) == (0, [], {""})


def test_the_threads_of_numpy_do_not_matter_and_snapshots_of_syrupy_do(tmp_path: Path) -> None:
    python = environment(sys.executable, [f"pytest=={version('pytest')}", "numpy", "syrupy"])
    conftest = "import numpy\nnumpy.ones((500, 500)) @ numpy.ones((500, 500))\n"
    told = session_with(tmp_path, conftest, TWO, python=python)
    assert (told.code, told.notices, told.workers) == (0, [], {"gw0", "gw1"})

    write_project(tmp_path, {"test_c.py": "def test_c(snapshot): assert 1 == snapshot\n"})
    told = session_with(tmp_path, conftest, TWO, "--snapshot-update", python=python)
    assert_not_forked(told, "syrupy counts the snapshots that tests use")
