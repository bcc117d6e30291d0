"""A result document as the run that it tells of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import Outcome, RunOutcome
from proctor.wire.document.schema import CollectionError, Document, Suite, Test, read
from proctor.wire.reports.report import MAX_DOCUMENT

#: The tests and the collection errors of one suite.
_Share: TypeAlias = tuple[list[Test], list[CollectionError]]


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
        found = read(b"".join(self._pieces))
        try:
            return [e.Entry(seq, 0.0, suite, event) for seq, (suite, event) in enumerate(_events(found))]
        except ValueError as error:  # an outcome that this version does not know
            raise StreamError(f"not a result document: {error}") from None


def _events(found: Document) -> Iterator[tuple[int, e.Event]]:
    """Each with the number of its suite."""
    run = (found.run_id, found.runner, found.command, "", found.interpreter, found.started)
    yield 0, e.RunStarted(*run, source=found.source)
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
    duration = found.summary.get("duration", 0.0)
    yield last, e.RunFinished(RunOutcome(found.outcome), duration, found.not_run, found.reason)


def _only_suite(found: Document) -> Suite:
    """A document of one suite has its facts at the top."""
    return Suite(
        found.runner,
        found.runner,
        found.outcome,
        found.reason,
        found.exit_code,
        found.signal,
        found.summary.get("duration", 0.0),
        found.interpreter,
        found.command,
        "",
        found.source,
        found.not_run,
    )


def _of_suite(found: Document, suite: Suite, share: _Share) -> Iterator[e.Event]:
    tests, errors = share
    own = tuple(test.node_id for test in tests if not test.part_of)
    yield e.SuiteEntered(suite.name, suite.runner, suite.command, suite.root, suite.interpreter, suite.source)
    yield e.TestsSelected((*own, *suite.not_run))
    yield e.SuiteStarted(suite.name, found.started, len(own) + len(suite.not_run) + len(errors))
    yield from map(_collection_failed, errors)
    yield from map(_finished, tests)
    if suite.exit_code is not None:
        yield e.ProcessExited(suite.exit_code, suite.signal)
    yield e.SuiteFinished(RunOutcome(suite.outcome), suite.duration, suite.not_run, suite.reason)


def _collection_failed(error: CollectionError) -> e.CollectionFailed:
    return e.CollectionFailed(error.file, error.failure or e.Failure("", error.message), error.traceback)


def _finished(test: Test) -> e.TestFinished:
    return e.TestFinished(
        test.node_id,
        Outcome(test.outcome),
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
