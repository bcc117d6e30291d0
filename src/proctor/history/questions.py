"""What people and agents ask the store: the last runs, results of a test, tests that are flaky or slow."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any

import msgspec

from proctor import decoding
from proctor.errors import UsageError
from proctor.failure_row import unescaped
from proctor.history.earlier import KnownRun, known_runs
from proctor.history.store import Store
from proctor.history.words import WINDOW, Past, flaky
from proctor.nearest import meant, nearest
from proctor.outcome import BAD, Outcome
from proctor.remembered import PASSES, FlakyTest, RememberedResult, RememberedRun, SlowTest, slow

_NAMED = 5  # tests that an error names
_RUN = (
    "id, started, outcome, seconds, commit_id, dirty, branch, root, whole, selection, imported"
    ", passed, failed, tests"
)

#: Tests that failed in some runs, or before another try.
_SUSPECTS = (
    "select distinct test from result indexed by bad_result where failure is not null and (run in ({})"
    " or exists(select 1 from result as later where later.test = result.test and later.run = result.run"
    " and later.attempt > result.attempt))"
)


class Questions:
    """About one store. `folder` is the project's directory, seen from the top of its repository; `within`:
    answers leave out other directories, and runs that were started outside of these."""

    def __init__(self, store: Store, folder: str = ".", within: Sequence[str] = ()) -> None:
        self._connection: sqlite3.Connection = store.connection
        self._folder, self._within = folder, within

    def runs(self, limit: int) -> list[RememberedRun]:
        """The newest first."""
        rows = self._connection.execute(f"select {_RUN} from run order by started desc, number desc")
        return list(islice(filter(self._told, map(_run, rows)), limit))

    def run(self, name: str) -> RememberedRun | None:
        """By its id, or the beginning of it if no other run has that."""
        rows = self._connection.execute(
            f"select {_RUN} from run where substr(id, 1, length(?)) = ? order by id limit 2", (name, name)
        ).fetchall()
        exact = [row for row in rows if row[0] == name]
        found = _run((exact or rows)[0]) if len(rows) == 1 or exact else None
        return found if found is not None and self._told(found) else None

    def _told(self, run: RememberedRun) -> bool:
        return not self._within or any(f"{run.root}/".startswith(f"{root}/") for root in self._within)

    def _tests(self) -> list[tuple[int, str, str]]:
        """Number, folder and name of each test that may be told."""
        rows = self._connection.execute("select id, folder, name from test")
        if not self._within:
            return rows.fetchall()
        below = f"{self._folder}/"
        return [row for row in rows if f"{row[1]}/{row[2]}".removeprefix("./").startswith(below)]

    def ends(self, run_id: str) -> Iterator[tuple[str, str, float, str]]:
        """Of each test of a run: name, outcome, seconds and message."""
        rows = self._connection.execute(
            "select folder, name, result.outcome, microseconds, failure.text from run"
            " join test cross join result on test = test.id and run = run.number"
            " left join failure on failure.id = failure where run.id = ? order by test, attempt",
            (run_id,),
        )
        for folder, name, outcome, microseconds, text in rows:
            yield self._shown(folder, name), outcome, microseconds / 1e6, text or ""

    def results(self, test: str, limit: int) -> tuple[str, list[RememberedResult]]:
        """The name of a test in full, and its results, the newest first; a retry is a result of its own."""
        name, numbers = self._found(test)
        marks = ", ".join("?" * len(numbers))
        rows = self._connection.execute(
            "select id, result.outcome, microseconds, commit_id, state, started, attempt, branch, number"
            ", (select text from failure where id = failure), (select file from failure where id = failure)"
            ", (select line from failure where id = failure)"
            f" from run cross join result on result.run = number and test in ({marks})"
            " order by started desc, number desc, attempt desc limit ?",
            (*numbers, limit),
        )
        found, before = [], None
        for run_id, outcome, took, commit, state, started, attempt, branch, number, text, file, line in rows:
            place = f"{file}:{line}" if file and line else file or ""
            found.append(
                RememberedResult(
                    run_id, outcome, took / 1e6, commit, state, started, attempt, branch, text or "", place,
                    final=number != before,
                )
            )  # fmt: skip
            before = number
        return name, found

    def _found(self, test: str) -> tuple[str, list[int]]:
        """By its id, or by the end of it if no other test has that. Raises a UsageError that names others."""
        wanted = {test, unescaped(test)}
        known = self._tests()
        exact = [row for row in known if row[2] in wanted or f"{row[1]}/{row[2]}" in wanted]
        ending = exact or [row for row in known if row[2].endswith(f"::{test}")]
        own = [row for row in ending if row[1] == self._folder] or ending
        names = dict.fromkeys(self._shown(folder, name) for _, folder, name in own)
        if len(names) == 1:
            return next(iter(names)), [number for number, _, _ in own]
        if len(names) > 1:
            several = ", ".join(list(names)[:_NAMED])
            raise UsageError(f"{len(names)} tests of the history are called {test!r}: {several}")
        every = [self._shown(folder, name) for _, folder, name in known]
        ends = {name.rpartition("::")[2]: name for name in every}
        near = [name for name in every if test in name][:_NAMED] or nearest(test, every, _NAMED)
        near = near or [ends[end] for end in nearest(test, ends, _NAMED)]
        raise UsageError(f"the history has no test {test!r}{meant(near) or f'; it has {len(every)} tests'}")

    def _shown(self, folder: str, name: str) -> str:
        """A test of another directory with that before it."""
        return name if folder in (self._folder, ".") else f"{folder}/{name}"

    def clean_commits(self) -> list[str]:
        """Commits of runs whose trees the store does not have."""
        rows = self._connection.execute(
            "select distinct commit_id from run where commit_id <> '' and not dirty and tree = ''"
        )
        return [commit for (commit,) in rows]

    def flaky(self, trees: Mapping[str, str]) -> list[FlakyTest]:
        """By the last results of each test, on all branches; those that fail most often first. `trees` are of
        commits, as far as they are known."""
        known = known_runs(self._connection)
        same = {number: run.same(dict(trees)) for number, run in known.items()}
        shared = _several(same.values())
        comparable = ", ".join(str(number) for number in known if not shared.isdisjoint(same[number]))
        suspects = self._names(test for (test,) in self._connection.execute(_SUSPECTS.format(comparable)))
        found = []
        for test, past in self._pasts(suspects, known, same).items():
            failed, results = flaky(past[0], past[1:])
            if failed:
                last = next(one.run.started for one in past if one.bad or one.retried)
                found.append(FlakyTest(suspects[test], failed, results, last))
        return sorted(found, key=lambda one: (-one.failed / one.results, -one.failed, one.node_id))

    def _pasts(
        self, tests: Iterable[int], known: Mapping[int, KnownRun], same: Mapping[int, frozenset[str]]
    ) -> dict[int, list[Past]]:
        """The last results of these tests that count, the newest first."""
        found: dict[int, list[Past]] = {}
        left = set(tests)  # of which more is to be known
        for number, run in known.items():
            if not left:
                break
            common: dict[int | None, frozenset[str]] = {}  # with other runs, by environment
            tries: dict[int, tuple[list[str], int | None]] = {}
            for test, outcome, where in self._connection.execute(
                "select test, outcome, environment from result where run = ?"
                f" and test in ({', '.join(map(str, left))}) order by test, attempt",
                (number,),
            ):
                tries.setdefault(test, ([], where))[0].append(outcome)
            for test, (outcomes, where) in tries.items():
                bad = outcomes[-1] in BAD
                if not bad and outcomes[-1] != Outcome.PASSED:
                    continue
                if where not in common:
                    common[where] = frozenset(f"{one} {where}" for one in same[number])
                retried = not bad and any(one in BAD for one in outcomes)
                results = found.setdefault(test, [])
                results.append(Past(run.run, bad, retried, common[where]))
                if len(results) == WINDOW:
                    left.discard(test)
        return found

    def slow(self) -> list[SlowTest]:
        """Tests whose last pass took clearly longer than those before it; the largest difference first."""
        by_time = "" if _in_order(known_runs(self._connection)) else "started desc, "
        passes = (
            "select {} from run cross join result on result.run = run.number and test = {}"
            " and result.outcome = 'passed'{}"
            f" order by {by_time}number desc, attempt desc limit {{}}"
        )
        # A test that is 50 ms slower takes more than 50 ms: of most tests no more has to be known.
        last = passes.format("microseconds * 2 + (environment is null)", "test.id", "", 1)
        suspects = self._connection.execute(
            f"select id, last >> 1, last & 1 from (select id, ({last}) as last from test) where last > 100000"
        ).fetchall()
        # Other machines need other times: imported results are held against imported ones only.
        earlier = passes.format(
            "microseconds as time", "?", " and (environment is null) = ?", f"{PASSES} offset 1"
        )
        count = f"select count(*), sum(time * 1.5 < ?) from ({earlier})"
        slower = []
        for test, microseconds, imported in suspects:
            among, less = self._connection.execute(count, (microseconds, test, imported)).fetchone()
            if among and less * 2 >= among:  # the median may be less
                slower.append((test, imported))
        names = self._names(test for test, _ in slower)
        every = passes.format("microseconds", "?", " and (environment is null) = ?", PASSES + 1)
        found = []
        for test, imported in slower:
            if test in names:
                rows = self._connection.execute(every, (test, imported))
                if (one := slow(names[test], [time / 1e6 for (time,) in rows])) is not None:
                    found.append(one)
        return sorted(found, key=lambda one: (one.before - one.after, one.node_id))

    def slowest(self, limit: int) -> list[tuple[str, float]]:
        """Tests by the seconds of their last pass, the longest first."""
        by_time = "" if _in_order(known_runs(self._connection)) else "started desc, "
        last = (
            "select microseconds from run cross join result on result.run = run.number and test = test.id"
            f" and result.outcome = 'passed' order by {by_time}number desc, attempt desc limit 1"
        )
        rows = self._connection.execute(
            f"select id, last from (select id, ({last}) as last from test) where last > 0 order by last desc"
        ).fetchall()
        names = self._names(test for test, _ in rows)
        told = ((names[test], took / 1e6) for test, took in rows if test in names)
        return list(islice(told, limit))

    def _names(self, tests: Iterable[int]) -> dict[int, str]:
        wanted = set(tests)
        rows = self._tests() if wanted else []
        return {number: self._shown(folder, name) for number, folder, name in rows if number in wanted}


def _several(groups: Iterable[frozenset[str]]) -> frozenset[str]:
    """What at least two of the groups have."""
    seen: set[str] = set()
    twice: set[str] = set()
    for group in groups:
        twice |= seen & group
        seen |= group
    return frozenset(twice)


def _in_order(known: Mapping[int, KnownRun]) -> bool:
    """Whether the numbers of runs are in the order of their times: not if old ones were imported later."""
    return all(newer > older for newer, older in pairwise(known))


def _run(row: Sequence[Any]) -> RememberedRun:
    *first, whole, selection, imported, passed, failed, tests = row
    run_id, started, outcome, seconds, commit, dirty, branch, root = first
    return RememberedRun(
        run_id, started, outcome, seconds, commit, bool(dirty), branch, root, bool(whole), _asked(selection),
        bool(imported), passed, failed, tests,
    )  # fmt: skip


def _asked(selection: str) -> tuple[str, ...]:
    """As words of the command line."""
    try:
        words = decoding.decode(selection, tuple[str, ...])
    except msgspec.MsgspecError:
        return (selection,)
    return words[:-1] if words[-1:] == ("--",) else words
