"""Reads what faulthandler writes to stderr when an interpreter dies."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import TypeAlias

from msgspec.structs import replace

from proctor.events import Failure, FaultTraced, Place, TestFinished

_OPENING = "Fatal Python error: "
_FATAL = rf"(?m)^{_OPENING}(.+)$"
_FRAME = r'^  File "(.+)", line ([0-9]{1,9}) in (.+)$'
_LIBRARY = r"/(?:lib/python[0-9.]+|site-packages|dist-packages)/"
_KEPT = 64 * 1024  # characters of stderr in which a dump is looked for
_MOST = 20  # dumps remembered
_EXITED = "running the test EXITED with status"  # pytest-forked's words; xdist does not know
_SIGNALS = {
    "Segmentation fault": "SIGSEGV",
    "Bus error": "SIGBUS",
    "Floating-point exception": "SIGFPE",
    "Floating point exception": "SIGFPE",
    "Illegal instruction": "SIGILL",
}  # and every other fatal error aborts


_Function: TypeAlias = tuple[str, str]  # its file, its name


class FaultReader:
    """Takes stderr in pieces and returns every dump so far, the newest last."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd.rstrip("/") + "/"
        self._text = ""

    def feed(self, text: str) -> None:
        self._text = (self._text + text)[-_KEPT:]

    def dumps(self) -> list[FaultTraced]:
        if _OPENING not in self._text:  # nearly always
            return []
        starts = [found.start() for found in re.finditer(_FATAL, self._text)][-_MOST:]
        ends = [*starts[1:], len(self._text)]
        return [self._dump(self._text[start:end]) for start, end in zip(starts, ends, strict=False)]

    def _dump(self, text: str) -> FaultTraced:
        reason, _, rest = text.partition("\n")
        current = rest.find("Current thread")
        kept, places = [reason], []
        for line in rest[max(0, current) :].splitlines():
            if frame := re.match(_FRAME, line):
                places.append(Place(frame[1].removeprefix(self._cwd), int(frame[2])))
            elif places:
                break
            if line:
                kept.append(line)
        known = [p for p in places if not p.file.startswith("<") and not re.search(_LIBRARY, "/" + p.file)]
        own = [place for place in known if not place.file.startswith("/")] or known
        return FaultTraced(reason.partition(": ")[2], tuple(own), "\n".join(kept))


def dumps(text: str, cwd: str) -> list[FaultTraced]:
    """Those in the stderr of one process."""
    reader = FaultReader(cwd)
    reader.feed(text)
    return reader.dumps()


class Crashes:
    """Which dump belongs to which crash. Workers and forked children write to one stderr: a dump is assigned
    to a test only if its stack runs through that test and no other crash can have written it."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd.rstrip("/") + "/"
        self._crashed: list[str] = []

    def explain(
        self, event: TestFinished, dumps: list[FaultTraced], unfinished: Iterable[str]
    ) -> TestFinished:
        """Adds the place of a crash; `unfinished` are the tests that other processes may run by now."""
        function = _function(event.test)
        if _EXITED in (event.message or ""):
            return event  # its process ended itself, and wrote none
        others = [test for test in (*self._crashed, *unfinished) if test != event.test]
        self._crashed.append(event.test)
        known = {function, *map(_function, others)}
        told = [dump for dump in dumps if self._test_of(dump, known) == function]
        if len(told) != 1 or any(_function(test) == function for test in others):
            return event
        (dump,) = told
        message = f"{event.message}: {dump.reason} at {dump.places[0]}"
        failure = Failure("", message, dump.places[0])
        phases = tuple(replace(p, failure=failure) if p.outcome == "failed" else p for p in event.phases)
        return replace(event, message=message, traceback=dump.text, failure=failure, phases=phases)

    def own(self, dumps: list[FaultTraced], signal: str | None) -> FaultTraced | None:
        """The last words of the session's own process, which a signal ended: not those of a process that it
        has outlived."""
        dump = dumps[-1] if dumps else None
        if dump is None or _SIGNALS.get(dump.reason, "SIGABRT") != signal:
            return None
        crashed = set(map(_function, self._crashed))
        return None if self._test_of(dump, crashed) else dump

    def _test_of(self, dump: FaultTraced, known: Collection[_Function]) -> _Function | None:
        """The test that was running: of the known ones the outermost, for a test may call another."""
        frames = [found for line in dump.text.splitlines() if (found := re.match(_FRAME, line))]
        functions = ((frame[1].removeprefix(self._cwd), frame[3]) for frame in reversed(frames))
        return next((function for function in functions if function in known), None)


def _function(test: str) -> _Function:
    """The file of a test, and the name of its function."""
    path = test.partition("[")[0].split("::")
    return path[0], path[-1]
