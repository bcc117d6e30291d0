"""Short names of Python tests, resolved by the source of the test files."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.mcp_client import talk
from support.projects import run_suite, write_project

from proctor.errors import UsageError
from proctor.runners.python_names import resolved

FILES = {
    "tests/api/test_get.py": """
        import pytest

        class TestApi:
            def test_get(self):
                assert 1

            class TestInner:
                async def test_deep(self): pass

        @pytest.mark.parametrize("n", [1, 2])
        def test_many(n):
            assert n
        """,
    "tests/test_put.py": "def test_put(): pass\n\ndef helper(): pass\n\ndef test_other(): pass\n",
    "tests/db/test_put.py": "def test_store(): pass\n\ndef test_other(): pass\n",
    "tests/test_broken.py": "def test_(:\n",
    "node_modules/test_x.py": "def test_hidden(): pass\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_project(tmp_path, FILES)


@pytest.mark.parametrize(
    ("target", "test"),
    [
        ("test_get", "tests/api/test_get.py::TestApi::test_get"),
        ("TestApi::test_get", "tests/api/test_get.py::TestApi::test_get"),
        ("TestApi", "tests/api/test_get.py::TestApi"),
        ("TestInner", "tests/api/test_get.py::TestApi::TestInner"),
        ("TestApi::TestInner::test_deep", "tests/api/test_get.py::TestApi::TestInner::test_deep"),
        ("test_many[2]", "tests/api/test_get.py::test_many[2]"),
        ("tests/api/test_get.py:5", "tests/api/test_get.py::TestApi::test_get"),
        ("tests/api/test_get.py:10", "tests/api/test_get.py::test_many"),  # its decorator
        ("test_get.py:8", "tests/api/test_get.py::TestApi::TestInner::test_deep"),
        ("test_get.py::test_many[1]", "tests/api/test_get.py::test_many[1]"),
        ("api/test_get.py", "tests/api/test_get.py"),
        ("test_put.py::test_store", "tests/db/test_put.py::test_store"),
        ("db/test_put.py::test_other", "tests/db/test_put.py::test_other"),
        ("helper", "helper"),  # no test
        ("test_hidden", "test_hidden"),  # in no directory of tests
        ("nothing/like.it", "nothing/like.it"),
        ("gone.py:3", "gone.py:3"),
    ],
)
def test_a_short_name_stands_for_the_one_test_that_matches(root: Path, target: str, test: str) -> None:
    assert resolved(target, root) == test


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("test_other", "matches 2 tests: tests/test_put.py::test_other, tests/db/test_put.py::test_other"),
        ("test_put.py::test_other", "matches 2 tests: tests/test_put.py::test_other, "),
        ("test_put.py", "matches 2 tests: tests/test_put.py, tests/db/test_put.py"),
        ("test_put.py:1", "matches 2 files: tests/test_put.py:1, tests/db/test_put.py:1"),
        (
            "tests/test_put.py:3",
            r"no test at 'tests/test_put.py:3'; the nearest: tests/test_put.py::test_put \(lines 1 to 1\), "
            r"tests/test_put.py::test_other \(lines 5 to 5\)",
        ),
    ],
)
def test_several_matches_and_a_line_without_a_test_are_refused_by_name(
    root: Path, target: str, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        resolved(target, root)


def test_the_command_line_takes_short_names_and_names_the_nearest(root: Path) -> None:
    assert run_suite(root, "test_get", "--format", "agent").out == "1 passed\n"
    assert run_suite(root, "test_get.py:12", "--format", "agent").out == "2 passed\n"

    refused = run_suite(root, "test_other", "--format", "agent")
    assert refused.code == 4
    assert "tests/db/test_put.py::test_other" in refused.err

    wrong = run_suite(root, "tests/test_put.py::test_pit", "--format", "agent")
    assert wrong.code == 4
    assert "did you mean tests/test_put.py::test_put" in wrong.out


def test_a_server_takes_short_names_and_a_text_for_a_list(root: Path) -> None:
    with talk(root) as client:
        assert client.document("execute_tests", targets="test_get")["summary"]["passed"] == 1
        assert client.document("discover_tests", targets=["test_many"])["total"] == 2
        assert "tests/test_put.py::test_other" in client.refusal("execute_tests", targets=["test_other"])
        assert "did you mean tests/test_put.py::test_put" in client.refusal(
            "execute_tests", targets=["test_pit"]
        )
