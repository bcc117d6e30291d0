"""A later session runs the tests that it is asked for, in that order, whatever other plugins would select."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.inject import Version, each_version
from support.projects import environment, write_project
from support.sessions import Heard, only, pytest_session

from proctor import events as e

PLUGINS = (
    "pytest==8.4.2",
    "pytest-xdist==3.8.0",
    "pytest-randomly==4.0.1",
    "pytest-random-order==1.2.0",
    "pytest-split==0.10.0",
    "pytest-dependency==0.6.0",
    "pytest-order==1.3.0",
)
ODD = """
    import pytest, unittest, warnings

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_a(n): pass

    @pytest.mark.parametrize("x", ["a b", "::", "[x]", "ü", "c\\nd", "-k", "'", "\\x1b"])
    def test_odd(x): pass

    @pytest.mark.parametrize("x", [1, 2, 3, 4], ids=["s", "s", "s", "s"])
    def test_same(x, record_property): record_property("x", x)

    @pytest.mark.parametrize("x", [1, 2], ids=["\\udc80", "b"])
    def test_surrogate(x): pass

    class TestClass:
        def test_m(self): pass

    class Unit(unittest.TestCase):
        def test_one(self): pass
        def test_two(self): pass

    def documented():
        '''
        >>> 1 + 1
        2
        '''
"""


def later(
    root: Path,
    tests: Iterable[str],
    *arguments: str,
    skip: Mapping[str, int] | None = None,
    python: str = "",
    **asked: Any,
) -> Heard:
    wanted = {"only": only(root, tests, skip), "session": 2, "reports": str(root / "reports"), **asked}
    return pytest_session(root, *arguments, python=python, asked=wanted)


def selected(heard: Heard) -> list[str]:
    return [test for event in heard.of(e.TestsSelected) for test in event.tests]


@each_version
def test_any_id_is_found_again_and_the_order_is_that_of_the_file(tmp_path: Path, version: Version) -> None:
    root = write_project(tmp_path, {"test_odd.py": ODD})
    python = version.interpreter()
    first = pytest_session(root, "--doctest-modules", "-p", "no:randomly", python=python)
    every = selected(first)
    assert len(every) == 21 and first.tests == every

    again = later(root, every[::-1], "--doctest-modules", python=python)

    assert again.tests == selected(again) == every[::-1]
    assert again.of(e.TestsDeselected) == []
    assert again.finished.exit_status == 0
    assert again.finished.collected == 21


SAME = """
    import pytest

    class Item(pytest.Item):
        def runtest(self): self.user_properties.append(("number", self.number))

    class File(pytest.File):
        def collect(self):
            for number in range(4):
                item = Item.from_parent(self, name="same")
                item.number = number
                yield item

    def pytest_collect_file(file_path, parent):
        return File.from_parent(parent, path=file_path) if file_path.suffix == ".same" else None
"""


def test_of_tests_with_one_id_those_that_have_run_are_left_out(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"conftest.py": SAME, "a.same": ""})
    same = "a.same::same"
    assert selected(pytest_session(root)) == [same] * 4

    heard = later(root, [same, same], skip={same: 1})

    told = [phase.user_properties for event in heard.of(e.TestFinished) for phase in event.phases]
    assert [properties for properties in told if properties] == [({"number": 1},), ({"number": 2},)]


def test_what_is_not_there_any_more_is_not_run_and_the_rest_is(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_a(): pass\ndef test_b(): pass\n"})

    heard = later(root, ["test_a.py::test_gone", "test_a.py::test_b", "test_a.py::test_b"])

    assert heard.tests == ["test_a.py::test_b"]
    assert heard.finished.exit_status == 0


SIX = {
    "test_x.py": "def test_1(): pass\ndef test_2(): pass\ndef test_3(): pass\n",
    "test_y.py": """
        import pytest

        @pytest.mark.dependency()
        def test_4(): pass

        @pytest.mark.order(1)
        def test_5(): pass

        @pytest.mark.dependency(depends=["test_4"])
        def test_6(): pass
    """,
}
IDS = [f"test_{'x' if number < 4 else 'y'}.py::test_{number}" for number in range(1, 7)]


@pytest.mark.parametrize(
    "options",
    [
        ["-p", "randomly", "-p", "no:random_order"],
        ["--random-order", "-p", "no:randomly"],
        ["--splits=3", "--group=2", "-p", "randomly"],
        ["-k", "test_1"],
        ["--deselect", "test_y.py::test_5", "--deselect", "test_x.py::test_2"],
        ["--last-failed"],
        ["--failed-first"],
        ["--stepwise"],
        ["-p", "no:cacheprovider"],
        ["-n2"],
        ["-n2", "--dist=loadfile", "-p", "randomly"],
        ["-m", "not order"],
    ],
    ids=" ".join,
)
def test_no_plugin_that_selects_or_sorts_has_a_say(tmp_path: Path, options: list[str]) -> None:
    python = environment(sys.executable, PLUGINS)
    root = write_project(tmp_path, SIX)
    cache = root / ".pytest_cache" / "v" / "cache"
    cache.mkdir(parents=True)
    (cache / "lastfailed").write_text('{"test_x.py::test_1": true}')
    (cache / "stepwise").write_text('"test_y.py::test_6"')
    wanted = [IDS[5], IDS[4], IDS[1]]
    quiet = [] if "randomly" in options else ["-p", "no:randomly"]

    heard = later(root, wanted, *quiet, *options, python=python)

    begun = sorted(heard.tests) if "-n2" in options else heard.tests
    assert begun == (sorted(wanted) if "-n2" in options else wanted)
    assert sorted(set(selected(heard))) == sorted(wanted)
    assert {test.outcome for test in heard.ended.values()} == {"passed"}  # what test_6 depends on ran before
    assert heard.finished.exit_status == 0


def test_a_conftest_deep_in_the_project_has_no_say_either(tmp_path: Path) -> None:
    conftest = """
        import pytest

        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_collection_modifyitems(items):
            items.reverse()
            yield
            items.extend(items[:1] * 3)
    """
    source = "def test_1(): pass\ndef test_2(): pass\ndef test_3(): pass\n"
    root = write_project(tmp_path, {"deep/er/conftest.py": conftest, "deep/er/test_x.py": source})

    heard = later(root, ["deep/er/test_x.py::test_1", "deep/er/test_x.py::test_2"])

    assert heard.tests == ["deep/er/test_x.py::test_1", "deep/er/test_x.py::test_2"]


@pytest.mark.parametrize("more", [[], ["-n2"]], ids=["alone", "xdist"])
def test_the_failures_that_are_left_replace_the_limit(tmp_path: Path, more: list[str]) -> None:
    tests = "".join(f"def test_{number}(): assert {number} == 0\n" for number in range(1, 7))
    root = write_project(tmp_path, {"test_a.py": tests})
    ids = [f"test_a.py::test_{number}" for number in range(1, 7)]

    heard = later(root, ids, "--maxfail=1", *more, maxfail=3)

    assert "stopping after 3 failures" in heard.ran.out
    if not more:  # other workers go on for a while
        assert [event.outcome for event in heard.of(e.TestFinished)] == ["failed"] * 3


def test_a_file_of_tests_that_cannot_be_read_is_no_leave_to_run_all(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_a(): pass\n"})

    heard = pytest_session(root, asked={"only": str(root / "gone.json"), "session": 2})

    assert heard.tests == [] and heard.ran.code != 0
    assert "gone.json" in heard.ran.err
