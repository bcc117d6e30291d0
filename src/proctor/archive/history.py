"""Which tests failed when they last ran, from the archive."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

import msgspec

from proctor.archive.inside import Folder, read_inside
from proctor.archive.store import RESULT_FILE, RunHead, link_in_the_way, list_runs, read_head
from proctor.errors import StreamError
from proctor.outcome import BAD, RunOutcome
from proctor.spec import TARGET_BYTES, RunSpec, Selection
from proctor.wire.document.schema import Document, read

_LOOK_BACK = 50  # runs
_NEVER_REACHED = (
    "were never reached by an earlier run and are not included; run without --last-failed to run them"
)


def only_last_failed(spec: RunSpec, environ: Mapping[str, str]) -> tuple[RunSpec, tuple[str, ...]]:
    """The spec narrowed to what failed last, and notes about it. Without failures, all of it runs."""
    failed, skipped_over = last_failed(Path(spec.root), environ)
    within = spec.selection.targets
    failed = [test for test in failed if not within or any(_is_within(test, target) for target in within)]
    if not failed:
        link = link_in_the_way(Path(spec.root))
        why = f" ({link})" if link else ""
        what = " in these targets: all of their tests run" if within else ": all tests run"
        return spec, (f"no recorded failures{why}{what}",)
    notices: tuple[str, ...] = ()
    if skipped_over:
        notices = (f"{skipped_over} tests {_NEVER_REACHED}",)
    if sum(len(os.fsencode(target)) + 1 for target in failed) > TARGET_BYTES:
        failed = list(dict.fromkeys(target.partition("::")[0] for target in failed))
        notices = (f"too many failures for a command line: the {len(failed)} files that they are in run",)
    chosen = Selection(tuple(failed), spec.selection.keywords, spec.selection.markers)
    return msgspec.structs.replace(spec, selection=chosen), notices


def _is_within(test: str, target: str) -> bool:
    """Whether a test is the target, a test of it, or in its directory."""
    target = os.path.normpath(target) if "::" not in target else target
    return (
        test == target or target == os.curdir or test.startswith((f"{target}::", f"{target}[", f"{target}/"))
    )


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
        latest |= {target: bad for target, bad in here.items() if target not in latest}
        not_run = {_target(test, base, root) for test in document.not_run}
        missed |= not_run - latest.keys()
        everything = everything or (head.everything and bool(here))
        if everything and (missed <= latest.keys() or (head.everything and not not_run)):
            break
    failed = [target for target, bad in latest.items() if bad]
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
        target = _target(test.part_of or test.node_id, bases.get(test.suite, base), root)
        bad = test.outcome in BAD and not test.quarantined
        found[target] = found.get(target, False) or bad
    for error in document.collection_errors:
        found[_target(error.file, bases.get(error.suite, base), root)] = True
    return found


def _target(node_id: str, base: str, root: Path) -> str:
    """pytest's ids are relative to its own root, targets to where it is started."""
    if not base or base == str(root):
        return node_id
    file, mark, rest = node_id.partition("::")
    return os.path.relpath(os.path.join(base, file), root) + mark + rest
