"""The document of a run that began from a waiting process equals the one of a run that was started for it: in
projects with a bug each, with plugins, and for the own tests of other people's libraries."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.projects import clean_environment, environment, write_project
from support.warm import Counted, cold, differences, planned, standbys, warm
from test_enough import MAKE
from test_real_suites import BUILD_BACKENDS, LIBRARIES, NEEDED_BY_TESTS, unpacked

CHEAP = ("blinker", "markupsafe", "packaging")
SOME = ("e2_", "e3_", "e4_", "e6_", "e7_")  # processes, a plugin, many failures, failures of a session
CLOCK = re.compile(r"endtime = \d+\.\d+")  # of a process that is waited for, in a traceback


@pytest.fixture(scope="module")
def waiting() -> Iterator[Counted]:
    with standbys() as found:
        yield found


def compare(waiting: Counted, home: Path, make: Callable[[Path], Path], **asked: Any) -> None:
    """`make`: writes the project below a directory. Both runs find a new one, at the same place."""
    documents = []
    for start in (cold, lambda plan: warm(plan, waiting)):
        place = home / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        environ = clean_environment(PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="1", TMPDIR=str(place))
        documents.append(start(planned(make(place), environ, **asked)))
    found = [line for line in differences(*documents) if not CLOCK.search(line)]
    assert found == []
    assert documents[0]["tests"] or documents[0]["outcome"] == "internal_error"


@pytest.mark.parametrize("suite", [name for name in MAKE.SUITES if name.startswith(SOME)])
def test_projects_with_a_bug(suite: str, tmp_path: Path, waiting: Counted) -> None:
    def make(place: Path) -> Path:
        MAKE.write(place / "project", MAKE.SUITES[suite])
        return place / "project"

    compare(waiting, tmp_path, make, python=environment(sys.executable, ["pytest", "hypothesis"]))


def installed(*requirements: str) -> str:
    try:
        return environment(sys.executable, requirements)
    except subprocess.CalledProcessError:
        pytest.skip("the package index does not give what these suites need")


@pytest.mark.parametrize("name", CHEAP)
def test_other_peoples_libraries(name: str, tmp_path: Path, waiting: Counted) -> None:
    python = installed("pytest==8.4.2", *LIBRARIES, *NEEDED_BY_TESTS, *BUILD_BACKENDS)
    (library,) = (each for each in LIBRARIES if each.startswith(name))
    arguments = ("-p", "no:cacheprovider", *LIBRARIES[library])

    compare(
        waiting,
        tmp_path,
        lambda place: unpacked(python, library, place),
        python=python,
        runner="pytest",
        arguments=arguments,
    )


ODD = {
    "shop.py": """
        def total(count):
            if count > 3:
                return 1
            return sum(range(count))
    """,
    "helper.py": "def check(one, other):\n    assert one == other\n",
    "conftest.py": "import pytest\npytest.register_assert_rewrite('helper')\npytest_plugins = ['pytester']\n",
    "test_odd.py": """
        import random, warnings
        import helper, shop

        def test_random():
            print(random.random())
            assert 0

        def test_rewritten():
            helper.check([shop.total(3), 2], [3, 3])

        def test_warning():
            warnings.warn("hello", DeprecationWarning)

        def test_depth():
            def deeper(number):
                try:
                    return deeper(number + 1)
                except RecursionError:
                    return number
            print(deeper(0))
            assert 0

        def test_finalizer():
            class Loud:
                def __del__(self):
                    raise ValueError("at the end")
            Loud()

        def test_pytest_in_pytest(pytester):
            pytester.makepyfile("def test_inner(): assert 0")
            pytester.runpytest_inprocess("-p", "no:randomly").assert_outcomes(failed=1)
    """,
}
PLUGINS = ["pytest==8.4.2", "pytest-cov==6.2.1", "pytest-randomly==3.16.0", "pytest-timeout==2.4.0"]


@pytest.mark.parametrize(
    "arguments", ["--cov --cov-branch --cov-report=term-missing", "-W error --timeout=60"]
)
def test_with_plugins(arguments: str, tmp_path: Path, waiting: Counted) -> None:
    compare(
        waiting,
        tmp_path,
        lambda place: write_project(place / "project", ODD),
        python=installed(*PLUGINS),
        seed=7,
        arguments=("-p", "no:cacheprovider", *arguments.split()),
    )
