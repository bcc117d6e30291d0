"""Which changes are the tests' own. Values only: moments are given, as nanoseconds of the system's clock.

Nobody can see who has written a file. What changes between two runs was changed by somebody else, and always
counts. What changes during a run ends it, so that the next one begins with the change; but a file that tests
write in each run would end all of them. So a run that follows such an end is left to itself, and if the file
has changed in two runs that came to their end, then the tests write it: what they do to it starts no other
run. A source ends far more runs before that, is never left alone for good, and each time it is, that is said.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from proctor.text import named

_PATIENCE = 5  # runs in a row that may be ended because files change during them
_WHOLE = 2  # runs that came to their end, until a file that changes in all of them is the tests' own
_LONGEST = 40  # runs that are remembered


#: Why a run begins: something outside of all runs, a change during one, or the run before it.
Cause: TypeAlias = Literal["outside", "inside", "next"]


class _Run(msgspec.Struct):
    began: int
    ended: int | None = None
    whole: bool = False  # it came to its end


class Written:
    """Not for several threads at a time."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []
        self._chain = 0  # runs in a row that began because of a change during the one before
        self._has_ended: set[str] = set()  # files because of which a run was ended
        self._times: dict[str, set[int]] = {}  # runs that came to their end, and in which the file changed
        self._own: set[str] = set()
        self._suspected: set[str] = set()  # sources that look like the tests' own

    def begin(self, at: int, cause: Cause) -> None:
        if cause == "outside":
            self._chain = 0
        elif cause == "inside":
            self._chain += 1
        self._runs = [*self._runs[-_LONGEST:], _Run(at)]

    def end(self, at: int, whole: bool) -> None:
        self._runs[-1].ended, self._runs[-1].whole = at, whole

    def ends_run(self, path: str, at: int, source: bool) -> bool:
        """Whether a change at that moment ends the run that is under way."""
        if self._run_at(at) is None:
            return True
        if path in self._own | self._suspected or self._chain >= _PATIENCE:
            return False
        if not source and path in self._has_ended:
            return False
        self._has_ended.add(path)
        return True

    def cause(self, path: str, at: int, source: bool) -> Cause | None:
        """Of the run that has to follow this change; None: it is the tests' own. No run is under way."""
        run = self._run_at(at)
        if run is None:
            for files in (self._own, self._suspected, self._has_ended):
                files.discard(path)
            self._times.pop(path, None)
            return "outside"
        if path in self._own:
            return None
        if not run.whole:
            return "inside"
        if source:
            if self._chain < _WHOLE - 1 + (0 if path in self._suspected else _PATIENCE):
                return "inside"
            self._suspected.add(path)
            return None
        times = self._times.setdefault(path, set())
        times.add(run.began)
        if len(times) < _WHOLE and self._chain < _WHOLE - 1 + _PATIENCE:
            return "inside"
        self._own.add(path)
        return None

    def _run_at(self, at: int) -> _Run | None:
        runs = reversed(self._runs)
        return next((run for run in runs if run.began <= at and (run.ended is None or at <= run.ended)), None)


def left_alone(paths: list[str], source: bool) -> str:
    """The line about files that changed during a run and start no other one."""
    names = named(paths)
    if source:
        return f"{names} changed while the tests ran, again and again: this result may be of either version"
    it = "them" if len(paths) > 1 else "it"
    return f"{names} changed in each run: the tests write {it}, so that starts no other run"
