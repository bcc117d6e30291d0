"""What `proctor watch` does when the tests of a round cannot run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support.made_runs import failed, passed, run_of

from proctor import events as e
from proctor.errors import ConfigError, ProctorError, UsageError
from proctor.process.stop import Stop
from proctor.spec import Selection
from proctor.watching.inbox import Changed, Pressed
from proctor.watching.loop import Loop, Performed
from proctor.watching.rounds import Round, Rounds

A, B = "test_a.py::test_one", "test_a.py::test_two"


class Silent:
    def __init__(self) -> None:
        self.refused: list[ProctorError] = []

    def begin(self, title: str) -> None: ...
    def say(self, line: str) -> None: ...
    def rest(self) -> None: ...
    def ask(self, typed: str) -> None: ...
    def gone(self) -> bool:
        return False

    def refuse(self, error: ProctorError) -> None:
        self.refused.append(error)


class Scene:
    """The first run fails, a file changes, and the next run cannot begin."""

    def __init__(self, root: Path, fault: ProctorError) -> None:
        self.rounds: list[str] = []
        self.face, self._fault, self._root = Silent(), fault, root
        rounds = Rounds(Selection(), lambda paths: (), lambda test, root, changed: test)
        self.loop = Loop(root, rounds, self.perform, self.face, lambda path: True)

    def perform(self, round: Round, stop: Stop) -> Performed:
        self.rounds.append(round.name)
        if len(self.rounds) == 2:
            if isinstance(self._fault, ConfigError):
                self.loop.inbox.put(Pressed("q"))
            raise self._fault
        selected = e.TestsSelected((A, B))
        result = run_of(selected, failed(A, "no"), *passed(B), cwd=str(self._root))
        self.loop.inbox.put(
            Changed({"a.py": time.time_ns() + 10**12}) if len(self.rounds) == 1 else Pressed("q")
        )
        return Performed(result, 1, time.time_ns())


@pytest.mark.parametrize(
    ("fault", "rounds"),
    [
        (UsageError("no such test"), ["all tests", "failed tests", "all tests"]),
        (ConfigError("broken settings"), ["all tests", "failed tests"]),
    ],
)
def test_all_tests_follow_failed_ones_that_are_no_longer_there(
    tmp_path: Path, fault: ProctorError, rounds: list[str]
) -> None:
    scene = Scene(tmp_path, fault)

    scene.loop.run()

    assert scene.rounds == rounds
    assert scene.face.refused == [fault]
