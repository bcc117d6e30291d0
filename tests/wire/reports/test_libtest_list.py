"""Lists of tests, one binary after the other, and output that is longer than anybody should hold."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.pieces import pieces

from proctor import events as e
from proctor.launch import Artifact
from proctor.wire.reports import libtest_json
from proctor.wire.reports.libtest_json import LibtestJsonReader
from proctor.wire.reports.libtest_list import LIST, LISTED, LibtestListReader

DISCOVERED = (
    '{ "type": "test", "event": "discovered", "name": "tests::größe", "ignore": false, '
    '"ignore_message": "", "source_path": "src/lib.rs", "start_line": 7 }'
)
SAID = f"""\
\x1ealpha
{{ "type": "suite", "event": "discovery" }}
{DISCOVERED}
{{ "type": "suite", "event": "completed", "tests": 1 }}

\x1e=0
\x1ealpha::doc-tests
src/lib.rs - add (line 3): test
adds: benchmark

\x1e=0
\x1ealpha::test/dies
what it printed

\x1e=134
""".encode()


def told(data: bytes, size: int) -> tuple[list[e.Event], list[Artifact]]:
    reader = LibtestListReader()
    events = [event for piece in pieces(data, size) for event in reader.feed(piece)]
    return [*events, *reader.close()], reader.artifacts


@pytest.mark.parametrize("size", [1, 5, len(SAID)])
def test_each_list_has_its_tests_and_their_places_however_the_bytes_arrive(size: int) -> None:
    events, artifacts = told(SAID, size)

    tests = [(one.root, one.name, one.path, one.facts["line"]) for one in artifacts if one.kind == LISTED]
    assert tests == [
        ("alpha", "tests::größe", "src/lib.rs", "7"),
        ("alpha::doc-tests", "src/lib.rs - add (line 3)", "src/lib.rs", "3"),
        ("alpha::doc-tests", "adds", "", "0"),
    ]
    assert [one.name for one in artifacts if one.kind == LIST] == ["alpha", "alpha::doc-tests"]
    (error,) = [event for event in events if isinstance(event, e.CollectionFailed)]
    assert error.file == "alpha::test/dies"
    assert error.failure.message == "its tests could not be listed: exit status 134"
    assert error.traceback == "what it printed\n"


def test_a_list_without_its_end_is_no_list() -> None:
    events, artifacts = told(SAID.partition(b"\x1e=0")[0], 20)

    assert (artifacts, events[-1]) == ([], e.ChannelBroken("libtest-list: the list of alpha has no end"))


@given(st.text(alphabet='a\\"\nü\x01', min_size=400, max_size=900), st.integers(1, 300))
@example("\\" * 500 + "ü", 1)
def test_a_line_too_long_to_hold_keeps_its_head_and_its_tail(text: str, size: int) -> None:
    test = {"type": "test", "name": "a", "event": "ok", "stdout": text}
    data = json.dumps(test, ensure_ascii=False).replace('{"type', '{ "type').encode() + b"\n"
    reader = LibtestJsonReader()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(libtest_json, "_LONG", 300)
        patched.setattr(libtest_json, "_KEPT", 100)
        (ended,) = [event for piece in pieces(data, size) for event in reader.feed(piece)]

    assert isinstance(ended, e.TestFinished)
    head, mark, tail = re.split(r"\n(\[\.\.\. [0-9]+ bytes left out \.\.\.\])\n", ended.phases[0].stdout)
    assert mark
    assert text.startswith(head.removesuffix(r"\udcc3"))  # the first half of the letter that was cut
    assert text.endswith(tail.removeprefix(r"\udcbc"))
    assert len(head) > 5
    assert len(tail) > 5
