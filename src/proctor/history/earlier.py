"""What the store has about tests, in the form in which `words` needs it."""

from __future__ import annotations

import sqlite3

import msgspec

from proctor.events import EarlierRun
from proctor.history.store import Store, TestKey
from proctor.history.tree import Checkout
from proctor.history.words import Past
from proctor.outcome import BAD, Outcome


class KnownRun(msgspec.Struct, frozen=True):
    """A run that may count."""

    run: EarlierRun
    branch: str
    state: str
    tree: str
    dirty: bool
    selection: str

    def same(self, trees: dict[str, str]) -> frozenset[str]:
        """What it has in common with other runs of the same files and selection; `trees` are of commits."""
        tree = self.tree or ("" if self.dirty else trees.get(self.run.commit, ""))
        known = [
            f"{kind} {value} {self.selection}" for kind, value in (("s", self.state), ("t", tree)) if value
        ]
        return frozenset(known) if self.state else frozenset()


class Earlier:
    """The results of earlier runs on the branch that is checked out, and on the one it was created from."""

    def __init__(self, store: Store, checkout: Checkout) -> None:
        self._connection: sqlite3.Connection = store.connection
        self._checkout = checkout
        self.runs = self._counting()
        self._numbers = ", ".join(map(str, self.runs))
        self.trees: dict[str, str] = {}  # of commits, as far as somebody has looked them up

    def _counting(self) -> dict[int, KnownRun]:
        """By number, the newest first. Without a branch, those of the same commit count."""
        checkout = self._checkout
        on_commit = checkout.commit if not checkout.branch else ""
        rows = self._connection.execute(
            "select number, id, commit_id, started, branch, state, tree, dirty, selection from run"
            " where (branch = ? and (? = '' or commit_id = ?)) or (? <> '' and branch = ?)"
            " order by started desc, number desc",
            (checkout.branch, on_commit, on_commit, checkout.created_from, checkout.created_from),
        )
        return {
            number: KnownRun(EarlierRun(run_id, commit, started), branch, state, tree, bool(dirty), selection)
            for number, run_id, commit, started, branch, state, tree, dirty, selection in rows
        }

    def of_test(self, test: TestKey, environment: str) -> list[Past]:
        """Its results that count, the newest first."""
        ends: dict[int, list[str]] = {}
        for number, outcome in self._connection.execute(
            f"select run, outcome from result where run in ({self._numbers}) and test ="
            " (select id from test where folder = ? and runner = ? and suite = ? and name = ?)"
            " and (environment is null or environment = (select id from environment where text = ?))"
            " order by run, attempt",
            (test.folder, test.runner, test.suite, test.name, environment),
        ):
            ends.setdefault(number, []).append(outcome)
        return self._past(ends)

    def of_file(self, file: TestKey, environment: str) -> list[Past]:
        """Of a file that could not be collected: it was fine where one of its tests ran."""
        ends: dict[int, list[str]] = {}
        for number, name in self._connection.execute(
            "select run, name from test cross join result on test = id"
            f" where run in ({self._numbers}) and folder = ? and runner = ? and suite = ?"
            " and (name = ? or (name > ? and name < ?))"
            " and (environment is null or environment = (select id from environment where text = ?))",
            (
                *(file.folder, file.runner, file.suite, file.name, f"{file.name}::", f"{file.name}:;"),
                environment,
            ),
        ):
            if name == file.name or number not in ends:
                ends[number] = [Outcome.ERROR if name == file.name else Outcome.PASSED]
        return self._past(ends)

    def _past(self, ends: dict[int, list[str]]) -> list[Past]:
        own = self._checkout.branch
        found = []
        for number, known in self.runs.items():
            tries = ends.get(number)
            if tries and (tries[-1] == Outcome.PASSED or tries[-1] in BAD):
                bad = tries[-1] in BAD
                retried = not bad and any(one in BAD for one in tries)
                found.append(Past(known.run, bad, retried, known.same(self.trees), known.branch == own))
        return found

    def failed_once(self) -> set[TestKey]:
        """Tests, and files, that have failed in a run that may count."""
        rows = self._connection.execute(
            "select distinct folder, runner, suite, name from result indexed by bad_result"
            f" join test on test = id where failure is not null and run in ({self._numbers})"
        )
        return {TestKey(*row) for row in rows}

    def clean_commits(self) -> list[str]:
        """Commits of runs whose trees nobody has looked up."""
        wanted = (
            one.run.commit for one in self.runs.values() if one.run.commit and not one.dirty and not one.tree
        )
        return list(dict.fromkeys(wanted))

    @property
    def newest(self) -> EarlierRun | None:
        """On this branch, or else on the one that it was created from."""
        own = (one.run for one in self.runs.values() if one.branch == self._checkout.branch)
        return next(own, next((one.run for one in self.runs.values()), None))
