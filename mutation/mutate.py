"""Change the code in one small place at a time, and see whether a test notices.

    python mutation/mutate.py [--lived] [--jobs N] [MODULE...]    MODULE: wire, wire/reports/tap.py, fold.py

mutmut makes the mutants: a module of `mutants/src` has all of its own, and one is chosen at run time. Running
them is done here, because mutmut starts pytest for each, which spends seconds on collecting what then runs
for milliseconds. Here the tests are collected once, and each mutant is a fork of that: it runs the tests that
reach the changed function until one fails.

Results are kept where mutmut keeps them, so that `mutmut show NAME` and `mutmut browse` work; what lived is
in `mutants/lived.diff`.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import gc
import importlib
import mmap
import os
import pickle
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree
from typing import Any

import mutmut.mutation.trampoline
import pytest
from _pytest.runner import runtestprotocol
from mutmut import __main__ as mutmut_run
from mutmut.configuration import config
from mutmut.mutation import file_mutation, mutators
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant

MUTANTS = Path("mutants")
GOAL, GOAL_OF_EACH = 85, 75  # percent killed
TEST_TAKES = 0.3  # a slower test measures time or memory
MEMORY = 2 << 30
QUICK = [
    f"-pno:{plugin}"
    for plugin in ("logging", "warnings", "faulthandler", "threadexception", "unraisableexception")
]
LIVED, KILLED, UNREACHED, ENDLESS = 0, 1, 33, 36  # as mutmut writes them

Item = pytest.Item
Measured = tuple[float, int, frozenset[int]]  # seconds, number of the test, functions that it reached
Loop = Callable[[list[Item]], None]


class Switch:
    """One function and its mutants. Stands in for mutmut's, which looks into the environment at each call."""

    all: list[Switch] = []  # noqa: RUF012
    reached: set[int] = set()  # noqa: RUF012

    def __init__(self, module: str, mutants: dict[str, Any]) -> None:
        self.module, self.mutants, self.chosen = module, mutants, "_mutmut_orig"
        self.number = len(Switch.all)
        Switch.all.append(self)

    def names(self) -> list[str]:
        return [f"{self.module}.{name}" for name in self.mutants]


def switched(mutants: dict[str, Any], is_classmethod: bool = False) -> Callable[[Any], Any]:
    def decorate(function: Any) -> Any:
        switch = Switch(function.__module__, mutants)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            Switch.reached.add(switch.number)
            chosen = mutants[switch.chosen]
            if is_classmethod:
                return getattr(args[0], chosen.__name__)(*args[1:], **kwargs)
            return chosen(*args, **kwargs)

        return call

    return decorate


def choose(mutant: str) -> None:
    module, _, name = mutant.rpartition(".")
    for switch in Switch.all:
        if switch.module == module and name in switch.mutants:
            switch.chosen = name


def once_each(operator: Any) -> Any:
    """mutmut asks some things thrice: a text in other letters, an argument gone as well as None."""

    def mutants(node: Any) -> Iterator[Any]:
        found = list(operator(node))
        if operator is mutators.operator_string:
            found = found[:1]
        if operator is mutators.operator_arg_removal:
            found = [mutant for mutant in found if len(mutant.args) == len(node.args)]
        yield from found

    return mutants


def generate(jobs: int) -> None:
    operators = [(kind, once_each(operator)) for kind, operator in mutators.mutation_operators]
    file_mutation.mutation_operators = operators
    rmtree(MUTANTS / "tests", ignore_errors=True)  # a test that is gone must not stay
    MUTANTS.mkdir(exist_ok=True)
    with contextlib.redirect_stdout(None):
        mutmut_run.copy_src_dir()
        mutmut_run.copy_also_copy_files()
        mutmut_run.setup_source_paths()
        mutmut_run.create_mutants(jobs)


def with_collected_tests(loop: Loop) -> None:
    """Calls `loop` in `mutants/`, with all tests collected and nothing run."""

    class Plugin:
        def pytest_runtestloop(self, session: pytest.Session) -> bool:
            loop(session.items)
            return True

    selection = config().pytest_add_cli_args_test_selection
    options = [
        "-q",
        "-s",
        "--assert=plain",
        "--tb=native",
        "--rootdir=.",
        *QUICK,
        *config().pytest_add_cli_args,
    ]
    with contextlib.chdir(MUTANTS):
        if pytest.main([*options, *selection], plugins=[Plugin()]) != pytest.ExitCode.OK:
            sys.exit(1)


def _failure(item: Item) -> str:
    reports = runtestprotocol(item, log=False, nextitem=None)
    return "".join(report.longreprtext or "failed" for report in reports if report.failed)


def _varied(found: list[Measured], items: list[Item]) -> list[Measured]:
    """The quickest first, but all test functions before a second case of one."""
    cases: Counter[str] = Counter()
    varied = []
    for row in sorted(found, key=lambda row: row[0]):
        function = items[row[1]].nodeid.partition("[")[0]
        cases[function] += 1
        varied.append((cases[function], row))
    return [row for _, row in sorted(varied, key=lambda pair: pair[0])]


def measure(items: list[Item], seconds_each: float) -> dict[str, list[int]]:
    """The tests that reach each mutant, in a good order; one list for all of a function.

    In a fork, so that nothing is warm after it.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        Switch.reached.clear()
        found = []
        for number, item in enumerate(items):
            began = time.process_time()
            if told := _failure(item):
                print(f"fails without a mutant: {item.nodeid}\n{told}", flush=True)
                os._exit(1)
            found.append((time.process_time() - began, number, frozenset(Switch.reached)))
            Switch.reached.clear()
        with open(writing, "wb") as stream:
            pickle.dump(found, stream)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as stream:
        lines = stream.read()
    if os.waitpid(child, 0)[1] != 0:
        pytest.exit("the tests must pass first", returncode=1)
    tests: dict[int, list[int]] = {}
    spent: dict[int, float] = {}
    for seconds, number, reached in _varied(pickle.loads(lines), items):
        for which in reached if seconds < TEST_TAKES else ():
            spent[which] = spent.get(which, 0.0) + seconds
            if spent[which] < seconds_each:
                tests.setdefault(which, []).append(number)
    return {name: some for which, some in tests.items() for name in Switch.all[which].names()}


def start(mutant: str, tests: list[int], items: list[Item], seconds: float, killer: memoryview) -> int:
    child = os.fork()
    if child == 0:
        code = KILLED
        with contextlib.suppress(BaseException):
            silent = os.open(os.devnull, os.O_RDWR)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            signal.setitimer(signal.ITIMER_PROF, 1 + 2 * seconds)
            signal.setitimer(signal.ITIMER_REAL, 60 + 30 * seconds)
            choose(mutant)
            for number in tests:
                killer[0] = number
                if _failure(items[number]):
                    break
            else:
                code = LIVED
        os._exit(code)
    return child


def run(mutants: list[str], items: list[Item], jobs: int, seconds_each: float) -> Iterator[tuple[str, int]]:
    """Each mutant and how it ended, as they end."""
    for path in mutmut_run.walk_mutatable_files():  # a reader is imported when it is first asked for
        importlib.import_module(".".join(path.relative_to("src").with_suffix("").parts))
    tests = measure(items, seconds_each)
    gc.freeze()  # what is never looked at by the collector is never copied by a fork
    board = memoryview(mmap.mmap(-1, 4 * len(mutants) + 4)).cast("i")  # the test that each mutant met last
    start("", sorted({some[0] for some in tests.values()}), items, 600, board)
    if os.waitstatus_to_exitcode(os.wait()[1]) != LIVED:
        pytest.exit(f"killed without a mutant: {items[board[0]].nodeid}", returncode=1)
    running: dict[int, int] = {}

    def one_ends() -> tuple[str, int]:
        child, status = os.wait()
        number = running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        if code != LIVED:  # what kills one mutant of a function is likely to kill the next one
            tests_of_function = tests[mutants[number]]
            tests_of_function.remove(board[number])
            tests_of_function.insert(0, board[number])
        return mutants[number], ENDLESS if code < 0 else code

    for number, mutant in enumerate(mutants):
        if mutant not in tests:
            yield mutant, UNREACHED
            continue
        while len(running) >= jobs:
            yield one_ends()
        child = start(mutant, tests[mutant], items, seconds_each, board[number : number + 1])
        running[child] = number
    while running:
        yield one_ends()


def chosen_modules(names: list[str]) -> list[SourceFileMutationData]:
    """In the order of `names`; all without any."""
    paths = sorted(mutmut_run.walk_mutatable_files())
    modules: dict[Path, SourceFileMutationData] = {}
    for name in names or ["."]:
        inside = [path for path in paths if path.is_relative_to(Path("src/proctor") / name)]
        if not inside:
            sys.exit(
                f"nothing to mutate in {name!r}: expected e.g. wire, wire/reports/tap.py, render, verdict.py"
            )
        for path in inside:
            modules[path] = SourceFileMutationData(path=path)
            modules[path].load()
    return list(modules.values())


def report(modules: list[SourceFileMutationData]) -> bool:
    """Whether the goals were reached."""
    figures: list[tuple[str, int, int, int]] = []
    with open(MUTANTS / "lived.diff", "w", encoding="utf-8") as diffs:
        for module in modules:
            codes = module.exit_code_by_key
            run = [code for code in codes.values() if code is not None]
            for name, code in codes.items():
                if code in (LIVED, UNREACHED):
                    unreached = " (no test reaches it)" if code == UNREACHED else ""
                    diffs.write(f"# {name}{unreached}\n{get_diff_for_mutant(name)}\n")
            if run:
                path = str(module.path).removeprefix("src/proctor/")
                figures.append((path, sum(code in (KILLED, ENDLESS) for code in run), len(run), len(codes)))
    everything = ("all", *(sum(column) for column in list(zip(*figures, strict=True))[1:]))
    for path, killed, run_of, there_are in [*figures, everything]:
        rest = f", {there_are} in all" if run_of < there_are else ""
        print(f"{path:28} {killed:6} of {run_of:5} {100 * killed / run_of:6.1f} %{rest}")
    _, killed, run_of, _ = everything
    return 100 * killed >= GOAL * run_of and all(100 * k >= GOAL_OF_EACH * of for _, k, of, _ in figures)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE")
    parser.add_argument("--lived", action="store_true", help="only what lived, or was not run yet")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=2, help="of tests for each mutant (2)")
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        metavar="N",
        help="one of N mutants; with --lived, of those not run yet (1)",
    )
    asked = parser.parse_args()
    generate(asked.jobs)
    modules = chosen_modules(asked.modules)
    mutmut.mutation.trampoline.wrap_in_trampoline = switched
    home = {name: module for module in modules for name in module.exit_code_by_key}
    lived = [name for name, module in home.items() if module.exit_code_by_key[name] in (LIVED, UNREACHED)]
    new = [name for name, module in home.items() if module.exit_code_by_key[name] is None]
    mutants = [*lived, *new[:: asked.every]] if asked.lived else list(home)[:: asked.every]

    def loop(items: list[Item]) -> None:
        for done, (mutant, code) in enumerate(run(mutants, items, asked.jobs, asked.seconds)):
            home[mutant].exit_code_by_key[mutant] = code
            if done % 50 == 0 or done == len(mutants) - 1:
                print(f"\r{done + 1} of {len(mutants)}", end="", flush=True, file=sys.stderr)
                with contextlib.chdir(".."):
                    for module in modules:
                        module.save()

    with_collected_tests(loop)
    print()
    return 0 if report(modules) else 1


if __name__ == "__main__":
    sys.exit(main())
