"""Checks a control stream: its contents, and the error that broke it."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor.errors import ControlError
from proctor.wire.control import decoder
from proctor.wire.control.ledger import STATUSES, Finished, Ledger, Limits, Partial
from proctor.wire.control.rules import RULES

# 1: first published form.
SCHEMA = "proctor.control-check/1"

NO_STATUS = "none"
_WORDS: dict[type, str] = {
    decoder.ExitCode: "exitcode",
    decoder.Duration: "duration",
    decoder.Noop: "noop",
    decoder.Reconnect: "reconnect",
    decoder.Disconnected: "disconnect",
}


class Checked(msgspec.Struct):
    """The complete messages of a stream, up to its end or to its first error."""

    size: int = 0  # bytes looked at
    results: dict[str, int] = {}  # by status
    own: bool = False  # whether the test reported on itself
    partials: list[str | None] = []  # names of those still open at the end
    files: int = 0
    file_bytes: int = 0
    words: dict[str, int] = {}  # other than `result`
    unread: int = 0  # bytes after `disconnect`
    error: ControlError | None = None

    def document(self) -> dict[str, Any]:
        error = self.error
        return {
            "schema": SCHEMA,
            "good": error is None,
            "bytes": self.size,
            "results": self.results,
            "own_result": self.own,
            "open_partials": self.partials,
            "files": {"count": self.files, "bytes": self.file_bytes},
            "words": self.words,
            "bytes_after_disconnect": self.unread,
            "error": None if error is None else _facts(error),
        }


class ControlCheck:
    """`feed` takes a stream in pieces, `close` returns what a run finds in it. Keeps no file's bytes."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._ledger = Ledger(limits)
        self._decoder = decoder.ControlDecoder(self._ledger)
        self._partials: dict[str | None, None] = {}
        self._pending: list[int] = []  # lengths of the files of a result that has not come whole
        self._given = 0
        self._checked = Checked(results=dict.fromkeys((*sorted(STATUSES), NO_STATUS), 0))

    @property
    def broken(self) -> bool:
        return self._decoder.error is not None

    def feed(self, data: bytes) -> None:
        self._given += len(data)
        for frame in self._decoder.feed(data):
            self._take(frame)

    def close(self) -> Checked:
        self._decoder.close()
        checked = self._checked
        checked.error = self._decoder.error or self._late_error()
        checked.size = self._decoder.offset
        checked.unread = 0 if checked.error else self._given - checked.size
        checked.partials = list(self._partials)
        checked.results = {status: count for status, count in checked.results.items() if count}
        return checked

    def _take(self, frame: decoder.Frame) -> None:
        checked = self._checked
        if isinstance(frame, Finished):
            self._partials.pop(frame.name, None)
            checked.results[frame.body.get("status", NO_STATUS)] += 1
            checked.own = checked.own or frame.name is None
        elif isinstance(frame, Partial):
            self._partials[frame.name] = None
        elif isinstance(frame, decoder.FileOpened):
            self._pending.append(frame.length)
        elif word := _WORDS.get(type(frame)):
            checked.words[word] = checked.words.get(word, 0) + 1
        if isinstance(frame, Finished | Partial):
            checked.files += len(self._pending)
            checked.file_bytes += sum(self._pending)
            self._pending.clear()

    def _late_error(self) -> ControlError | None:
        """The error of a partial that only shows when the end of the test closes it."""
        closed = list(self._ledger.close(0))
        if len(closed) <= len(self._partials) or closed[-1].body["status"] != "error":
            return None
        return ControlError("bad_result", "T2", self._decoder.offset, closed[-1].body["note"])


def _facts(error: ControlError) -> dict[str, Any]:
    return {
        "kind": error.kind,
        "rule": error.rule,
        "says": RULES[error.rule],
        "offset": error.offset,
        "message": error.message,
        "cause": error.cause,
        "before": readable(error.before),
        "after": readable(error.after),
    }


def readable(data: bytes) -> str:
    """Bytes as one line of ASCII: what cannot be seen is escaped as in Python."""
    return data.decode("latin-1").encode("unicode_escape").decode()
