"""Tests run in workers that one pytest session forks: what is reported is what one process reports."""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.projects import environment, interpreters, write_project
from support.sessions import Heard, session_of

from proctor import events as e

TWO: dict[str, Any] = {"workers": 2}
OLDEST = ("3.7", "pytest==6.2.5")
EVERY_KIND = {
    "test_kinds.py": """
        import pytest, unittest, warnings
        def test_passes(): pass
        def test_prints(): print("words")
        def test_fails(): assert [1, 2] == [1, 3]
        def test_skips(): pytest.skip("not today")
        @pytest.mark.xfail(reason="known")
        def test_xfails(): assert 0
        @pytest.mark.xfail
        def test_xpasses(): pass
        @pytest.mark.xfail(strict=True)
        def test_strict(): pass
        def test_warns(): warnings.warn("careful")
        @pytest.fixture
        def broken(): raise RuntimeError("no fixture")
        def test_errs(broken): pass
        @pytest.fixture
        def untidy():
            yield
            raise RuntimeError("no teardown")
        def test_untidy(untidy): pass
        @pytest.mark.parametrize("odd", ["a b", "a::b", "[x]", "é", "a\\nb", "\\ud800", ""])
        def test_odd(odd): assert odd != "a::b"
        def test_surrogate(): assert "\\ud800" == "x"
        def test_property(record_property): record_property("where", object)
        class TestOld(unittest.TestCase):
            def test_method(self): self.assertEqual(1, 2)
            def test_parts(self):
                for number in (1, 2):
                    with self.subTest(number=number): self.assertEqual(number, 1)
    """,
    "test_more.py": "import pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_more(n): assert n != 4",
    "guide.txt": ">>> 1 + 1\n2\n>>> 1 + 1\n3\n",
}


def essence(told: Heard) -> dict[str, tuple[Any, ...]]:
    """All that is said about a test but for times and the worker."""
    found = {}
    for name, test in told.ended.items():
        # In one process, pytest captures the letter that its own terminal writes for a subtest.
        shows = not any(phase.subtest for phase in test.phases)
        phases = tuple((p.when, p.outcome, p.subtest, p.stdout if shows else "") for p in test.phases)
        failure = test.failure and (test.failure.message, test.failure.place, test.failure.difference)
        found[name] = (test.outcome, test.message, test.traceback, phases, failure, sorted(test.keywords))
    return found


@pytest.mark.parametrize(("python", "release"), [OLDEST, ("3.13", "pytest==9.2.0")])
def test_all_kinds_of_tests_are_reported_as_by_one_process(tmp_path: Path, python: str, release: str) -> None:
    if python not in interpreters():
        pytest.skip(f"no interpreter for Python {python}")
    chosen = environment(interpreters()[python], [release])
    root = write_project(tmp_path, EVERY_KIND)

    alone, spread = (session_of(root, asked, python=chosen) for asked in ({}, TWO))

    assert essence(spread) == essence(alone)
    assert spread.workers == {"gw0", "gw1"}
    assert (spread.code, spread.notices) == (alone.code, []) == (1, [])
    assert [warning.message for warning in spread.of(e.WarningRecorded)] == ["careful"]
    assert spread.of(e.WarningRecorded) == alone.of(e.WarningRecorded)


SCOPES = """
    import os, pytest
    @pytest.fixture(scope="session", autouse=True)
    def of_session(worker_id):
        yield from note("session", worker_id)
    @pytest.fixture(scope="package", autouse=True)
    def of_package(worker_id):
        yield from note("package", worker_id)
    @pytest.fixture(scope="module", autouse=True)
    def of_module(request, worker_id):
        yield from note("module " + request.module.__name__, worker_id)
    @pytest.fixture(scope="class", autouse=True)
    def of_class(request, worker_id):
        yield from note("class " + getattr(request.cls, "__name__", "none"), worker_id)
    def note(what, worker):
        write("+" + what, worker)
        yield
        write("-" + what, worker)
    def write(line, worker):
        with open("log", "a") as log:
            log.write("%s %s %d\\n" % (worker, line, os.getpid()))
    def pytest_sessionfinish(): write("finished", "coordinator")
    def pytest_unconfigure(): write("unconfigured", "coordinator")
"""
CLASSES = """
    class TestA:
        def test_1(self): pass
        def test_2(self): pass
    class TestB:
        def test_1(self): pass
        def test_2(self): pass
"""


def test_fixtures_are_set_up_once_for_each_worker_and_torn_down_in_order(tmp_path: Path) -> None:
    files = {f"pack/test_{name}.py": CLASSES for name in "abcd"}
    root = write_project(tmp_path, {"conftest.py": SCOPES, "pack/__init__.py": "", **files})
    told = session_of(root, TWO)

    assert (told.code, told.workers) == (0, {"gw0", "gw1"})
    lines = [line.split() for line in (root / "log").read_text().splitlines()]
    for worker in ("gw0", "gw1"):
        own = [" ".join(words[1:-1]) for words in lines if words[0] == worker]
        begun = [line[1:] for line in own if line.startswith("+")]
        modules = [line for line in begun if line.startswith("module")]
        assert own == list(nested(own)), own
        assert begun.count("session") == begun.count("package") == 1
        assert len(set(modules)) == len(modules)  # no module comes back
    assert {words[0] for words in lines if "module" not in words} >= {"gw0", "gw1", "coordinator"}
    assert [words[1] for words in lines if words[0] == "coordinator"] == ["finished", "unconfigured"]


def nested(lines: list[str]) -> list[str]:
    """The same lines if what began last always ended first, and all has ended."""
    open_ones: list[str] = []
    for line in lines:
        if line.startswith("+"):
            open_ones.append(line[1:])
        elif not open_ones or open_ones.pop() != line[1:]:
            return [f"not the last that began: {line}"]
    return lines if not open_ones else [f"never ended: {open_ones}"]


def test_maxfail_counts_over_all_workers_and_fixtures_are_torn_down(tmp_path: Path) -> None:
    failing = "import pytest\n@pytest.mark.parametrize('n', range(40))\ndef test_x(n): assert n % 2\n"
    root = write_project(tmp_path, {"conftest.py": SCOPES, "test_a.py": failing, "test_b.py": failing})
    told = session_of(root, TWO, "--maxfail=3")

    assert told.code == 1
    # The other worker ends the test that it runs.
    assert list(told.outcomes.values()).count("failed") in (3, 4)
    assert len(told.outcomes) < 20
    assert "stopping after" in told.out
    lines = [line.split() for line in (root / "log").read_text().splitlines()]
    for worker in ("gw0", "gw1"):
        own = [" ".join(words[1:-1]) for words in lines if words[0] == worker]
        assert own == nested(own)


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("def test_a(request): request.session.shouldstop = 'enough'", 2, "enough"),
        ("import pytest\ndef test_a(): pytest.exit('over', 7)", 7, "over"),
        ("def test_a(): raise KeyboardInterrupt", 2, "KeyboardInterrupt"),
    ],
)
def test_what_ends_a_session_ends_it_from_a_worker_too(
    tmp_path: Path, source: str, code: int, said: str
) -> None:
    more = "import pytest, time\n@pytest.mark.parametrize('n', range(300))\ndef test_x(n): time.sleep(0.02)\n"
    told = session_of(write_project(tmp_path, {"test_a.py": source + "\n" + more}), TWO)

    assert told.code == code
    assert said in told.out
    assert len(told.outcomes) < 200


def test_a_hook_that_breaks_in_a_worker_is_the_sessions_internal_error(tmp_path: Path) -> None:
    conftest = "def pytest_runtest_protocol(item):\n    {}['nothing']\n"
    told = session_of(write_project(tmp_path, {"conftest.py": conftest, "test_more.py": MORE}), TWO)

    assert told.code == 3
    broke = told.of(e.SessionBroke)[-1]
    assert (broke.failure.type, str(broke.failure.place)) == ("KeyError", "conftest.py:2")


MORE = EVERY_KIND["test_more.py"]


def test_junit_reports_of_pytest_itself_are_the_same(tmp_path: Path) -> None:
    root = write_project(tmp_path, EVERY_KIND)
    for name, asked in (("alone", {}), ("spread", TWO)):
        session_of(root, asked, f"--junitxml={name}.xml")

    alone, spread = (ElementTree.parse(root / f"{name}.xml").getroot() for name in ("alone", "spread"))
    for of in ("tests", "failures", "errors", "skipped"):
        assert spread[0].get(of) == alone[0].get(of)
    assert cases(spread) == cases(alone)


def cases(report: ElementTree.Element) -> list[tuple[Any, ...]]:
    found = [
        (case.get("classname"), case.get("name"), tuple((part.tag, part.get("message")) for part in case))
        for case in report.iter("testcase")
    ]
    return sorted(found, key=str)


@pytest.mark.parametrize("capture", ["fd", "sys", "tee-sys", "no"])
def test_output_is_captured_or_shown_as_in_one_process(tmp_path: Path, capture: str) -> None:
    source = """
        import logging, os, sys, pytest
        kept = sys.stdout
        @pytest.mark.parametrize("n", range(4))
        def test_x(n):
            print("out", n)
            print("kept", n, file=kept)
            print("err", n, file=sys.stderr)
            os.write(1, b"raw %d\\n" % n)
            logging.getLogger("mine").warning("log %d", n)
        def test_capfd(capfd):
            os.write(1, b"mine\\n")
            assert capfd.readouterr().out == "mine\\n"
        def test_capsys(capsys):
            print("mine")
            assert capsys.readouterr().out == "mine\\n"
        def test_caplog(caplog):
            logging.getLogger().error("mine")
            assert caplog.messages == ["mine"]
    """
    root = write_project(tmp_path, {"test_a.py": source, "test_b.py": source})
    alone, spread = (
        session_of(root, asked, f"--capture={capture}", "--log-cli-level=INFO") for asked in ({}, TWO)
    )

    assert outputs(spread) == outputs(alone)
    assert set(spread.outcomes.values()) == {"passed"}
    assert spread.out.count("out 2") == alone.out.count("out 2")
    assert spread.out.count("raw 2") == alone.out.count("raw 2")
    assert "live log" not in spread.out


def outputs(told: Heard) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: [(p.when, p.stdout, p.stderr, [r["msg"] for r in p.log]) for p in test.phases]
        for name, test in told.ended.items()
    }


def test_each_worker_has_a_name_and_directories_of_its_own(tmp_path: Path) -> None:
    source = """
        import json, os, pathlib, random
        def test_x(worker_id, testrun_uid, tmp_path, tmp_path_factory, request):
            assert worker_id == os.environ["PYTEST_XDIST_WORKER"] == request.config.workerinput["workerid"]
            assert testrun_uid == os.environ["PYTEST_XDIST_TESTRUNUID"]
            assert os.environ["PYTEST_XDIST_WORKER_COUNT"] == "2"
            assert request.config.workerinput["workercount"] == 2
            assert tmp_path_factory.getbasetemp().name == "popen-" + worker_id
            assert tmp_path_factory.getbasetemp() in tmp_path.parents
            pathlib.Path(worker_id).write_text(json.dumps([testrun_uid, random.random()]))
    """
    bare = environment(sys.executable, [f"pytest=={version('pytest')}"])
    root = write_project(tmp_path, {f"test_{name}.py": source for name in "ab"})
    told = session_of(root, TWO, "-W", "error", python=bare)  # pytest warns of some fixtures

    assert set(told.outcomes.values()) == {"passed"}
    first, second = (json.loads((root / name).read_text()) for name in ("gw0", "gw1"))
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_hooks_of_a_conftest_see_its_own_tests_once_in_the_coordinator(tmp_path: Path) -> None:
    conftest = """
        import os
        home = os.getpid()
        def pytest_runtest_logstart(nodeid): note("start", nodeid)
        def pytest_runtest_logreport(report): note(report.when, report.nodeid, report.worker_id)
        def pytest_runtest_logfinish(nodeid): note("finish", nodeid)
        def note(*words):
            assert os.getpid() == home
            with open("log", "a") as log:
                print(*words, file=log)
    """
    files = {"a/conftest.py": conftest, "a/test_a.py": MORE, "b/test_b.py": MORE, "a/__init__.py": ""}
    root = write_project(tmp_path, {**files, "b/__init__.py": "", "pytest.ini": "[pytest]\n"})
    told = session_of(root, TWO)

    lines = [line.split()[0] for line in (root / "log").read_text().splitlines()]
    assert (len(told.outcomes), told.code) == (18, 1)
    assert {word: lines.count(word) for word in lines} == dict.fromkeys(
        ("start", "setup", "call", "teardown", "finish"), 9
    )


def test_one_test_at_a_time_in_a_process_of_its_own(tmp_path: Path) -> None:
    source = """
        import os, pytest
        seen = []
        @pytest.mark.parametrize("n", range(5))
        def test_x(n, worker_id):
            assert (seen, worker_id) == ([], "gw0")
            seen.append(n)
            with open("log", "a") as log:
                log.write("%d %d\\n" % (n, os.getpid()))
    """
    root = write_project(tmp_path, {"test_a.py": source})
    told = session_of(root, {"isolate": True})

    assert set(told.outcomes.values()) == {"passed"}
    numbers, processes = zip(*(line.split() for line in (root / "log").read_text().splitlines()), strict=True)
    assert (numbers, len(set(processes))) == (("0", "1", "2", "3", "4"), 5)


def test_failures_in_quarantine_do_not_stop_the_workers(tmp_path: Path) -> None:
    source = "import os, pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_x(n): {}\n"
    files = {"test_a.py": source.format("assert 0"), "test_b.py": source.format("assert n < 4")}
    dying = {"test_c.py": "import os\ndef test_c(): os.abort()\n"}
    root = write_project(tmp_path, {**files, **dying})
    told = session_of(root, {**TWO, "quarantine": ["test_a.py*", "test_c.py*"]}, "--maxfail=3")

    outcomes = told.outcomes
    assert [outcomes.get(f"test_b.py::test_x[{number}]") for number in (4, 5, 6, 8)] == ["failed"] * 3 + [
        None
    ]


def test_a_mark_gives_a_limit_of_its_own(tmp_path: Path) -> None:
    source = """
        import time, pytest
        @pytest.mark.timeout(0.5)
        def test_short():
            time.sleep(600)
        @pytest.mark.timeout(0)
        def test_free(): time.sleep(1.6)
        @pytest.mark.timeout("soon")
        def test_wrong(): pass
        def test_usual(): time.sleep(600)
    """
    root = write_project(tmp_path, {"test_a.py": source})
    told = session_of(root, {**TWO, "test_timeout": 1.0}, "-W", "ignore")

    found = {name[11:]: (test.outcome, test.message) for name, test in told.ended.items()}
    assert found["test_short"] == ("timeout", "time limit of 0.5 s reached at test_a.py:4")
    assert found["test_usual"] == ("timeout", "time limit of 1 s reached at test_a.py:9")
    assert found["test_free"][0] == "passed"
    assert "invalid timeout mark" in str(found["test_wrong"][1])
