"""Logs of version 1, written by the program that had it, say what they said then."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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


def without_later_fields(document: dict[str, Any]) -> None:
    """Those that every document has by now, which have nothing to say of this run."""
    found = [document.pop("restarts"), *(suite.pop("restarts") for suite in document.get("suites", ()))]
    found += [document["summary"].pop(name) for name in ("flaky", "quarantined")]
    assert set(found) == {0}


@pytest.mark.parametrize("kind", KINDS)
def test_its_document_is_the_one_that_was_written_with_it(kind: str) -> None:
    written = json.loads((LOGS / f"{kind}.json").read_bytes())
    again = json.loads(b"".join(document.chunks(replayed(kind, Strict()), lambda path: path)))
    without_later_fields(again)

    assert again == written
    assert json.dumps(again) == json.dumps(written)  # in the same order


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
