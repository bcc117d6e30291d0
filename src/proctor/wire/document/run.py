"""A result document as the run that it tells of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import Outcome, RunOutcome
from proctor.wire.reports.report import MAX_DOCUMENT, decode


class _Summary(msgspec.Struct, frozen=True):
    duration: e.Seconds = 0.0


class _Test(msgspec.Struct):
    node_id: str
    outcome: Outcome
    duration: e.Seconds = 0.0
    message: str | None = None
    traceback: str | None = None
    place: e.Place | None = None
    failure: e.Failure | None = None
    files: tuple[e.File, ...] = ()
    testout: e.OutputLink | None = None
    properties: dict[str, Any] | None = None
    part_of: str = ""
    suite: str = ""


class _CollectionError(msgspec.Struct):
    file: str
    message: str = ""
    traceback: str = ""
    failure: e.Failure | None = None
    suite: str = ""


class _Suite(msgspec.Struct):
    name: str
    runner: str = ""
    outcome: RunOutcome = RunOutcome.INCOMPLETE
    reason: str = ""
    exit_code: int | None = None
    signal: str | None = None
    duration: e.Seconds = 0.0
    interpreter: str = ""
    command: tuple[str, ...] = ()
    root: str = ""
    source: str = ""
    not_run: tuple[str, ...] = ()


class _Warning(msgspec.Struct):
    category: str
    message: str
    file: str
    line: int
    count: int = 1


class _Document(msgspec.Struct):
    schema: str
    run_id: str
    outcome: RunOutcome
    reason: str = ""
    summary: _Summary = _Summary()
    runner: str = ""
    interpreter: str = ""
    command: tuple[str, ...] = ()
    source: str = ""
    started: str = ""
    suites: list[_Suite] = []
    tests: list[_Test] = []
    collection_errors: list[_CollectionError] = []
    warnings: list[_Warning] = []
    not_run: tuple[str, ...] = ()
    exit_code: int | None = None
    signal: str | None = None
    text_output: str = ""
    notices: list[str] = []


#: The tests and the collection errors of one suite.
_Share: TypeAlias = tuple[list[_Test], list[_CollectionError]]

_decoder = msgspec.json.Decoder(_Document)


class DocumentRun:
    """It is one JSON value: all of it is needed before anything can be told."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> list[e.Entry]:
        self._pieces.append(data)
        self._size += len(data)
        if self._size > MAX_DOCUMENT:
            raise StreamError(f"a result document of more than {MAX_DOCUMENT} bytes is not read")
        return []

    def close(self) -> list[e.Entry]:
        try:
            found = decode(b"".join(self._pieces), _decoder)
        except ValueError as error:
            raise StreamError(f"not a result document: {error}") from None
        return [e.Entry(seq, 0.0, suite, event) for seq, (suite, event) in enumerate(_events(found))]


def _events(found: _Document) -> Iterator[tuple[int, e.Event]]:
    """Each with the number of its suite."""
    yield (
        0,
        e.RunStarted(
            found.run_id,
            found.runner,
            found.command,
            "",
            found.interpreter,
            found.started,
            source=found.source,
        ),
    )
    suites = found.suites or [_only_suite(found)]
    shares: dict[str, _Share] = {suite.name: ([], []) for suite in suites}
    rest = shares[suites[-1].name]  # what names no suite that is known belongs to the last
    for test in found.tests:
        shares.get(test.suite, rest)[0].append(test)
    for error in found.collection_errors:
        shares.get(error.suite, rest)[1].append(error)
    for number, suite in enumerate(suites):
        share = shares.pop(suite.name, ([], []))
        yield from ((number, event) for event in _of_suite(found, suite, share))
    last = len(suites) - 1
    for warning in found.warnings:
        recorded = e.WarningRecorded(warning.category, warning.message, warning.file, warning.line)
        yield from [(last, recorded)] * min(warning.count, 1000)
    if found.text_output:
        yield last, e.OutputReceived("stdout", found.text_output)
    for notice in found.notices:
        yield last, e.Noticed(notice)
    yield last, e.RunFinished(found.outcome, found.summary.duration, found.not_run, found.reason)


def _only_suite(found: _Document) -> _Suite:
    """A document of one suite has its facts at the top."""
    return _Suite(
        found.runner,
        found.runner,
        found.outcome,
        found.reason,
        found.exit_code,
        found.signal,
        found.summary.duration,
        found.interpreter,
        found.command,
        "",
        found.source,
        found.not_run,
    )


def _of_suite(found: _Document, suite: _Suite, share: _Share) -> Iterator[e.Event]:
    yield e.SuiteEntered(suite.name, suite.runner, suite.command, suite.root, suite.interpreter, suite.source)
    yield from _suite_events(found, suite.name, *share, suite.not_run)
    if suite.exit_code is not None:
        yield e.ProcessExited(suite.exit_code, suite.signal)
    yield e.SuiteFinished(suite.outcome, suite.duration, suite.not_run, suite.reason)


def _suite_events(
    found: _Document,
    name: str,
    tests: list[_Test],
    errors: list[_CollectionError],
    not_run: tuple[str, ...],
) -> list[e.Event]:
    own = tuple(test.node_id for test in tests if not test.part_of)
    events: list[e.Event] = [
        e.TestsSelected((*own, *not_run)),
        e.SuiteStarted(name, found.started, len(own) + len(not_run) + len(errors)),
    ]
    return [*events, *map(_collection_failed, errors), *map(_finished, tests)]


def _collection_failed(error: _CollectionError) -> e.CollectionFailed:
    return e.CollectionFailed(error.file, error.failure or e.Failure("", error.message), error.traceback)


def _finished(test: _Test) -> e.TestFinished:
    return e.TestFinished(
        test.node_id,
        test.outcome,
        test.duration,
        message=test.message,
        traceback=test.traceback,
        place=test.place,
        failure=test.failure,
        files=test.files,
        testout=test.testout,
        properties=test.properties,
        part_of=test.part_of,
    )
