"""However a suite is run, each test ends in the same way, and its body runs once in each attempt."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import Phase, event, given, note, settings
from hypothesis import strategies as st
from support.made_suites import BAD, Suite, nesting_faults, suites
from support.projects import outcomes, run_suite, write_project
from torture.kind import SIZE

WAYS = ((), ("-n", "2"), ("-n", "3"), ("--isolate",))
LIMIT = "5"  # seconds for a test, where one hangs


@settings(max_examples=3 * SIZE, phases=[Phase.explicit, Phase.generate], database=None)
@given(suites(), st.integers(0, 1))  # with one more, a test that mends would run less often than it may
def test_however_a_suite_is_run_its_results_are_the_same(suite: Suite, retries: int) -> None:
    expected = {name: test.outcome(retries) for name, test in suite.named().items()}
    bodies = {name: times for name, test in suite.named().items() if (times := test.bodies(retries))}
    event(f"{len(expected)} tests")
    for way in WAYS:
        with tempfile.TemporaryDirectory() as home:
            root = suite.write(Path(home) / "project")
            note("\n".join(f"--- {path.name}\n{path.read_text()}" for path in root.rglob("*.py")))
            options = [*way, "--retries", str(retries), *(["--test-timeout", LIMIT] if suite.hangs else [])]
            ran = run_suite(root, "--format", "json", *options, PYTHONDONTWRITEBYTECODE="1")
            notes = (Path(home) / "notes").read_text().splitlines()
        note(f"{way}: {ran.err}")
        document = ran.document

        assert outcomes(document) == expected, way
        assert list(outcomes(document)) == list(expected)
        assert document["not_run"] == []
        assert (document["outcome"], ran.code) == _end({*expected.values()})
        ran_bodies = Counter(line.split(" ", 2)[2] for line in notes if line.split(" ")[1] == "body")
        assert ran_bodies == bodies, way
        assert nesting_faults(notes, suite) == [], (way, notes)


def _end(found: set[str]) -> tuple[str, int]:
    """How a run ends whose tests end like this, and with which code."""
    if "timeout" in found:
        return "timeout", 2
    if "crash" in found:
        return "crashed", 2
    return ("failed", 1) if found & {*BAD} else ("passed", 0)


#: What one test of each file does, and how it ends.
CULPRITS = 5 * [("ctypes.string_at(0)", "crash")] + 3 * [("time.sleep(1000)", "timeout")]
MANY = """
import ctypes, os, time
import pytest

@pytest.mark.parametrize("number", range({count}))
def test_one(number):
    file = os.open("../notes", os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    os.write(file, b"{name}::test_one[%d]\\n" % number)
    os.close(file)
    if number == {at}:
        {deed}
"""


@pytest.mark.parametrize("way", [(), ("-n", "2")], ids=["serial", "workers"])
def test_of_a_thousand_tests_with_crashes_and_hangs_each_has_its_result(
    way: Sequence[str], tmp_path: Path
) -> None:
    count = 1000 // len(CULPRITS)
    files: dict[str, str] = {}
    expected: dict[str, str] = {}
    for number, (deed, end) in enumerate(CULPRITS):
        name, at = f"test_{number}.py", 17 * number
        files[name] = MANY.format(count=count, name=name, at=at, deed=deed)
        expected |= {f"{name}::test_one[{each}]": "passed" for each in range(count)}
        expected[f"{name}::test_one[{at}]"] = end
    root = write_project(tmp_path / "project", files)

    ran = run_suite(root, "--format", "json", "--test-timeout", "2", *way)

    assert len(expected) == 1000
    assert list(outcomes(ran.document).items()) == list(expected.items())
    assert ran.document["not_run"] == []
    assert sorted((tmp_path / "notes").read_text().splitlines()) == sorted(expected)
