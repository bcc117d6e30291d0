"""`proctor history import`: adds the runs of reports. A file is added as a whole, or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import sys
from datetime import UTC, datetime, timedelta

import msgspec

from proctor import config
from proctor.cli.read_report import read_report
from proctor.errors import ProctorError, StreamError, UsageError
from proctor.history.exchange import is_export, read
from proctor.history.project import ProjectHistory
from proctor.history.reports import report_rows, run_row, utc
from proctor.history.store import KEPT_DAYS, ResultRow, RunRow, Store
from proctor.render.secrets import masked

_INCOMPLETE = 2
_TIMESTAMP = re.compile(rb"""<testsuites?\b[^>]*?\stimestamp=["']([^"']{1,40})["']""")
_HEAD = 1 << 16  # bytes


class _Found(msgspec.Struct):
    """The runs of one file."""

    name: str
    runs: list[tuple[RunRow, list[ResultRow]]]


def import_reports(history: ProjectHistory, names: list[str], branch: str | None) -> int:
    found: list[_Found] = []
    faults: list[ProctorError] = []
    for name in dict.fromkeys(names):
        try:
            found.append(_read(name, history, branch))
        except ProctorError as error:
            faults.append(error)
    oldest = utc(datetime.now(UTC) - timedelta(days=KEPT_DAYS))
    # In the order of time, as runs come: questions are answered faster then.
    found.sort(key=lambda one: min((run.started for run, _ in one.runs), default=""))
    if found:
        with history.store(make=True) as store:
            assert store is not None
            for one in found:
                _add(store, one, oldest)
    for fault in faults:
        print(f"proctor: {fault} [{fault.slug}]", file=sys.stderr)
    return max((_code(fault) for fault in faults), default=0)


def _code(fault: ProctorError) -> int:
    return _INCOMPLETE if isinstance(fault, StreamError) else fault.exit_code


def _read(name: str, history: ProjectHistory, branch: str | None) -> _Found:
    try:
        with open(name, "rb") as file:
            data, changed = file.read(), os.fstat(file.fileno()).st_mtime
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None
    if is_export(data):
        own = [(_of_branch(run, branch), results) for run, results in read(data, name)]
        return _Found(name, own)
    results, gap = read_report(data, name)
    if gap or not results:
        raise StreamError(f"{name} is not complete, so nothing of it is imported: {gap or 'it has no suite'}")
    mask = masked if config.masks_secrets(history.root) else str
    digest = hashlib.blake2b(data, digest_size=6).hexdigest()
    runs = []
    for number, result in enumerate(results):
        if not result.tests and not result.collection_errors:
            raise StreamError(f"{name} has no test with a result: expected a report of a run")
        run_id = f"import-{digest}" + (f"-{number + 1}" if number else "")
        on = history.branch if branch is None else branch
        row = run_row(result, run_id, str(history.root), on, _zoneless(data) or changed)
        runs.append((row, list(report_rows(result, str(history.root), history.top, mask))))
    return _Found(name, runs)


def _zoneless(data: bytes) -> float:
    """When a JUnit report says that it began, if it names no time zone; 0: it does not. Taken for UTC: hours
    more or less hardly matter here, and the time of a file that was downloaded says nothing at all."""
    found = _TIMESTAMP.search(data[:_HEAD])
    try:
        return datetime.fromisoformat(found[1].decode()).replace(tzinfo=UTC).timestamp() if found else 0.0
    except (ValueError, OverflowError):
        return 0.0


def _of_branch(run: RunRow, branch: str | None) -> RunRow:
    return run if branch is None else msgspec.structs.replace(run, branch=branch)


def _add(store: Store, found: _Found, oldest: str) -> None:
    added = known = 0
    too_old = sum(run.started < oldest for run, _ in found.runs)
    try:
        for run, results in found.runs:
            if run.started >= oldest:
                new = store.add(run, results, oldest)
                added, known = added + new, known + (not new)
    except sqlite3.Error as error:
        raise StreamError(f"{found.name} could not be added to the history: {error}") from None
    counts = [f"{added} run{'s' if added != 1 else ''} added"]
    counts += [f"{known} known already"] if known else []
    counts += [f"{too_old} older than {KEPT_DAYS} days left out"] if too_old else []
    print(f"{found.name}: {', '.join(counts)}")
