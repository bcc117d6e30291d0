"""faulthandler's dumps, read for the line that matters."""

from __future__ import annotations

import pytest
from support.pieces import pieces

from proctor import events as e
from proctor.outcome import Outcome
from proctor.wire.fault import FaultReader, explain

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


def test_a_dead_workers_words_explain_the_test_they_are_about() -> None:
    reader = FaultReader("/project")
    reader.feed(DUMP + DUMP.replace("test_b", "test_c").replace("line 5 in", "line 6 in"))
    crash = e.TestFinished("tests/test_b.py::test_peek_null", Outcome.CRASH, message="worker died")

    told = explain(crash, reader.dumps())

    assert told.message == "worker died: Segmentation fault at shop/native.py:5"
    assert told.failure == e.Failure("", told.message, e.Place("shop/native.py", 5))
    assert told.traceback == reader.dumps()[0].text


def test_other_outcomes_need_no_explanation() -> None:
    event = e.TestFinished("tests/test_b.py::t", Outcome.FAILED)

    assert explain(event, [e.FaultTraced("x", (e.Place("tests/test_b.py", 1),))]) is event
