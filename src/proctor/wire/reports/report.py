"""What the readers of other tools' reports share: bytes in pieces, limits, unique names, how a report ends.

The last event of a reader is `SessionFinished` if the report is complete and agrees with itself; otherwise
`ChannelBroken`, which names what does not add up.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import BAD, Outcome
from proctor.text import text_of, utf8
from proctor.unique_names import UniqueNames
from proctor.wire.literal import literal_in
from proctor.wire.reports.openings import opening
from proctor.wire.stream.words import KIND

MAX_LINE = 16 << 20  # bytes
MAX_DOCUMENT = 256 << 20  # bytes of a report that is one JSON value: it is held as a whole
_SCOPE = 500  # characters
_SHOWN = 5  # gaps that are named
MOST_TESTS = 10**12  # a larger number of tests is only large
_SHOWN_KEY = 80  # characters
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"\s*(:?)', re.S)  # and whether it is a key

T = TypeVar("T")

SUMMARY = "its summary has {} {}, its list {}"  # how counts differ, where they stand in a summary
COLLECTION_ERROR = "collection_error"  # where an outcome is expected: it was not even a test


class Reader(Protocol):
    """Bytes in, events out. After a `StreamError` a reader stays broken."""

    def feed(self, data: bytes) -> list[e.Event]: ...

    def close(self) -> list[e.Event]: ...


class Report(ABC):
    """A reader's frame. Events from before a fault are returned; the next call raises the fault."""

    format: ClassVar[str]

    def __init__(self) -> None:
        self._error: StreamError | None = None
        self._names = UniqueNames()
        self._gaps: list[str] = []  # what is missing or does not add up

    def feed(self, data: bytes) -> list[e.Event]:
        found: list[e.Event] = []
        self._check()
        try:
            found.extend(self._read(data))
        except StreamError as error:
            self._error = error
            if not found:
                raise
        return found

    def close(self) -> list[e.Event]:
        self._check()
        try:
            return list(self._end())
        except StreamError as error:
            self._error = error
            raise

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    @abstractmethod
    def _read(self, data: bytes) -> Iterable[e.Event]: ...

    @abstractmethod
    def _end(self) -> Iterable[e.Event]: ...

    def _fault(self, what: str) -> StreamError:
        return StreamError(f"{self.format}: {what}")

    def _compare(
        self,
        what: str,
        counted: int | msgspec.UnsetType,
        found: int,
        said: str = "it counts {} {} and lists {}",
    ) -> None:
        """Note where a report counts other than what it lists; UNSET: it does not count that."""
        if isinstance(counted, int) and counted != found:
            self._gaps.append(said.format(counted, what, found))

    def _ending(self, status: int | None = None, collected: int = 0, **times: float) -> e.Event:
        """`times` are `duration` and `created`, where the report has them."""
        if not self._gaps:
            duration, created = (took(times.get(name, 0.0)) for name in ("duration", "created"))
            return e.SessionFinished(status, collected, duration, created)
        more = f"; and {len(self._gaps) - _SHOWN} more" if len(self._gaps) > _SHOWN else ""
        return e.ChannelBroken(f"{self.format}: {'; '.join(self._gaps[:_SHOWN])}{more}")


class LineReport(Report):
    """A report whose lines stand alone."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        self._pieces: list[bytes] = []
        self._size = 0
        self._another = ""  # the format of a report that begins in this one

    @abstractmethod
    def _line(self, line: bytes) -> Iterable[e.Event]:
        """One line without its end."""

    @abstractmethod
    def _last(self) -> Iterable[e.Event]:
        """There are no more lines."""

    def _output(self, text: str) -> Iterable[e.Event]:
        """A line that is no part of the report."""
        return [e.OutputReceived("stdout", text + "\n")] if text.strip() else ()

    def _outside(self, text: str) -> None:
        """A line outside of what tests print. If another report begins with it, its results would be lost."""
        found = "" if self._another else opening(utf8(text)) or ""
        if found and found != self.format:
            self._another = found
            self._gaps.append(f"line {self._number} begins another report ({found})")

    def _read(self, data: bytes) -> Iterator[e.Event]:
        *whole, rest = data.split(b"\n")
        for piece in whole:
            self._hold(piece)
            yield from self._complete()
        self._hold(rest)

    def _end(self) -> Iterator[e.Event]:
        if self._size:
            yield from self._complete()
        yield from self._last()

    def _hold(self, piece: bytes) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        if self._size > MAX_LINE:
            raise self._fault(f"line {self._number + 1} is longer than {MAX_LINE >> 20} MiB")

    def _complete(self) -> Iterable[e.Event]:
        line = b"".join(self._pieces).removesuffix(b"\r")
        self._pieces, self._size = [], 0
        self._number += 1
        return self._line(line.removeprefix(b"\xef\xbb\xbf") if self._number == 1 else line)


class JsonLines(LineReport):
    """A report of JSON objects, one a line, with output between them."""

    decoder: ClassVar[msgspec.json.Decoder[Any]]
    strict: ClassVar = False  # a line that begins with a brace must be such an object

    @abstractmethod
    def _object(self, found: Any) -> Iterable[e.Event]:
        """One line, decoded."""

    def _line(self, line: bytes) -> Iterable[e.Event]:
        if line.startswith(b"{"):
            try:
                return self._object(decode(line, self.decoder))
            except ValueError as error:
                if self.strict or isinstance(error, RepeatedKey):
                    raise self._fault(f"line {self._number}: {error}") from None
        return self._output(text_of(line))


class JsonDocument(Report):
    """A report that is one JSON value."""

    decoder: ClassVar[msgspec.json.Decoder[Any]]

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._size = 0

    @abstractmethod
    def _events(self, report: Any) -> Iterable[e.Event]:
        """The events of the whole report, decoded."""

    def _read(self, data: bytes) -> Iterable[e.Event]:
        self._size += len(data)
        if self._size > MAX_DOCUMENT:
            raise self._fault(f"the report is larger than {MAX_DOCUMENT >> 20} MiB")
        self._pieces.append(data)
        return ()

    def _end(self) -> Iterable[e.Event]:
        data = b"".join(self._pieces).removeprefix(b"\xef\xbb\xbf")
        self._pieces = []
        if not data.strip():
            raise self._fault("the report is empty; the tool ended before it wrote one")
        try:
            return self._events(decode(data, self.decoder))
        except ValueError as error:
            raise self._fault(str(error)) from None


def scope(groups: Iterable[str], between: str) -> list[str]:
    """The groups of a test as the first part of its name, if any; cut, because every test repeats it."""
    parts = list(groups)
    joined = between.join(parts)
    return [joined if len(joined) <= _SCOPE else f"{joined[: _SCOPE - 3]}..."] if parts else []


class RepeatedKey(ValueError):
    """An object has the same key twice."""


def decode(data: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """JSON as a value; raises ValueError. What is not UTF-8, and lone surrogates, become literal text."""
    try:
        found = decoder.decode(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        if b"\\ud" not in data.lower() and not isinstance(error, UnicodeDecodeError):
            raise
    else:
        check_keys(data)
        return found
    try:
        whole = data.decode("utf-8", "surrogateescape")
        value = literal_in(json.loads(whole, object_pairs_hook=_once))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return decoder.decode(json.dumps(value).encode())


def check_keys(data: bytes, value: Any = msgspec.UNSET) -> None:
    """Raise RepeatedKey if an object in this JSON has a key twice; `value` is what it stands for, if known.

    Every decoder takes the last one, so the value written again has fewer keys.
    """
    if value is msgspec.UNSET:
        value = msgspec.json.decode(data)
    again = msgspec.json.encode(value)
    if again != data and _keys(again) != _keys(data):
        json.loads(data, object_pairs_hook=_once)
        raise RepeatedKey("a key occurs twice")  # for want of its name


def _keys(data: bytes) -> int:
    return sum(map(bool, _STRING.findall(data)))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise RepeatedKey(f"an object has the key {twice[:_SHOWN_KEY]!r} twice")
    return found


def finished(
    test: str,
    outcome: Outcome,
    seconds: float = 0.0,
    *,
    message: str = "",
    traceback: str = "",
    place: e.Place | None = None,
    failure: e.Failure | None = None,
    stdout: str = "",
    stderr: str = "",
    properties: dict[str, Any] | None = None,
    attempts: tuple[e.Attempt, ...] = (),
) -> e.TestFinished:
    """The end of a test of a report without phases; its output, if any, is that of a single phase."""
    seconds = took(seconds)
    call = e.Phase(
        "call",
        str(KIND[outcome]),
        seconds,
        status=str(outcome),
        longrepr=traceback,
        stdout=stdout,
        stderr=stderr,
        failure=failure,
    )
    return e.TestFinished(
        test,
        outcome,
        seconds,
        message or None,
        traceback or None,
        place,
        failure or (e.Failure("", message) if outcome in BAD and message else None),
        (call,) if stdout or stderr else (),
        properties=properties or None,
        attempts=attempts,
    )


def refined(outcome: Outcome, word: str | None) -> Outcome:
    """proctor's own, more exact outcome, if the report has it and it is of the same kind."""
    found = Outcome(word) if word in set(Outcome) else outcome
    return found if KIND[found] is KIND[outcome] else outcome


def seconds_of(text: str | None) -> float:
    """A duration as tools write it (`0.5`, `1,234.5`)."""
    try:
        return took(float((text or "0").replace(",", "")))
    except ValueError:
        return 0.0


def place_of(file: str, line: int) -> e.Place:
    """A place without its line, if no file can have that line."""
    return e.Place(file, line) if 0 < line < e.MOST_LINES else e.Place(file)


def took(seconds: float) -> float:
    """The seconds, or 0 if they are negative or too many."""
    return seconds if 0 < seconds < e.LONGEST else 0.0


def bounded(digits: str) -> int:
    """A number of tests from a report, which may have any number of digits."""
    digits = digits.lstrip("0")
    return int(digits or 0) if len(digits) < len(str(MOST_TESTS)) else MOST_TESTS


def count_of(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else 0


def moment(text: str | None) -> float:
    """Seconds since the epoch of an ISO 8601 time with a zone; 0 for any other."""
    try:
        found = datetime.fromisoformat(text or "")
        return found.timestamp() if found.tzinfo else 0.0
    except (ValueError, OverflowError):
        return 0.0
