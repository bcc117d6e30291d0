"""Every text about the same runs, word for word: what each reader makes of every kind of fact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from support.full_runs import CASES, STARTED, result_of
from support.golden import agree
from support.histories import HISTORIES
from support.made_runs import failed, passed
from support.streams import StringWriter, publish_suites

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay, Sink
from proctor.render.agent import Detail, agent_text
from proctor.render.agent_budget import agent_text_within
from proctor.render.dots import Dots
from proctor.render.github import annotations_of, step_summary, write_github_log
from proctor.render.human import report_text
from proctor.render.libtest import Libtest
from proctor.render.line_per_test import LinePerTest
from proctor.render.masking import Masked, masked_values
from proctor.render.outcome_tree import write_outcome_tree
from proctor.render.plain_log import PlainLog
from proctor.render.result_index import failure_index
from proctor.render.summary import write_summary
from proctor.render.writer import Tone, Writer
from proctor.result import RunResult

GOLDEN = Path(__file__).parent / "golden" / "texts"

LONG = "\n".join(f"line {number}" for number in range(60))
HARNESS = "".join(f'  File "/lib/_pytest/x.py", line {n} in run\n' for n in range(4))
OTHER = e.Place("lib.py", 7)
IN_TEST = e.Place("t.py", 5)


def phase(message: str, when: str = "call", subtest: str | None = None, **more: object) -> e.Phase:
    kind, colon, _ = message.partition(": ")
    kind = str(more.pop("type", kind if colon and kind.isidentifier() else ""))
    facts = {
        name: more.pop(name) for name in ("longrepr", "stdout", "stderr", "log", "tails") if name in more
    }
    failure = e.Failure(kind, message, more.pop("place", IN_TEST), **more)  # type: ignore[arg-type]
    return e.Phase(when, "failed", subtest=subtest, failure=failure, **facts)  # type: ignore[arg-type]


def bad(test: str, *phases: e.Phase, outcome: Outcome = Outcome.FAILED, **more: object) -> e.TestFinished:
    return e.TestFinished(test, outcome, phases=phases, **more)  # type: ignore[arg-type]


PATH = (
    e.Calls((e.Place("t.py", 40),)),
    e.Calls((OTHER, e.Place("lib.py", 8)), 149),
    e.Calls((OTHER, e.Place("t.py", 9))),
)
CHAIN = (
    e.Failure("OSError", "OSError: no such file\nat all", OTHER, causes=(e.Failure("KeyError", ""),)),
    *(e.Failure("E", f"E: cause {number}") for number in range(6)),
)
SIGNED = ("texts differ:", "- a", "+ b")
DIFFERENT = ("at ['quota']: 101 != 100", "- 'a'", "+ 'b'")

FAILURES: dict[str, tuple[e.Event, ...]] = {
    "messages": (
        e.TestsSelected(("t.py::own", "t.py::first")),
        bad("t.py::own", phase("the numbers do not match\nmore\nassert 1 == 2\n +  where 1 = f()")),
        bad(
            "t.py::truth",
            phase("assert False\n +  where False = <method x>('x')\n +    where <method x> = 'a'.x"),
        ),
        bad(
            "t.py::cut",
            phase("assert {'a': 1...} == {}\n  {'a': 1}\n  Use -v to get more diff\n +  where 1 = f()"),
        ),
        bad("t.py::differs", phase("assert {'a': 1...} == {}", difference=DIFFERENT)),
        bad("t.py::text", phase("AssertionError: assert 'a...' == 'b'", difference=("- 'a'", "+ 'b'"))),
        bad("t.py::colon", phase("RuntimeError: several:\n  one thing\n  another")),
        bad(
            "t.py::unittest", phase("AssertionError: Lists differ: [1] != [2]\n\nFirst: 1\n[1] != [2] : why")
        ),
        bad("t.py::long", phase("ValueError: " + "x" * 400 + "\n" + LONG)),
        bad("t.py::wide", phase("ValueError: wide\n" + "y" * 200)),
        bad("t.py::two", phase("ValueError: two\na\nb\nc\nd\ne\nf\ng")),
        bad("t.py::chain", phase("ValueError: cannot load", causes=CHAIN)),
        bad("t.py::root", phase("ValueError: /p/lib.py of <x at 0xdeadbeef>\tis password='hunter2'")),
        bad("t.py::silent", phase("")),
        bad("t.py::nothing"),
        bad("t.py::bare", e.Phase("call", "failed", longrepr="only a text"), message="of the test"),
        bad("t.py::first", phase("E: first", expected="1\n2", actual="3", longrepr="trace\nE   E: first")),
    ),
    "places": (
        bad("t.py::own", phase("E: own")),
        bad("t.py::other", phase("F: other", place=OTHER)),
        bad("t.py::called", phase("G: called", place=OTHER, calls=(e.Calls((IN_TEST, OTHER)),))),
        bad("t.py::deep", phase("H: deep", place=e.Place("t.py", 9), calls=PATH)),
        bad("t.py::away", phase("I: away", calls=(e.Calls((OTHER,), 2), e.Calls((IN_TEST,))))),
        bad("t.py::file", phase("J: file", place=e.Place("t.py"))),
        bad("t.py::none", phase("K: none", place=None)),
        bad(
            "t.py::lost", outcome=Outcome.CRASH, message="SIGSEGV at t.py:5", traceback=f"Fatal\n{HARNESS}end"
        ),
        bad("u.py::late", outcome=Outcome.TIMEOUT, message="time limit reached", place=OTHER),
        bad("program", message="exit status 3"),
        bad("program/part", message="no", part_of="program"),
    ),
    "groups": (
        *(
            failed(f"t.py::test_{n}", "OSError: no disk", ("conftest.py", 9), "setup", fixture="disk")
            for n in range(14)
        ),
        *(failed(f"u.py::test_{n}", "TypeError: price() takes 1", ("u.py", n)) for n in (3, 8)),
        *(failed(f"v.py::test_x[{n}]", f"ValueError: {n} is odd", ("v.py", 4)) for n in (1, 3, 5)),
        *(failed(f"w.py::test_{n}", f"KeyError: '{n}'\nlook", ("lib.py", 2)) for n in range(3)),
        *(failed(f"x.py::test_y[{n}]", "assert 0", ("x.py", 2)) for n in range(3)),
        *passed("x.py::test_y[9]", "t.py::fine", "w.py::fine", "u.py::fine"),
        *(e.CollectionFailed(f"c{n}.py", e.Failure("E", "E: no x", OTHER), f"trace {n}") for n in range(2)),
        e.CollectionFailed("d.py", e.Failure("SyntaxError", "SyntaxError: what", e.Place("d.py", 3))),
        e.CollectionFailed("f.py", e.Failure("SyntaxError", "SyntaxError: 17", OTHER)),
        e.CollectionFailed("g.py", e.Failure("SyntaxError", "SyntaxError: 18", OTHER)),
        e.CollectionFailed("h.py", e.Failure("", "")),
        bad("s.py::subs", *(phase(f"E: {n}", subtest=f"[n={n}]") for n in range(3))),
        bad("s.py::mixed", phase("E: sub", subtest="(i=1)", place=None), phase("Own: itself", "teardown")),
    ),
    "output": (
        bad(
            "t.py::talks",
            phase("E: a", stdout=f"{LONG}\nwarning: low\nerror: none\nfatal\n", stderr="  \nonly this\n"),
            phase("E: b", "teardown", stdout="last words\n", log=({"levelname": "INFO", "msg": "no"},)),
        ),
        bad(
            "t.py::logs",
            phase("F: a", log=tuple({"levelname": "ERROR", "name": "db", "msg": f"m{n}"} for n in range(3))),
        ),
        bad("t.py::tail", phase("G: a", tails={"stderr": "cannot open\n"})),
        bad("t.py::one", phase("H: a", stdout="one line\n")),
        e.TestFinished("t.py::skip", Outcome.SKIPPED, message="later\nmore"),
        e.TestFinished("t.py::skip2", Outcome.SKIPPED, message="later"),
        *(e.TestFinished(f"t.py::skip_{n}", Outcome.SKIPPED, message=f"reason {n}") for n in range(4)),
        e.TestFinished("t.py::skip3", Outcome.SKIPPED),
        e.TestFinished("t.py::xpass", Outcome.XPASSED, 0.75, place=IN_TEST),
        *(e.WarningRecorded("W", "old password='x'\nmore", "t.py", line) for line in (1, 2, 1)),
        e.Noticed("a note with password='hunter2'"),
        e.OutputReceived("stdout", "password='hunter2'\n"),
    ),
    "left_out": (bad("t.py::it's", phase("ValueError: " + "x" * 400)),),
    "signs": tuple(
        bad(f"t.py::{name}", phase("assert 'a...' == 'b'", place=e.Place("t.py", line), difference=SIGNED))
        for line, name in enumerate(("first", "second"), 1)
    ),
    "same": (
        *(bad(f"t.py::{name}::test", phase("E: same")) for name in ("A", "B")),
        *(bad(f"u.py::test_{name}", phase("F: all", place=e.Place("u.py", 2))) for name in "ab"),
        *(bad(f"v.py::test_{name * 90}", phase("G: wide", place=e.Place("v.py", 2))) for name in "ab"),
        *passed("v.py::fine", "t.py::fine"),
        *(bad(f"w.py::test[{n}]", phase(f"{n} is odd", place=e.Place("w.py", 4), type="H")) for n in (1, 3)),
        *(bad(f"x.py::test_{n}", phase(f"{n} is even", "teardown", place=None, type="H")) for n in (2, 4)),
    ),
    "suites": (
        e.SuiteEntered("one", "pytest", (), "/p"),
        bad("a", outcome=Outcome.CRASH, message="SIGSEGV"),
        e.SuiteFinished(RunOutcome.CRASHED, 1.0, (), "SIGSEGV"),
        e.SuiteEntered("two", "go", (), "/p", source="lines"),
        bad("b", message="exit status 2"),
        e.SuiteFinished(RunOutcome.FAILED, 1.0, ("c",), "exit status 2"),
        e.SuiteEntered("three", "tap", (), "/p", source="lines"),
        e.SuiteFinished(RunOutcome.NO_TESTS),
        e.SuiteEntered("four", "tap", (), "/p", source="lines"),
        *passed("d"),
        e.SuiteFinished(RunOutcome.CRASHED, 1.0, (), "SIGKILL\nafter the end"),
    ),
    "broke": (
        *passed("a"),
        e.SessionBroke(e.Failure("E", "E: plugin\nin a hook", OTHER), "its\ntrace"),
        e.StatusExplained(RunOutcome.INTERNAL_ERROR, "internal"),
        e.SessionFinished(3),
        e.ProcessExited(3),
    ),
    "usage": (
        e.OutputReceived("stderr", "\nno such option: --x\n"),
        e.StatusExplained(RunOutcome.USAGE_ERROR, "status 4"),
        e.SessionFinished(4),
        e.ProcessExited(4),
    ),
}
RUNS = {**CASES, **FAILURES, **HISTORIES}


class TonedWriter(StringWriter):
    """Writes each tone in front of its text."""

    def __call__(self, text: str, tone: Tone = "", link: str = "") -> None:
        super().__call__(f"<{tone}>{text}" if tone else text)


def written_by(sink: Callable[[Writer], Sink]) -> Callable[[tuple[e.Event, ...]], str]:
    def read(facts: tuple[e.Event, ...]) -> str:
        writer = TonedWriter()
        relay = Relay(STARTED, [sink(writer)])
        publish_suites(relay, facts, 1.0)
        relay.tick(40.0)
        relay.close(41.0)
        assert relay.faults == []
        return writer.text()

    return read


def of_result(write: Callable[[RunResult, Writer], None]) -> Callable[[tuple[e.Event, ...]], str]:
    def read(facts: tuple[e.Event, ...]) -> str:
        writer = TonedWriter()
        write(result_of(facts), writer)
        return writer.text()

    return read


def agent_texts(facts: tuple[e.Event, ...]) -> str:
    result = result_of(facts)
    details = {
        "all": Detail(),
        "less": Detail(passing=False, output=False, calls=False, more=False, width=40, hints=None),
        "short rows": Detail(rows=30, mask=False),
        "every row": Detail(rows=0),
    }
    texts = {name: agent_text(result, detail) for name, detail in details.items()}
    texts |= {f"{budget} tokens": agent_text_within(result, budget, Detail()) for budget in (100, 250, 500)}
    return "\n".join(f"=== {name}\n{text}" for name, text in texts.items())


def github_texts(result: RunResult, write: Writer) -> None:
    write_github_log(result, write, "sub/")
    write(f"=== summary\n{step_summary(result)}=== little room\n{step_summary(result, 2000)}")
    write("".join(f"{annotation}\n" for annotation in annotations_of(result)))


READERS: dict[str, Callable[[tuple[e.Event, ...]], str]] = {
    "agent": agent_texts,
    "dots": written_by(Dots),
    "github": of_result(github_texts),
    "human": written_by(PlainLog),
    "index": lambda facts: failure_index(result_of(facts), 9, 60),
    "libtest": written_by(Libtest),
    "masked": written_by(lambda write: Masked(LinePerTest(write))),
    "names": written_by(LinePerTest),
    "report": lambda facts: report_text(masked_values(result_of(facts))),
    "summary": of_result(write_summary),
    "tree": of_result(write_outcome_tree),
}


#: The others end with the same lines as these.
OF_HISTORIES = ("agent", "github", "human", "report", "summary")
SHOWN = [(reader, run) for run in RUNS for reader in (OF_HISTORIES if run in HISTORIES else READERS)]


@pytest.mark.parametrize(("reader", "run"), SHOWN)
def test_a_run_is_shown_word_for_word(reader: str, run: str) -> None:
    agree(GOLDEN / f"{run}-{reader}.txt", READERS[reader](RUNS[run]))


def test_masking_changes_texts_and_nothing_else() -> None:
    for facts in RUNS.values():
        result = result_of(facts)
        masked = msgspec.to_builtins(masked_values(list(result.tests.values())))
        plain = msgspec.to_builtins(list(result.tests.values()))
        assert [test["test"] for test in masked] == [test["test"] for test in plain]
        assert "hunter2" not in str(masked)
