"""Finds a run by its ID, the beginning of it, `last` or a path, and a test in it."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from proctor import decoding
from proctor.archive.compare import reconcile
from proctor.archive.inside import Folder, read_inside
from proctor.archive.read_log import LoggedRun, read_log
from proctor.archive.recording import document_chunks
from proctor.archive.store import (
    EVENTS_FILE,
    RESULT_FILE,
    RUN_FILE,
    link_in_the_way,
    list_runs,
    named_run,
    read_head,
)
from proctor.errors import StreamError, UsageError
from proctor.events import DIFFERENCE, LOCALS
from proctor.failure_row import unescaped
from proctor.nearest import meant, nearest
from proctor.outcome import Outcome, RunOutcome
from proctor.text import text_of
from proctor.wire.document.schema import Document, Test, read, without_result

LAST = "last"
_NAMED = 5  # runs or tests that an error names


class Frame(msgspec.Struct, frozen=True):
    """Local variables of one call, as texts."""

    file: str
    line: int
    function: str
    locals: dict[str, str]


class KeptRun(msgspec.Struct):
    """What is on record of a run: every test of it by its id."""

    folder: Folder
    document: Document
    tests: dict[str, Test]  # also those without a result
    notes: list[str] = []  # what the reader should know about the record itself

    def test(self, test: str) -> Test:
        """By its id, or by the end of it (`test_a`, `TestX::test_a`) if no other test has that."""
        found = self.tests.get(test) or self.tests.get(unescaped(test))
        if found is None:
            ending = [kept for name, kept in self.tests.items() if name.endswith(f"::{test}")]
            if len(ending) == 1:
                return ending[0]
            containing = [name for name in self.tests if test in name][:_NAMED]
            near = meant(containing or nearest(test, self.tests, _NAMED))
            hint = near or f"; it has {len(self.tests)} tests"
            raise UsageError(f"run {self.document.run_id} has no test {test!r}{hint}")
        return found

    def below(self, test: str) -> list[Test]:
        """Results that a test reported about its parts."""
        return [kept for name, kept in self.tests.items() if name.startswith(f"{test}/")]


def find_run(name: str, root: Path, environ: Mapping[str, str], within: Path | None = None) -> Folder:
    """The directory of a run: by its id, the beginning of it, `last`, or its path. `within` as in `homes`."""
    if os.sep in name or name in (os.curdir, os.pardir):
        return _named(name)
    runs = list(list_runs(root, environ, within))
    if not runs:
        link = link_in_the_way(root)
        raise UsageError(f"no kept runs of {root}" + (f": {link}" if link else ""))
    if name == LAST:
        return _last(runs, root)
    found = [run for run in runs if run.name.startswith(name)]
    exact = [run for run in found if run.name == name]
    if len(found) == 1 or exact:
        return (exact or found)[0]
    named = ", ".join(run.name for run in (found or runs)[:_NAMED])
    if found:
        raise UsageError(f"{len(found)} runs begin with {name!r}: {named}")
    if near := meant(nearest(name, [LAST, *(run.name for run in runs)])):
        raise UsageError(f"no run begins with {name!r}{near}")
    raise UsageError(f"no run begins with {name!r}; the newest are {named}; `{LAST}` is the newest")


def _last(runs: list[Folder], root: Path) -> Folder:
    """The newest that runs tests, or did: a mistake in a command is no run."""
    mistake = ""
    for run in runs:
        head = read_head(run)
        if head is None or head.collect_only:
            continue
        if head.outcome != RunOutcome.USAGE_ERROR:
            return run
        mistake = mistake or run.name
    if mistake:
        raise UsageError(f"no run of {root} ran tests: each is a usage error, the newest {mistake}")
    return runs[0]


def _named(name: str) -> Folder:
    folder = named_run(Path(name).absolute())
    try:
        os.close(folder.open())
    except OSError as error:
        link = f": {error.filename} {error.strerror}" if error.errno == errno.ELOOP else ""
        raise UsageError(f"{name} is not the directory of a run{link}") from None
    if not any((folder.path / file).is_file() for file in (RUN_FILE, EVENTS_FILE)):
        raise UsageError(f"{name} is not the directory of a run")
    return folder


def read_run(folder: Folder) -> KeptRun:
    """From the document of a run that finished, if its log agrees, else from the log."""
    try:
        document = read(read_inside(folder, RESULT_FILE))
        logged = read_log(folder)
        if not reconcile(logged.result, document):
            return from_document(folder, document)
        return _from_log(folder, logged)
    except FileNotFoundError:
        return _from_log(folder, read_log(folder))
    except (StreamError, OSError, ValueError) as error:
        run = _from_log(folder, read_log(folder))
        run.notes.insert(0, f"{RESULT_FILE} cannot be read, so this is from the log: {error}")
        return run


def from_document(folder: Folder, document: Document, notes: Sequence[str] = ()) -> KeptRun:
    tests = {test.node_id: test for test in document.tests}
    tests |= {test: without_result(test, Outcome.NOT_RUN) for test in document.not_run}
    return KeptRun(folder, document, tests, list(notes))


def _from_log(folder: Folder, logged: LoggedRun) -> KeptRun:
    result = logged.result
    notes = list(dict.fromkeys([*result.notices, *logged.notes]))
    run = from_document(folder, read(b"".join(document_chunks(result, folder))), notes)
    for test in result.running:
        run.tests[test] = without_result(test, RunOutcome.RUNNING, tuple(result.attached.get(test, ())))
    for test in result.selected:
        run.tests.setdefault(test, without_result(test, Outcome.NOT_RUN))
    return run


def whole_difference(run: KeptRun, test: Test) -> str:
    """All that differs between the values that a test compared. Raises a UsageError if it compared none."""
    kept = [file.path for file in test.files if file.name.endswith(DIFFERENCE)]
    try:
        if kept:
            return "\n".join(text_of(read_inside(run.folder, path)) + "\n" for path in kept)
    except OSError as error:
        raise UsageError(f"the difference of {test.node_id} cannot be read: {error.strerror}") from None
    lines = test.failure.difference if test.failure else ()
    if not lines:
        raise UsageError(f"{test.node_id} has no difference between two values")
    return "\n".join(lines) + "\n"


def kept_locals(run: KeptRun, test: Test) -> list[Frame]:
    """The local variables of a test that failed, innermost call first. Raises a UsageError if it has none."""
    frames: list[Frame] = []
    for file in test.files:
        if file.name.endswith(LOCALS):
            try:
                frames += decoding.decode(read_inside(run.folder, file.path), list[Frame])
            except (OSError, msgspec.MsgspecError) as error:
                raise UsageError(f"the local variables of {test.node_id} cannot be read: {error}") from None
    if not frames:
        raise UsageError(
            f"no local variables of {test.node_id} are kept: only failures of Python tests have them"
        )
    return frames
