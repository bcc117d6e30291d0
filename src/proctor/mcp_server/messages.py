"""Checks the bytes of a JSON-RPC message: accepted, refused with an answer, or dropped. Knows no transport.

A message that the SDK cannot decode must not reach it: the SDK would not answer, and the caller would wait.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec

LONGEST = 4 << 20  # bytes of a message
PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS = -32700, -32600, -32602

_DEEPEST = 100  # arrays and objects in each other
_DIGITS = 1000  # of an integer
_ANSWERED = 1000  # requests of a batch that are answered
_SHOWN = 80  # characters of a value that an error repeats
_BOM = b"\xef\xbb\xbf"
_SCANNED = 200_000  # tokens of a message that cannot be parsed, when its id is looked for
_TAIL = 4096  # bytes at the end of a message in which its id is looked for
_TOKEN = re.compile(rb'["{}\[\]:,]|[^\s"{}\[\]:,]+')
_IN_STRING = re.compile(rb'["\\]')
_MEMBER = rb'\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9]+)\s*'
_LAST_ID = re.compile(rb'[,{]\s*"id"' + _MEMBER + rb'(?:,\s*"\w+"' + _MEMBER + rb")*}\s*\Z", re.DOTALL)

Values: TypeAlias = dict[str, Any]


class Refusal(msgspec.Struct, frozen=True):
    """A refused message, and the request to answer."""

    code: int
    why: str
    ids: tuple[str, ...] = ()  # of the requests in it, as JSON; without one there is no answer

    def answers(self) -> Iterator[bytes]:
        error = json.dumps({"code": self.code, "message": self.why})
        for request in self.ids:
            yield f'{{"jsonrpc":"2.0","id":{request},"error":{error}}}'.encode()


def read(line: bytes) -> Values | Refusal | None:
    """A request or a notification. None: nothing is to be done, as for an empty line, or for the answer to a
    request that this server never made."""
    data = line.removeprefix(_BOM).strip(b" \t\r\n")
    if not data:
        return None
    try:
        found = _decoder.decode(data.decode())
    except UnicodeDecodeError as error:
        return Refusal(PARSE_ERROR, f"not UTF-8: byte {error.start}", _salvaged(data))
    except RecursionError:
        return Refusal(INVALID_REQUEST, _TOO_DEEP, _salvaged(data))
    except ValueError as error:
        return Refusal(PARSE_ERROR, f"not JSON: {error}", _salvaged(data))
    if isinstance(found, list):
        return Refusal(INVALID_REQUEST, "a batch: expected one message", tuple(_requests(found)))
    if not isinstance(found, dict):
        return Refusal(INVALID_REQUEST, f"expected an object, not {_short(found)}")
    return _checked(found)


def refused(message: Values, why: str, code: int = INVALID_REQUEST) -> Refusal:
    written = _id(message.get("id"))
    return Refusal(code, why, (written,) if written else ())


def too_long(head: bytes, tail: bytes) -> Refusal:
    """The refusal of a message of which only the beginning and the end are at hand."""
    ids = _salvaged(head.removeprefix(_BOM)) or _at_the_end(tail)
    return Refusal(INVALID_REQUEST, f"longer than {LONGEST} bytes", ids)


def _checked(message: Values) -> Values | Refusal | None:
    if "method" not in message and ("result" in message or "error" in message):
        return None
    fault = _fault(message)
    return refused(message, fault[1], fault[0]) if fault is not None else message


def _fault(message: Values) -> tuple[int, str] | None:
    if isinstance(message, _Doubled):
        return INVALID_REQUEST, f"{message.name}: given twice"
    if message.get("jsonrpc") != "2.0":
        return INVALID_REQUEST, f'jsonrpc: expected "2.0", not {_short(message.get("jsonrpc"))}'
    if "result" in message or "error" in message:
        return INVALID_REQUEST, "method: a request has neither result nor error"
    if not isinstance(message.get("method"), str):
        return INVALID_REQUEST, f"method: expected a string, not {_short(message.get('method'))}"
    if "id" in message and (_id(message["id"]) is None or isinstance(message["id"], _Long)):
        return INVALID_REQUEST, f"id: expected a string or an integer, not {_short(message['id'])}"
    for name, value in message.items():
        code = INVALID_PARAMS if name == "params" else INVALID_REQUEST
        if name == "params" and not isinstance(value, dict | None):
            return code, f"params: expected an object, not {_short(value)}"
        if why := _unfit(name) or _unfit(value):
            return code, f"{name if name.isidentifier() else _short(name)}: {why}"
    return None


class _Doubled(dict[str, Any]):
    """An object in which a name is given twice: one of the values would be ignored."""

    name = ""


class _Long(str):
    """An integer that Python would not convert, as it was written."""

    __slots__ = ()


def _object(pairs: list[tuple[str, Any]]) -> Values:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    doubled = _Doubled(found)
    names = [name for name, _ in pairs]
    doubled.name = _short(next(name for name in found if names.count(name) > 1))
    return doubled


def _integer(digits: str) -> int | _Long:
    return int(digits) if len(digits) <= _DIGITS else _Long(digits)


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


_decoder = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_constant=_constant)
_TOO_DEEP = f"more than {_DEEPEST} arrays and objects in each other"


def _unfit(value: Any) -> str:
    """Why a value cannot be passed on; empty: it can."""
    level = [value]
    for _ in range(_DEEPEST):
        below: list[Any] = []
        for item in level:
            if isinstance(item, _Long):
                return f"an integer of {len(item)} digits"
            if isinstance(item, str):
                if not item.isascii() and _has_surrogate(item):
                    return f"a lone surrogate in {_short(item)}"
            elif isinstance(item, _Doubled):
                return f"{item.name} is given twice"
            elif isinstance(item, dict):
                below += item.keys()
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return ""
        level = below
    return _TOO_DEEP


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _id(value: Any) -> str | None:
    """The id of a request, as JSON; None if it is not one."""
    if isinstance(value, _Long):
        return str(value)
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return json.dumps(value)
    return None


def _requests(batch: list[Any]) -> Iterator[str]:
    answered = 0
    for item in batch:
        if isinstance(item, dict) and "method" in item and (written := _id(item.get("id"))):
            answered += 1
            if answered > _ANSWERED:
                return
            yield written


def _salvaged(data: bytes) -> tuple[str, ...]:
    """The id of a request that cannot be parsed, if it is where it should be: in the outermost object."""
    if not data.startswith(b"{"):
        return ()
    depth, key, last, found = 0, b"", b"", b""
    for number, token in enumerate(_tokens(data)):
        if number == _SCANNED:
            return _as_ids(found) or _at_the_end(data[-_TAIL:])
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        elif depth == 1:
            if token == b":":
                key = last
            elif token == b",":
                key = b""
            elif key == b'"id"':
                found = token
            last = token
    return _as_ids(found)


def _tokens(data: bytes) -> Iterator[bytes]:
    """Of something like JSON: strings, marks, and words of any other kind. One look at each byte."""
    at = 0
    while match := _TOKEN.search(data, at):
        start, at = match.span()
        if match.group() == b'"':
            while (stop := _IN_STRING.search(data, at)) and stop.group() == b"\\":
                at = stop.end() + 1
            at = stop.end() if stop else len(data)
        yield data[start:at]


def _at_the_end(tail: bytes) -> tuple[str, ...]:
    """Some clients write the id last."""
    match = _LAST_ID.search(tail)
    return _as_ids(match.group(1)) if match else ()


def _as_ids(token: bytes) -> tuple[str, ...]:
    try:
        written = _id(_decoder.decode(token.decode()))
    except ValueError:
        return ()
    return (written,) if written else ()


def _short(value: Any) -> str:
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    text = json.dumps(value) if not isinstance(value, _Long) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


class Lines:
    """Messages in pieces of any size, one a line. Of a line that is too long the middle is not kept."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self._tail = b""

    def feed(self, data: bytes) -> Iterator[Values | Refusal]:
        *ends, rest = data.split(b"\n")
        for end in ends:
            self._add(end)
            yield from self._line()
        self._add(rest)

    def close(self) -> Iterator[Values | Refusal]:
        yield from self._line()

    def _add(self, piece: bytes) -> None:
        if self._size <= LONGEST:
            self._pieces.append(piece)
        self._size += len(piece)
        self._tail = (self._tail + piece)[-_TAIL:] if self._size > LONGEST else b""

    def _line(self) -> Iterator[Values | Refusal]:
        pieces, size, tail = self._pieces, self._size, self._tail
        self._pieces, self._size, self._tail = [], 0, b""
        found = too_long(b"".join(pieces), tail) if size > LONGEST else read(b"".join(pieces))
        if found is not None:
            yield found
