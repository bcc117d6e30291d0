"""What a run says while its engine cannot go on, and when it gives up."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from proctor.engines.engine import PlainEngine
from proctor.engines.waiting import Waiting


class Lacking(PlainEngine):
    def __init__(self) -> None:
        super().__init__("made", ThreadPoolExecutor)
        self.what = "no worker at made"

    def lack(self) -> str:
        return self.what


def started(limit: float = 60.0) -> tuple[Waiting, Lacking, list[str]]:
    engine, told = Lacking(), list[str]()
    waiting = Waiting(engine, limit, told.append)
    waiting.start(2.0)
    return waiting, engine, told


def test_it_is_told_once_what_a_run_waits_for_and_shown_as_long_as_that_lasts() -> None:
    waiting, engine, told = started()
    shown = []
    for now in range(2, 12):
        assert not waiting.look(float(now))
        shown.append(waiting.text(float(now)))
    engine.what = ""
    assert not waiting.look(12.0)
    over = waiting.text(12.0)
    engine.what = "no worker at made"
    for now in range(13, 30):
        assert not waiting.look(float(now))

    assert shown[:3] == ["", "", ""]
    assert shown[3] == "no worker at made: waiting, 57s left"
    assert over == ""
    assert waiting.text(30.0) == "no worker at made: waiting, 42s left"
    assert told == ["no worker at made: the run waits for up to 60 s"]


def test_a_short_wait_is_worth_no_words() -> None:
    waiting, engine, told = started()
    for now in range(2, 60):
        engine.what = "" if now % 3 == 0 else "no worker at made"
        assert not waiting.look(float(now))
        assert not waiting.text(float(now))

    assert told == []


def test_after_a_while_a_run_gives_up() -> None:
    waiting, _, _ = started()

    assert not waiting.look(61.9)
    assert waiting.look(63.0) == "no worker at made for 60 s"
