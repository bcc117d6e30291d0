"""The forgiving reader: what it understands, what it says about the rest, and that it calls nothing green."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.streams import (
    STARTED,
    Log,
    case,
    final,
    read,
    suite,
    written,
)

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.render.agent import agent_text
from proctor.wire.reports.detect import detect
from proctor.wire.stream import reader as stream_reader
from proctor.wire.stream.reader import StreamReader

STREAMS = Path(__file__).parents[2] / "data" / "streams"


def test_the_examples_of_the_proposal_are_read() -> None:
    (result,) = read((STREAMS / "seed.jsonl").read_bytes())
    test = result.tests["octavo::digest::md5::tests::test_md5"]

    assert result.outcome is RunOutcome.PASSED
    assert (test.subtype, str(test.place), test.seconds) == ("should_panic", "src/digest/md5.rs:684", 1e-7)
    assert result.suites[0].build == "2015-08-21T10:03:20+0200"
    assert result.notices == []


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_it_does_not_depend_on_how_the_bytes_arrive(size: int) -> None:
    data = written(suite(2), case("ä"), b"noise", case("b", "fail"), final(1, 1))
    whole, pieces = read(data), read(data, size)

    assert [(one.tests, one.notices, one.outcome) for one in whole] == [
        (one.tests, one.notices, one.outcome) for one in pieces
    ]


def test_unknown_fields_are_ignored() -> None:
    (result,) = read(written(suite(1, mood="good"), case("a", colour="red"), final(1, weather="fine")))

    assert (result.outcome, result.notices) == (RunOutcome.PASSED, [])


def test_unknown_types_are_skipped_with_a_warning() -> None:
    (result,) = read(written(suite(1), {"type": "hologram"}, case("a"), final(1)))

    assert result.outcome is RunOutcome.PASSED
    assert result.notices == ["line 2: an object of type 'hologram' is not known here; left out"]


def test_a_bench_is_read_in_either_spelling() -> None:
    (result,) = read(
        written(
            suite(2),
            {"type": "bench", "status": "ok", "label": "a", "duration": 1500, "throughput": 12},
            case("b", subtype="bench", duration=1500),
            final(2),
        )
    )

    assert [test.subtype for test in result.tests.values()] == ["bench", "bench"]
    assert (result.tests["a"].seconds, result.tests["a"].throughput) == (1.5e-06, 12.0)


def test_a_missing_subtype_is_a_plain_test() -> None:
    (result,) = read(written(suite(2), case("a"), case("b", subtype="test"), final(2)))

    assert [test.subtype for test in result.tests.values()] == ["", ""]


def test_noise_before_a_suite_and_after_a_final_line_is_ignored() -> None:
    noise = [b"compiling", b'{"type":"test","status":"fail","label":"x"}', b"[1]", b""]
    (result,) = read(written(*noise, suite(1), case("a"), final(1), *noise, suite(0), final(), b"bye"))

    assert [one.outcome for one in result.suites] == [RunOutcome.PASSED, RunOutcome.NO_TESTS]
    assert (result.outcome, result.notices) == (RunOutcome.PASSED, [])


def test_noise_inside_a_suite_is_kept_as_output_with_one_warning() -> None:
    (result,) = read(written(suite(1), b"one", case("a"), b"t\xffwo", final(1)))

    assert result.output.text() == "one\nt\\xffwo\n"
    assert result.notices == [
        "line 2: not an object; kept as output",
        "2 lines in all are not objects; kept as output",
    ]


def test_a_suite_before_the_final_line_closes_the_one_before_as_incomplete() -> None:
    (result,) = read(written(suite(2), case("a"), suite(1), case("b"), final(1)))

    first, second = result.suites
    assert first.outcome is result.outcome is RunOutcome.INCOMPLETE
    assert first.reason == (
        "another suite begins before the final line of this one; 1 of 2 tests have no result"
    )
    assert second.outcome is RunOutcome.PASSED


def test_suites_that_name_different_runs_are_runs_of_their_own() -> None:
    one, two = ({"run": name} for name in ("one", "two"))
    lines = [suite(1, extra=one), case("a"), final(1), suite(1, extra=one), case("b", "fail"), final(0, 1)]
    results = read(written(*lines, suite(1, extra=two), case("a"), final(1)))

    assert [(run.run.run_id, list(run.tests), run.outcome) for run in results] == [
        ("one", ["a", "b"], RunOutcome.FAILED),
        ("two", ["a"], RunOutcome.PASSED),
    ]


def test_an_end_without_a_final_line_is_incomplete() -> None:
    (result,) = read(written(suite(1), case("a")))

    assert (result.outcome, result.exit_code) == (RunOutcome.INCOMPLETE, 2)
    assert result.reason == "the stream ends without its final line"


def test_a_last_line_that_was_cut_is_told_and_not_taken() -> None:
    (result,) = read(written(suite(2), case("a"), case("b"))[:-9])

    assert list(result.tests) == ["a"]
    assert result.notices == ["line 3: not an object; kept as output"]
    assert result.outcome is RunOutcome.INCOMPLETE


def test_a_missing_rustc_build_or_count_is_read_with_a_warning() -> None:
    (result,) = read(written({"type": "suite"}, case("a"), final(1)))

    assert result.outcome is RunOutcome.PASSED
    assert result.notices == [
        "line 1: the suite does not say its rustc",
        "line 1: build is '', not a time with its zone",
        "line 1: the suite does not say its count",
    ]


def test_words_beyond_the_three_are_read() -> None:
    outcomes = {
        "error": ("fail", Outcome.ERROR),
        "timeout": ("fail", Outcome.TIMEOUT),
        "crash": ("fail", Outcome.CRASH),
        "xfail": ("ignore", Outcome.XFAILED),
        "todo": ("ignore", Outcome.XFAILED),
        "xpass": ("ok", Outcome.XPASSED),
        "flaky": ("ok", Outcome.PASSED),
        "info": ("ok", Outcome.INFO),
        "warn": ("ok", Outcome.WARN),
    }
    tests = [case(word, status, extra={"outcome": word}) for word, (status, _) in outcomes.items()]
    (result,) = read(written(suite(len(tests)), *tests, final(4, 3, 2)))

    assert {test.test: test.outcome for test in result.tests.values()} == {
        word: outcome for word, (_, outcome) in outcomes.items()
    }


def test_a_word_cannot_make_a_failure_good() -> None:
    (result,) = read(written(suite(1), case("a", "fail", extra={"outcome": "xpass"}), final(0, 1)))

    assert result.tests["a"].outcome is Outcome.FAILED


def test_a_test_that_was_not_run_is_no_result() -> None:
    not_run = case("b", "ignore", extra={"outcome": "not_run"})
    (result,) = read(written(suite(2), case("a"), not_run, final(1, 0, 1)))

    assert (list(result.tests), result.not_run) == (["a"], ("b",))
    assert result.outcome is RunOutcome.INCOMPLETE


def test_a_status_that_is_not_known_counts_as_a_failure() -> None:
    (result,) = read(written(suite(1), case("a", "splendid"), final(0, 1)))

    assert result.outcome is RunOutcome.FAILED
    assert result.notices == ["line 2: status of 'a' is 'splendid'; taken as fail"]


def test_a_label_that_comes_twice_is_two_tests() -> None:
    (result,) = read(written(suite(2), case("a"), case("a", "fail"), final(1, 1)))

    assert list(result.tests) == ["a", "a#2"]
    assert result.notices == ["line 3: a second test 'a'"]


def test_a_label_that_comes_100_000_times_is_read_in_linear_size_and_told_in_two_notices() -> None:
    data = written(suite(100_000), *[case("a")] * 100_000, final(100_000))
    entries = [*(reader := StreamReader()).feed(data), *reader.close()]
    tests = [entry.event.test for entry in entries if isinstance(entry.event, e.TestFinished)]
    notices = [entry.event.text for entry in entries if isinstance(entry.event, e.Noticed)]

    assert (tests[0], tests[1], tests[-1]) == ("a", "a#2", "a#100000")
    assert sum(map(len, tests)) < len(data)
    assert notices == [
        "line 3: a second test 'a'",
        "99999 tests in all have the label of an earlier test",
    ]


def test_a_label_that_is_like_one_of_ours_is_kept() -> None:
    (result,) = read(written(suite(3), case("a"), case("a#2"), case("a"), final(3)))

    assert list(result.tests) == ["a", "a#2", "a#3"]


@pytest.mark.parametrize(
    ("lines", "outcome", "reason"),
    [
        ([suite(2), case("a"), final(1)], RunOutcome.INCOMPLETE, "the suite announced 2 tests and has 1"),
        (
            [suite(1), case("a"), final(2)],
            RunOutcome.INCOMPLETE,
            'the tests add up to {"ok":1,"fail":0,"ignore":0}',
        ),
        ([suite(1), case("a"), final(1, 3)], RunOutcome.INCOMPLETE, '"fail":3'),
        ([suite(1), case("a", "fail"), final(1)], RunOutcome.INCOMPLETE, "the final line says"),
        ([suite(1), case("a"), final(True)], RunOutcome.INCOMPLETE, "the final line says"),
        (
            [suite(1), b'{"type":"test","label":"a","status":"fail","status":"ok"}', final(1)],
            RunOutcome.INCOMPLETE,
            "line 2: an object has the key 'status' twice",
        ),
        ([suite(1), case("a"), final(1, extra={"exit": {"code": 1}})], RunOutcome.FAILED, "exit status 1"),
        (
            [suite(1), case("a"), final(1, extra={"exit": {"code": -11, "signal": "SIGSEGV"}})],
            RunOutcome.CRASHED,
            "SIGSEGV",
        ),
        ([suite(1), case("a", extra={"phase": "run"}), final(1)], RunOutcome.PASSED, ""),
        ([suite(1), case("a"), {"type": "final"}], RunOutcome.INCOMPLETE, "the final line says {}"),
        ([suite(1), case("a"), final(1, extra={"outcome": "crashed"})], RunOutcome.CRASHED, ""),
        ([suite(1), case("a"), final(1, extra={"outcome": "splendid"})], RunOutcome.PASSED, ""),
        ([suite(1), case("a", "fail"), final(0, 1, extra={"outcome": "no_tests"})], RunOutcome.FAILED, ""),
        ([suite(1), case("a", "fail", extra={"phase": "run"}), final(0, 1)], RunOutcome.FAILED, "it broke"),
        ([suite(1), case("a", "fail"), final(0, 1, extra={"outcome": "passed"})], RunOutcome.FAILED, ""),
    ],
)
def test_a_pass_needs_every_number_to_agree(
    lines: list[dict[str, Any] | bytes], outcome: RunOutcome, reason: str
) -> None:
    (result,) = read(written(*lines))

    assert result.outcome is outcome
    assert reason in result.reason


def a_log() -> list[bytes]:
    kept = Log()
    Relay(STARTED, [kept]).close(1.0)
    return kept.lines


def entries(data: bytes) -> list[e.Entry]:
    reader = StreamReader()
    return reader.feed(data) + reader.close()


def test_a_full_log_is_found_out_by_itself_and_its_cut_is_incomplete() -> None:
    log = a_log()

    (whole,) = read(b"noise\n" + b"".join(log))
    (cut,) = read(b"".join(log[:-1]))

    assert whole.run == STARTED
    assert whole.reason == "the end of the process was not seen"
    assert (cut.outcome, cut.reason) == (RunOutcome.INCOMPLETE, "the stream ends without its final line")


def test_logs_and_streams_one_after_another_are_runs_each() -> None:
    whole, stream = b"".join(a_log()), written(suite(1), case("a"), final(1))

    outcomes = [result.outcome for result in read(whole + b"between\n" + whole + stream + whole)]
    assert [outcome is RunOutcome.PASSED for outcome in outcomes] == [False, False, True, False]


def test_a_log_without_its_head_is_read_but_no_rest_behind_its_end() -> None:
    log = a_log()
    tail = b'{"type":"note","seq":7,"at":1.0,"kind":"notice","extra":{"text":"late"}}\n'

    (gap, *rest) = entries(b"".join(log[1:]))
    assert gap.event == e.ChannelBroken("line 1 has the number 1: expected 0")
    assert len(rest) == len(log) - 1
    assert entries(b"".join(log) + tail) == entries(b"".join(log))
    assert len(entries(tail)) == 2


def test_what_is_left_out_of_a_log_is_told_in_its_place() -> None:
    log = a_log()
    before, notice, after = entries(log[0] + b"noise\n" + log[1])

    assert (notice.seq, notice.at) == (before.seq + 1, before.at)
    assert isinstance(notice.event, e.Noticed) and notice.event.text.startswith("line 2 is left out")
    assert after.seq == 1


def test_a_line_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_reader, "MAX_LINE", 1 << 20)
    reader = StreamReader()

    assert reader.feed(b"\n" + b"x" * (1 << 20)) == []
    with pytest.raises(StreamError, match="line 2 is longer than 1 MiB"):
        reader.feed(b"x")


def test_what_a_newer_full_log_adds_is_told() -> None:
    log = a_log()

    (result,) = read(b"".join([log[0], b'{"type":"hologram","seq":1,"at":0.5}\n', b"noise\n", *log[1:]]))

    assert result.notices[0] == "line 2 is of a type that is not known here; left out"
    assert result.notices[1].startswith("line 3 is left out: not a line of an event stream")


def test_bytes_are_recognised_as_a_stream_or_not() -> None:
    assert detect(written(b"noise", suite(0))) == "stream"
    assert detect(b"".join(a_log())) == "events"
    assert detect(b"<testsuites/>") == "junit"
    assert detect(b'{"type":"test"}\n') is None


def test_what_is_nested_too_deeply_is_noise() -> None:
    (result,) = read(written(suite(1), b"[" * 100_000, case("a"), final(1)))

    assert result.notices == ["line 2: not an object; kept as output"]


def test_blank_lines_mean_nothing() -> None:
    (result,) = read(written(suite(1), b"", case("a"), b" ", final(1)))

    assert (result.outcome, result.notices) == (RunOutcome.PASSED, [])


@given(
    st.lists(
        st.binary(max_size=60) | st.sampled_from([written(suite(1)), written(case("a")), written(final(1))])
    )
)
def test_any_bytes_are_read_without_a_fault(pieces: list[bytes]) -> None:
    read(b"\n".join(pieces))


def test_streams_and_logs_of_revision_1_are_still_read_and_say_the_same() -> None:
    (strict,) = read((STREAMS / "rev1" / "stream.jsonl").read_bytes())
    (full,) = read((STREAMS / "rev1" / "events.jsonl").read_bytes())

    assert agent_text(full) == (
        "CRASH 1 failed 1 passed 1 skipped 1 xfailed 1 not run\n"
        "test_a.py\n"
        "::test_dies :25 SIGABRT (Aborted)\n"
        "::test_bad :11 assert [1, 2] == [1, 3]\n"
        "skipped: later\n"
    )
    assert agent_text(strict) == agent_text(full)
    assert (strict.notices, full.notices) == ([], [])
