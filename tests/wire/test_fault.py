"""faulthandler's dumps, read for the line that matters."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from support.pieces import pieces

from proctor import events as e
from proctor.outcome import Outcome
from proctor.wire.fault import Crashes, FaultReader

DUMP = """\
noise before
Fatal Python error: Segmentation fault

Thread 0x00007f7d33fff6c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 324 in wait
  File "/project/other.py", line 3 in helper

Current thread 0x00007f7d3e5d1740 [main] (most recent call first):
  File "/usr/lib/python3.11/ctypes/__init__.py", line 519 in string_at
  File "/project/shop/native.py", line 5 in peek
  File "/project/tests/test_b.py", line 25 in test_peek_null
  File "/project/.venv/lib/python3.11/site-packages/_pytest/python.py", line 166 in pytest_pyfunc_call

Extension modules: msgspec._core (total: 1)
"""


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_users_frames_of_the_current_thread_innermost_first(size: int) -> None:
    reader = FaultReader("/project")
    for piece in pieces(DUMP, size):
        reader.feed(piece)

    (dump,) = reader.dumps()
    assert dump.reason == "Segmentation fault"
    assert dump.places == (e.Place("shop/native.py", 5), e.Place("tests/test_b.py", 25))
    assert "line 166 in pytest_pyfunc_call" in dump.text
    assert "Extension modules" not in dump.text


def test_a_dump_is_kept_as_it_was_from_its_current_thread_on() -> None:
    reader = FaultReader("/project/")
    reader.feed(DUMP)

    (dump,) = reader.dumps()
    lines = DUMP.splitlines()
    assert dump.text == "\n".join([lines[1], *lines[7:12]])


def test_a_dump_without_a_current_thread_is_read_from_its_first_frame() -> None:
    text = 'Fatal Python error: Aborted\n  File "<frozen x>", line 1 in y\n  File "/other/a.py", line 2 in z'
    reader = FaultReader("/project")
    reader.feed(f"{text}\n")

    assert reader.dumps() == [e.FaultTraced("Aborted", (e.Place("/other/a.py", 2),), text)]


def test_a_number_without_end_is_no_line() -> None:
    reader = FaultReader("/project")
    reader.feed(f'Fatal Python error: Aborted\n  File "/project/a.py", line {"9" * 5000} in x\n')

    assert [dump.places for dump in reader.dumps()] == [()]


def test_without_a_dump_there_is_none() -> None:
    reader = FaultReader("/project")
    reader.feed("all is well\n")

    assert reader.dumps() == []


CRASH = e.TestFinished("tests/test_b.py::test_peek_null", Outcome.CRASH, message="worker died")


def dumps_of(text: str) -> list[e.FaultTraced]:
    reader = FaultReader("/project")
    reader.feed(text)
    return reader.dumps()


def test_a_dead_workers_words_explain_the_test_they_are_about() -> None:
    dumps = dumps_of(DUMP + DUMP.replace("test_b", "test_c").replace("line 5 in", "line 6 in"))
    crash = replace(CRASH, phases=(e.Phase("???", "failed"),))

    told = Crashes("/project").explain(crash, dumps, [crash.test])

    assert told.message == "worker died: Segmentation fault at shop/native.py:5"
    assert told.failure == e.Failure("", told.message, e.Place("shop/native.py", 5))
    assert [phase.failure for phase in told.phases] == [told.failure]
    assert told.traceback == dumps[0].text


@pytest.mark.parametrize("test", ["tests/test_b.py::test_other", "tests/test_a.py::test_peek_null"])
def test_a_dump_that_does_not_run_through_the_test_is_not_told_of_it(test: str) -> None:
    crash = replace(CRASH, test=test)

    assert Crashes("/project").explain(crash, dumps_of(DUMP), []) is crash


def test_a_dump_of_a_test_that_calls_another_is_of_the_first() -> None:
    frame = '  File "/project/tests/test_b.py", line 25 in test_peek_null\n'
    dumps = dumps_of(
        DUMP.replace(frame, f'{frame}  File "/project/tests/test_b.py", line 9 in test_caller\n')
    )

    assert Crashes("/project").explain(CRASH, dumps, ["tests/test_b.py::test_caller"]) is CRASH


@pytest.mark.parametrize("other", ["[1]", "[a::b]"])
def test_a_dump_that_another_run_of_the_function_may_have_written_is_told_of_none(other: str) -> None:
    crashes, dumps = Crashes("/project"), dumps_of(DUMP)
    first, second = (replace(CRASH, test=CRASH.test + which) for which in ("[0]", other))

    assert crashes.explain(first, dumps, [second.test]) is first
    assert crashes.explain(second, dumps, []) is second


def test_two_dumps_that_run_through_a_test_explain_nothing() -> None:
    assert Crashes("/project").explain(CRASH, dumps_of(DUMP + DUMP), []) is CRASH


def test_a_forked_test_that_exited_has_written_no_dump() -> None:
    crash = replace(CRASH, message="t.py:1: running the test EXITED with status 0")

    assert Crashes("/project").explain(crash, dumps_of(DUMP), []) is crash


@pytest.mark.parametrize(
    "reason, signal, own",
    [
        ("Segmentation fault", "SIGSEGV", True),
        ("Segmentation fault", "SIGKILL", False),
        ("Segmentation fault", "SIGABRT", False),
        ("Segmentation fault", None, False),
        ("Aborted", "SIGABRT", True),
        ("PyMem_Free: called without the GIL", "SIGABRT", True),
        ("Bus error", "SIGBUS", True),
    ],
)
def test_the_last_words_of_a_process_fit_the_signal_that_ended_it(
    reason: str, signal: str | None, own: bool
) -> None:
    dumps = dumps_of(DUMP.replace("Segmentation fault", reason))

    assert Crashes("/project").own(dumps, signal) == (dumps[0] if own else None)


def test_the_words_of_a_dead_worker_are_not_those_of_a_session_that_outlived_it() -> None:
    crashes, dumps = Crashes("/project"), dumps_of(DUMP)
    crashes.explain(CRASH, dumps, [])

    assert crashes.own(dumps, "SIGSEGV") is None


def test_without_a_dump_nobody_has_last_words() -> None:
    assert Crashes("/project").own([], "SIGSEGV") is None
