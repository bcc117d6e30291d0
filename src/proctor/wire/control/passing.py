"""What most tests of a session send: they begin, and pass. Such pairs of messages are read many at a time."""

from operator import itemgetter
from typing import Annotated, Literal

import msgspec

from proctor import decoding
from proctor import events as e

_Name = Annotated[str, msgspec.Meta(min_length=1)]


class Begun(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The partial result with which a test begins: these keys and no others."""

    name: _Name
    status: Literal["error"]
    partial: bool
    file: str
    line: int


class PassedIn(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    keywords: tuple[str, ...]
    passed_in: tuple[e.Seconds, e.Seconds, e.Seconds]
    worker: str = ""  # that ran it


class Passed(msgspec.Struct, frozen=True, gc=False, forbid_unknown_fields=True):
    """The result that closes it, likewise."""

    name: _Name
    status: Literal["pass"]
    proctor: PassedIn


class Pairs(msgspec.Struct, frozen=True, gc=False):
    """Tests that began and passed, one after the other; a message of each for every test."""

    begun: list[Begun]
    passed: list[Passed]


class NormalForm(msgspec.Struct, frozen=True, gc=False):
    """The two messages of a test as one result."""

    test: str
    name: str
    status: str
    file: str
    line: int
    proctor: PassedIn


_FIRST, _LAST = itemgetter(0), itemgetter(-1)
_OPENING, _CLOSING = {ord("{")}, {ord("}")}
_begun = decoding.decoder(Begun).decode_lines
_passed = decoding.decoder(Passed).decode_lines


def pairs(messages: list[bytes]) -> Pairs | None:
    """The messages, if each second one closes what the one before it has opened; else nothing."""
    opening, closing = _joined(messages[::2]), _joined(messages[1::2])
    if opening is None or closing is None:
        return None
    try:
        begun, passed = _begun(opening), _passed(closing)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if {one.partial for one in begun} != {True} or [one.name for one in begun] != [
        one.name for one in passed
    ]:
        return None
    return Pairs(begun, passed) if 2 * len(begun) == len(messages) else None


def _joined(messages: list[bytes]) -> bytes | None:
    """One a line, if the number of objects in it proves that each message is one.

    Where one message ends with a brace, the next begins with one, and no string has an LF in it, only the
    end of an object can be between them.
    """
    if not all(messages) or {*map(_FIRST, messages)} != _OPENING or {*map(_LAST, messages)} != _CLOSING:
        return None
    lines = b"\n".join(messages)
    return lines if lines.count(b"\n") == len(messages) - 1 else None
