"""What there is to run, a page at a time: `proctor.discovery/1`."""

from __future__ import annotations

from itertools import islice

import msgspec

from proctor.events import Failure
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


class Discovery(msgspec.Struct, frozen=True):
    schema: str
    outcome: str
    total: int
    deselected: int
    offset: int
    tests: list[Discovered]
    collection_errors: list[Uncollected]


def discovery(result: RunResult, offset: int, limit: int) -> Discovery:
    """Tests from `offset` on, `limit` at most; the total and the errors are those of the whole."""
    page = islice(result.selected, offset, offset + limit)
    return Discovery(
        SCHEMA,
        str(result.outcome),
        len(result.selected),
        len(result.deselected),
        offset,
        [_discovered(result, test) for test in page],
        [Uncollected(e.file, e.failure.message, e.traceback, e.failure) for e in result.collection_errors],
    )


def _discovered(result: RunResult, test: str) -> Discovered:
    place = result.places.get(test)
    return Discovered(test, place.line if place and place.line else None, result.markers.get(test, ()))
