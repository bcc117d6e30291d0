"""Whatever a project does, through whichever door: the verdict is true, nothing that was reported is lost,
nothing is alive afterwards, nothing was written outside, and no test ran twice."""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.browser import Browser, NoBrowser
from support.pages import assert_quiet
from support.projects import LIMITS
from torture import leaks, ways
from torture.kind import REFUSED, Kind
from torture.kinds import KINDS
from torture.ways import Document, Place, Server, Surroundings, Told

UNUSABLE = 4
EXIT_CODES = {
    "passed": 0,
    "failed": 1,
    "collection_error": 1,
    "crashed": 2,
    "timeout": 2,
    "interrupted": 2,
    "incomplete": 2,
    "internal_error": 3,
    "usage_error": 4,
    "no_tests": 5,
}


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("torture")


@pytest.fixture(scope="session")
def shared(base: Path) -> Iterator[Server]:
    """One server for nearly all: what a kind does to it, the next one would see."""
    server = Server(base, Surroundings(base / "user"))
    yield server
    server.close()


@pytest.fixture(scope="session")
def at_home(base: Path) -> Surroundings:
    return Surroundings(base / "user")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser | None]:
    """None where there is no Chromium: then pages are made and not looked at."""
    with contextlib.ExitStack() as stack:
        try:
            yield stack.enter_context(Browser())
        except NoBrowser:
            yield None


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_whatever_happens(
    kind: Kind, base: Path, shared: Server, at_home: Surroundings, browser: Browser | None
) -> None:
    limits = LIMITS if kind.hangs else (None,)

    assert any(happens(kind, limit, base, shared, at_home, browser) for limit in limits)


OTHERWISE = [each for kind in KINDS for each in kind.in_other_ways()]


@pytest.mark.parametrize("kind", OTHERWISE, ids=[kind.name for kind in OTHERWISE])
def test_whatever_happens_in_another_way(
    kind: Kind, base: Path, shared: Server, at_home: Surroundings
) -> None:
    place = Place(kind, base / "cli", at_home, None)
    try:
        with place.set_up():
            check(kind, ways.by_command_line(place), shared)
    finally:
        ways.end(place.alive())
        place.remove()


def happens(
    kind: Kind,
    limit: int | None,
    base: Path,
    shared: Server,
    at_home: Surroundings,
    browser: Browser | None,
) -> bool:
    """Try a kind both ways and check it. False if a busy machine did not let it hang before the limit."""
    around = Surroundings(base / "user") if kind.alone else shared.around
    places = Place(kind, base / "cli", at_home, limit), Place(kind, base / "mcp", around, limit)
    server = Server(places[1].root, around, kind.environ) if kind.alone else shared
    try:
        with places[0].set_up(), places[1].set_up(), ThreadPoolExecutor(1) as aside:
            began = time.time()
            answer = aside.submit(ways.by_mcp, places[1], server)
            told = ways.by_command_line(places[0]), answer.result()
            if not all(place.has_hung(began) for place in places):
                return False
            first, second = (check(kind, each, shared) for each in told)
        assert {**first, "reason": ""} == {**second, "reason": ""}  # which may count bytes
        look(kind, places[0], browser)
        return True
    finally:
        if server is not shared:
            server.close()
        for place in places:
            ways.end([pid for pid in place.alive() if pid != shared.pid])
            place.remove()


def look(kind: Kind, place: Place, browser: Browser | None) -> None:
    """The page of the run opens without a message, and shows nothing that must not leave the machine."""
    for run in place.runs():
        path = ways.page_of(place, run)
        assert [value for value in kind.hidden if value.encode() in path.read_bytes()] == []
        if browser:
            with browser.page() as page:
                page.open(path)
                assert_quiet(page)


def check(kind: Kind, told: Told, reader: Server) -> dict[str, Any]:
    """The four things. Returns what the two ways should agree on."""
    # Nothing is alive.
    assert told.alive == []
    # Nothing was written outside.
    assert told.place.changes() == []
    if kind.outcome == REFUSED:
        assert (told.document, told.place.runs(), told.place.finished) == (None, [], set())
        assert told.code in (UNUSABLE, None)
        return {"reason": ""}
    (run,) = told.place.runs()
    shown = ways.shown(told.place, run) if told.way == "mcp" or kind.kept == "in part" else told.document
    document = told.document or shown
    assert document is not None and shown is not None
    # The verdict is true.
    assert told.code in (-signal.SIGKILL if kind.kills_proctor else EXIT_CODES[kind.outcome], None)
    assert document["outcome"] == kind.outcome, document["reason"]
    assert kind.reason in document["reason"]
    assert outcomes(document) == kind.tests
    assert set(document["not_run"]) == set(kind.not_run)
    # Nothing that was reported is lost, whoever asks for it.
    passed = {test for test, outcome in kind.tests.items() if outcome == "passed"}
    assert passed <= told.place.finished <= {*kind.tests, *kind.not_run}
    # No test is run twice.
    assert told.place.repeated <= {*kind.again}
    assert run.name == document["run_id"]
    if kind.kept == "in part":  # what is lost is known to be lost
        assert shown["outcome"] == "incomplete"
        assert told.document is None or any(
            "the record of the run stopped" in notice for notice in document["notices"]
        )
        return verdict(document)
    assert json.loads((run / "result.json").read_bytes()) == shown
    assert shown == document or (kind.hidden and told.way == "mcp")
    # What must not leave the machine does not.
    if kind.hidden:
        tests = list(kind.tests)
        texts = leaks.written(run) if told.way != "mcp" else leaks.answered(reader, run.name, tests)
        texts["told"] = json.dumps(told.document) if told.way == "mcp" else ""
        assert [name for name, text in texts.items() for value in kind.hidden if value in text] == []
        assert any("***" in text for text in texts.values())
    assert ways.told_again(run) == (kind.outcome, kind.tests, document["not_run"])
    assert verdict(ways.got(reader, run.name)) == verdict(document)
    return verdict(document)


def outcomes(document: Document) -> dict[str, str]:
    return {test["node_id"]: test["outcome"] for test in document["tests"]}


def verdict(document: Document) -> dict[str, Any]:
    fields = ("outcome", "reason", "exit_code", "signal", "not_run", "current_test")
    return {**{name: document[name] for name in fields}, "tests": outcomes(document)}
