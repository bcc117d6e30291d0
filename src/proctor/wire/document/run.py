"""A result document as the run that it tells of."""

from __future__ import annotations

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import Outcome, RunOutcome
from proctor.wire.document.schema import CollectionError, Document, Suite, Test, read
from proctor.wire.reports.report import MAX_DOCUMENT


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
            return [e.Entry(seq, 0.0, event) for seq, event in enumerate(_events(found))]
        except ValueError as error:  # an outcome that this version does not know
            raise StreamError(f"not a result document: {error}") from None


def _events(found: Document) -> list[e.Event]:
    events: list[e.Event] = [
        e.RunStarted(
            found.run_id,
            found.runner,
            found.command,
            "",
            found.interpreter,
            found.started,
            source=found.source,
        )
    ]
    if not found.suites:
        events += _suite_events(found, found.runner, found.tests, found.collection_errors, found.not_run)
    for suite in found.suites:
        events += _of_several(found, suite)
    if found.suites:
        events += _of_no_suite(found)
    for warning in found.warnings:
        recorded = e.WarningRecorded(warning.category, warning.message, warning.file, warning.line)
        events += [recorded] * min(warning.count, 1000)
    if found.text_output:
        events.append(e.OutputReceived("stdout", found.text_output))
    events += [e.Noticed(notice) for notice in found.notices]
    if found.exit_code is not None and not found.suites:
        events.append(e.ProcessExited(found.exit_code, found.signal))
    duration = found.summary.get("duration", 0.0)
    events.append(e.RunFinished(RunOutcome(found.outcome), duration, found.not_run, found.reason))
    return events


def _of_several(found: Document, suite: Suite) -> list[e.Event]:
    tests = [test for test in found.tests if test.suite == suite.name]
    errors = [error for error in found.collection_errors if error.suite == suite.name]
    exited = [] if suite.exit_code is None else [e.ProcessExited(suite.exit_code, suite.signal)]
    return [
        e.SuiteEntered(suite.name, suite.runner, suite.command, suite.root, suite.interpreter, suite.source),
        *_suite_events(found, suite.name, tests, errors, suite.not_run),
        *exited,
        e.SuiteFinished(RunOutcome(suite.outcome), suite.duration, suite.not_run, suite.reason),
    ]


def _suite_events(
    found: Document,
    name: str,
    tests: list[Test],
    errors: list[CollectionError],
    not_run: tuple[str, ...],
) -> list[e.Event]:
    own = tuple(test.node_id for test in tests if not test.part_of)
    events: list[e.Event] = [
        e.TestsSelected((*own, *not_run)),
        e.SuiteStarted(name, found.started, len(own) + len(not_run) + len(errors)),
    ]
    return [*events, *map(_collection_failed, errors), *map(_finished, tests)]


def _of_no_suite(found: Document) -> list[e.Event]:
    """What ended after the last of several suites."""
    known = {suite.name for suite in found.suites}
    errors = (error for error in found.collection_errors if error.suite not in known)
    tests = (test for test in found.tests if test.suite not in known)
    return [*map(_collection_failed, errors), *map(_finished, tests)]


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
