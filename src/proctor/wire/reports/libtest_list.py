"""The tests of several test binaries, one list after another: libtest's `--list` as JSON or, in versions
without JSON, as lines `NAME: test`.

RS at the start of a line precedes the name of the binary whose list follows, RS and `=` its exit status.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from proctor import decoding
from proctor import events as e
from proctor.launch import Artifact
from proctor.result import Excerpt
from proctor.text import text_of
from proctor.wire.reports.libtest import documented_at
from proctor.wire.reports.report import LineReport, count_of, decode

LIST = "list"  # kinds of artifacts: that a list was read to its end, and what was in it
LISTED = "listed"

_BEGIN, _END = b"\x1e", b"\x1e="
_WORDS = ("test", "benchmark")
_KEPT = 1 << 16  # characters of what is no list


class _Line(msgspec.Struct):
    event: str = ""
    name: str = ""
    source_path: str = ""
    start_line: int = 0


_decoder = decoding.decoder(_Line)


class LibtestListReader(LineReport):
    format = "libtest-list"

    def __init__(self) -> None:
        super().__init__()
        self.artifacts: list[Artifact] = []
        self._errors: list[e.CollectionFailed] = []
        self._begin("")

    def _begin(self, owner: str) -> None:
        self._owner = owner  # the binary whose list is being read
        self._tests: list[Artifact] = []
        self._noise = Excerpt(_KEPT)

    def _line(self, line: bytes) -> Iterable[e.Event]:
        if line.startswith(_END):
            self._ended(text_of(line[len(_END) :]))
        elif line.startswith(_BEGIN):
            self._begin(text_of(line[len(_BEGIN) :]))
        elif self._owner and not self._test(line, self._owner):
            self._noise.add(text_of(line) + "\n")
            return self._output(text_of(line))
        return ()

    def _test(self, line: bytes, owner: str) -> bool:
        """Whether the line is one that belongs to a list."""
        if line.startswith(b"{"):
            try:
                found = decode(line, _decoder)
            except ValueError:
                return False
            if found.event == "discovered":
                self._add(owner, found.name, found.source_path, found.start_line)
            return True
        name, colon, word = text_of(line).rpartition(": ")
        if colon and word in _WORDS:
            self._add(owner, name, "", 0)
        return bool(colon and word in _WORDS) or not line.strip()

    def _add(self, owner: str, name: str, file: str, line: int) -> None:
        place = documented_at(name) or e.Place(file, line)
        self._tests.append(Artifact(place.file, name, LISTED, owner, {"line": str(place.line)}))

    def _ended(self, status: str) -> None:
        if not self._owner:
            return
        if status == "0":
            self.artifacts += [*self._tests, Artifact("", self._owner, LIST)]
        else:
            why = f"its tests could not be listed: exit status {count_of(status)}"
            self._errors.append(e.CollectionFailed(self._owner, e.Failure("", why), self._noise.text()))
        self._begin("")

    def _last(self) -> Iterator[e.Event]:
        if self._owner:
            self._gaps.append(f"the list of {self._owner} has no end")
        if self._errors:
            yield e.SuiteStarted(self.format, "", len(self._errors))
        yield from self._errors
        yield self._ending()
