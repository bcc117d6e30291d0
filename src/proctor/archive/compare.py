"""Compares the two records of a run, its log and its document: one of them may have been changed since."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from proctor.archive.store import RESULT_FILE
from proctor.events import Entry, Noticed, RunFinished
from proctor.fold import begin, fold
from proctor.outcome import BAD, QUIET, RunOutcome
from proctor.result import RunResult
from proctor.wire.document.history import Words, of_run
from proctor.wire.document.run import compared, counted, disagreements
from proctor.wire.document.schema import Document


def reconcile(result: RunResult, document: Document) -> str:
    """Where the document disagrees with itself or with the result that the log gives; or nothing.

    If it does, the log is to be believed, but not that the run passed: the result then has the outcome that
    the document has. Raises ValueError if that is an outcome of a later version.
    """
    said = RunOutcome(document.outcome)
    found = next(chain(_differences(result, document), disagreements(document)), "")
    if not found:
        return ""
    note = f"{RESULT_FILE} disagrees with the log, which is shown: {found}"
    fold(result, Entry(0, result.seconds, 0, Noticed(note)))
    if result.outcome in QUIET and said not in QUIET:
        reason = f"the log and {RESULT_FILE} disagree: {found}"
        fold(result, Entry(0, result.seconds, 0, RunFinished(said, result.seconds, result.not_run, reason)))
    return note


def _differences(result: RunResult, document: Document) -> Iterator[str]:
    if document.outcome != result.outcome:
        yield f"{document.outcome} there, {result.outcome} here"
    there = {test.node_id: counted(test) for test in document.tests}
    here = {name: suite.counted(test) for suite in result.suites for name, test in suite.tests.items()}
    for name in there.keys() | here.keys():
        if there.get(name) != here.get(name):
            yield f"{name} is {there.get(name, 'missing')} there, {here.get(name, 'missing')} here"
    if sorted(document.not_run) != sorted(result.not_run):
        yield "other tests were not run"
    if document.missing != result.missing:
        yield "other suites could not be started"
    errors = [error.file for error in document.collection_errors]
    if sorted(errors) != sorted(error.file for error in result.collection_errors):
        yield "there are other collection errors"
    yield from _other_words(result, document)


def _other_words(result: RunResult, document: Document) -> Iterator[str]:
    there = begin(result.run)
    for event in compared(document):
        fold(there, Entry(0, 0.0, 0, event))
    bad = [test.test for test in result.tests.values() if test.outcome in BAD]
    theirs, ours = Words(there), Words(result)
    for name in (*bad, *(error.file for error in result.collection_errors)):
        if theirs.of(name) != ours.of(name):
            yield f"earlier runs, or another commit, say something else of {name}"
    if of_run(there) != of_run(result):
        yield "it is compared with another run, or names other tests as fixed"
