"""The memory of one run: what earlier runs say of it, and that later ones can look back at it.

History only adds words. Whatever goes wrong here, the run is the same without them.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from proctor import events as e
from proctor.history.earlier import Earlier
from proctor.history.repository import repository
from proctor.history.rows import Keys, by_chance, rows
from proctor.history.store import (
    KEPT_DAYS,
    WRITE_PATIENCE,
    HistoryError,
    RunRow,
    Store,
    TestKey,
    open_first,
)
from proctor.history.tree import Checkout, Status, tree_of, trees_of
from proctor.history.words import Past, is_fixed, word
from proctor.outcome import BAD, Outcome
from proctor.process.git import Git
from proctor.result import RunResult
from proctor.spec import RunSpec

_FAULTS = (sqlite3.Error, OSError, HistoryError)


class Memory:
    """Begins with the run, so that it knows the files as the tests found them."""

    def __init__(
        self, spec: RunSpec, installed: Mapping[str, tuple[str, ...]], environ: Mapping[str, str], mask: bool
    ) -> None:
        """`installed` are the distributions of each interpreter, by its path."""
        self._spec, self._installed, self._environ, self._mask = spec, installed, environ, mask
        self._root = Path(spec.root)
        self._repository = repository(self._root)
        self._git = Git(spec.root, environ)
        self._status = Status(self._git, self._repository) if self._repository else None
        self._checkout: Checkout | None = None
        self._tree = ""
        self._store: Store | None = None
        self._try_again = False  # the store could not be read; perhaps it can be written later

    @property
    def checkout(self) -> Checkout:
        if self._checkout is None:
            self._checkout = self._status.checkout() if self._status else Checkout()
        return self._checkout

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        if self._status is not None:
            self._status.close()

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def compare(self, result: RunResult, own_name: Callable[[str, int], str]) -> Iterator[e.Event]:
        """What earlier runs say. All tests have ended."""
        if not result.tests and not result.collection_errors:
            return
        try:
            self._store = store = open_first(self._root, self._repository, self._environ)
            try:
                compared = self._compared(result, own_name, store)
            except sqlite3.Error as error:
                store.renew(error)
                compared = self._compared(result, own_name, store)
            if store.notice:
                yield e.Noticed(store.notice)
            yield compared
        except HistoryError as error:
            if str(error):
                yield e.Noticed(str(error))
        except (sqlite3.Error, OSError):
            self._try_again = True
            self.close()

    def _compared(
        self, result: RunResult, own_name: Callable[[str, int], str], store: Store
    ) -> e.HistoryCompared:
        keys, environments = self._keys(result, own_name), self._environments(result)
        bad = any(test.outcome in BAD for test in result.tests.values()) or bool(result.collection_errors)
        if bad:
            self._check_files()
        earlier = Earlier(store, self.checkout)
        if not earlier.runs:
            return e.HistoryCompared(dict.fromkeys(_bad(result), e.TestHistory(e.UNKNOWN)))
        if bad and self._repository is not None and self.checkout.state:
            self._tree = tree_of(self.checkout, self._git, self._repository)
            earlier.trees = trees_of(earlier.clean_commits(), self._git)
        now = e.EarlierRun(result.run.run_id, self.checkout.commit, result.run.started)
        same = self._same()
        words: dict[str, e.TestHistory] = {}
        fixed: list[str] = []
        failed_once = earlier.failed_once()
        for number, suite in enumerate(result.suites):
            environment, by_accident = environments[number], by_chance(suite)
            for test, end in suite.tests.items():
                if end.outcome in BAD:
                    found = [] if test in by_accident else earlier.of_test(keys.of(test, number), environment)
                    words[test] = word(Past(now, bad=True, same=same), found)
                elif failed_once and end.outcome is Outcome.PASSED:
                    key = keys.of(test, number)
                    present = Past(now, bad=False, retried=end.flaky, same=same)
                    if key in failed_once and is_fixed(present, earlier.of_test(key, environment)):
                        fixed.append(test)
            for error in suite.errors:
                found = earlier.of_file(keys.of(error.file, number), environment)
                words[error.file] = word(Past(now, bad=True, same=same), found)
            fixed += self._mended(failed_once, earlier, suite.tests, keys, number, environment, now)
        return e.HistoryCompared(words, tuple(fixed), earlier.newest)

    def _mended(
        self,
        failed_once: set[TestKey],
        earlier: Earlier,
        tests: Mapping[str, e.TestFinished],
        keys: Keys,
        number: int,
        environment: str,
        now: e.EarlierRun,
    ) -> Iterator[str]:
        """Files that could not be collected, and now have tests."""
        if not failed_once:
            return
        for file in dict.fromkeys(test.partition("::")[0] for test in tests if "::" in test):
            key = keys.of(file, number)
            if key in failed_once and is_fixed(Past(now, bad=False), earlier.of_file(key, environment)):
                yield file

    def _check_files(self) -> None:
        """If files were changed while the tests ran, nobody knows with which ones."""
        if self._status is None or not self.checkout.state:
            return
        if self._status.again() != self.checkout:
            self._checkout = msgspec.structs.replace(self.checkout, state="")

    def _same(self) -> frozenset[str]:
        checkout, selection = self.checkout, _selection(self._spec)
        if not checkout.state:
            return frozenset()
        known = (("s", checkout.state), ("t", self._tree))
        return frozenset(f"{kind} {value} {selection}" for kind, value in known if value)

    def keep(self, result: RunResult, own_name: Callable[[str, int], str]) -> str:
        """Adds the run to the history. Returns why that was not possible."""
        if self._store is None and not self._try_again:
            return ""
        oldest = datetime.now(UTC) - timedelta(days=KEPT_DAYS)
        until = oldest.isoformat(timespec="milliseconds")
        try:
            if self._store is None:
                self._store = open_first(self._root, self._repository, self._environ, WRITE_PATIENCE)
            store, known = self._store, self._store.notice
            found = list(rows(result, self._keys(result, own_name), self._environments(result), self._masked))
            try:
                store.add(self._row(result), found, until)
            except sqlite3.Error as error:
                store.renew(error)
                store.add(self._row(result), found, until)
            return store.notice if store.notice != known else ""
        except _FAULTS as error:
            return f"this run is not in the history of the tests: {error}" if str(error) else ""
        finally:
            self.close()

    def _masked(self, text: str) -> str:
        if not self._mask:
            return text
        from proctor.render.secrets import masked  # only failures have texts

        return masked(text)

    def _row(self, result: RunResult) -> RunRow:
        checkout, summary = self.checkout, result.summary()
        return RunRow(
            result.run.run_id,
            self._spec.root,
            result.run.started,
            result.seconds,
            result.outcome,
            checkout.commit,
            checkout.dirty,
            checkout.branch,
            checkout.state,
            self._tree,
            _selection(self._spec),
            result.run.everything,
            False,
            summary["passed"] + summary["flaky"],
            summary["failed"] + summary["errors"],
            summary["total"],
        )

    def _keys(self, result: RunResult, own_name: Callable[[str, int], str]) -> Keys:
        top = self._repository.top if self._repository else self._spec.root
        return Keys(result, top, own_name)

    def _environments(self, result: RunResult) -> list[str]:
        """Of each suite: what decides how its tests run, beside the files of the project. No paths."""
        about = os.uname()
        platform = f"{about.sysname} {about.machine}"
        found = []
        for suite in result.suites:
            toolchain = suite.described.toolchain if suite.described else {}
            installed = self._installed.get(suite.entered.interpreter)
            versions = installed or tuple(f"{name} {version}" for name, version in sorted(toolchain.items()))
            found.append("\n".join((platform, *versions)))
        return found


def _bad(result: RunResult) -> list[str]:
    bad = [test.test for test in result.tests.values() if test.outcome in BAD]
    return [*bad, *(error.file for error in result.collection_errors)]


def _selection(spec: RunSpec) -> str:
    """What was asked for, as one text."""
    return os.fsdecode(msgspec.json.encode([*spec.selection.words, "--", *spec.arguments]))
