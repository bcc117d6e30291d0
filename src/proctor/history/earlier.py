"""What the store has about tests, in the form in which `words` needs it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from math import inf
from typing import overload

import msgspec

from proctor.events import EarlierRun
from proctor.history.store import Store, TestKey
from proctor.history.tree import Checkout
from proctor.history.words import Past
from proctor.outcome import BAD, Outcome

_FEW = 4  # runs whose results are read at once, at first
_LOOKED_AT = 50  # tests without a result in the newest run, until an older one will do


class KnownRun(msgspec.Struct, frozen=True):
    """A run that may count."""

    run: EarlierRun
    branch: str
    state: str
    tree: str
    dirty: bool
    selection: str
    own: bool = True  # on the branch that is checked out; otherwise on the one that it was created from

    def same(self, trees: dict[str, str]) -> frozenset[str]:
        """What it has in common with other runs of the same files and selection; `trees` are of commits."""
        tree = self.tree or ("" if self.dirty else trees.get(self.run.commit, ""))
        known = [
            f"{kind} {value} {self.selection}" for kind, value in (("s", self.state), ("t", tree)) if value
        ]
        return frozenset(known) if self.state else frozenset()


def known_runs(
    connection: sqlite3.Connection, which: str = "", values: Sequence[str] = ()
) -> dict[int, KnownRun]:
    """By number, the newest first; `which` of them, as sqlite says it."""
    rows = connection.execute(
        f"select number, id, commit_id, started, dirty, branch, state, tree, selection from run {which}"
        " order by started desc, number desc",
        values,
    )
    return {
        number: KnownRun(
            EarlierRun(run_id, commit, started, bool(dirty)), branch, state, tree, bool(dirty), selection
        )
        for number, run_id, commit, started, dirty, branch, state, tree, selection in rows
    }


def is_own(run: KnownRun, checkout: Checkout, contained: Collection[str]) -> bool | None:
    """Whether a run was on the branch that is checked out. False: on the one that this was created from.
    None: on neither, so it does not count. `contained` are commits that the checkout's is, or comes after.

    A branch keeps its results when it is renamed, and has none of an older branch with its name. Where no
    branch is checked out, runs at commits before this one count: first those without a branch.
    """
    line, started = checkout.line, run.run.started
    if not checkout.versioned:
        return None if run.branch or run.run.commit else True
    if not checkout.branch and not run.branch:
        return True if run.run.commit in contained else None
    if run.branch and run.branch == checkout.branch and started >= line.since:
        return True
    if any(run.branch == name and line.since <= started < until for name, until in line.formerly):
        return True
    if run.branch and run.branch == line.parent and (line.certain or run.run.commit in contained):
        return False
    return None


class Results(Sequence[Past]):
    """Read from the store as far as somebody looks: for most words the last few results are enough."""

    def __init__(self, blocks: Iterator[list[Past]]) -> None:
        self._blocks, self._known = blocks, list[Past]()

    def _read(self, number: float) -> None:
        while len(self._known) < number and (block := next(self._blocks, None)) is not None:
            self._known += block

    @overload
    def __getitem__(self, index: int) -> Past: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Past]: ...

    def __getitem__(self, index: int | slice) -> Past | Sequence[Past]:
        last = index.stop if isinstance(index, slice) else index + 1
        self._read(inf if last is None or last <= 0 else last)
        return self._known[index]

    def __iter__(self) -> Iterator[Past]:
        at = 0
        while True:
            self._read(at + 1)
            if at == len(self._known):
                return
            yield self._known[at]
            at += 1

    def __len__(self) -> int:
        self._read(inf)
        return len(self._known)

    def __bool__(self) -> bool:
        self._read(1)
        return bool(self._known)


def _divided(runs: Sequence[int]) -> Iterator[Sequence[int]]:
    """Few at first: the next ones are needed seldom."""
    first, size = 0, _FEW
    while first < len(runs):
        yield runs[first : first + size]
        first, size = first + size, size * 4


class Earlier:
    """The results of earlier runs on the branch that is checked out, and on the one it was created from."""

    def __init__(
        self, store: Store, checkout: Checkout, contained: Callable[[Sequence[str]], Collection[str]]
    ) -> None:
        """`contained` finds those of some commits that the one of the checkout is, or comes after."""
        self._connection: sqlite3.Connection = store.connection
        self.runs = self._counting(checkout, contained)
        self._numbers = ", ".join(map(str, self.runs))
        self._order = {number: place for place, number in enumerate(self.runs)}
        self._statements = [
            f"select run, outcome from result where run in ({', '.join(map(str, block))}) and test = ?"
            " and (environment is null or environment = ?) order by run, attempt"
            for block in _divided(list(self.runs))
        ]
        self._environments: dict[str, int] = {}  # numbers of texts
        self._pasts: dict[tuple[int, bool, bool], Past] = {}  # many tests end alike in a run
        self.trees: dict[str, str] = {}  # of commits, as far as somebody has looked them up

    def _counting(
        self, checkout: Checkout, contained: Callable[[Sequence[str]], Collection[str]]
    ) -> dict[int, KnownRun]:
        """By number, the newest first."""
        line = checkout.line
        names = {checkout.branch, line.parent, *(name for name, _ in line.formerly)}
        marks = ", ".join("?" * len(names))
        found = known_runs(self._connection, f"where branch in ({marks})", sorted(names))
        by_commit = not checkout.branch or not line.certain
        asked = {
            run.run.commit for run in found.values() if by_commit and run.branch in ("", line.parent)
        } - {""}
        commits = contained(sorted(asked)) if asked and checkout.commit else ()
        counting = {}
        for number, run in found.items():
            own = is_own(run, checkout, commits)
            if own is not None:
                counting[number] = run if own else msgspec.structs.replace(run, own=False)
        return counting

    def of_test(self, test: TestKey, environment: str) -> Sequence[Past]:
        """Its results that count, the newest first."""
        return Results(self._blocks(test, environment))

    def _blocks(self, test: TestKey, environment: str) -> Iterator[list[Past]]:
        found = self._connection.execute(
            "select id from test where folder = ? and runner = ? and suite = ? and name = ?",
            (test.folder, test.runner, test.suite, test.name),
        ).fetchone()
        if found is None:
            return
        if environment not in self._environments:
            asked = self._connection.execute("select id from environment where text = ?", (environment,))
            self._environments[environment] = (asked.fetchone() or (0,))[0]
        for statement in self._statements:
            ends: dict[int, list[str]] = {}
            for number, outcome in self._connection.execute(
                statement, (found[0], self._environments[environment])
            ):
                ends.setdefault(number, []).append(outcome)
            yield self._past(ends)

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
        """`ends` are the tries of one test in each run. What neither passed nor failed does not count."""
        found = []
        for number in sorted(ends, key=self._order.__getitem__):
            known, tries = self.runs[number], ends[number]
            if tries[-1] == Outcome.PASSED or tries[-1] in BAD:
                bad = tries[-1] in BAD
                retried = not bad and len(tries) > 1 and any(one in BAD for one in tries)
                past = self._pasts.get((number, bad, retried))
                if past is None:
                    past = Past(known.run, bad, retried, known.same(self.trees), known.own)
                    self._pasts[number, bad, retried] = past
                found.append(past)
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

    def newest(self, tests: Iterable[tuple[TestKey, str]]) -> EarlierRun | None:
        """The newest run that has results of these tests, each in its environment: on this branch, or else on
        the one that it was created from."""
        ranked = sorted(self.runs, key=lambda number: not self.runs[number].own)
        ranks = {number: rank for rank, number in enumerate(ranked)}
        best = len(ranked)
        for count, (test, environment) in enumerate(tests):
            for (number,) in self._connection.execute(
                f"select distinct run from result where run in ({self._numbers}) and test ="
                " (select id from test where folder = ? and runner = ? and suite = ? and name = ?)"
                " and (environment is null or environment = (select id from environment where text = ?))",
                (test.folder, test.runner, test.suite, test.name, environment),
            ):
                best = min(best, ranks[number])
            if best == 0 or (count >= _LOOKED_AT and best < len(ranked)):
                break
        return self.runs[ranked[best]].run if best < len(ranked) else None
