"""unittest's own tests in the project's own interpreter, told as they were."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.projects import (
    Ran,
    clean_environment,
    document_of,
    interpreters,
    outcomes,
    proctor,
    with_enough_time,
    write_project,
)

from proctor.errors import UsageError
from proctor.runners import unittest_suite
from proctor.spec import Python, RunSpec, Selection

VERSIONS = ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")
SHOP = {
    "shop.py": """
        def price(item):
            return {"tea": 3}[item]
        """,
    "tests/__init__.py": "",
    "tests/test_shop.py": """
        import subprocess
        import unittest

        import shop

        class Prices(unittest.TestCase):
            def test_known(self):
                print("told in python")
                subprocess.run(["echo", "told by a child"])
                self.assertEqual(shop.price("tea"), 3)

            def test_differs(self):
                self.assertEqual({"tea": [1, 2]}, {"tea": [1, 3]})

            def test_raises(self):
                shop.price("milk")

            @unittest.skip("closed on sundays")
            def test_skipped(self):
                pass

            @unittest.expectedFailure
            def test_expected(self):
                self.fail("as was expected")

            @unittest.expectedFailure
            def test_unexpected(self):
                pass

            def test_parts(self):
                for number in range(4):
                    with self.subTest(number=number):
                        self.assertNotEqual(number % 2, 1)

            def test_größe(self):
                pass

        class Before(unittest.TestCase):
            def setUp(self):
                raise OSError("no disk")

            def test_one(self):
                pass

        class After(unittest.TestCase):
            def tearDown(self):
                raise OSError("no bin")

            def test_one(self):
                pass

        class NoClass(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                raise RuntimeError("no class")

            def test_one(self):
                pass

            def test_two(self):
                pass

        class SkippedClass(unittest.TestCase):
            @classmethod
            def setUpClass(cls):
                raise unittest.SkipTest("not here")

            def test_one(self):
                pass

        class LeftBehind(unittest.TestCase):
            @classmethod
            def tearDownClass(cls):
                raise RuntimeError("left behind")

            def test_one(self):
                pass
        """,
    "tests/test_module.py": """
        import unittest

        def setUpModule():
            raise RuntimeError("no module")

        class Never(unittest.TestCase):
            def test_one(self):
                pass
        """,
}
FILE = "tests/test_shop.py"
OUTCOMES = {
    f"{FILE}::Prices::test_known": "passed",
    f"{FILE}::Prices::test_differs": "failed",
    f"{FILE}::Prices::test_raises": "failed",
    f"{FILE}::Prices::test_skipped": "skipped",
    f"{FILE}::Prices::test_expected": "xfailed",
    f"{FILE}::Prices::test_unexpected": "failed",
    f"{FILE}::Prices::test_parts": "failed",
    f"{FILE}::Prices::test_größe": "passed",
    f"{FILE}::Before::test_one": "error",
    f"{FILE}::After::test_one": "error",
    f"{FILE}::NoClass::test_one": "error",
    f"{FILE}::NoClass::test_two": "error",
    f"{FILE}::SkippedClass::test_one": "skipped",
    f"{FILE}::LeftBehind::test_one": "passed",
    f"{FILE}::LeftBehind::tearDownClass": "error",
    "tests/test_module.py::Never::test_one": "error",
}


def document(root: Path, *arguments: str, python: str = sys.executable) -> dict[str, Any]:
    return document_of(root, "--runner", "unittest", *arguments, python=python)


def run(root: Path, *arguments: str) -> Ran:
    environ = clean_environment()
    return proctor(
        "run", "--runner", "unittest", "--python", sys.executable, *arguments, cwd=root, environ=environ
    )


def discovered(root: Path, *arguments: str) -> dict[str, Any]:
    base = ("discover", "--runner", "unittest", "--python", sys.executable, "--format", "json")
    return json.loads(proctor(*base, *arguments, cwd=root).out)


def failures(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {test["node_id"]: test["failure"] for test in found["tests"] if test.get("failure")}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_project(tmp_path_factory.mktemp("shop"), SHOP)


@pytest.fixture(scope="module")
def told(shop: Path) -> dict[str, Any]:
    return document(shop)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_python_tells_the_same_of_the_same_tests(
    version: str, shop: Path, told: dict[str, Any]
) -> None:
    python = interpreters().get(version)
    if python is None:
        pytest.skip(f"no interpreter for Python {version}")
    there = document(shop, python=python)

    assert outcomes(there) == OUTCOMES
    assert there["outcome"] == "failed"
    assert {test: found.get("place") for test, found in failures(there).items()} == {
        test: found.get("place") for test, found in failures(told).items()
    }


def test_failures_have_their_place_their_words_and_what_differs(told: dict[str, Any]) -> None:
    found = failures(told)

    differs = found[f"{FILE}::Prices::test_differs"]
    assert differs["difference"] == ["at ['tea'][1]: 2 != 3"]
    assert differs["place"] == {"file": FILE, "line": 13}
    assert found[f"{FILE}::Prices::test_raises"]["place"] == {"file": "shop.py", "line": 2}
    assert found[f"{FILE}::Prices::test_raises"]["message"] == "KeyError: 'milk'"
    assert "unexpected success" in found[f"{FILE}::Prices::test_unexpected"]["message"]
    assert found["tests/test_module.py::Never::test_one"]["message"] == "RuntimeError: no module"


def test_subtests_that_failed_are_told_in_their_test(told: dict[str, Any]) -> None:
    [test] = [test for test in told["tests"] if test["node_id"].endswith("test_parts")]

    assert test["subtests"] == [
        {"name": "(number=1)", "outcome": "failed"},
        {"name": "(number=3)", "outcome": "failed"},
    ]


def test_output_is_that_of_its_test_even_if_a_child_wrote_it(shop: Path) -> None:
    log = run(shop, "--format", "events", f"{FILE}::Prices::test_known").out
    ended = [
        json.loads(line)
        for line in log.splitlines()
        if '"told by a child' in line or "told in python" in line
    ]

    assert len(ended) == 1
    assert "told in python\\ntold by a child\\n" in json.dumps(
        ended[0]
    ) or "told by a child\\ntold in python\\n" in json.dumps(ended[0])


@pytest.mark.parametrize(
    "test",
    [
        f"{FILE}::Prices::test_größe",
        f"{FILE}::Prices::test_differs",
        f"{FILE}::NoClass::test_two",
        "tests/test_module.py::Never::test_one",
    ],
)
def test_what_is_printed_runs_that_test_alone(shop: Path, test: str) -> None:
    assert outcomes(document(shop, test)) == {test: OUTCOMES[test]}


def test_what_failed_around_a_class_runs_that_class_again(shop: Path) -> None:
    again = outcomes(document(shop, f"{FILE}::LeftBehind::tearDownClass"))

    assert again == {test: how for test, how in OUTCOMES.items() if "LeftBehind" in test}


def test_keywords_are_an_expression_over_names(shop: Path) -> None:
    chosen = document(shop, "-k", "prices and not (parts or differs or raises or expected)")

    assert set(outcomes(chosen)) == {f"{FILE}::Prices::test_{name}" for name in ("known", "skipped", "größe")}
    assert chosen["outcome"] == "passed"
    assert chosen["summary"]["deselected"] == 12


def test_a_run_stops_after_as_many_failures_as_are_allowed(tmp_path: Path) -> None:
    fails = "\n".join(f"    def test_{n}(self):\n        self.fail('no')" for n in range(5))
    write_project(tmp_path, {"test_many.py": f"import unittest\nclass Many(unittest.TestCase):\n{fails}\n"})
    stopped = document(tmp_path, "--maxfail", "2")

    assert list(outcomes(stopped)) == ["test_many.py::Many::test_0", "test_many.py::Many::test_1"]
    assert len(stopped["not_run"]) == 3
    assert stopped["outcome"] == "failed"


def test_last_failed_runs_what_failed_last(shop: Path) -> None:
    run(shop)
    again = outcomes(document(shop, "--last-failed"))

    bad = {test: how for test, how in OUTCOMES.items() if how in ("failed", "error")}
    assert again == bad | {f"{FILE}::LeftBehind::test_one": "passed"}


def test_discover_lists_every_test_with_its_line_and_runs_none(shop: Path) -> None:
    found = discovered(shop)

    lines = {test["node_id"]: test["line"] for test in found["tests"]}
    assert set(lines) == {test for test in OUTCOMES if not test.endswith("tearDownClass")}
    assert lines[f"{FILE}::Prices::test_known"] == 7
    assert found["outcome"] == "passed"


BROKEN = {
    "tests/test_good.py": """
        import unittest

        class Good(unittest.TestCase):
            def test_one(self):
                pass
        """,
    "tests/test_import.py": "import os\nimport nowhere_to_be_found\n",
    "tests/test_syntax.py": "import os\n\ndef broken(:\n",
    "tests/test_away.py": "import unittest\nraise unittest.SkipTest('not on this machine')\n",
    "tests/test_exits.py": "import sys\nsys.exit(0)\n",
}


@pytest.mark.parametrize("package", [True, False])
def test_what_cannot_be_imported_is_told_with_its_line_and_the_rest_runs(
    tmp_path: Path, package: bool
) -> None:
    write_project(tmp_path, BROKEN | ({"tests/__init__.py": ""} if package else {}))
    found = document(tmp_path)

    places = {error["file"]: error["failure"].get("place") for error in found["collection_errors"]}
    assert places == {
        "tests/test_import.py": {"file": "tests/test_import.py", "line": 2},
        "tests/test_syntax.py": {"file": "tests/test_syntax.py", "line": 3},
        "tests/test_exits.py": {"file": "tests/test_exits.py", "line": 2},
    }
    assert outcomes(found) == {
        "tests/test_good.py::Good::test_one": "passed",
        "tests/test_away.py": "skipped",
    }
    assert found["outcome"] == "collection_error"
    assert outcomes(document(tmp_path, "tests/test_away.py")) == {"tests/test_away.py": "skipped"}
    alone = document(tmp_path, "tests/test_syntax.py")
    assert [error["failure"]["place"]["line"] for error in alone["collection_errors"]] == [3]


def test_load_tests_is_asked_and_what_it_gives_can_be_run_again(tmp_path: Path) -> None:
    write_project(
        tmp_path,
        {
            "words.py": '''
                def twice(word):
                    """
                    >>> twice("a")
                    'aab'
                    """
                    return word * 2
                ''',
            "test_words.py": """
                import doctest
                import unittest
                import words

                class Words(unittest.TestCase):
                    def __init__(self, method="test_word", word="a"):
                        super().__init__(method)
                        self.word = word

                    def test_word(self):
                        self.assertEqual(words.twice(self.word), "aa")

                def load_tests(loader, tests, pattern):
                    made = unittest.TestSuite([Words(word="a"), Words(word="b")])
                    made.addTests(doctest.DocTestSuite(words))
                    return made
                """,
        },
    )
    found = document(tmp_path)

    second, doc = "test_words.py::Words::test_word#2", "test_words.py::words.twice"
    assert outcomes(found) == {"test_words.py::Words::test_word": "passed", second: "failed", doc: "failed"}
    assert failures(found)[doc]["place"] == {"file": "words.py", "line": 3}
    assert outcomes(document(tmp_path, second)) == {second: "failed"}
    assert outcomes(document(tmp_path, doc)) == {doc: "failed"}


def dying(how: str) -> dict[str, str]:
    return {
        "test_dies.py": f"""
            import os, sys, time, unittest

            class Dies(unittest.TestCase):
                def test_1(self):
                    pass

                def test_2(self):
                    {how}

                def test_3(self):
                    pass
            """
    }


@pytest.mark.parametrize("how", ["os._exit(0)", "os._exit(1)", "os.abort()"])
def test_a_test_that_ends_the_process_crashed_and_the_rest_runs_in_another(tmp_path: Path, how: str) -> None:
    found = document(write_project(tmp_path, dying(how)))

    assert (found["outcome"], found["restarts"], found["not_run"]) == ("crashed", 1, [])
    assert outcomes(found) == {
        "test_dies.py::Dies::test_1": "passed",
        "test_dies.py::Dies::test_2": "crash",
        "test_dies.py::Dies::test_3": "passed",
    }
    if "abort" in how:
        assert failures(found)["test_dies.py::Dies::test_2"]["place"]["line"] == 8


def test_an_exit_in_a_test_is_an_error_of_that_test(tmp_path: Path) -> None:
    found = document(write_project(tmp_path, dying("sys.exit(0)")))

    assert list(outcomes(found).values()) == ["passed", "failed", "passed"]
    assert found["outcome"] == "failed"


def test_a_test_that_never_ends_is_ended_and_named(tmp_path: Path) -> None:
    root = write_project(tmp_path, dying("open('reached', 'w').close(); time.sleep(1000)"))
    found = with_enough_time(lambda limit: document(root, "--timeout", limit), root / "reached")

    assert found["outcome"] == "timeout"
    assert outcomes(found)["test_dies.py::Dies::test_2"] == "timeout"
    assert found["not_run"] == ["test_dies.py::Dies::test_3"]


def test_a_test_that_has_run_is_let_go_as_unittest_does(tmp_path: Path) -> None:
    write_project(
        tmp_path,
        {
            "test_weak.py": """
                import gc
                import unittest
                import weakref

                first = []

                class Weak(unittest.TestCase):
                    def test_1(self):
                        first.append(weakref.ref(self))

                    def test_2(self):
                        gc.collect()
                        self.assertIsNone(first[0]())
                """
        },
    )

    assert document(tmp_path)["outcome"] == "passed"


def test_a_flood_of_output_keeps_its_head_and_its_tail(tmp_path: Path) -> None:
    flood = "for _ in range(400): print('head' if not _ else 'x' * 100_000)"
    found = document(write_project(tmp_path, dying(f"{flood}; print('tail'); self.fail('flooded')")))

    assert outcomes(found)["test_dies.py::Dies::test_2"] == "failed"
    assert found["outcome"] == "failed"
    assert len(json.dumps(found)) < 4 << 20


def test_no_tests_are_no_pass(tmp_path: Path) -> None:
    assert document(write_project(tmp_path, {"test_none.py": "import unittest\n"}))["outcome"] == "no_tests"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--repeat", "2"), "--repeat: unittest has no such option; it is for pytest"),
        (("--parallel", "fork", "-n", "2"), "--parallel: unittest has no such option; it is for pytest"),
        (("-m", "slow"), "has no markers"),
        (("-k", "a and"), "invalid expression"),
        (("tests/nowhere.py",), "no such file: tests/nowhere.py"),
        ((f"{FILE}::Prices::test_nothing",), "no test"),
        (("--", "--frobnicate"), "unrecognized arguments"),
    ],
)
def test_what_cannot_be_done_is_a_usage_error_that_says_so(
    shop: Path, arguments: tuple[str, ...], words: str
) -> None:
    ran = run(shop, *arguments)

    assert ran.code == 4
    assert words in ran.out + ran.err


def test_arguments_for_discovery_are_handed_on(tmp_path: Path) -> None:
    write_project(tmp_path, {"checks/check_one.py": BROKEN["tests/test_good.py"]})

    found = document(tmp_path, "--", "-s", "checks", "-p", "check_*.py")
    assert outcomes(found) == {"checks/check_one.py::Good::test_one": "passed"}


def test_a_project_is_unittests_if_it_imports_that_and_never_pytest(tmp_path: Path) -> None:
    assert not unittest_suite.detect(tmp_path)
    write_project(tmp_path, SHOP)
    assert unittest_suite.detect(tmp_path)
    assert unittest_suite.owns(f"{FILE}::Prices::test_known", tmp_path)
    for sign in ({"tests/test_other.py": "import pytest\n"}, {"tests/conftest.py": ""}, {"pytest.ini": ""}):
        write_project(tmp_path, sign)
        assert not unittest_suite.detect(tmp_path)
        (tmp_path / next(iter(sign))).unlink()
    assert unittest_suite.detect(tmp_path)


def test_where_there_is_no_pytest_unittest_takes_its_place_unless_pytest_was_asked_for(
    tmp_path: Path,
) -> None:
    write_project(tmp_path, {"test_good.py": BROKEN["tests/test_good.py"]})
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=tmp_path, check=True)

    found = proctor("run", "--format", "json", cwd=tmp_path).document
    assert (found["runner"], found["outcome"]) == ("unittest", "passed")
    repeated = proctor("run", "--format", "json", "--repeat", "2", cwd=tmp_path).document
    notice = "--repeat: unittest has no such option; it is for pytest; its tests run without it"
    assert (repeated["outcome"], repeated["notices"]) == ("passed", [notice])
    assert "unittest runs the tests" in proctor("doctor", cwd=tmp_path).out
    asked = proctor("run", "--runner", "pytest", cwd=tmp_path)
    assert asked.code != 0
    assert "no pytest in" in asked.err


def test_targets_cannot_be_taken_for_options(tmp_path: Path) -> None:
    write_project(tmp_path, {"-k.py": ""})
    python = Python("/python", (3, 12, 0), {})
    spec = RunSpec(str(tmp_path), "unittest", Selection(("-k.py",), "-x"))

    [launch] = unittest_suite.plan(spec, {}, python).launches
    assert launch.argv[2:] == ("--keywords=-x", "--", "-k.py")
    with pytest.raises(UsageError, match=r"Python 3\.6"):
        unittest_suite.plan(spec, {}, Python("/python", (3, 6, 1), {}))


def test_a_real_suite_comes_to_what_unittest_itself_says(tmp_path: Path) -> None:
    """The standard library's own tests of json."""
    where = subprocess.run(
        [sys.executable, "-c", "import test.test_json; print(test.test_json.__path__[0])"],
        capture_output=True,
        text=True,
        check=False,
    )
    if where.returncode:
        pytest.skip("this interpreter has no tests of the standard library")
    place = Path(where.stdout.strip())
    own = subprocess.run(
        [sys.executable, "-m", "unittest", "discover", "-s", str(place), "-t", str(place.parent.parent)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    ran = re.search(r"^Ran (\d+) tests?", own.stderr, re.M)
    skipped = re.search(r"skipped=(\d+)", own.stderr)
    assert ran is not None and own.returncode == 0
    found = document(tmp_path, str(place))

    assert found["outcome"] == "passed"
    assert found["summary"]["total"] == int(ran[1])
    assert found["summary"]["skipped"] == (int(skipped[1]) if skipped else 0)
