"""Time limits by marks: which tests have one, and what a mark with a wrong argument does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.inject import Version, each_version
from support.projects import environment, write_project
from support.sessions import Heard, pytest_session

from proctor import events as e

MARKED = {
    "test_m.py": """
        import math, unittest
        import pytest

        pytestmark = pytest.mark.timeout(30)

        def test_module(): pass

        @pytest.mark.timeout(1.5)
        def test_own(): pass

        @pytest.mark.timeout(timeout=2, method="thread")
        class TestClass:
            def test_class(self): pass

            @pytest.mark.timeout(3, "signal", func_only=True)
            def test_both(self): pass

        @pytest.mark.timeout(10)
        class Unit(unittest.TestCase):
            def test_unit(self): pass

        @pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.timeout(5))])
        def test_param(x): pass

        @pytest.mark.timeout(0)
        def test_zero(): pass

        @pytest.mark.timeout(math.inf)
        def test_forever(): pass

        @pytest.mark.timeout("30")
        def test_text(): pass

        @pytest.mark.timeout(method="thread")
        def test_no_limit(): pass

        @pytest.mark.timeout(None)
        def test_none(): pass
    """,
    "test_plain.py": "def test_plain(): pass\n",
}
LIMITS = {
    "test_m.py::test_module": 30,
    "test_m.py::test_own": 1.5,
    "test_m.py::TestClass::test_class": 2,
    "test_m.py::TestClass::test_both": 3,
    "test_m.py::Unit::test_unit": 10,
    "test_m.py::test_param[1]": 30,
    "test_m.py::test_param[2]": 5,
    "test_m.py::test_zero": 0,
    "test_m.py::test_forever": 0,
    "test_m.py::test_text": 30,
}


def limits(heard: Heard) -> dict[str, float]:
    return {test: seconds for facts in heard.facts for test, seconds in facts.get("limits", {}).items()}


@each_version
def test_the_closest_mark_gives_the_limit(tmp_path: Path, version: Version) -> None:
    heard = pytest_session(write_project(tmp_path, MARKED), python=version.interpreter())

    assert limits(heard) == LIMITS
    assert heard.finished.exit_status == 0
    assert any("Unknown pytest.mark.timeout" in warned.message for warned in heard.of(e.WarningRecorded))


def test_the_mark_is_not_known_to_pytest_because_of_us(tmp_path: Path) -> None:
    heard = pytest_session(write_project(tmp_path, MARKED), "--strict-markers")

    assert "'timeout' not found in `markers` configuration option" in heard.ran.out
    assert heard.tests == []


@pytest.mark.parametrize("asked", [None, {"test_timeout": 9}])
def test_the_mark_is_the_business_of_pytest_timeout_where_that_is(
    tmp_path: Path, asked: dict[str, object] | None
) -> None:
    python = environment(sys.executable, ["pytest==8.4.2", "pytest-timeout==2.4.0"])
    root = write_project(tmp_path, MARKED)

    heard = pytest_session(root, python=python, asked=asked)
    (selected,) = heard.of(e.TestsSelected)
    assert limits(heard) == ({test: 0 for test in selected.tests if "plain" not in test} if asked else {})

    assert limits(pytest_session(root, "-pno:timeout", python=python, asked=asked)) == LIMITS


WRONG = {
    '"soon"': "'soon'",
    "-1": "-1",
    "float('nan')": "nan",
    "": "without an argument",
    "[3]": "[3]",
    "True": "True",
    "timeout='x'": "'x'",
}


@pytest.mark.parametrize("more", [[], ["-n1"]], ids=["alone", "xdist"])
def test_a_wrong_argument_is_an_error_of_the_test_in_its_setup(tmp_path: Path, more: list[str]) -> None:
    wrong = "\n".join(
        f"@pytest.mark.timeout({argument})\ndef test_{number}(): pass"
        for number, argument in enumerate(WRONG)
    )
    root = write_project(tmp_path, {"test_a.py": f"import pytest\n{wrong}\ndef test_right(): pass\n"})

    heard = pytest_session(root, *more)

    assert limits(heard) == {}
    ended = heard.ended
    assert ended.pop("test_a.py::test_right").outcome == "passed"
    shown = [f"Failed: invalid timeout mark {words}: expected seconds, e.g. 30" for words in WRONG.values()]
    assert [ended[f"test_a.py::test_{number}"].message for number in range(len(WRONG))] == shown
    assert {test.outcome for test in ended.values()} == {"error"}
    assert {test.phases[0].outcome for test in ended.values()} == {"failed"}  # the setup
