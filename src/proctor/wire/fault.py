"""What an interpreter says on stderr when it dies: faulthandler's dump, read for the line that matters."""

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
    """Fed with stderr as it comes; knows every dump so far, the newest last."""

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
        inside = False
        for line in rest[max(0, current) :].splitlines():
            frame = _FRAME.match(line)
            if frame:
                inside = True
                places.append(Place(frame[1].removeprefix(self._cwd), int(frame[2])))
            elif inside:
                break
            if line:
                kept.append(line)
        return FaultTraced(reason.partition(": ")[2], self._of_the_user(places), "\n".join(kept))

    def _of_the_user(self, places: list[Place]) -> tuple[Place, ...]:
        known = [p for p in places if not p.file.startswith("<") and not _LIBRARY.search("/" + p.file)]
        return tuple([p for p in known if not p.file.startswith("/")] or known)


def explain(event: TestFinished, dumps: list[FaultTraced]) -> TestFinished:
    """A worker's death names the test but not the line; the worker's own last words do."""
    if event.outcome is not Outcome.CRASH:
        return event
    file = event.test.partition("::")[0]
    for dump in reversed(dumps):
        if any(place.file == file for place in dump.places):
            message = f"{event.message}: {dump.reason} at {dump.places[0]}"
            failure = Failure("", message, dump.places[0])
            return msgspec.structs.replace(event, message=message, traceback=dump.text, failure=failure)
    return event
