"""The lines that explain an exit status are found by general signs; what tells of good news is none."""

from __future__ import annotations

import pytest

from proctor.events import OutputQuoted
from proctor.wire.last_words import LAST, quoted

COVERAGE = """
Name         Stmts   Miss  Cover   Missing
------------------------------------------
errors.py        4      2    50%   3-4
below/limit.py   4      0   100%
------------------------------------------
TOTAL            8      2    75%
"""
PYTEST = """
============================= test session starts ==============================
rootdir: /home/failed/error
plugins: rerunfailures-14.0, cov-7.1.0
collected 2 items

tests/test_failed.py::test_error PASSED                                  [ 50%]
tests/failed.py .                                                        [100%]

=============================== warnings summary ===============================
test_a.py::test_a
  /p/test_a.py:2: UserWarning: failed to reach the minimum
    warnings.warn("ERROR: failed")

-- Docs: https://docs.pytest.org/en/stable/how-to/capture-warnings.html
========================= 2 passed, 1 warning in 0.01s =========================
"""


def explained(printed: str = "", stderr: str = "", stdout: str = "") -> list[str]:
    found = quoted(printed, stderr, stdout)
    return list(found.lines) if found is not None and found.explains else []


@pytest.mark.parametrize(
    "line",
    [
        "FAIL Required test coverage of 99% not reached. Total coverage: 50.00%",
        "ERROR: Coverage failure: total of 50 is less than fail-under=99",
        "ERROR: Coverage for lines (50%) does not meet global threshold (90%)",
        'Jest: "global" coverage threshold for statements (90%) not met: 50%',
        "\u2139 Error: 44.57% line coverage does not meet threshold of 90%.",
        "Tests pass, but maximum allowed warnings exceeded: 1 > 0",
        "E   the database was left dirty",
        "npm error code ELIFECYCLE",
        "[error] 2 tests leaked a thread",
        "ValueError: no such column",
        "Coverage is below 90 %",
        "licence check: refusing to pass, 2 files have no header",
        "2 snapshots unused.",
        "the build was aborted",
        "/usr/bin/node: bad option: --test-coverage-lines=90",
    ],
)
def test_a_line_that_explains_a_status_wherever_it_is_printed(line: str) -> None:
    assert explained(printed=f"{COVERAGE}\n{line}\n") == [line]
    assert explained(stderr=f"\x1b[31m{line}\x1b[0m\n") == [line]
    assert explained(stdout=f"{PYTEST}{line}\nDone.\n") == [line]


@pytest.mark.parametrize(
    "text",
    [
        COVERAGE,
        PYTEST,
        "Required test coverage of 50% reached. Total coverage: 60.00%",
        "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        "# tests 3\n# pass 3\n# fail 0\n",
        "Tests: 1 passed, 1 total\nno errors found\nfailures: 0\n",
        "ok 3 - fails below the limit",
        "\u2714 refuses what is too high (2ms)",
        "a/b.py:3: DeprecationWarning: this limit is required",
        "  - during generate phase: 100 passing examples, 0 failing examples, 0 invalid examples\n",
    ],
)
def test_good_news_explains_nothing(text: str) -> None:
    for place in ("printed", "stderr", "stdout"):
        assert explained(**{place: text}) == []


def test_the_words_of_a_plugin_come_before_those_of_the_process() -> None:
    assert explained("FAIL a", "ERROR b", "ERROR c") == ["FAIL a"]
    assert explained("all is well", "ERROR b", "ERROR c") == ["ERROR b"]
    assert explained("cannot say", "", "ERROR c") == ["ERROR c"]  # the clearer sign wins


def test_a_line_with_a_colon_goes_on_in_the_next_and_each_is_quoted_once() -> None:
    text = "Performance has regressed:\n\ttest_a (0001) - mean: 23 > 5\n\nPerformance has regressed:\nDone\n"

    assert explained(text) == ["Performance has regressed:", "test_a (0001) - mean: 23 > 5", "Done"]


def test_of_many_lines_the_last_ones_are_quoted_and_long_ones_are_cut() -> None:
    assert explained("".join(f"ERROR {number}\n" for number in range(9))) == [
        f"ERROR {n}" for n in (5, 6, 7, 8)
    ]
    assert len(explained(f"ERROR {'x' * 1000}")[0]) == 400


def test_without_such_lines_the_last_twenty_are_quoted_as_they_are() -> None:
    output = "\n".join(f"  line {number}" for number in range(30))
    found = quoted("", "", output, output)

    assert found == OutputQuoted(tuple(f"  line {number}" for number in range(10, 30)))
    assert len(found.lines) == LAST
    assert quoted("", "", "", "\n \n") is None
