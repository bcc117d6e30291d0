"""What a person sees of a failure, from real pytest."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.projects import run_suite, write_project

APP = """
    import json
    import logging

    log = logging.getLogger("app.billing")

    def quota(user):
        log.warning("quota is low for %s", user)
        return {"user": {"name": user, "quota": 7}, "tags": ["a", "b"]}

    def outer(x):
        return inner(x)

    def inner(x):
        raise ValueError(f"too big: {x}")

    def parse(text):
        return json.loads(text)

    def load(text):
        try:
            return parse(text)
        except ValueError as error:
            raise RuntimeError("cannot load") from error
"""
TESTS = """
    import sys
    import warnings
    import pytest
    from app import load, outer, parse, quota

    def test_quota():
        print("asking for quota")
        sys.stderr.write("on stderr")
        assert quota("ann") == {"user": {"name": "ann", "quota": 9}, "tags": ["a", "b"]}

    def test_text():
        text = "\\n".join(f"line {i} of the text" for i in range(30))
        assert text == text.replace("line 17 of the", "line 17 of a")

    class TestDeep:
        def test_raise(self):
            outer(5)

        def test_library(self):
            parse("{bad")

        def test_chain(self):
            load("{bad")

    @pytest.mark.parametrize("n", [3, 4, 5])
    def test_many(n):
        assert 2 == n

    def test_warns():
        warnings.warn("old thing", DeprecationWarning)

    @pytest.mark.skip(reason="not here")
    def test_skip(): pass
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"app.py": APP, "tests/test_app.py": TESTS, "conftest.py": ""}
    return write_project(tmp_path_factory.mktemp("people"), files)


@pytest.fixture(scope="module")
def blocks(project: Path) -> dict[str, str]:
    """The text of each failure under its headline, and the rest."""
    before, *found = run_suite(project).out.split("\n--- ")
    *whole, last = found
    last, _, closing = last.partition("\n\n6 causes\n")
    return {"before": before, "closing": closing, **dict(block.split("\n", 1) for block in [*whole, last])}


def block_of(blocks: dict[str, str], name: str) -> str:
    return next(body for head, body in blocks.items() if name in head)


def assert_in_order(text: str, *parts: str) -> None:
    at = 0
    for part in parts:
        assert part in text[at:], f"{part!r} is not after the one before it in:\n{text}"
        at = text.index(part, at)


def test_a_failure_has_difference_source_output_log_and_command_in_this_order(blocks: dict[str, str]) -> None:
    assert_in_order(
        block_of(blocks, "::test_quota"),
        "  ['user']['quota']: 7 != 9\n",
        "    def test_quota():\n",
        '        print("asking for quota")\n',
        ">       assert quota(",
        "E       ",
        "  stdout of call:\n    asking for quota\n",
        "  stderr of call:\n    on stderr\n",
        "  log of call:\n    WARNING  app.billing:app.py:",
        "quota is low for ann\n",
        "  rerun: proctor run ",
    )


def test_no_block_has_advice_on_how_to_run_pytest(blocks: dict[str, str]) -> None:
    assert "use -v" not in "".join(blocks.values()).lower()


def test_a_long_text_is_a_difference_of_lines(blocks: dict[str, str]) -> None:
    assert_in_order(
        block_of(blocks, "::test_text"),
        "- line 17 of a text\n",
        "             ^\n",
        "+ line 17 of the text\n",
        "    def test_text():\n",
    )
    assert "line 4 of the text" not in block_of(blocks, "::test_text")


def test_the_calls_stand_below_the_source_that_raised(blocks: dict[str, str]) -> None:
    assert_in_order(
        block_of(blocks, "::test_raise"),
        "    def test_raise(self):\n",
        ">       outer(5)\n",
        "    def inner(x):\n",
        'raise ValueError(f"too big: {x}")\n',
        "ValueError: too big: 5\n",
        "  tests/test_app.py:17 in test_raise: outer(5)\n",
        "  app.py:11 in outer: return inner(x)\n",
        "  app.py:14 in inner: raise ValueError",
    )


def test_the_source_of_a_library_is_left_out_and_its_calls_are_not(blocks: dict[str, str]) -> None:
    text = block_of(blocks, "::test_library")

    assert "Decode a JSON document" not in text
    assert "json/decoder.py:" in text
    assert_in_order(
        text, "    return json.loads(text)\n", "JSONDecodeError: Expecting", "in parse: return json"
    )


def test_every_exception_of_a_chain_is_shown(blocks: dict[str, str]) -> None:
    assert_in_order(
        block_of(blocks, "::test_chain"),
        "JSONDecodeError: Expecting",
        "The above exception was the direct cause",
        "RuntimeError: cannot load",
    )


def test_parameters_that_fail_for_one_cause_are_one_block(blocks: dict[str, str]) -> None:
    text = block_of(blocks, "3 tests in the same way")

    for n in (3, 4, 5):
        assert f"  tests/test_app.py::test_many[{n}]: assert 2 == {n}\n" in text


def test_the_end_has_a_line_for_each_cause_skips_warnings_and_the_verdict(blocks: dict[str, str]) -> None:
    lines = blocks["closing"].splitlines()

    assert sum(line.startswith(("FAILED", "ERROR")) for line in lines) == 6
    assert "FAILED tests/test_app.py::TestDeep::test_raise app.py:14 ValueError: too big: 5" in lines
    assert "skipped 1x: not here" in lines
    assert any(line.startswith("warnings DeprecationWarning tests/test_app.py:") for line in lines)
    assert lines[-1].startswith("8 failed 1 passed 1 skipped in ")


def test_a_negative_number_of_durations_is_refused(project: Path) -> None:
    ran = run_suite(project, "--durations", "-1")

    assert (ran.code, ran.out) == (4, "")
    assert "invalid --durations -1: expected 0 or more" in ran.err


def test_quiet_and_verbose_change_the_text(project: Path) -> None:
    quiet = run_suite(project, "-q").out
    assert quiet.startswith("\n--- FAILED ")
    assert "causes" not in quiet
    assert "warnings" not in quiet

    verbose = run_suite(project, "-v").out
    assert "\npassed  tests/test_app.py::test_warns" in verbose
    assert "\nskipped tests/test_app.py::test_skip: not here\n" in verbose
    assert "line 4 of the text" in verbose  # the whole difference
