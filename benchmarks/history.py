"""What the history of tests costs: a run with it and without, and questions to a million results."""

from __future__ import annotations

import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from measure import (
    CACHE,
    Run,
    environment,
    interleave,
    many,
    proctor_environment,
    project,
    spend,
    table,
)

from proctor.events import EarlierRun
from proctor.history.earlier import Earlier
from proctor.history.questions import Questions
from proctor.history.repository import repository
from proctor.history.store import FailureRow, ResultRow, RunRow, Store, TestKey, open_store, place
from proctor.history.tree import Checkout
from proctor.history.words import Past, is_fixed, word

SIZES = {10: (40, 20), 1_000: (20, 50)}  # tests: rounds, and CPU milliseconds that history may add
TESTS, RUNS = 5_000, 200  # a million results
QUESTION = 150  # milliseconds that each may take
WRITERS = 16
KNOWN = 200  # runs in the store of a project that is measured
NOW = datetime(2026, 6, 1, tzinfo=UTC)
ANCIENT = "1970-01-01T00:00:00.000+00:00"
PLATFORM = "Linux x86_64\ncpython 3.11.7"


def bench_history(quick: bool) -> str:
    """Green runs in a git repository whose store has 200 runs, with history and with `--no-history`, in turn:
    the median of what it adds, with git's processes. Then a store of a million results, which nobody else
    uses: the median of the CPU time of each question, asked of a store that was opened for it."""
    parts = [_added(quick), _questions(quick)]
    return "\n".join(parts)


def _added(quick: bool) -> str:
    bare, proctor = environment("pytest", "pytest"), proctor_environment()
    state = CACHE / "history" / "state"
    shutil.rmtree(state, ignore_errors=True)
    rows = []
    for tests, (rounds, most) in SIZES.items():
        root = _repository(tests)
        run = [str(proctor / "proctor"), "run", "--format", "agent", "--python", str(bare / "python")]
        spend(run, root, XDG_STATE_HOME=str(state))
        _fill_up(place(root, repository(root), {"XDG_STATE_HOME": str(state)}))
        commands: dict[str, Run] = {
            "without": partial(spend, [*run, "--no-history"], root, XDG_STATE_HOME=str(state)),
            "with": partial(spend, run, root, XDG_STATE_HOME=str(state)),
        }
        costs = interleave(commands, 3 if quick else rounds, f"{tests} tests")
        without, with_history = costs["without"], costs["with"]
        added = [after - before for before, after in zip(without.cpu, with_history.cpu, strict=True)]
        rows.append(
            [
                f"{tests:,}",
                f"{without.median * 1000:.0f}",
                f"{with_history.median * 1000:.0f}",
                f"{statistics.median(added) * 1000:+.0f}",
                f"{(with_history.least - without.least) * 1000:+.0f}",
                f"{most}",
            ]
        )
    head = ["tests", "CPU ms without", "with history", "added, median", "added, of the least", "limit"]
    return table(head, rows)


def _repository(tests: int) -> Path:
    root = CACHE / "history" / f"suite-{tests}"
    shutil.rmtree(root, ignore_errors=True)
    ignored = ".proctor/\n__pycache__/\n.pytest_cache/\n"
    project(f"suite-{tests}", {".gitignore": ignored, **many(tests)}, CACHE / "history")
    me = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    for command in (["init", "-q"], ["add", "-A"], [*me, "commit", "-q", "-m", "Begin"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    return root


def _fill_up(path: Path) -> None:
    """The run that is there, once more and once more, until there are as many as are kept."""
    store = open_store(path, make=False)
    run = [name for (_, name, *_) in store.connection.execute("pragma table_info(run)") if name != "number"]
    columns = ", ".join(run)
    with store.writing() as connection:
        for number in range(2, KNOWN + 1):
            values = ", ".join(f"'copy {number}'" if name == "id" else name for name in run)
            connection.execute(f"insert into run ({columns}) select {values} from run where number = 1")
            connection.execute(
                "insert into result select ?, test, attempt, outcome, microseconds, environment, failure"
                " from result where run = 1",
                (number,),
            )
    store.close()


# A million results


def _questions(quick: bool) -> str:
    path = CACHE / "history" / "million.sqlite"
    _remove(path)
    store = open_store(path)
    size, seconds = 0, 0.0
    for number in range(1, RUNS + 1):
        print(f"a million results, run {number} of {RUNS}", file=sys.stderr, flush=True)
        rows = _results(number)
        before = time.process_time()
        store.add(_run(number), rows, ANCIENT)
        seconds += time.process_time() - before
        size += len(rows)
    store.close()
    facts = [
        ["results", f"{size:,}"],
        ["bytes for each", f"{path.stat().st_size / size:.0f}"],
        ["added in a second of CPU time", f"{size / seconds:,.0f}"],
        [f"{WRITERS} processes that add a run of {TESTS:,} each at once, seconds", _writers(path)],
    ]
    steady = [test for test in range(TESTS) if test % 20 > 4]
    asked: dict[str, Callable[[Store], object]] = {
        "words for 10 failures": partial(_words, tests=range(10)),
        "words for 1,000 failures that are new": partial(_words, tests=steady[:1_000]),
        "words for 1,000 failures, 50 of them flaky and 50 since the first run": partial(
            _words, tests=range(1_000)
        ),
        "what is fixed in a green run": _fixed,
        "`proctor history`": lambda store: Questions(store).runs(20),
        "`proctor history TEST`": lambda store: Questions(store).results(_key(77).name, 20),
        "`proctor history --flaky`": lambda store: Questions(store).flaky({}),
        "`proctor history --slow`": lambda store: Questions(store).slow(),
    }
    answers = [
        [name, f"{_median(path, ask, 3 if quick else 9):.1f}", str(QUESTION)] for name, ask in asked.items()
    ]
    return "\n".join([table(["", ""], facts), table(["question", "CPU ms", "limit"], answers)])


def _is_bad(test: int, run: int) -> bool:
    """One test of twenty fails now and then, one always, two once, and the others never."""
    kind = test % 20
    if kind == 1:
        return (test * 7 + run * 13) % 11 == 0
    return kind == 2 or (kind in (3, 4) and run == test % RUNS)


def _microseconds(test: int, run: int) -> int:
    """Half of the tests take a tenth of a second; a few of them took longer in the last run."""
    return (100_000 if test % 2 else 900) * (2 if test % 50 == 7 and run == RUNS else 1) + run


def _key(test: int) -> TestKey:
    return TestKey(
        ".", "pytest", "pytest", f"tests/test_{test // 50:04d}.py::test_that_number_{test}_is_right"
    )


def _run(number: int) -> RunRow:
    started = (NOW + timedelta(minutes=number)).isoformat(timespec="milliseconds")
    commit = f"{number // 4:040x}"  # four runs of the same files
    return RunRow(f"run-{number}", "/p", started, 60.0, "failed", commit, branch="main", state=commit)


def _results(run: int) -> list[ResultRow]:
    def failure(test: int) -> FailureRow:
        return FailureRow(b"%012d" % test, f"AssertionError: assert {test} == {test + 1}", "test.py", 7)

    return [
        ResultRow(_key(test), 1, "failed", 900, PLATFORM, failure(test))
        if _is_bad(test, run)
        else ResultRow(_key(test), 1, "passed", _microseconds(test, run), PLATFORM)
        for test in range(TESTS)
    ]


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)


def _writers(path: Path) -> str:
    """On a copy, which has no room for more."""
    copy = path.with_name("writers.sqlite")
    _remove(copy)
    shutil.copyfile(path, copy)
    started = time.monotonic()
    children = []
    for number in range(WRITERS):
        child = os.fork()
        if child == 0:
            try:
                store = open_store(copy)
                os._exit(not store.add(_run(1000 + number), _results(number), ANCIENT))
            except (sqlite3.Error, OSError) as error:
                print(error, file=sys.stderr, flush=True)
                os._exit(1)
        children.append(child)
    if any(os.waitpid(child, 0)[1] for child in children):
        raise SystemExit("a writer could not add its run")
    taken = time.monotonic() - started
    _remove(copy)
    return f"{taken:.1f}"


def _median(path: Path, ask: Callable[[Store], object], rounds: int) -> float:
    return statistics.median(_asked(path, ask, rounds)) * 1000


def _asked(path: Path, ask: Callable[[Store], object], rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        before = time.process_time()
        store = open_store(path)
        ask(store)
        store.close()
        yield time.process_time() - before


def _earlier(store: Store) -> tuple[Earlier, EarlierRun, frozenset[str]]:
    checkout = Checkout("f" * 40, "main", state="f" * 40)
    now = EarlierRun("now", checkout.commit, NOW.isoformat())
    return Earlier(store, checkout, frozenset), now, frozenset({f"s {checkout.state} []"})


def _words(store: Store, tests: Sequence[int]) -> int:
    earlier, now, same = _earlier(store)
    failed = Past(now, bad=True, same=same)
    return len([word(failed, earlier.of_test(_key(test), PLATFORM)) for test in tests])


def _fixed(store: Store) -> int:
    """A fifth of all tests have failed before."""
    earlier, now, same = _earlier(store)
    passed = Past(now, bad=False, same=same)
    failed_once = earlier.failed_once()
    keys = (_key(test) for test in range(TESTS))
    return sum(is_fixed(passed, earlier.of_test(key, PLATFORM)) for key in keys if key in failed_once)
