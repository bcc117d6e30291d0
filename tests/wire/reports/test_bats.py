"""What bats says while it runs, as events: the same in pieces of any size."""

from __future__ import annotations

import pytest
from support.pieces import pieces

from proctor import events as e
from proctor.outcome import Outcome
from proctor.wire.reports.bats import BatsReader
from proctor.wire.reports.tap import TapReader

SAID = b"""\
1..5
suite /p/test/a.bats
begin 1 adds up
ok 1 adds up in 3ms
begin 2 compares
not ok 2 compares in 9ms
# (from function `assert_equal' in file test/helper.bash, line 5,
#  in test file test/a.bats, line 8)
#   `assert_equal "$a" "b"' failed
#
# -- values do not equal --
# expected : b
# actual   : a
# --
begin 3 not now in 2ms
ok 3 not now in 2ms in 4ms # skip no time
begin 4 dies
begin 5 adds up
ok 5 adds up in 6ms
# bats warning: Executed 4 instead of expected 5 tests
"""


def told(data: bytes, size: int) -> list[e.Event]:
    reader = BatsReader()
    events = [event for piece in pieces(data, size) for event in reader.feed(piece)]
    return [*events, *reader.close()]


@pytest.mark.parametrize("size", [1, 2, 3, 7, len(SAID)])
def test_each_test_begins_and_ends_however_the_bytes_arrive(size: int) -> None:
    events = told(SAID, size)

    ended = [
        (event.test, event.outcome, event.seconds) for event in events if isinstance(event, e.TestFinished)
    ]
    assert ended == [
        ("adds up", Outcome.PASSED, 0.003),
        ("compares", Outcome.FAILED, 0.009),
        ("not now in 2ms", Outcome.SKIPPED, 0.004),
        ("dies", Outcome.CRASH, 0.0),
        ("adds up#2", Outcome.PASSED, 0.006),
    ]
    assert [event.test for event in events if isinstance(event, e.TestStarted)] == [
        test for test, _, _ in ended
    ]
    assert isinstance(events[-1], e.SessionFinished)


def test_a_failure_has_the_place_in_the_test_and_both_values() -> None:
    failed = next(event for event in told(SAID, 50) if isinstance(event, e.TestFinished) and event.failure)

    assert failed.failure.place == e.Place("test/a.bats", 8)
    assert failed.message == '`assert_equal "$a" "b"\' failed'
    assert (failed.failure.expected, failed.failure.actual) == ("b", "a")
    assert failed.phases[0].stdout.startswith("\n-- values do not equal --\n")


def test_a_last_test_without_an_end_died_if_bats_came_to_its_own() -> None:
    start = b"1..1\nbegin 1 dies\n"

    (finished,) = [
        event
        for event in told(start + b"# bats warning: Executed 0 instead of expected 1 tests\n", 9)
        if isinstance(event, e.TestFinished)
    ]
    assert finished.outcome is Outcome.CRASH
    cut = told(start, 9)
    assert not any(isinstance(event, e.TestFinished) for event in cut)
    assert isinstance(cut[-1], e.ChannelBroken)


def test_a_file_that_bats_cannot_read_is_a_collection_error() -> None:
    said = b"""\
1..1
not ok 1 bats-gather-tests
# (in test file a.bats, line 1)
#   `@test "a" {' failed with status 2
# /p/a.bats: line 5: syntax error near unexpected token `then'
"""
    (error,) = [event for event in told(said, 10) if isinstance(event, e.CollectionFailed)]

    assert (error.file, error.failure.place) == ("/p/a.bats", e.Place("/p/a.bats", 5))
    assert error.failure.message == "syntax error near unexpected token `then'"


MORE = """\
1..3
not ok 1 - same
#   Failed test 'same'
#   at t/a.t line 3.
#          got: '1'
#     expected: '2'
not ok 2 - deep
#   Failed test 'deep'
#   at t/a.t line 4.
#     Structures begin differing at:
#          $got->[0] = '2'
#     $expected->[0] = '3'
not ok 3
#   Failed test at t/a.t line 5.
# Looks like you failed 3 tests of 3.
"""


def test_perls_words_about_a_failure_are_understood() -> None:
    reader = TapReader()
    events = [*reader.feed(MORE.encode()), *reader.close()]

    failures = [event.failure for event in events if isinstance(event, e.TestFinished)]
    assert failures == [
        e.Failure("", "got '1', expected '2'", e.Place("t/a.t", 3), "'2'", "'1'"),
        e.Failure(
            "", "Structures begin differing at: $got->[0] = '2' $expected->[0] = '3'", e.Place("t/a.t", 4)
        ),
        e.Failure("", "failed", e.Place("t/a.t", 5)),
    ]
