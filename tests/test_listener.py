"""What one process writes becomes events, in each of the ways in which a process speaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.streams import STARTED, Recorder

from proctor import events as e
from proctor.launch import Artifact, Build, Launch, Lines, Program, Session, Speech, Text
from proctor.listen import listen
from proctor.listener import Listener, ProgramListener
from proctor.outcome import Outcome, RunOutcome
from proctor.process.process import Chunk
from proctor.running import Keeping, Running, Shelf
from proctor.wire.control.ledger import Limits


class Heard:
    """A run with one process that is listened to."""

    def __init__(self, shelf: Shelf) -> None:
        self.recorder, self.lines = Recorder(), [b""]
        self.run = Running(STARTED, [self.recorder], shelf, [self.lines.append], 0.0)
        self.run.enter(e.SuiteEntered("first", "first", (), "/p"))
        self.suite = self.run.enter(e.SuiteEntered("second", "second", (), "/p"))

    def listen(self, speech: Speech, name: str = "x") -> Listener:
        return listen(self.run, self.suite, Launch(("/x",), "/p", name, speech), Limits())

    @property
    def events(self) -> list[e.Event]:
        """Of the process's suite."""
        return [entry.event for entry in self.recorder.entries if entry.suite == self.suite][1:]

    def of(self, kind: type[e.Event]) -> list[e.Event]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[Heard]:
    with Shelf(tmp_path, "id", {}, Keeping(archive=False)) as shelf:
        yield Heard(shelf)


def result(**body: object) -> Chunk:
    raw = json.dumps(body).encode()
    return Chunk("control", b"result %d\n%b" % (len(raw), raw))


def facts(**body: object) -> Chunk:
    return result(status="error", partial=True, proctor=body)


SUITE = {"root": "/p"}


@pytest.mark.parametrize("code, outcome", [(0, Outcome.PASSED), (1, Outcome.FAILED), (-11, Outcome.CRASH)])
def test_a_program_is_judged_by_how_it_ends(heard: Heard, code: int, outcome: Outcome) -> None:
    listener = heard.listen(Program(), "/p.sh")
    listener.take(Chunk("stdout", b"hello\n"))
    listener.end(code)

    started, output, exited, finished = heard.events
    assert started == e.TestStarted("/p.sh")
    assert output == e.OutputReceived("stdout", "hello\n", "/p.sh")
    assert isinstance(exited, e.ProcessExited) and (exited.exit_code, exited.test) == (code, "/p.sh")
    assert isinstance(finished, e.TestFinished) and finished.outcome is outcome


def test_a_program_reports_parts_one_by_one_and_many_at_once(heard: Heard) -> None:
    listener = heard.listen(Program(), "/p.sh")
    listener.take(result(name="one", status="fail", note="no"))
    listener.take(result(name="two", status="pass"))
    listener.end(0)

    parts = {event.test: event.outcome for event in heard.of(e.TestFinished)}  # type: ignore[union-attr]
    assert parts == {"/p.sh/one": "failed", "/p.sh/two": "passed", "/p.sh": "passed"}
    assert [json.loads(line)["test"] for line in heard.lines[1:]] == ["/p.sh/one", "/p.sh/two", "/p.sh"]


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("before", ["pass", "fail"])
def test_a_status_that_is_taken_back_leaves_no_pass(heard: Heard, before: str, code: int) -> None:
    listener = heard.listen(Program(), "/p.sh")
    for name in ({}, {"name": "part"}):
        listener.take(result(status=before, partial=True, **name))
        listener.take(result(status=None, **name))
    listener.end(code)

    ended = {event.test: event.outcome for event in heard.of(e.TestFinished)}  # type: ignore[union-attr]
    assert ended == {"/p.sh": "error", "/p.sh/part": "error"}


def test_files_that_a_result_takes_back_are_not_those_of_the_next_of_its_name(heard: Heard) -> None:
    listener = heard.listen(Program(), "/p.sh")
    raw = result(name="x", status="error", partial=True, files=[{"name": "f", "length": 1}])
    listener.take(Chunk("control", raw.data + b"1"))
    listener.take(result(name="x", status="pass", files=None))
    listener.take(result(name="x", status="pass"))
    listener.end(0)

    assert [event.files for event in heard.of(e.TestFinished)] == [(), (), ()]  # type: ignore[union-attr]


def test_many_results_of_a_program_are_told_in_their_order_with_their_files(heard: Heard) -> None:
    listener = heard.listen(Program(), "/p.sh")
    with_file = result(name="b", status="fail", note="no", files=[{"name": "f", "length": 2}]).data + b"xy"
    parts = [result(name=name, status="pass", note=name).data for name in "acd"]
    listener.take(Chunk("control", b"".join([parts[0], with_file, *parts[1:], parts[0]])))
    listener.end(0)

    told = [(event.test, len(event.files)) for event in heard.of(e.TestFinished)]  # type: ignore[union-attr]
    names = ["/p.sh/a", "/p.sh/b", "/p.sh/c", "/p.sh/d", "/p.sh/a#2", "/p.sh"]
    assert told == [(name, int(name == "/p.sh/b")) for name in names]
    kept = [json.loads(line) for line in b"".join(heard.lines).splitlines()]
    assert [(line["test"], line.get("note")) for line in kept[:3]] == [
        ("/p.sh/a", "a"),
        ("/p.sh/b", "no"),
        ("/p.sh/c", "c"),
    ]


def test_a_program_that_breaks_the_rules_of_the_channel_is_no_pass_and_is_heard_no_more(heard: Heard) -> None:
    listener = heard.listen(Program(), "/p.sh")
    listener.take(Chunk("control", b"garbage\n"))

    assert listener.deaf
    listener.end(0)
    assert heard.of(e.ChannelBroken) == []
    assert heard.run.result.tests["/p.sh"].outcome is Outcome.ERROR


def test_a_session_that_breaks_the_rules_of_the_channel_is_not_trusted(heard: Heard) -> None:
    listener = heard.listen(Session())
    listener.take(Chunk("control", b"garbage\n"))

    (broken,) = heard.of(e.ChannelBroken)
    assert isinstance(broken, e.ChannelBroken) and broken.reason.startswith("control channel: ")


def test_a_session_may_close_the_channel_only_after_its_end(heard: Heard) -> None:
    early = heard.listen(Session())
    early.lose_channel()  # before there is a session
    assert heard.of(e.ChannelBroken) == []
    early.take(facts(suite=SUITE))
    early.lose_channel()
    assert heard.of(e.ChannelBroken) == [
        e.ChannelBroken("the control channel was closed before the session finished")
    ]


def test_a_session_that_finished_may_close_the_channel(heard: Heard) -> None:
    listener = heard.listen(Session())
    listener.take(facts(suite=SUITE, finished={"exit_status": 0}))
    listener.lose_channel()

    assert heard.of(e.ChannelBroken) == []


def test_what_a_session_says_that_cannot_be_understood_breaks_it(heard: Heard) -> None:
    heard.listen(Session()).take(facts(suite={"root": 7}))

    (broken,) = heard.of(e.ChannelBroken)
    assert isinstance(broken, e.ChannelBroken) and "is not understood" in broken.reason


def test_the_exit_status_of_a_session_is_explained_before_the_end_of_its_process(heard: Heard) -> None:
    listener = heard.listen(Session())
    listener.take(Chunk("stderr", b"ERROR: no such file\n"))
    listener.end(4)

    assert heard.events[-2:] == [
        e.StatusExplained(RunOutcome.USAGE_ERROR, "no such file"),
        e.ProcessExited(4),
    ]


def test_the_last_words_of_an_interpreter_are_told_when_it_died(heard: Heard) -> None:
    listener = heard.listen(Session())
    dump = b'Fatal Python error: Segmentation fault\n\nCurrent thread:\n  File "/p/t.py", line 3 in f\n'
    listener.take(Chunk("stderr", dump))
    listener.end(-11)

    (fault,) = heard.of(e.FaultTraced)
    assert isinstance(fault, e.FaultTraced) and fault.places == (e.Place("t.py", 3),)
    assert heard.events[-1] == e.ProcessExited(-11, "SIGSEGV")


def test_a_process_whose_end_was_not_seen_has_no_end(heard: Heard) -> None:
    heard.listen(Session()).end(None)

    assert heard.of(e.ProcessExited) == []


def test_lines_on_stdout_are_tests_and_no_output(heard: Heard) -> None:
    listener = heard.listen(Lines("tap", "x::"))
    assert not listener.heeds_maxfail
    listener.take(Chunk("stdout", b"1..1\nok 1 - a\n"))
    listener.take(Chunk("stderr", b"beside it\n"))
    listener.end(5)

    assert [event.test for event in heard.of(e.TestFinished)] == ["x::a"]  # type: ignore[union-attr]
    assert heard.of(e.OutputReceived) == [e.OutputReceived("stderr", "beside it\n")]
    assert heard.of(e.StatusExplained) == []  # 5 is no word of TAP


def test_a_build_says_what_it_made_and_why_it_could_not(heard: Heard) -> None:
    listener = heard.listen(Build("cargo-build"))
    assert listener.heeds_maxfail
    listener.take(Chunk("stderr", b"error: no such package\n"))
    listener.end(101)

    assert heard.of(e.StatusExplained) == [e.StatusExplained(RunOutcome.COLLECTION_ERROR, "no such package")]
    assert listener.artifacts == () or isinstance(listener.artifacts[0], Artifact)


def test_the_text_of_an_old_pytest_is_tests_and_output(heard: Heard) -> None:
    listener = heard.listen(Text())
    listener.take(
        Chunk("stdout", b"collected 1 item\n\nt.py::test_a PASSED [100%]\n\n== 1 passed in 0.01s ==\n")
    )
    listener.end(0)

    assert [event.test for event in heard.of(e.TestFinished)] == ["t.py::test_a"]  # type: ignore[union-attr]
    assert heard.of(e.OutputReceived)


def test_letters_that_arrive_in_two_pieces_are_whole(heard: Heard) -> None:
    listener = heard.listen(Session())
    for piece in ("ü".encode()[:1], "ü".encode()[1:]):
        listener.take(Chunk("stdout", piece))

    assert heard.of(e.OutputReceived) == [e.OutputReceived("stdout", "ü")]


def test_a_large_file_goes_past_us_and_a_small_one_does_not(heard: Heard) -> None:
    for size, diverted in ((1 << 20, True), (10, False)):
        listener = heard.listen(Program(), f"/p{size}")
        body = result(name="r", status="pass", files=[{"name": "f", "length": size}])
        listener.take(body)
        assert (listener.diversion is not None) is diverted


def test_a_program_may_ask_for_more_time(heard: Heard) -> None:
    listener = heard.listen(Program(duration=10.0), "/p.sh")
    now = heard.run.now()
    assert isinstance(listener, ProgramListener)
    assert (listener.allowance.remaining(now) or 0) <= 10.0
    listener.take(Chunk("control", b"duration 1h\n"))

    assert (listener.allowance.remaining(now) or 0) > 3000
