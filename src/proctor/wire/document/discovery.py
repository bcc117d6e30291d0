"""The tests that can be run, a page at a time: `proctor.discovery/1`."""

from __future__ import annotations

from itertools import islice

import msgspec

from proctor.events import Failure, Place
from proctor.phases import is_collector
from proctor.result import RunResult

# 1: first published form.
SCHEMA = "proctor.discovery/1"


class Discovered(msgspec.Struct, frozen=True):
    """A test that could be run."""

    node_id: str
    line: int | None
    markers: tuple[str, ...]


class Uncollected(msgspec.Struct, frozen=True):
    file: str
    message: str
    traceback: str
    failure: Failure


class Skipped(msgspec.Struct, frozen=True):
    """A module or package that skipped itself: its tests are unknown."""

    node_id: str
    message: str
    place: Place | None


class Unlisted(msgspec.Struct, frozen=True):
    """A suite whose tests cannot be listed here."""

    runner: str
    reason: str
    required: bool


class Discovery(msgspec.Struct, frozen=True):
    schema: str
    outcome: str
    total: int
    deselected: int
    offset: int
    tests: list[Discovered]
    collection_errors: list[Uncollected]
    skipped: list[Skipped] = []
    missing: list[Unlisted] = []


def discovery(result: RunResult, offset: int, limit: int) -> Discovery:
    """Tests from `offset` on, `limit` at most; the total and the errors are those of the whole."""
    page = islice(result.selected, offset, offset + limit)
    lines, markers = {test: place.line for test, place in result.places.items()}, result.markers
    return Discovery(
        SCHEMA,
        str(result.outcome),
        len(result.selected),
        len(result.deselected),
        offset,
        [Discovered(test, lines.get(test) or None, markers.get(test, ())) for test in page],
        [Uncollected(e.file, e.failure.message, e.traceback, e.failure) for e in result.collection_errors],
        [Skipped(t.test, t.message or "", t.place) for t in result.tests.values() if is_collector(t)],
        [Unlisted(suite.runner, suite.reason, suite.required) for suite in result.missing],
    )
