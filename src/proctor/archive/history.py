"""What earlier runs say about tests: which of them failed when they last ran, and so are run again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from proctor.archive.store import RESULT_FILE, list_runs, read_head
from proctor.outcome import BAD
from proctor.spec import TARGET_BYTES, RunSpec, Selection

_LOOK_BACK = 50  # runs


class _Test(msgspec.Struct):
    node_id: str
    outcome: str
    part_of: str = ""
    suite: str = ""


class _CollectionError(msgspec.Struct):
    file: str
    suite: str = ""


class _Suite(msgspec.Struct, frozen=True):
    name: str
    root: str = ""


class _Report(msgspec.Struct, frozen=True):
    root: str = ""


class _Document(msgspec.Struct):
    tests: list[_Test] = []
    collection_errors: list[_CollectionError] = []
    json_report: _Report = _Report()
    suites: list[_Suite] = []

    def root(self, suite: str) -> str:
        """Where the ids of a suite's tests begin."""
        return next((known.root for known in self.suites if known.name == suite), self.json_report.root)


def only_last_failed(spec: RunSpec, environ: Mapping[str, str]) -> tuple[RunSpec, tuple[str, ...]]:
    """The same wish for what failed last, and what to say about it. Without failures, all tests run."""
    failed = last_failed(Path(spec.root), environ)
    if not failed:
        return spec, ("no failures on record: everything was run",)
    notices: tuple[str, ...] = ()
    if sum(len(os.fsencode(target)) + 1 for target in failed) > TARGET_BYTES:
        failed = list(dict.fromkeys(target.partition("::")[0] for target in failed))
        notices = (f"too many failures to name: their {len(failed)} files were run",)
    chosen = Selection(tuple(failed), spec.selection.keywords, spec.selection.markers)
    return msgspec.structs.replace(spec, selection=chosen), notices


def last_failed(root: Path, environ: Mapping[str, str]) -> list[str]:
    """Targets whose latest result is bad, newest run first, back to the last run of everything."""
    latest: dict[str, bool] = {}
    for path in list(list_runs(root, environ))[:_LOOK_BACK]:
        head = read_head(path)
        if head is None or head.collect_only:
            continue
        try:
            document = msgspec.json.decode((path / RESULT_FILE).read_bytes(), type=_Document)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
            continue
        here: dict[str, bool] = {}
        for test in document.tests:
            target = _target(test.part_of or test.node_id, document.root(test.suite), root)
            here[target] = here.get(target, False) or test.outcome in BAD
        for error in document.collection_errors:
            here[_target(error.file, document.root(error.suite), root)] = True
        for target, bad in here.items():
            latest.setdefault(target, bad)
        if head.everything and (document.tests or document.collection_errors):
            break
    return [target for target, bad in latest.items() if bad]


def _target(node_id: str, base: str, root: Path) -> str:
    """pytest's ids are relative to its own root, targets to where it is started."""
    if not base or base == str(root):
        return node_id
    file, mark, rest = node_id.partition("::")
    return os.path.relpath(os.path.join(base, file), root) + mark + rest
