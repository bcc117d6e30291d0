"""One order for all readers, whichever of them fails and when."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from support.streams import STARTED

import proctor
from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.result import RunResult

FACTS = (
    e.TestsSelected(("a", "b")),
    e.SuiteStarted("pytest", "", 2),
    e.TestStarted("a"),
    e.TestFinished("a", Outcome.PASSED),
    e.TestStarted("b"),
)
PARTS = [e.TestFinished(f"a/{number}", Outcome.PASSED, part_of="a") for number in range(3)]


class Reader:
    """Keeps what it is given, and fails at the entry or the tick with these numbers."""

    def __init__(self, name: str, at: int | None = None, tick: int | None = None) -> None:
        self.name, self._at, self._tick = name, at, tick
        self.seen: list[e.Entry] = []
        self._ticks = 0

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        if entry.seq == self._at:
            raise OSError("disk full")
        self.seen.append(entry)

    def tick(self, now: float, so_far: RunResult) -> None:
        self._ticks += 1
        if self._ticks == self._tick:
            raise ValueError("no clock")


class Whole(Reader):
    def handle_all(self, first: e.Entry, events: Sequence[e.Event], so_far: RunResult) -> None:
        assert first.event is events[0]
        for number, event in enumerate(events, first.seq):
            self.handle(e.Entry(number, first.at, first.suite, event), so_far)


def run(readers: list[Reader]) -> Relay:
    relay = Relay(STARTED, readers)
    relay.publish_all(FACTS, 1.0)
    relay.publish_all(PARTS, 2.0)
    relay.tick(2.5)
    relay.close(3.0)
    return relay


READERS = st.lists(
    st.builds(
        lambda kind, at, tick: kind("-o events=x", at, tick),
        st.sampled_from([Reader, Whole]),
        st.one_of(st.none(), st.integers(0, 16)),
        st.one_of(st.none(), st.integers(1, 3)),
    ),
    max_size=4,
)


@given(READERS)
def test_whichever_reader_fails_and_when_the_others_see_everything_in_order(readers: list[Reader]) -> None:
    healthy = [Reader("first"), Whole("last")]
    relay = run([healthy[0], *readers, healthy[1]])

    for reader in healthy:
        assert [entry.seq for entry in reader.seen] == list(range(len(reader.seen)))
        assert type(reader.seen[-1].event) is e.RunFinished
    assert healthy[0].seen == healthy[1].seen
    for reader in readers:
        assert [entry.seq for entry in reader.seen] == list(range(len(reader.seen)))
    failed = [sink for sink, _ in relay.faults]
    assert len(failed) == len({id(sink) for sink in failed})


@given(READERS)
def test_every_reader_that_fails_is_on_record_and_a_notice_says_so_before_the_verdict(
    readers: list[Reader],
) -> None:
    witness = Reader("witness")
    relay = run([witness, *readers])
    notices = [entry.event.text for entry in witness.seen if isinstance(entry.event, e.Noticed)]

    assert notices == relay.result.notices
    assert set(notices) <= {
        "-o events=x stopped: OSError: disk full",
        "-o events=x stopped: ValueError: no clock",
    }
    assert len(notices) <= len(relay.faults)


def test_a_reader_that_fails_at_the_last_entry_is_on_record_and_nothing_follows_the_verdict() -> None:
    healthy = Reader("healthy")
    relay = Relay(STARTED, [Reader("-o events=x", at=4), healthy])
    relay.publish_all((e.SuiteStarted("pytest", "", 0), e.ProcessExited(0)), 0.0)
    relay.close(1.0)

    assert [type(entry.event) for entry in healthy.seen][-2:] == [e.SuiteFinished, e.RunFinished]
    assert ([sink.name for sink, _ in relay.faults], relay.result.notices) == (["-o events=x"], [])
    assert relay.result.outcome is RunOutcome.CRASHED


def test_only_the_fold_writes_a_result() -> None:
    """Nothing else assigns to a result or changes what is in it."""
    fields = {*RunResult.__struct_fields__, "sessions", "selected", "deselected", "collectors", "errors"}
    changing = {"append", "extend", "update", "pop", "add", "clear", "setdefault", "insert", "remove"}
    found = []
    for path in Path(proctor.__file__).parent.rglob("*.py"):
        if path.name in ("fold.py", "result.py"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Attribute(value=owner, attr=field), attr=method)
                ) if method in changing and field in fields and _is_result(owner):
                    found.append(f"{path}:{node.lineno}")
                case ast.Assign(targets=[ast.Attribute(value=owner, attr=field)]) if _is_result(owner):
                    found.append(f"{path}:{node.lineno}")

    assert found == []


def _is_result(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in ("result", "so_far", "_result")


class Clerk(Reader):
    """Keeps the results and the times it is given, too."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.results: list[RunResult] = []
        self.times: list[float] = []

    def handle(self, entry: e.Entry, so_far: RunResult) -> None:
        super().handle(entry, so_far)
        self.results.append(so_far)

    def tick(self, now: float, so_far: RunResult) -> None:
        self.results.append(so_far)
        self.times.append(now)


class Bundler(Clerk):
    def handle_all(self, first: e.Entry, events: Sequence[e.Event], so_far: RunResult) -> None:
        self.results.append(so_far)


def test_every_reader_gets_the_result_so_far_with_entries_parts_and_ticks() -> None:
    readers = [Clerk("one"), Bundler("two")]
    relay = run([*readers])

    for reader in readers:
        assert all(result is relay.result for result in reader.results)
        assert reader.times == [2.5, 3.0]


def test_a_notice_about_a_reader_has_the_time_at_which_it_failed() -> None:
    witness = Reader("witness")
    run([witness, Reader("at an entry", at=3), Reader("at parts", at=7), Reader("at a tick", tick=1)])

    noticed = [
        (entry.event.text.split(" stopped")[0], entry.at)
        for entry in witness.seen
        if entry.seq and isinstance(entry.event, e.Noticed)
    ]
    assert noticed == [("at an entry", 1.0), ("at parts", 2.0), ("at a tick", 2.5)]


def test_a_suite_is_closed_at_its_own_time_and_readers_are_ticked() -> None:
    clerk = Clerk("clerk")
    relay = Relay(STARTED, [clerk])
    relay.publish_all(FACTS, 1.0)
    relay.close_suite(4.0, 0)

    assert [(type(entry.event), entry.at) for entry in clerk.seen[-2:]] == [
        (e.TestFinished, 4.0),
        (e.SuiteFinished, 4.0),
    ]
    assert clerk.times == [4.0]


def test_a_reader_of_batches_sees_what_others_see_and_the_result_is_the_same() -> None:
    batched, single = Whole("batched"), Reader("single")
    at_once, one_by_one = run([batched]), run([single])

    assert batched.seen == single.seen
    assert at_once.result.suites == one_by_one.result.suites
