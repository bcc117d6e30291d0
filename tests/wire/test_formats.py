"""The table of formats is complete, its names lead somewhere, and the reference lists exactly it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.full_runs import CASES, result_of
from support.projects import GUARD

from proctor.wire import formats
from proctor.wire.formats import FORMATS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "formats.md"


def test_the_reference_lists_exactly_the_formats_that_options_take() -> None:
    listed: dict[str, str] = {}
    for row in re.findall(r"^\| (`.+?) \| .* \| ([a-z ]+) \|$", REFERENCE.read_text(), re.M):
        listed |= dict.fromkeys(re.findall(r"`([a-z-]+)`", row[0]), row[1])

    assert listed == {name: row.offered for name, row in FORMATS.items() if row.offered}


def test_the_reference_names_the_formats_that_are_never_masked() -> None:
    never = [name for name, row in FORMATS.items() if row.mask == "never"]

    assert never == ["json", "stream", "events", "results"]
    assert "every format but `json`, `stream`, `events` and `results`" in REFERENCE.read_text()


@pytest.mark.parametrize("name", FORMATS)
def test_every_reader_and_writer_of_the_table_exists(name: str) -> None:
    row = FORMATS[name]
    options = row.offered.split()

    assert all(callable(formats.load(found)) for found in (row.read, row.write) if found)
    assert bool(row.read) or "from" not in options
    assert bool(row.write) == ("show" in options) == ("to" in options)
    assert bool(row.write) == bool(row.writer)


def test_a_format_that_loses_nothing_leaves_nothing_out() -> None:
    everything = result_of(CASES["one"])

    lossy = {name for name in FORMATS if formats.left_out(name, everything)}
    assert lossy == {"junit", "junit-full", "ctrf", "tap"}


def test_the_table_imports_no_reader_and_no_writer() -> None:
    code = "import sys, proctor.wire.formats; print([n for n in sys.modules if n.startswith('proctor.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GUARD)

    assert done.stdout == "['proctor.wire', 'proctor.errors', 'proctor.wire.formats']\n"
