"""Which tests failed when they last ran, from the archive."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path

from proctor.archive.inside import Folder, read_inside
from proctor.archive.store import RESULT_FILE, RunHead, list_runs, read_head
from proctor.errors import StreamError
from proctor.outcome import BAD, RunOutcome
from proctor.wire.document.schema import Document, read

_LOOK_BACK = 50  # runs


def last_failed(root: Path, environ: Mapping[str, str]) -> tuple[list[str], int]:
    """Targets whose latest result failed, newest run first; and how many others a run never reached.

    Looks back to the last run of everything, and beyond it for tests that it never reached.
    """
    latest: dict[str, bool] = {}
    missed: set[str] = set()
    everything = False
    for folder, head in islice(_runs_of_tests(root, environ), _LOOK_BACK):
        try:
            document = read(read_inside(folder, RESULT_FILE))
            base = document.report.root
        except (OSError, StreamError):
            continue
        here = _bad(document, base, root)
        latest |= {test: bad for test, bad in here.items() if test not in latest}
        not_run = {target(test, base, root) for test in document.not_run}
        missed |= not_run - latest.keys()
        everything = everything or (head.everything and bool(here))
        if everything and (missed <= latest.keys() or (head.everything and not not_run)):
            break
    failed = [test for test, bad in latest.items() if bad]
    return failed, len(missed.difference(failed))


def _runs_of_tests(root: Path, environ: Mapping[str, str]) -> Iterator[tuple[Folder, RunHead]]:
    """Newest first. A mistake in a command is no run, even if some tests have run before it was found."""
    for folder in list_runs(root, environ):
        head = read_head(folder)
        if head is not None and not head.collect_only and head.outcome != RunOutcome.USAGE_ERROR:
            yield folder, head


def _bad(document: Document, base: str, root: Path) -> dict[str, bool]:
    """By target, whether its result was bad."""
    bases = {suite.name: suite.root for suite in document.suites}
    found: dict[str, bool] = {}
    for test in document.tests:
        of = target(test.part_of or test.node_id, bases.get(test.suite, base), root)
        bad = test.outcome in BAD and not test.quarantined
        found[of] = found.get(of, False) or bad
    for error in document.collection_errors:
        found[target(error.file, bases.get(error.suite, base), root)] = True
    return found


def target(node_id: str, base: str, root: Path) -> str:
    """What runs a test: pytest's ids are relative to its own root, targets to where it is started."""
    if not base or base == str(root):
        return node_id
    real, here = _real(base), _real(str(root))
    if real == here:
        return node_id
    file, mark, rest = node_id.partition("::")
    return os.path.relpath(os.path.join(real, file), here) + mark + rest


@cache
def _real(directory: str) -> str:
    """A framework may know its directory by another path."""
    return os.path.realpath(directory)
