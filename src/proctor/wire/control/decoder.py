"""Decodes the control channel into lines, JSON of a stated length, and the bytes of files.

The decoder owns bytes, never a descriptor, and never allocates by a length that was only announced.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from proctor import decoding, durations
from proctor.errors import ControlError
from proctor.wire.control import passing
from proctor.wire.control.ledger import Admission, Finished, Ledger, Partial, Parts, Refused
from proctor.wire.control.passing import Pairs

LINE = 4096  # bytes of a control line, with its LF: what one write puts on a pipe whole
_NUMBER = r"[0-9]+\Z"
_SIGNED = r"-?[0-9]+\Z"
_DURATION = r"([+-]?)((?:[0-9]+[smhd] ?)*[0-9]+[smhd]?)\Z"
_PAST = 64  # bytes before the current one that are kept, to be shown with an error
_decode = msgspec.json.Decoder().decode
_decode_object = decoding.decoder(dict[str, Any]).decode
_NOT_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_OPENS = b'"partial"'
_FEW = 8  # messages that are not worth a search for those that come in pairs
_MESSAGE = re.compile(rb"result ([0-9]{1,7})\n")


class ExitCode(msgspec.Struct, frozen=True):
    code: int


class DurationAction(StrEnum):
    SET = "set"
    ADD = "add"
    SUBTRACT = "sub"
    SAVE = "save"
    RESTORE = "restore"


class Duration(msgspec.Struct, frozen=True):
    action: DurationAction
    seconds: int = 0


_SIGNS = {"": DurationAction.SET, "+": DurationAction.ADD, "-": DurationAction.SUBTRACT}


class Noop(msgspec.Struct, frozen=True):
    pass


class Reconnect(msgspec.Struct, frozen=True):
    mode: str  # once, always


class Disconnected(msgspec.Struct, frozen=True):
    pass


class FileOpened(msgspec.Struct, frozen=True):
    """The bytes that follow in FileChunk frames belong to this file; it ends after `length` of them."""

    result: str | None
    name: str
    length: int


class FileChunk(msgspec.Struct, frozen=True):
    data: bytes


class Broken(msgspec.Struct, frozen=True):
    """The last frame there will be: nothing after it can be trusted."""

    error: ControlError


Result: TypeAlias = Partial | Finished | Parts | Pairs
Frame: TypeAlias = (
    Result | FileOpened | FileChunk | ExitCode | Duration | Noop | Reconnect | Disconnected | Broken
)


class _Fault(Exception):
    """A rule is broken in `data`, a line or a JSON, which begins at `at` in the buffer."""

    def __init__(self, kind: str, rule: str, at: int, message: str, data: bytes) -> None:
        self.kind, self.rule, self.at, self.data = kind, rule, at, data
        super().__init__(message)


class ControlDecoder:
    """`feed` returns what is complete. After a Broken or Disconnected frame it returns nothing more."""

    def __init__(self, ledger: Ledger, in_parts: bool = False, in_pairs: bool = False) -> None:
        """With `in_parts`, many results of parts of a test may come in one frame; with `in_pairs`, many
        tests of a session."""
        self.ledger = ledger
        self._in_parts, self._in_pairs = in_parts, in_pairs
        self.error: ControlError | None = None
        self.open = True
        self.offset = 0  # of the first byte in _chunks: so many were taken
        self._past = b""  # the last bytes before it, to show them should something break
        self._chunks: list[bytes] = []
        self._have = 0
        self._need = 1
        self._length = 0  # of the JSON that comes next; 0: a line comes next
        self._admitted: Admission | None = None  # its files come next
        self._files: list[tuple[str, int]] = []
        self._left = 0  # bytes of the current file that are still to come
        self._saved = 0

    def feed(self, data: bytes) -> list[Frame]:
        if not self.open or not data:
            return []
        self._chunks.append(data)
        self._have += len(data)
        if self._have < self._need:
            return []
        buffer = data if len(self._chunks) == 1 else b"".join(self._chunks)
        frames: list[Frame] = []
        at, have, most = 0, len(buffer), self.ledger.limits.json
        many = True  # once: what it leaves is not for it
        try:
            while self.open:
                if self._admitted is not None:
                    at = self._take_files(buffer, at, frames)
                    if self._admitted is not None:
                        self._need = 1
                        break
                elif self._length:
                    end = at + self._length
                    if end > have:
                        self._need = self._length
                        break
                    self._take_result(buffer[at:end], at, frames)
                    at = end
                    self._length = 0
                elif many:
                    at += self._take_many(buffer[at:], frames)
                    many = False
                else:
                    end = buffer.find(b"\n", at, at + LINE)
                    if end < 0:
                        self._check_line_size(buffer, at)
                        self._need = have - at + 1
                        break
                    line, digits = buffer[at:end], buffer[at + 7 : end]
                    if digits.isdigit() and len(digits) < 8 and line[:7] == b"result ":  # nearly all
                        length = int(digits)
                        start = end + 1
                        if 0 < length <= most and start + length <= have:  # nearly always
                            at = start + length
                            self._take_result(buffer[start:at], start, frames)
                            continue
                        self._take_length(length, at, line)
                    else:
                        self._take_line(line, at, frames)
                    at = end + 1
        except _Fault as fault:
            self._break(self._explained(fault, buffer), frames)
        self._past = (self._past + buffer[max(0, at - _PAST) : at])[-_PAST:]
        self.offset += at
        rest = buffer[at:] if self.open else b""
        self._chunks = [rest] if rest else []
        self._have = len(rest)
        return frames

    def _take_many(self, buffer: bytes, frames: list[Frame]) -> int:
        """Takes the results with which the buffer begins, up to the first message that is not whole, or is
        something else, or breaks a rule: that is left to `feed`. Returns how many bytes were taken.

        The buffer is cut at everything that looks like the line of a result. Where a length is exactly that
        of the piece behind it, that line was one.
        """
        head, *parts = _MESSAGE.split(buffer)
        if head:
            return 0
        digits, pieces = parts[::2], parts[1::2]
        lengths, sizes = list(map(int, digits)), list(map(len, pieces))
        odd = [n for n, size in enumerate(sizes) if size != lengths[n]] if lengths != sizes else []
        taken = 0
        for number in (*odd, len(pieces)):
            taken += self._take_whole(pieces[taken:number], frames)
            if taken < number or number == len(pieces):
                break
            if not self._take_with_files(pieces[number], lengths[number], frames):
                break
            taken += 1
        return sum(sizes[:taken]) + sum(map(len, digits[:taken])) + taken * len(b"result \n")

    def _take_whole(self, pieces: list[bytes], frames: list[Frame]) -> int:
        """Results without files; returns how many were taken."""
        if not pieces or max(map(len, pieces)) > self.ledger.limits.json:
            return 0
        return self._take_pairs(pieces, frames) if self._in_pairs else self._take_each(pieces, frames)

    def _take_pairs(self, pieces: list[bytes], frames: list[Frame]) -> int:
        """Tests that begin and pass; around them, each result for itself."""
        start = 0 if _OPENS in pieces[0] else 1  # it closes what an earlier message has opened
        end = len(pieces) - (len(pieces) - start) % 2
        found = passing.pairs(pieces[start:end]) if start < end else None
        if found is None and len(pieces) > _FEW:
            half = len(pieces) // 2
            taken = self._take_pairs(pieces[:half], frames)
            return taken + self._take_pairs(pieces[half:], frames) if taken == half else taken
        taken = self._take_each(pieces[:start], frames)
        if taken < start:
            return taken
        if found is None or not self.ledger.receive_pairs(found):
            return taken + self._take_each(pieces[start:], frames)
        frames.append(found)
        return end + self._take_each(pieces[end:], frames)

    def _take_each(self, pieces: list[bytes], frames: list[Frame]) -> int:
        taken = 0
        if not pieces:
            return taken
        try:
            bodies = list(map(_decode_object, pieces))
            if self._in_parts and (parts := self.ledger.receive_parts(bodies)):
                frames.append(parts)
                return len(pieces)
            for raw, body in zip(pieces, bodies, strict=True):
                received = self.ledger.receive(raw, body)
                if isinstance(received, Admission):
                    break
                frames.append(received)
                taken += 1
        except (*_NOT_JSON, Refused):
            pass  # told when `feed` comes to it
        return taken

    def _take_with_files(self, data: bytes, length: int, frames: list[Frame]) -> bool:
        """One result and its files, if `data` is exactly that; else nothing is taken."""
        if not 0 < length < len(data) or length > self.ledger.limits.json:
            return False
        raw = data[:length]
        try:
            body = _decode_object(raw)
            admitted = self.ledger.receive(raw, body) if body.get("files") else None
        except (*_NOT_JSON, Refused):
            return False
        if (
            not isinstance(admitted, Admission)
            or sum(size for _, size in admitted.files) != len(data) - length
        ):
            return False
        self._admit(admitted, frames)
        self._take_files(data, length, frames)
        return True

    @property
    def direct(self) -> int:
        """Bytes to come that are a file's and nothing else: they may go there without coming here."""
        return self._left if self._admitted is not None and not self._chunks else 0

    def went_by(self, count: int) -> list[Frame]:
        """Count bytes that went to the current file directly."""
        self._past = b""  # they were not seen
        self.offset += count
        self._left -= count
        frames: list[Frame] = []
        self._take_files(b"", 0, frames)
        return frames

    def close(self) -> list[Frame]:
        """End of input. Inside a line, a JSON or a file that is an error."""
        frames: list[Frame] = []
        was_open, self.open = self.open, False
        if self._admitted is not None:
            rule, part = "F2", f"{self._left} bytes of a file are missing"
        elif self._length:
            rule, part = "R3", f"{self._length - self._have} of {self._length} bytes of JSON are missing"
        else:
            rule, part = "C13", "the last line has no LF"
        if was_open and (rule != "C13" or self._have):
            from proctor.wire.control.cause import ended_early  # loaded for errors only

            seen, message = b"".join(self._chunks), f"the input ends early: {part}"
            self._break(ended_early(rule, self.offset, message, self._past, seen, self._length), frames)
        return frames

    def _break(self, error: ControlError, frames: list[Frame]) -> None:
        self.error, self.open = error, False
        frames.append(Broken(error))

    def _explained(self, fault: _Fault, buffer: bytes) -> ControlError:
        from proctor.wire.control.cause import explained  # loaded for errors only

        at, data = fault.at, fault.data
        past, after = self._past + buffer[:at], buffer[at + len(data) :]
        return explained(fault.kind, fault.rule, str(fault), self.offset + at, past, data, after)

    def _check_line_size(self, buffer: bytes, at: int) -> None:
        if len(buffer) - at >= LINE:
            raise _Fault("bad_line", "C5", at, f"no LF within {LINE} bytes", buffer[at : at + 40])

    def _take_line(self, line: bytes, at: int, frames: list[Frame]) -> None:
        if not line.isascii():
            raise _Fault("bad_line", "C2", at, "a control line has a byte above 127", line)
        text = line.decode("ascii")
        word, space, argument_text = text.partition(" ")
        if not word:
            raise _Fault("bad_line", "C3", at, "an empty line, or one that begins with a space", line)
        if "\r" in text:
            raise _Fault("bad_line", "C3", at, "CR in a control line", line)
        self._take_word(word, argument_text if space else None, at, line, frames)

    def _take_length(self, length: int, at: int, line: bytes) -> None:
        limit = self.ledger.limits.json
        if length == 0:
            raise _Fault("bad_json", "C6", at, "a result of 0 bytes", line)
        if length > limit:
            message = f"a result of {length} bytes: expected at most {limit}"
            raise _Fault("too_large", "C6", at, message, line)
        self._length = length

    def _take_word(self, word: str, argument: str | None, at: int, line: bytes, frames: list[Frame]) -> None:
        match word:
            case "result":
                if argument is None or not re.match(_NUMBER, argument):
                    raise _Fault("bad_args", "C6", at, "`result` takes the number of JSON bytes", line)
                self._take_length(int(argument.lstrip("0")[:20] or "0"), at, line)
            case "exitcode":
                if argument is None or not re.match(_SIGNED, argument):
                    raise _Fault("bad_args", "C7", at, "`exitcode` takes a whole number", line)
                self.ledger.exit_code = int(argument[:20])
                frames.append(ExitCode(self.ledger.exit_code))
            case "duration":
                frames.append(self._duration(argument or "", at, line))
            case "noop" | "disconnect":
                if argument is not None:
                    raise _Fault("bad_args", "C9", at, f"`{word}` takes no argument", line)
                self.open = word == "noop"
                frames.append(Noop() if self.open else Disconnected())
            case "reconnect":
                if argument not in (None, "always"):
                    raise _Fault("bad_args", "C9", at, "`reconnect` takes nothing or `always`", line)
                frames.append(Reconnect(argument or "once"))
            case _:
                raise _Fault("unknown_word", "C9", at, f"unknown control word {word[:40]!r}", line)

    def _duration(self, argument: str, at: int, line: bytes) -> Duration:
        if argument == "save":
            self._saved += 1
            return Duration(DurationAction.SAVE)
        if argument == "restore":
            if not self._saved:
                raise _Fault("bad_args", "C8", at, "`duration restore` without a `duration save`", line)
            self._saved -= 1
            return Duration(DurationAction.RESTORE)
        found = re.match(_DURATION, argument)
        seconds = durations.parse(found[2]) if found else None
        if found is None or seconds is None:
            message = "`duration` takes a time (90, 15m, 1h 30m), + or - a time, save or restore"
            raise _Fault("bad_args", "C8", at, message, line)
        return Duration(_SIGNS[found[1]], int(seconds))

    def _take_result(self, raw: bytes, at: int, frames: list[Frame]) -> None:
        try:
            body = _decode(raw)
            if type(body) is not dict:
                raise _Fault("bad_json", "R4", at, "a result is one JSON object", raw)
            received = self.ledger.receive(raw, body)
        except RecursionError:
            raise _Fault("bad_json", "R3", at, "the JSON is nested too deeply", raw) from None
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise _Fault("bad_json", "R3", at, f"not JSON: {error}", raw) from None
        except Refused as refused:
            raise _Fault("bad_result", refused.rule, at, str(refused), raw) from None
        if isinstance(received, Admission):
            self._admit(received, frames)
        else:
            frames.append(received)

    def _admit(self, admitted: Admission, frames: list[Frame]) -> None:
        self._admitted, self._files = admitted, list(admitted.files)
        self._open_file(frames)

    def _open_file(self, frames: list[Frame]) -> None:
        assert self._admitted is not None
        name, length = self._files[0]
        frames.append(FileOpened(self._admitted.name, name, length))
        self._left = length

    def _take_files(self, buffer: bytes, at: int, frames: list[Frame]) -> int:
        """Pass on the bytes of the current result's files; commit the result after the last one."""
        assert self._admitted is not None
        while True:
            if self._left:
                chunk = buffer[at : at + self._left]
                if not chunk:
                    return at
                frames.append(FileChunk(chunk))
                at += len(chunk)
                self._left -= len(chunk)
                if self._left:
                    return at
            self._files.pop(0)
            if not self._files:
                break
            self._open_file(frames)
        frames.append(self.ledger.commit(self._admitted))
        self._admitted = None
        return at


def encode(body: dict[str, Any]) -> bytes:
    """One `result` message; the bytes of its files, if it names any, are the caller's to send after it."""
    raw = msgspec.json.encode(body)
    return b"result %d\n%b" % (len(raw), raw)
