"""The memory of one run: what earlier runs say of it, and that later ones can look back at it.

History only adds words. Whatever goes wrong here, the run is the same without them.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from proctor import events as e
from proctor.history.earlier import Earlier
from proctor.history.judged import Judged, bad_ends
from proctor.history.last_failed import LastEnds
from proctor.history.reading import reading
from proctor.history.repository import repository
from proctor.history.rows import Keys, by_chance, described, rows
from proctor.history.store import KEPT_DAYS, WRITE_PATIENCE, HistoryError, RunRow, Store, open_first
from proctor.history.tree import Checkout, Files, GitFiles, NoRepository
from proctor.history.words import Past, word
from proctor.process.git import Git
from proctor.result import RunResult
from proctor.spec import RunSpec
from proctor.wire.literal import encode

_DECISIVE = ("workers", "parallel", "isolate", "memory", "seed", "timeout", "test_timeout")
_PLAIN = RunSpec("")
_FAULTS = (sqlite3.Error, OSError, HistoryError)


class Memory:
    """Begins with the run, so that it knows the files as the tests found them."""

    def __init__(
        self,
        spec: RunSpec,
        installed: Mapping[str, tuple[str, ...]],
        environ: Mapping[str, str],
        mask: bool,
        files: Files | None = None,
    ) -> None:
        """`installed` are the distributions of each interpreter, by its path; `files` are those of the
        project, unless they are to be found."""
        self._spec, self._installed, self._environ, self._mask = spec, installed, environ, mask
        self._root = Path(spec.root)
        self._repository = repository(self._root)
        self._files = files or self._found()
        self._settled: Checkout | None = None
        self._tree = ""
        self._store: Store | None = None
        self._midway: Earlier | None = None  # for questions while tests run
        self._closing = ExitStack()
        self._try_again = False  # the store could not be read; perhaps it can be written later

    def _found(self) -> Files:
        if self._repository is None:
            return NoRepository()
        return GitFiles(Git(self._spec.root, self._environ), self._repository)

    @property
    def checkout(self) -> Checkout:
        return self._settled or self._files.checkout()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._closing.close()
        self._files.close()

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
        if bad_ends(result):
            self._settle(compared=True)
        compared = self._held_against(store, result, own_name)
        if compared.fixed and self._settled is None:
            # Only now it matters with which files they failed, and whether these are the same.
            self._settle(compared=True)
            compared = self._held_against(store, result, own_name)
        return compared

    def _held_against(
        self, store: Store, result: RunResult, own_name: Callable[[str, int], str]
    ) -> e.HistoryCompared:
        earlier = Earlier(store, self.checkout, self._files.contained)
        if self._settled is not None:
            self._tree = self._files.tree() if self.checkout.state else ""
        if not earlier.runs:
            unknown = dict.fromkeys(bad_ends(result), e.TestHistory(e.UNKNOWN))
            return e.HistoryCompared(unknown, checkout=self._checked_out())
        if self._settled is not None:
            earlier.trees = self._files.trees(earlier.clean_commits())
        judged = Judged(result, self._keys(result, own_name), self._environments(result), earlier)
        now = e.EarlierRun(result.run.run_id, self.checkout.commit, result.run.started)
        same = self._same() if self._settled is not None else frozenset[str]()
        words, fixed = judged.words(now, same), judged.fixed(now, same)
        return e.HistoryCompared(words, fixed, judged.newest(), self._checked_out())

    def _checked_out(self) -> e.CheckedOut | None:
        found = self.checkout
        return e.CheckedOut(found.commit, found.branch, found.dirty) if found.commit else None

    def is_new(self, test: str, number: int, result: RunResult, own_name: Callable[[str, int], str]) -> bool:
        """Whether the word for a test that has just ended badly, in the suite with this number, is `new`, as
        far as that can be told while other tests run. Not new where nobody can say."""
        if test in by_chance(result.suites[number]):
            return False
        try:
            earlier = self._so_far()
            key, environment = (
                self._keys(result, own_name).of(test, number),
                self._environments(result)[number],
            )
            run = e.EarlierRun(result.run.run_id, self.checkout.commit, result.run.started)
            found = earlier.of_test(key, environment) if earlier is not None else []
            return word(Past(run, bad=True, same=self._same()), found).word == e.NEW
        except _FAULTS:
            return False

    def _so_far(self) -> Earlier | None:
        """Read once: what other runs add meanwhile is no earlier result."""
        if self._midway is None:
            store = self._closing.enter_context(reading(self._root, self._repository, self._environ))
            if store is None:
                return None
            self._midway = Earlier(store, self.checkout, self._files.contained)
            if self._midway.runs and self.checkout.state:
                self._tree = self._files.tree()
                self._midway.trees = self._files.trees(self._midway.clean_commits())
        return self._midway

    def _settle(self, compared: bool) -> None:
        """If files were changed while the tests ran, nobody knows with which ones."""
        if self._settled is None:
            self._settled = self._files.settled(compared)

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
        self._settle(compared=False)
        oldest = datetime.now(UTC) - timedelta(days=KEPT_DAYS)
        until = oldest.isoformat(timespec="milliseconds")
        try:
            if self._store is None:
                self._store = open_first(self._root, self._repository, self._environ, WRITE_PATIENCE)
            store, known = self._store, self._store.notice
            found = list(rows(result, self._keys(result, own_name), self._environments(result), self._masked))
            ends = LastEnds(result, own_name)
            try:
                store.add(self._row(result), found, until, ends.write)
            except sqlite3.Error as error:
                store.renew(error)
                store.add(self._row(result), found, until, ends.write)
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
            toolchain = described(suite).toolchain
            installed = self._installed.get(suite.entered.interpreter)
            versions = installed or tuple(f"{name} {version}" for name, version in sorted(toolchain.items()))
            found.append("\n".join((platform, *versions)))
        return found


def _selection(spec: RunSpec) -> str:
    """What was asked for, as one text: which tests, and what else decides how they end. A test that fails
    with less memory, or beside others, need not be flaky."""
    asked = {name: getattr(spec, name) for name in _DECISIVE}
    default = {name: getattr(_PLAIN, name) for name in _DECISIVE}
    options = [f"--{name}={value}" for name, value in asked.items() if value != default[name]]
    return encode([*spec.selection.words, *options, "--", *spec.arguments]).decode()
