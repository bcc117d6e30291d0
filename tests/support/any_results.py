"""Finished runs of any tests, for properties that must hold of all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from proctor import events as e
from proctor.outcome import Outcome
from proctor.result import RunResult
from support.reports import result_of
from support.streams import baselines, histories

texts = st.text(max_size=40) | st.sampled_from(
    [
        "a\nb",
        "]]>",
        "<&>\"'",
        "\x1b[31mred\x1b[0m",
        "\x00\x1f",
        "\udc80",
        "# TODO x",
        "\\",
        "  ---",
        "ok 1",
        "\r\n",
    ]
)
names = st.text(max_size=20) | st.sampled_from(
    [
        "tests/a.py::TestX::test_y[a::b]",
        "mod::test",
        "a # SKIP",
        "a#2",
        "",
        "\udc80",
        "a\nb",
        "x {",
        "é",
        "[::]",
    ]
)
phases = st.builds(e.Phase, st.just("call"), st.just("passed"), stdout=texts, stderr=texts)
attempts = st.builds(
    e.Attempt,
    st.sampled_from(list(Outcome)),
    st.floats(0, 1000),
    message=st.none() | texts,
    failure=st.none() | st.builds(e.Failure, texts, texts, st.none() | st.just(e.Place("t.py", 3))),
)
tests = st.builds(
    e.TestFinished,
    names,
    st.sampled_from(list(Outcome)),
    st.floats(0, 1000),
    message=st.none() | texts,
    traceback=st.none() | texts,
    place=st.none() | st.builds(e.Place, texts, st.integers(0, 10_000)),
    failure=st.none() | st.builds(e.Failure, texts, texts),
    phases=st.just(()) | st.tuples(phases),
    keywords=st.lists(texts, max_size=2).map(tuple),
    properties=st.none() | st.dictionaries(texts, texts | st.integers() | st.lists(st.none()), max_size=2),
    session=st.sampled_from([1, 1, 2]),
    worker=st.sampled_from(["", "gw0"]),
    attempts=st.just(()) | st.lists(attempts, max_size=2).map(tuple),
)
errors = st.builds(e.CollectionFailed, names, st.builds(e.Failure, texts, texts), texts)


@st.composite
def results(draw: st.DrawFn) -> RunResult:
    """A finished run of any tests, with or without its end; some of them may be in quarantine, and some have
    a history."""
    found = draw(st.lists(tests, max_size=6, unique_by=lambda test: test.test))
    held = (
        draw(st.just([]) | st.lists(st.sampled_from([test.test for test in found]), unique=True))
        if found
        else []
    )
    quarantined = {name: draw(texts) for name in held}
    broken = draw(st.lists(errors, max_size=2, unique_by=lambda error: error.file))
    endings: list[list[e.Event]] = [[e.SessionFinished(None)], [], [e.ChannelBroken("cut\nshort")]]
    ends = draw(st.sampled_from(endings))
    first = [e.TestsQuarantined(quarantined)] if quarantined else []
    return result_of([*first, *found, *broken, *draw(compared(found, broken)), *ends])


@st.composite
def compared(draw: st.DrawFn, found: list[e.TestFinished], broken: list[e.CollectionFailed]) -> list[e.Event]:
    """What earlier runs and another commit say of them, or nothing."""
    known = [test.test for test in found] + [error.file for error in broken]
    named = st.sampled_from(known) | names if known else names
    told = (draw(st.none() | histories(named)), draw(st.none() | baselines(named)))
    return [event for event in told if event is not None]
