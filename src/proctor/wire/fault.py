"""Reads what faulthandler writes to stderr when an interpreter dies."""

from __future__ import annotations

import re

import msgspec

from proctor.events import Failure, FaultTraced, Place, TestFinished
from proctor.outcome import Outcome

_FATAL = re.compile(r"^Fatal Python error: (.+)$", re.M)
_FRAME = re.compile(r'^  File "(.+)", line ([0-9]{1,9}) in (.+)$')
_LIBRARY = re.compile(r"/(?:lib/python[0-9.]+|site-packages|dist-packages)/")
_KEPT = 64 * 1024  # characters of stderr in which a dump is looked for
_MOST = 20  # dumps remembered


class FaultReader:
    """Takes stderr in pieces and returns every dump so far, the newest last."""

    def __init__(self, cwd: str) -> None:
        self._cwd = cwd.rstrip("/") + "/"
        self._text = ""

    def feed(self, text: str) -> None:
        self._text = (self._text + text)[-_KEPT:]

    def dumps(self) -> list[FaultTraced]:
        starts = [found.start() for found in _FATAL.finditer(self._text)][-_MOST:]
        ends = [*starts[1:], len(self._text)]
        return [self._dump(self._text[start:end]) for start, end in zip(starts, ends, strict=False)]

    def _dump(self, text: str) -> FaultTraced:
        reason, _, rest = text.partition("\n")
        current = rest.find("Current thread")
        kept, places = [reason], []
        for line in rest[max(0, current) :].splitlines():
            if frame := _FRAME.match(line):
                places.append(Place(frame[1].removeprefix(self._cwd), int(frame[2])))
            elif places:
                break
            if line:
                kept.append(line)
        known = [p for p in places if not p.file.startswith("<") and not _LIBRARY.search("/" + p.file)]
        own = [place for place in known if not place.file.startswith("/")] or known
        return FaultTraced(reason.partition(": ")[2], tuple(own), "\n".join(kept))


def explain(event: TestFinished, dumps: list[FaultTraced]) -> TestFinished:
    """Adds the place of a worker's crash, which only the worker's dump has."""
    if event.outcome is not Outcome.CRASH:
        return event
    file = event.test.partition("::")[0]
    for dump in reversed(dumps):
        if any(place.file == file for place in dump.places):
            message = f"{event.message}: {dump.reason} at {dump.places[0]}"
            failure = Failure("", message, dump.places[0])
            return msgspec.structs.replace(event, message=message, traceback=dump.text, failure=failure)
    return event
