"""One run over an Executor: whatever that does, each test has one result or is known to have none."""

from __future__ import annotations

import base64
import json
import os
import sys
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.engines import (
    Inline,
    Never,
    answer_of,
    dispatched,
    ends_of,
    facts,
    passes,
    plan_of,
)
from support.streams import Recorder

from proctor import events as e
from proctor.engines.engine import PlainEngine
from proctor.engines.host import Live
from proctor.engines.lease import Watched
from proctor.engines.project import Shipping
from proctor.engines.shard_log import unpack
from proctor.engines.task import Answer, Task, decode_task, encode_answer
from proctor.outcome import Outcome, RunOutcome
from proctor.plan_run import Asked
from proctor.process.stop import Stop

TWO = plan_of("a.py::a a.py::b", "c.py::c")
ONE = plan_of("a.py::a")
PASSED = dict.fromkeys(("a.py::a", "a.py::b", "c.py::c"), "passed")


def first_shard(data: dict[str, Any]) -> bool:
    return decode_task(data).shard == 1


class Sometimes:
    """Work that comes to nothing the first times that the first shard is tried."""

    def __init__(self, times: int, badly: Callable[[dict[str, Any]], Any]) -> None:
        self.tries, self._times, self._badly = 0, times, badly

    def __call__(self, data: dict[str, Any]) -> dict[str, Any]:
        if first_shard(data):
            self.tries += 1
            if self.tries <= self._times:
                badly: dict[str, Any] = self._badly(data)
                return badly
        return passes(data)


def gone(data: dict[str, Any]) -> Any:
    raise ConnectionError("worker tcp://10.0.0.1 is gone")


def interrupted(data: dict[str, Any]) -> Any:
    raise KeyboardInterrupt


def of_another_try(data: dict[str, Any]) -> Any:
    task = decode_task(data)
    return answer_of(msgspec.structs.replace(task, attempt="other"), facts(task))


def of_another_shard(data: dict[str, Any]) -> Any:
    task = decode_task(data)
    return answer_of(task, [e.TestsPlanned(("c.py::c",)), *facts(task)[1:]])


def repacked(data: dict[str, Any], change: Callable[[bytes], bytes]) -> Any:
    found = passes(data)
    answer = json.loads(found["json"])
    answer["log"] = base64.b64encode(zlib.compress(change(unpack(answer["log"])))).decode()
    return {**found, "json": json.dumps(answer)}


def cut(data: dict[str, Any]) -> Any:
    return repacked(data, lambda log: log[: len(log) // 2])


def without_its_end(data: dict[str, Any]) -> Any:
    return repacked(data, lambda log: b"".join(log.splitlines(keepends=True)[:-1]))


def twice_in_one(data: dict[str, Any]) -> Any:
    return repacked(data, lambda log: log + log)


def with_a_suite_from_nowhere(data: dict[str, Any]) -> Any:
    return repacked(data, lambda log: log.replace(b'"type":"start"', b'"suite":7,"type":"start"'))


def of_another_version(data: dict[str, Any]) -> Any:
    return {**passes(data), "proctor": "0.0.1"}


NO_ANSWERS = [
    gone,
    interrupted,
    cut,
    without_its_end,
    twice_in_one,
    of_another_try,
    of_another_shard,
    of_another_version,
    lambda data: None,
    lambda data: {},
    lambda data: {"proctor": 1, "json": b"\0"},
    lambda data: {**passes(data), "json": "{"},
    lambda data: {**passes(data), "json": '{"attempt": 1}'},
    lambda data: data,
]


@pytest.mark.parametrize("badly", NO_ANSWERS)
def test_a_shard_that_returns_no_answer_of_its_own_runs_again(badly: Any, tmp_path: Path) -> None:
    work = Sometimes(2, badly)

    result = dispatched(TWO, lambda: Inline(work), tmp_path)

    assert (result.outcome, ends_of(result), work.tries) == (RunOutcome.PASSED, PASSED, 3)
    assert {suite.name: suite.entered.tries for suite in result.suites} == {"pytest 1/2": 3, "pytest 2/2": 1}
    assert sum(notice.startswith("shard 1/2 starts again: ") for notice in result.notices) == 2


def test_a_notice_says_what_is_wrong_and_names_the_worker_once(tmp_path: Path) -> None:
    invalid = dispatched(TWO, lambda: Inline(Sometimes(1, cut)), tmp_path).notices
    lost = dispatched(TWO, lambda: Inline(Sometimes(1, gone)), tmp_path).notices

    assert invalid[0].startswith("shard 1/2 starts again: its answer is not valid: ")
    assert all(notice.count("(worker ") <= 1 for notice in (*invalid, *lost))
    assert "is not valid" not in lost[0]


@pytest.mark.parametrize("badly", [gone, cut, of_another_shard, lambda data: None])
def test_after_three_tries_the_tests_of_a_shard_are_not_run_and_the_run_is_incomplete(
    badly: Any, tmp_path: Path
) -> None:
    work = Sometimes(9, badly)

    result = dispatched(TWO, lambda: Inline(work), tmp_path)

    assert (result.outcome, result.exit_code, work.tries) == (RunOutcome.INCOMPLETE, 2, 3)
    assert (ends_of(result), result.not_run) == ({"c.py::c": "passed"}, ("a.py::a", "a.py::b"))
    assert "shard 1/2 did not run: " in result.reason


def test_an_answer_that_says_why_it_could_not_run_is_final(tmp_path: Path) -> None:
    def refuses(data: dict[str, Any]) -> Any:
        return encode_answer(Answer(decode_task(data).attempt, "w7", error="no interpreter has pytest"))

    result = dispatched(TWO, lambda: Inline(Sometimes(9, refuses)), tmp_path)

    reason = "pytest 1/2: shard 1/2 did not run: no interpreter has pytest (worker w7)"
    assert (result.outcome, result.reason) == (RunOutcome.INCOMPLETE, reason)
    assert {suite.entered.tries for suite in result.suites} == {1}


def test_a_record_that_claims_more_than_its_facts_is_judged_by_these(tmp_path: Path) -> None:
    def claims(data: dict[str, Any]) -> Any:
        task = decode_task(data)
        left_out = [fact for fact in facts(task) if fact != e.TestFinished("a.py::b", Outcome.PASSED)]
        end = e.SuiteFinished(RunOutcome.PASSED, 1.0)
        return answer_of(task, [*left_out, end, e.RunFinished(RunOutcome.PASSED)])

    result = dispatched(TWO, lambda: Inline(Sometimes(9, claims)), tmp_path)

    assert result.outcome is RunOutcome.INCOMPLETE
    assert ends_of(result) == {"a.py::a": "passed", "c.py::c": "passed"}


def test_a_shard_whose_worker_lacks_the_project_runs_again_with_it_and_no_try_is_counted(
    tmp_path: Path,
) -> None:
    archive = Shipping(tmp_path, os.environ, elsewhere=True).project(with_files=True).archive
    asked_for: list[str] = []

    def lacks(data: dict[str, Any]) -> Any:
        task = decode_task(data)
        asked_for.append(task.project.archive)
        if not task.project.archive:
            return encode_answer(Answer(task.attempt, needs_project=True))
        return passes(data)

    result = dispatched(TWO, lambda: Inline(lacks), tmp_path)

    assert (result.outcome, ends_of(result)) == (RunOutcome.PASSED, PASSED)
    assert sorted(asked_for) == ["", "", archive, archive]
    assert {suite.entered.tries for suite in result.suites} == {1}


def test_a_worker_that_wants_the_project_again_and_again_is_given_up(tmp_path: Path) -> None:
    def wants(data: dict[str, Any]) -> Any:
        return encode_answer(Answer(decode_task(data).attempt, needs_project=True))

    result = dispatched(TWO, lambda: Inline(wants), tmp_path)

    assert (result.outcome, len(result.not_run)) == (RunOutcome.INCOMPLETE, 3)


class Refuses(Executor):
    def __init__(self, error: Exception) -> None:
        self.asked, self._error = 0, error

    def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        del function, arguments, more
        self.asked += 1
        raise self._error


@pytest.mark.parametrize(
    "error", [RuntimeError("cannot schedule new futures after shutdown"), BrokenExecutor("broken from birth")]
)
def test_an_executor_that_takes_nothing_ends_the_run_and_says_why(error: Exception, tmp_path: Path) -> None:
    result = dispatched(TWO, lambda: Refuses(error), tmp_path)

    assert (result.outcome, len(result.not_run)) == (RunOutcome.INCOMPLETE, 3)
    assert str(error) in result.reason


def test_what_submit_returns_must_be_a_future(tmp_path: Path) -> None:
    executor = Inline()
    executor.submit = lambda *_: "soon"  # type: ignore[method-assign, assignment]

    result = dispatched(TWO, lambda: executor, tmp_path)

    assert (result.outcome, len(result.not_run)) == (RunOutcome.INCOMPLETE, 3)
    assert "submit returned str: expected a concurrent.futures.Future" in result.reason


class EndsBadly(Inline):
    """Does its work, and cannot be shut down."""

    def __init__(self, end: Callable[[], object]) -> None:
        super().__init__()
        self._end = end

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        del wait, cancel_futures
        self._end()


@pytest.mark.parametrize("end", [lambda: sys.exit(0), lambda: 1 / 0, threading.Event().wait])
def test_an_executor_that_cannot_be_shut_down_costs_no_result(
    end: Callable[[], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.engines.engine._CLOSE", 0.2)

    result = dispatched(TWO, lambda: EndsBadly(end), tmp_path)

    assert (result.outcome, ends_of(result)) == (RunOutcome.PASSED, PASSED)


class Early(Inline):
    """Says that a call is over before it is."""

    def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        del function, arguments, more
        return Hasty()


class Hasty(Future[Any]):
    def add_done_callback(self, function: Callable[[Future[Any]], object]) -> None:
        function(self)


def test_a_future_that_says_too_early_that_it_is_done_is_lost_and_not_waited_for(tmp_path: Path) -> None:
    result = dispatched(TWO, Early, tmp_path)

    assert (result.outcome, len(result.not_run)) == (RunOutcome.INCOMPLETE, 3)


class Pool(Executor):
    """Breaks with everything that it has when it comes to a shard that kills its worker, as a process pool
    does; like that, it begins a few and holds the others back."""

    def __init__(self, poison: set[int], at_once: int = 2) -> None:
        self._poison, self._at_once = poison, at_once
        self._has: list[tuple[Task, Future[Any], dict[str, Any]]] = []
        self._broken, self._one_by_one = False, threading.Lock()

    def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        del function, more
        future: Future[Any] = Future()
        with self._one_by_one:
            if self._broken:
                raise BrokenExecutor("broken")
            self._has.append((decode_task(arguments[0]), future, arguments[0]))
        threading.Timer(0.05, self._work).start()  # what comes together is there together
        return future

    def _work(self) -> None:
        with self._one_by_one:
            while self._has:
                begun, left = self._has[: self._at_once], self._has[self._at_once :]
                for task, _, _ in begun:
                    lease = Watched(task.lease, task.secret)
                    lease.begin(task.attempt, f"worker of {task.shard}")
                    lease.close()
                if any(task.shard in self._poison for task, _, _ in begun):
                    self._broken, left = True, []
                    for _, future, _ in self._has:
                        future.set_exception(BrokenExecutor("a process was terminated"))
                else:
                    for _, future, data in begun:
                        future.set_result(passes(data))
                self._has = left


def test_a_shard_that_kills_its_worker_costs_no_other_shard_its_tries(tmp_path: Path) -> None:
    plan = plan_of(*(f"{name}.py::{name}" for name in "abcdef"))

    result = dispatched(plan, lambda: Pool({2}, at_once=2), tmp_path)

    assert result.outcome is RunOutcome.INCOMPLETE
    assert result.not_run == ("b.py::b",)
    assert ends_of(result) == {f"{name}.py::{name}": "passed" for name in "acdef"}
    tries = {suite.name: suite.entered.tries for suite in result.suites}
    assert tries.pop("pytest 2/6") == 3
    assert sorted(tries.values())[:4] == [1, 1, 1, 1]  # at most one other had begun with it
    assert max(tries.values()) <= 2
    assert "worker of 2" in result.reason


def test_several_of_them_are_found_one_by_one(tmp_path: Path) -> None:
    plan = plan_of(*(f"{name}.py::{name}" for name in "abcdefgh"))

    result = dispatched(plan, lambda: Pool({1, 4, 8}, at_once=3), tmp_path)

    assert set(result.not_run) == {"a.py::a", "d.py::d", "h.py::h"}
    assert ends_of(result) == {f"{name}.py::{name}": "passed" for name in "bcefg"}


def test_workers_that_cannot_be_seen_are_all_suspected(tmp_path: Path) -> None:
    class Far(Pool):
        def _work(self) -> None:
            with self._one_by_one:
                for number, (task, future, data) in enumerate(self._has):
                    self._has[number] = msgspec.structs.replace(task, lease="/nowhere"), future, data
            super()._work()

    plan = plan_of(*(f"{name}.py::{name}" for name in "abcd"))

    result = dispatched(plan, lambda: Far({3}), tmp_path)

    assert result.not_run == ("c.py::c",)
    assert ends_of(result) == {f"{name}.py::{name}": "passed" for name in "abd"}


def test_an_engine_that_has_no_second_executor_ends_the_run(tmp_path: Path) -> None:
    made: list[Executor] = []

    def factory() -> Executor:
        if made:
            raise OSError("no more machines")
        made.append(Pool({1}))
        return made[0]

    result = dispatched(TWO, factory, tmp_path)

    assert (result.outcome, len(result.not_run)) == (RunOutcome.INCOMPLETE, 3)
    assert "no more machines" in result.reason


class Made(PlainEngine):
    """An engine with abilities."""

    def __init__(self, executor: Executor, lack: str = "") -> None:
        super().__init__("made", lambda: executor)
        self._lack, self.closed = lack, False

    def listen(self, live: Live) -> str:
        self.send = live
        return "made:"

    def lack(self) -> str:
        return self._lack

    def close(self) -> None:
        super().close()
        self.closed = True


def test_an_engine_without_workers_ends_the_run_after_a_while(tmp_path: Path) -> None:
    engine = Made(Never(), lack="no worker at made")

    result = dispatched(TWO, Never, tmp_path, engine=engine, no_worker=0.2)

    assert (result.outcome, result.exit_code, len(result.not_run)) == (RunOutcome.INCOMPLETE, 2, 3)
    assert "no worker at made for 0.2 s" in result.reason
    assert engine.closed


def test_an_engine_that_lacks_nothing_is_waited_for(tmp_path: Path) -> None:
    result = dispatched(TWO, Never, tmp_path, engine=Made(Never()), no_worker=0.1, timeout=1.0)

    assert result.outcome is RunOutcome.TIMEOUT


@pytest.mark.parametrize("asked", [(RunOutcome.INTERRUPTED,) * 2, (RunOutcome.CANCELLED,)])
def test_futures_that_never_complete_do_not_keep_a_run_from_its_end(
    asked: tuple[RunOutcome, ...], tmp_path: Path
) -> None:
    stop = Stop()
    for reason in asked:
        stop.ask(reason)

    result = dispatched(TWO, Never, tmp_path, stop=stop)
    stop.close()

    assert (result.outcome, len(result.not_run)) == (asked[0], 3)


class Blocks(Executor):
    def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
        del function, arguments, more
        threading.Event().wait()
        raise AssertionError


def test_a_submit_that_blocks_does_not_either(tmp_path: Path) -> None:
    stop = Stop()
    stop.ask(RunOutcome.CANCELLED)

    result = dispatched(TWO, Blocks, tmp_path, stop=stop)
    stop.close()

    assert (result.outcome, len(result.not_run)) == (RunOutcome.CANCELLED, 3)


def test_what_was_returned_before_the_end_is_kept(tmp_path: Path) -> None:
    stop = Stop()

    class Half(Inline):
        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            if first_shard(arguments[0]):
                return super().submit(function, *arguments, **more)
            return Future()

    class Asks(Recorder):
        def handle(self, entry: e.Entry, so_far: Any) -> None:
            if isinstance(entry.event, e.SuiteFinished):
                stop.ask(RunOutcome.INTERRUPTED)
                stop.ask(RunOutcome.INTERRUPTED)

    result = dispatched(TWO, Half, tmp_path, (Asks(),), stop)
    stop.close()

    assert result.outcome is RunOutcome.INTERRUPTED
    assert (ends_of(result), result.not_run) == (
        {"a.py::a": "passed", "a.py::b": "passed"},
        ("c.py::c",),
    )


def test_shards_that_come_back_late_or_twice_change_nothing(tmp_path: Path) -> None:
    class Late(Inline):
        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            super().submit(function, *arguments, **more)  # at least once, they say
            return super().submit(function, *arguments, **more)

    result = dispatched(TWO, Late, tmp_path)

    assert (result.outcome, ends_of(result), len(result.suites)) == (RunOutcome.PASSED, PASSED, 2)


def fails(data: dict[str, Any]) -> dict[str, Any]:
    task = decode_task(data)
    return answer_of(task, facts(task, {"a.py::a": Outcome.FAILED}))


def test_enough_failures_in_one_shard_end_the_others_as_they_end_any_run(tmp_path: Path) -> None:
    class Slow(Inline):
        """The second shard runs until it is recalled: c has passed by then, and d is running."""

        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            if first_shard(arguments[0]):
                return super().submit(function, *arguments, **more)
            future: Future[Any] = Future()
            future.set_running_or_notify_cancel()
            threading.Thread(target=self._wait, args=(arguments[0], future)).start()
            return future

        def _wait(self, data: dict[str, Any], future: Future[Any]) -> None:
            task = decode_task(data)
            lease = Watched(task.lease, task.secret)
            while lease.ended() is None:
                threading.Event().wait(0.01)
            lease.close()
            begun = facts(task)[:4]
            ran: list[e.Event] = [e.TestStarted("c.py::c"), e.TestFinished("c.py::c", Outcome.PASSED)]
            ran += [e.TestStarted("c.py::d"), e.RunStopped(RunOutcome.CANCELLED), e.ProcessExited(-9)]
            future.set_result(answer_of(task, [*begun, *ran]))

    asked = Asked(root=tmp_path, archive=False, history=False, maxfail=1)
    plan = plan_of("a.py::a", "c.py::c c.py::d c.py::e")

    result = dispatched(plan, lambda: Slow(fails), tmp_path, asked=asked)

    assert (result.outcome, result.exit_code) == (RunOutcome.FAILED, 1)
    assert ends_of(result) == {"a.py::a": "failed", "c.py::c": "passed"}
    assert set(result.not_run) == {"c.py::d", "c.py::e"}
    assert "stopped after 1 failure" in result.reason


def test_shards_that_wait_for_their_turn_never_start_after_enough_failures(tmp_path: Path) -> None:
    asked = Asked(root=tmp_path, archive=False, history=False, maxfail=1)

    class One(Inline):
        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            if first_shard(arguments[0]):
                return super().submit(function, *arguments, **more)
            return Future()

    result = dispatched(TWO, lambda: One(fails), tmp_path, asked=asked)

    assert (result.outcome, result.not_run) == (RunOutcome.FAILED, ("c.py::c",))


def test_readers_see_live_events_before_the_answer_and_the_result_does_not(tmp_path: Path) -> None:
    seen: list[tuple[int, int, list[str]]] = []

    class Watching(Recorder):
        def tick(self, now: float, so_far: Any) -> None:
            seen.append((so_far.done, so_far.expected, list(so_far.running)))
            if "a.py::b" in so_far.running:
                shown.set()

    class Sends(Inline):
        """Sends the beginning of a log, garbage after it, and then an answer in which it failed."""

        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            task = decode_task(arguments[0])
            if task.shard == 2:
                return super().submit(function, *arguments, **more)
            future: Future[Any] = Future()
            threading.Thread(target=self._send, args=(task, arguments[0], future)).start()
            return future

        def _send(self, task: Task, data: dict[str, Any], future: Future[Any]) -> None:
            begun = [*facts(task)[:5], e.TestStarted("a.py::b")]
            lines = unpack(_log(answer_of(task, begun))).splitlines(keepends=True)
            engine.send(task.attempt, b"".join(lines[:7]).decode())
            engine.send("of nobody", "nothing")
            assert shown.wait(60)
            engine.send(task.attempt, '{"type": "nonsense"\n')
            future.set_result(fails(data))

    shown = threading.Event()
    engine = Made(Sends())

    result = dispatched(TWO, Sends, tmp_path, (Watching(),), engine=engine, timeout=60.0)

    assert any(total == 3 and "a.py::b" in running for _, total, running in seen)
    assert ends_of(result) == {**PASSED, "a.py::a": "failed"}


class Moments(Recorder):
    """When suites and tests ended."""

    def of(self, kind: type[e.Event]) -> list[float]:
        return [entry.at for entry in self.entries if isinstance(entry.event, kind)]


def timed(data: dict[str, Any], *changes: tuple[str, str]) -> Any:
    """An answer whose log has other times."""

    def change(log: bytes) -> bytes:
        for old, new in changes:
            log = log.replace(f'"at":{old},'.encode(), f'"at":{new},'.encode())
        return log

    return repacked(data, change)


def test_what_a_shard_did_has_its_own_times_in_the_run(tmp_path: Path) -> None:
    moments = Moments()
    changes = ("1.0", "0.0002"), ("0.0", "0.0001")

    dispatched(ONE, lambda: Inline(lambda data: timed(data, *changes)), tmp_path, (moments,))

    (suite,), (end,) = moments.of(e.SuiteEntered), moments.of(e.SuiteFinished)
    assert end - suite == pytest.approx(0.0001, abs=1e-6)
    assert moments.of(e.TestFinished) == [pytest.approx(suite, abs=1e-6)]


@pytest.mark.parametrize("odd", ["-1e300", "1e300"])
def test_times_that_cannot_be_are_within_the_run(odd: str, tmp_path: Path) -> None:
    moments = Moments()

    result = dispatched(ONE, lambda: Inline(lambda data: timed(data, ("0.0", odd))), tmp_path, (moments,))

    assert ends_of(result) == {"a.py::a": "passed"}
    assert all(0.0 <= entry.at <= result.seconds for entry in moments.entries)


def _log(answer: dict[str, Any]) -> str:
    log: str = json.loads(answer["json"])["log"]
    return log


def test_failures_that_were_only_seen_live_stop_the_others_too(tmp_path: Path) -> None:
    class Sends(Executor):
        def submit(self, function: Any, /, *arguments: Any, **more: Any) -> Future[Any]:
            task = decode_task(arguments[0])
            if task.shard == 1:
                log = unpack(_log(fails(arguments[0]))).splitlines(keepends=True)
                engine.send(task.attempt, b"".join(log[:-2]).decode())
            return Future()

    engine = Made(Sends())
    asked = Asked(root=tmp_path, archive=False, history=False, maxfail=1)

    result = dispatched(TWO, Sends, tmp_path, engine=engine, asked=asked)

    assert (result.outcome, set(result.not_run)) == (RunOutcome.FAILED, set(PASSED))
