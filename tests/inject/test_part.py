"""A session of one shard, in each version of pytest: which files it loads, and which tests it leaves."""

from __future__ import annotations

import json
from pathlib import Path

from support.inject import Version, each_version
from support.projects import write_project
from support.sessions import session_of

from proctor import events as e

SUITE = {
    "pkg/__init__.py": "",
    "pkg/test_own.py": "def test_2(): pass\ndef test_1(): pass\ndef test_other(): pass\n",
    "pkg/test_other.py": "raise SystemError('loaded')\n",
    "test_new.py": "def test_new(): pass\n",
}


def _part(root: Path, tests: list[str], last: bool = False) -> dict[str, str]:
    path = root / "part.json"
    path.write_text(json.dumps({"tests": tests, "files": [], "others": ["pkg/test_other.py"], "last": last}))
    return {"part": str(path)}


@each_version
def test_a_session_loads_only_files_of_its_shard_and_keeps_the_order_of_the_tests(
    tmp_path: Path, version: Version
) -> None:
    root = write_project(tmp_path / "project", SUITE)
    tests = ["pkg/test_own.py::test_1", "pkg/test_own.py::test_2"]

    first = session_of(root, _part(tmp_path, tests), python=version.interpreter())
    last = session_of(
        root, _part(tmp_path, [*tests, "test_new.py::test_new"], True), python=version.interpreter()
    )

    assert first.ran.code == last.ran.code == 0, first.ran.out + last.ran.out
    assert [event.tests for event in first.of(e.TestsSelected)] == [tuple(reversed(tests))]
    assert {test for event in last.of(e.TestsSelected) for test in event.tests} == {
        *tests,
        "test_new.py::test_new",
    }
    loaded = {collector.id for collector in first.of(e.CollectorFinished)}
    assert "pkg/test_own.py" in loaded and "test_new.py" not in loaded
    assert "test_new.py" in {collector.id for collector in last.of(e.CollectorFinished)}


def test_a_list_says_which_tests_a_mark_keeps_together(tmp_path: Path) -> None:
    suite = """
        import pytest
        @pytest.mark.xdist_group("b")
        class TestX:
            @pytest.mark.xdist_group(name="a")
            def test_both(self): pass
            def test_one(self): pass
        def test_none(): pass
        """
    root = write_project(tmp_path, {"test_a.py": suite})

    heard = session_of(root, {}, "--collect-only")

    groups = {test: group for event in heard.of(e.TestsSelected) for test, group in event.groups.items()}
    assert groups == {"test_a.py::TestX::test_both": "a_b", "test_a.py::TestX::test_one": "b"}
