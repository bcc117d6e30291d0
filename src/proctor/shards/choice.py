"""Which of several records counts: copies of one run, tries of one shard, results of one test. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.shards.families import Counted, Family, shard_name
from proctor.shards.record import NO_RESULT, Seen, SeenSuite
from proctor.text import named


def leave_out_copies(runs: Sequence[Counted], notices: list[str]) -> None:
    """Leaves out a second copy of the same bytes, and a second record of one run, such as its document
    beside its log."""
    contents: dict[str, Counted] = {}
    by_id: dict[str, list[Counted]] = {}
    for run in runs:
        first = contents.setdefault(run.seen.content, run)
        if first is run:
            by_id.setdefault(run.seen.run.run_id, []).append(run)
        else:
            _leave_out(run, f"{run.seen.name} is the same as {first.seen.name}", notices)
    by_id.pop("", None)
    for records in by_id.values():
        best = max(records, key=lambda run: (run.seen.planned is not None, run.seen.ended, _results(run)))
        results = {test: place for suite in best.seen.suites for test, place in suite.tests.items()}
        for run in records:
            cut = best.seen.ended and not run.seen.ended
            if run is not best and (cut or _agrees(run.seen, results)):
                said = f"{run.seen.name} and {best.seen.name} are the same run {best.seen.run.run_id}"
                _leave_out(run, said, notices)


def _leave_out(run: Counted, why: str, notices: list[str]) -> None:
    run.left_out = True
    notices.append(f"{why}: it counts once")


def _results(run: Counted) -> int:
    return sum(place > NO_RESULT for suite in run.seen.suites for place in suite.tests.values())


def _agrees(seen: Seen, results: dict[str, int]) -> bool:
    return all(
        place in (NO_RESULT, results.get(test))
        for suite in seen.suites
        for test, place in suite.tests.items()
    )


def choose_tries(family: Family, notices: list[str]) -> list[int]:
    """The tries that ended count; where none did, all of them. Returns the shards of several tries of which
    none ended."""
    shards: dict[int, list[Counted]] = {}
    for run in family.runs:
        if run.seen.planned is not None:
            shards.setdefault(run.seen.planned.shard, []).append(run)
    for number, tries in shards.items():
        if len(tries) > 1:
            notices.append(f"{shard_name(family, number)} was run {len(tries)} times: {_choice(tries)}")
    family.runs = [run for run in family.runs if not run.left_out]
    return [
        number for number, runs in shards.items() if len(runs) > 1 and not any(run.seen.ended for run in runs)
    ]


def _choice(tries: list[Counted]) -> str:
    ended = [run for run in tries if run.seen.ended]
    for run in tries:
        run.tries, run.left_out = len(tries), bool(ended) and not run.seen.ended
    if not ended:
        return f"none ended, so all results count: {named([run.seen.name for run in tries])}"
    others = [_with_failures(run.seen) for run in tries if run.left_out]
    counts = f"{named([run.seen.name for run in ended])} count{'s' if len(ended) == 1 else ''}"
    return f"{counts}; did not end: {'; '.join(others)}" if others else counts


def _with_failures(seen: Seen) -> str:
    bad = seen.bad
    return f"{seen.name} ({len(bad)} failed: {named(bad)})" if bad else seen.name


def choose_owners(family: Family, notices: list[str]) -> None:
    """Each test counts in the suite that has the worst result of it."""
    twice: dict[tuple[str, str], list[str]] = {}
    files: set[tuple[str, str]] = set()
    for run in family.runs:
        for number, suite in enumerate(run.seen.suites):
            family.suites.append((run, number))
            _own(family, suite, twice)
            _own_errors(run, number, suite, files)
    for (first, second), tests in twice.items():
        have = "1 test has" if len(tests) == 1 else f"{len(tests)} tests have"
        results = f"results in {first} and in {second}"
        notices.append(f"{have} {results}, and the worse one counts: {named(tests)}")


def _own(family: Family, suite: SeenSuite, twice: dict[tuple[str, str], list[str]]) -> None:
    """The last suite of the family owns the tests of which it has the worst result."""
    slot = len(family.suites) - 1
    run, number = family.suites[slot]
    if family.owners.keys().isdisjoint(suite.tests):  # nearly always
        family.owners.update(dict.fromkeys(suite.tests, slot))
        return
    for test, place in suite.tests.items():
        before = family.owners.setdefault(test, slot)
        if before == slot:
            continue
        other, its_number = family.suites[before]
        its_place = family.result(test)
        loser, lost = (other, its_number) if place > its_place else (run, number)
        if place > its_place:
            family.owners[test] = slot
        loser.dropped.setdefault(lost, set()).add(test)
        if place and its_place and other is not run:
            twice.setdefault((other.seen.name, run.seen.name), []).append(test)


def _own_errors(run: Counted, number: int, suite: SeenSuite, files: set[tuple[str, str]]) -> None:
    """One file that could not be collected, for one reason, is one error."""
    again = {file for file, why in suite.errors.items() if (file, why) in files}
    if again:
        run.errors = {**run.errors, number: again}
    files.update(suite.errors.items())
