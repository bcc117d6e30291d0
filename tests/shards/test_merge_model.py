"""Any plan, any results, shards lost, doubled or cut, in any order: the merge agrees with a plain model."""

from __future__ import annotations

from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from msgspec import json
from support.shard_runs import MERGED, events_of, log_of, merged, merged_log, plan_of

from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.relay import Relay
from proctor.result import RunResult
from proctor.shards.part import planned
from proctor.shards.plan import Plan
from proctor.wire.document import writer

WORDS = (Outcome.PASSED, Outcome.XFAILED, Outcome.SKIPPED, Outcome.FAILED, Outcome.ERROR)  # better ones first


class Try(NamedTuple):
    """One run of a shard."""

    shard: int
    results: dict[str, Outcome]
    ended: bool


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    counts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    return plan_of(*([f"t{shard}.py::{test}" for test in range(count)] for shard, count in enumerate(counts)))


@st.composite
def tries(draw: st.DrawFn) -> tuple[Plan, list[Try]]:
    plan = draw(plans())
    found = []
    for number in draw(st.lists(st.integers(1, len(plan.shards)), min_size=1, max_size=6)):
        tests = plan.shards[number - 1].tests
        results = {test: draw(st.sampled_from(WORDS)) for test in tests if draw(st.integers(0, 9))}
        found.append(Try(number, results, draw(st.booleans()) or not results))
    return plan, found


def _log(plan: Plan, one: Try, at: int) -> bytes:
    log = log_of(events_of(one.results), planned(plan, one.shard), f"run-{at}", at)
    return log if one.ended else b"".join(log.splitlines(keepends=True)[:-2])


def _model(plan: Plan, runs: list[Try], with_plan: bool) -> tuple[dict[str, Outcome], bool]:
    """The worst result of each test, and whether everything is there. Only the plan itself can show that a
    shard has no tests; the last one must be there all the same, because it looks for new tests."""
    results: dict[str, Outcome] = {}
    complete = True
    for number, shard in enumerate(plan.shards, 1):
        mine = [one for one in runs if one.shard == number]
        whole = [one for one in mine if one.ended and set(one.results) == set(shard.tests)]
        needed = bool(mine or shard.tests) or not with_plan or number == len(plan.shards)
        complete = complete and (bool(whole) or not needed)
        for one in whole or mine:
            for test, outcome in one.results.items():
                results[test] = max(results.get(test, WORDS[0]), outcome, key=WORDS.index)
    return results, complete


@given(tries(), st.booleans())
def test_a_merge_agrees_with_the_model(given_runs: tuple[Plan, list[Try]], with_plan: bool) -> None:
    plan, runs = given_runs
    result = merged(*(_log(plan, one, at) for at, one in enumerate(runs)), plan=plan if with_plan else None)
    results, complete = _model(plan, runs, with_plan)

    assert {name: test.outcome for name, test in result.tests.items()} == results
    assert (result.outcome is RunOutcome.INCOMPLETE) is not complete
    if complete:
        bad = any(outcome in BAD for outcome in results.values())
        passed = RunOutcome.PASSED if results else RunOutcome.NO_TESTS
        assert result.outcome is (RunOutcome.FAILED if bad else passed)
    if with_plan:
        everything = {test for shard in plan.shards for test in shard.tests}
        assert {*result.tests, *result.not_run} == everything


@given(tries())
def test_a_merged_log_is_the_same_run_when_it_is_merged_again(given_runs: tuple[Plan, list[Try]]) -> None:
    plan, runs = given_runs
    logs = [_log(plan, one, at) for at, one in enumerate(runs)]
    first, again = merged(*logs), merged(merged_log(*logs))

    assert (again.outcome, again.reason, again.tests, again.not_run) == (
        first.outcome,
        first.reason,
        first.tests,
        first.not_run,
    )


@given(plans().filter(lambda plan: plan.total), st.data())
def test_shards_in_any_order_are_the_document_of_the_run_in_one_piece(
    plan: Plan, data: st.DataObject
) -> None:
    names = [test for shard in plan.shards for test in shard.tests]
    results = {name: data.draw(st.sampled_from(WORDS)) for name in names}
    logs = [
        log_of(
            events_of({test: results[test] for test in shard.tests}), planned(plan, number), f"run-{number}"
        )
        for number, shard in enumerate(plan.shards, 1)
    ]

    assert _facts(merged(*data.draw(st.permutations(logs)))) == _facts(_unsharded(results))


def _unsharded(results: dict[str, Outcome]) -> RunResult:
    relay = Relay(MERGED, [])
    for event in events_of(results):
        relay.publish(event, 0.5)
    return relay.close(1.0)


def _facts(result: RunResult) -> dict[str, Any]:
    """The document without suites and times."""
    document = json.decode(b"".join(writer.chunks(result, lambda path: path)))
    tests = [test | {"suite": ""} for test in document["tests"]]
    summary = document["summary"] | {"duration": 0.0}
    shared = ("outcome", "exit_code", "signal", "notices", "collection_errors", "warnings", "not_run")
    found = {name: document[name] for name in shared}
    return {**found, "summary": summary, "tests": sorted(tests, key=lambda test: str(test["node_id"]))}
