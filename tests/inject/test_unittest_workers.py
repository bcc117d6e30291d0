"""unittest's tests in forked workers: the same outcomes as in one process, whatever a worker does."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.projects import write_project
from support.sessions import Heard, unittest_session

from proctor import events as e

ALL_KINDS = """
    import os
    import unittest

    class A(unittest.TestCase):
        @classmethod
        def setUpClass(cls):
            print("setup", os.getpid(), flush=True)
            cls.made_in = os.getpid()

        @classmethod
        def tearDownClass(cls):
            print("teardown", os.getpid(), flush=True)

        def test_1(self): self.assertEqual(self.made_in, os.getpid())
        def test_2(self): self.fail("no")
        def test_3(self): self.assertEqual(self.made_in, os.getpid())

    class Broken(unittest.TestCase):
        @classmethod
        def setUpClass(cls): raise RuntimeError("no class")
        def test_1(self): pass
        def test_2(self): pass

    class C(unittest.TestCase):
        @unittest.skip("not now")
        def test_1(self): pass
        @unittest.expectedFailure
        def test_2(self): self.fail("as expected")
        def test_3(self):
            for number in range(3):
                with self.subTest(number=number): self.assertNotEqual(number, 1)
        def test_4(self): print("said in a worker")
"""
WAYS: list[dict[str, Any]] = [{"workers": 2}, {"workers": 3}, {"isolate": True}]


def outcomes(heard: Heard) -> dict[str, str]:
    ends = heard.of(e.TestFinished)
    assert len({end.test for end in ends}) == len(ends), "a test has ended twice"
    return {end.test: str(end.outcome) for end in ends}


def workers(heard: Heard) -> set[str]:
    return {end.worker for end in heard.of(e.TestFinished)}


@pytest.mark.parametrize("asked", WAYS)
def test_outcomes_are_those_of_one_process(tmp_path: Path, asked: dict[str, Any]) -> None:
    root = write_project(tmp_path, {f"test_{name}.py": ALL_KINDS for name in "abc"})
    serial, parallel = unittest_session(root), unittest_session(root, asked=asked)

    assert outcomes(parallel) == outcomes(serial)
    assert (parallel.ran.code, parallel.finished.by_tests) == (1, 1)
    assert workers(parallel) == {f"gw{number}" for number in range(asked.get("workers", 1))}
    assert {
        end.phases[0].stdout for end in parallel.of(e.TestFinished) if end.test.endswith("C::test_4")
    } == {"said in a worker\n"}


def test_a_class_is_set_up_and_torn_down_once_in_one_worker(tmp_path: Path) -> None:
    root = write_project(tmp_path, {f"test_{name}.py": ALL_KINDS for name in "ab"})

    words = [line.split() for line in unittest_session(root, asked={"workers": 2}).ran.out.splitlines()]

    pids = [pid for word, pid in words if word == "setup"]
    assert len(pids) == 2 and sorted(pids) == sorted(pid for word, pid in words if word == "teardown")


@pytest.mark.parametrize("asked", WAYS)
def test_a_worker_that_dies_costs_the_test_that_it_ran(tmp_path: Path, asked: dict[str, Any]) -> None:
    source = """
        import ctypes, os, unittest
        class T(unittest.TestCase):
            def test_1(self): pass
            def test_2(self): ctypes.string_at(0)
            def test_3(self): pass
            def test_4(self): os._exit(0)
            def test_5(self): pass
    """
    root = write_project(tmp_path, {"test_a.py": source, "test_b.py": source})

    heard = unittest_session(root, asked=asked)

    assert len(outcomes(heard)) == 10
    assert {name: end for name, end in outcomes(heard).items() if end != "passed"} == {
        f"test_{file}.py::T::test_{number}": "crash" for file in "ab" for number in (2, 4)
    }
    crashed, exited = (heard.ended[f"test_a.py::T::test_{number}"].message for number in (2, 4))
    assert crashed == "SIGSEGV (Segmentation fault) at test_a.py:4"
    assert exited is not None and exited.startswith("the process exited with 0 during the test")


def test_a_test_over_its_limit_is_a_timeout_and_the_others_run(tmp_path: Path) -> None:
    source = """
        import threading, unittest
        class T(unittest.TestCase):
            def test_1(self): threading.Event().wait()
            def test_2(self): pass
    """
    root = write_project(tmp_path, {"test_a.py": source, "test_b.py": source})

    heard = unittest_session(root, asked={"workers": 2, "test_timeout": 1.0})

    assert sorted(outcomes(heard).values()) == ["passed", "passed", "timeout", "timeout"]
    assert heard.ended["test_a.py::T::test_1"].message == "time limit of 1 s reached at test_a.py:3"


def test_a_limit_of_failures_counts_over_all_workers(tmp_path: Path) -> None:
    fails = "".join(f"    def test_{number}(self): self.fail('no')\n" for number in range(20))
    source = f"import unittest\nclass T(unittest.TestCase):\n{fails}"
    root = write_project(tmp_path, {})
    for name in "ab":
        (root / f"test_{name}.py").write_text(source)

    assert 2 <= len(outcomes(unittest_session(root, "--maxfail=2", asked={"workers": 2}))) < 10


def test_a_thread_that_is_alive_keeps_the_tests_in_one_process(tmp_path: Path) -> None:
    source = """
        import threading, unittest
        threading.Thread(target=threading.Event().wait, daemon=True, name="lasting").start()
        class T(unittest.TestCase):
            def test_1(self): pass
    """
    root = write_project(tmp_path, {"test_a.py": source, "test_b.py": source})

    heard = unittest_session(root, asked={"workers": 2})

    assert set(outcomes(heard).values()) == {"passed"} and workers(heard) == {""}
    (notice,) = heard.notices
    assert notice.startswith(
        "-n 2 is not used, the tests run in one process: 2 other threads are alive: lasting"
    )


def test_what_a_module_sets_up_keeps_its_tests_together(tmp_path: Path) -> None:
    classes = "".join(
        f"class T{number}(unittest.TestCase):\n    def test_1(self): self.assertEqual(made, [os.getpid()])\n"
        for number in range(4)
    )
    source = f"import os, unittest\nmade = []\ndef setUpModule(): made.append(os.getpid())\n{classes}"
    (tmp_path / "test_a.py").write_text(source)
    (tmp_path / "test_b.py").write_text(
        "import unittest\nclass T(unittest.TestCase):\n    def test_1(self): pass\n"
    )

    heard = unittest_session(tmp_path, asked={"workers": 2})

    assert set(outcomes(heard).values()) == {"passed"}
    assert len({end.worker for end in heard.of(e.TestFinished) if end.test.startswith("test_a.py")}) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_nothing_stays_alive(tmp_path: Path) -> None:
    source = """
        import os, unittest
        class T(unittest.TestCase):
            def test_1(self): open(f"pid-{os.getpid()}", "w").close()
    """
    root = write_project(tmp_path, {"test_a.py": source, "test_b.py": source})

    unittest_session(root, asked={"workers": 2})

    pids = [path.name[4:] for path in root.glob("pid-*")]
    assert len(pids) == 2 and not any(os.path.exists(f"/proc/{pid}") for pid in pids)
