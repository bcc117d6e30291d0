"""Runs tests, waits for a change or a key, and runs again. Runs are executed in the main thread."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from proctor.errors import ProctorError, UsageError
from proctor.outcome import RunOutcome
from proctor.process.stop import Stop
from proctor.result import RunResult
from proctor.watching.inbox import Changed, Event, Failed, Inbox, Pressed, Resumed, Signalled
from proctor.watching.prompt import ENTER, Prompt
from proctor.watching.rounds import Round, Rounds
from proctor.watching.written import Cause, Written, left_alone

NOT_COMPLETED = 2  # the exit code before any run has come to its end
_LOOK = 1.0  # seconds between two looks at whether the project and the reader are still there
_ALL, _FAILED, _PATTERN, _QUIT = ENTER, "f", "p", "q"  # keys


class Performed(msgspec.Struct, frozen=True):
    """A run that is over and was shown."""

    result: RunResult
    code: int
    ended: int  # when the last of its processes was gone, in nanoseconds; nothing was shown before


#: Runs the tests of a round and shows how they ended. Raises ProctorError if they cannot run.
Perform: TypeAlias = Callable[[Round, Stop], Performed]


class Face(Protocol):
    """What people see beside the runs themselves."""

    def begin(self, title: str) -> None:
        """A run begins."""

    def say(self, line: str) -> None:
        """About the last run, below its result."""

    def refuse(self, error: ProctorError) -> None:
        """It could not run."""

    def rest(self) -> None:
        """Nothing happens until something changes."""

    def ask(self, typed: str) -> None:
        """Somebody types a pattern."""

    def gone(self) -> bool:
        """Whether nobody can see anything any more."""


class Ended(Exception):
    """Watching is over, for a reason that may have to be told."""

    def __init__(self, code: int, why: str = "") -> None:
        super().__init__(why)
        self.code, self.why = code, why


class _Due(msgspec.Struct, frozen=True):
    """A run that is to begin now."""

    round: Round
    why: str = ""
    cause: Cause = "outside"


class Loop:
    """What happens meanwhile comes through `inbox`."""

    def __init__(
        self, root: Path, rounds: Rounds, perform: Perform, face: Face, is_source: Callable[[str], bool]
    ) -> None:
        self.inbox = Inbox(self._ends)
        self._root, self._rounds, self._perform, self._face = root, rounds, perform, face
        self._is_source = is_source
        self._identity = _identity(root)
        self._written = Written()
        self._changes: dict[str, Cause] = {}  # files that have to be followed by a run
        self._prompt: Prompt | None = None
        self._cut: Round | None = None  # the last run, if a key has ended it
        self._code = NOT_COMPLETED
        self._told: set[str] = set()  # files of which it is known that the tests write them

    def run(self) -> Ended:
        """Until somebody ends it. Raises ProctorError if not even the first run can begin."""
        try:
            following = self._run(_Due(self._rounds.begin()), first=True)
            while True:
                following = self._run(self._due(following))
        except Ended as ended:
            return ended

    def _run(self, due: _Due, first: bool = False) -> _Due | None:
        """Returns the run that follows by itself."""
        self._face.begin(f"{due.why}: {due.round.name}" if due.why else due.round.name)
        with self.inbox.lock:
            self._written.begin(time.time_ns(), due.cause)
        self._cut = None
        try:
            with self.inbox.run() as stop:
                performed = self._perform(due.round, stop)
        except ProctorError as error:
            if first:
                raise
            self._face.refuse(error)
            self._code = error.exit_code
            self._end(time.time_ns(), whole=False)
            # One of all tests would meet the same broken settings, but not a test that is no longer there.
            follows = self._rounds.refused(due.round) if type(error) is UsageError else None
            return _Due(follows, cause="next") if follows is not None else None
        cut = stop.reason is not None and performed.result.stopped is not None
        self._end(performed.ended, whole=not cut)
        self._cut = due.round if cut else None
        return self._following(due.round, performed, not cut)

    def _end(self, at: int, whole: bool) -> None:
        with self.inbox.lock:
            self._written.end(at, whole)

    def _following(self, round: Round, performed: Performed, whole: bool) -> _Due | None:
        following = self._rounds.ended(round, performed.result)
        if whole:
            self._code = performed.code
            if left_out := self._rounds.not_run(round, performed.result):
                self._face.say(left_out)
        if following is None:
            return None
        passed = performed.result.outcome is RunOutcome.PASSED
        return _Due(following, f"{round.name} passed" if passed else "", "next")

    def _ends(self, event: Event) -> RunOutcome | None:
        """How an event ends the run under way, if it does."""
        match event:
            case Changed():
                ends = [
                    self._written.ends_run(path, at, self._is_source(path))
                    for path, at in event.paths.items()
                ]
                return RunOutcome.CANCELLED if any(ends) else None
            case Signalled(signal.SIGINT):
                return RunOutcome.INTERRUPTED
            case Pressed(key):
                return RunOutcome.CANCELLED if key in (_ALL, _FAILED, _PATTERN, _QUIT) else None
            case Resumed():
                return None
        return RunOutcome.CANCELLED

    def _due(self, following: _Due | None) -> _Due:
        """The next run. What has happened meanwhile comes before what follows by itself."""
        shown = False  # that it waits
        while True:
            while (event := self.inbox.get()) is not None:
                shown = shown and not isinstance(event, Resumed)
                if due := self._take(event):
                    return due
            self._look()
            if self._prompt is None and (due := self._after_change() or following):
                return due
            if not shown and self._prompt is None:
                self._face.rest()
                shown = True
            self.inbox.wait(_LOOK)

    def _take(self, event: Event) -> _Due | None:
        """The run that it asks for at once. Changes are collected."""
        match event:
            case Signalled(number):
                raise Ended(128 + number)
            case Failed(why):
                raise Ended(NOT_COMPLETED, why)
            case Changed(paths):
                self._collect(paths)
            case Pressed(key) if self._prompt is not None:
                return self._type(key, self._prompt)
            case Pressed("q"):
                raise Ended(self._code)
            case Pressed("p"):
                self._prompt = Prompt()
                self._face.ask("")
            case Pressed(key) if key in (_ALL, _FAILED):
                return self._asked("failed" if key == _FAILED else "all")
        return None

    def _type(self, key: str, prompt: Prompt) -> _Due | None:
        if not prompt.press(key):
            self._face.ask(prompt.text)
            return None
        self._prompt = None
        self._face.rest()
        return self._asked("pattern", prompt.text) if prompt.text.strip() else self._again()

    def _asked(self, what: str, pattern: str = "") -> _Due | None:
        if self._changes:
            self._rounds.changed(frozenset(self._changes))
            self._changes = {}
        if found := self._rounds.asked(what, pattern):
            return _Due(found)
        self._face.say("no test failed")
        return self._again()

    def _again(self) -> _Due | None:
        """The run that a key has ended, if nothing came of that key."""
        return _Due(self._cut, cause="next") if self._cut is not None and not self._changes else None

    def _collect(self, paths: Mapping[str, int]) -> None:
        alone: dict[bool, list[str]] = {False: [], True: []}
        with self.inbox.lock:
            for path, at in paths.items():
                source = self._is_source(path)
                if (cause := self._written.cause(path, at, source)) is not None:
                    self._changes[path] = cause
                    self._told.discard(path)
                else:
                    alone[source].append(path)
        if alone[True]:
            self._face.say(left_alone(alone[True], source=True))
        if news := [path for path in alone[False] if path not in self._told]:
            self._told.update(news)
            self._face.say(left_alone(news, source=False))

    def _after_change(self) -> _Due | None:
        if not self._changes:
            return None
        changes, self._changes = self._changes, {}
        cause: Cause = "outside" if "outside" in changes.values() else "inside"
        return _Due(self._rounds.changed(frozenset(changes)), f"{_named(changes)} changed", cause)

    def _look(self) -> None:
        """Ends it if there is nothing left to watch, or nobody to show it to."""
        if _identity(self._root) != self._identity:
            raise Ended(NOT_COMPLETED, f"{self._root} is gone: there is nothing left to watch")
        if self._face.gone():
            raise Ended(NOT_COMPLETED)


def _identity(directory: Path) -> tuple[int, int] | None:
    try:
        about = os.stat(directory)
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _named(paths: Collection[str]) -> str:
    first = min(paths, key=lambda path: (path.count("/"), path))
    others = len(paths) - 1
    return f"{first} and {others} more" if others else first
