"""Tests run in workers that one pytest session forks: what is reported is what one process reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.projects import environment, interpreters, write_project
from support.worker_sessions import Told, session_of

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


def essence(told: Told) -> dict[str, tuple[Any, ...]]:
    """All that is said about a test but for times and the worker."""
    found = {}
    for name, test in told.finished.items():
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
