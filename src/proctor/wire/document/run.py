"""Reads a result document as the entries of its run."""

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
#: Fields that a test of the document has in common with `TestFinished`, without the outcome.
_SHARED = [name for name in Test.__struct_fields__ if name in e.TestFinished.__struct_fields__[2:]]


class DocumentRun:
    """It is one JSON value: there are no entries before its end."""

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
    """A document of one suite has the suite's fields at the top."""
    shared = {name: getattr(found, name) for name in Suite.__struct_fields__ if hasattr(found, name)}
    return Suite(name=found.runner, duration=found.summary.get("duration", 0.0), **shared)


def _of_suite(found: Document, suite: Suite, share: _Share) -> Iterator[e.Event]:
    tests, errors = share
    own = tuple(test.node_id for test in tests if not test.part_of)
    yield e.SuiteEntered(suite.name, suite.runner, suite.command, suite.root, suite.interpreter, suite.source)
    yield e.TestsSelected((*own, *suite.not_run))
    yield e.SuiteStarted(suite.name, found.started, len(own) + len(suite.not_run) + len(errors))
    for error in errors:
        failure = error.failure or e.Failure("", error.message)
        yield e.CollectionFailed(error.file, failure, error.traceback)
    for test in tests:
        outcome, shared = Outcome(test.outcome), {name: getattr(test, name) for name in _SHARED}
        yield e.TestFinished(test.node_id, outcome, test.duration, **shared)
    if suite.exit_code is not None:
        yield e.ProcessExited(suite.exit_code, suite.signal)
    yield e.SuiteFinished(RunOutcome(suite.outcome), suite.duration, suite.not_run, suite.reason)
