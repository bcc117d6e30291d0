"""Logs of version 1, written by the program that had it, say what they said then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.streams import Strict

from proctor.replay import Replay
from proctor.result import RunResult
from proctor.wire.document import writer as document
from proctor.wire.stream.reader import StreamReader

LOGS = Path(__file__).parents[2] / "data" / "streams" / "version-1"
KINDS = ("single", "several", "program")


def replayed(kind: str, strict: Strict) -> RunResult:
    results: list[RunResult] = []
    reader, replay = StreamReader(), Replay(lambda: [strict], results.append)
    replay.take(reader.feed((LOGS / f"{kind}.jsonl").read_bytes()))
    replay.take(reader.close())
    replay.close()
    assert replay.gaps == []
    (result,) = results
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_its_document_is_the_one_that_was_written_with_it(kind: str) -> None:
    written = (LOGS / f"{kind}.json").read_text(encoding="utf-8")
    again = b"".join(document.chunks(replayed(kind, Strict()), lambda path: path)).decode()

    assert json.loads(again) == json.loads(written)
    assert again == written


@pytest.mark.parametrize("kind", KINDS)
def test_its_public_stream_is_the_one_that_was_written_with_it(kind: str) -> None:
    strict = Strict()
    replayed(kind, strict)

    assert b"".join(strict.lines) == (LOGS / f"{kind}.stream").read_bytes()


def test_suites_without_numbers_follow_each_other() -> None:
    result = replayed("several", Strict())

    assert [(suite.name, list(suite.tests)) for suite in result.suites] == [
        ("pytest", ["test_a.py::test_good", "test_a.py::test_bad", "test_a.py::test_skipped"]),
        ("t/x.t", ["t/x.t::one", "t/x.t::two"]),
    ]
