"""The probable cause of an error on a control channel, and its exact position.

Called once a channel, so it may be slow. A cause is a guess: it is added to the message, never in its place.
"""

from __future__ import annotations

import json
import re
from difflib import get_close_matches
from typing import NamedTuple, NoReturn

from proctor.errors import ControlError

WORDS = ("result", "duration", "exitcode", "noop", "disconnect", "reconnect")  # what a line may begin with
AROUND = 40  # bytes shown on each side of a fault
LOOK_AHEAD = 4096  # bytes after a JSON among which its end is looked for
_BOM = b"\xef\xbb\xbf"
_WIDE = (b"\xff\xfe", b"\xfe\xff", b"{\0", b"\0{")  # how UTF-16 begins, with and without its BOM


class Finding(NamedTuple):
    """`position` is that of the first wrong byte. An empty text changes nothing."""

    position: int = 0
    cause: str = ""
    message: str = ""
    rule: str = ""


def explained(
    kind: str, rule: str, message: str, offset: int, past: bytes, data: bytes, after: bytes
) -> ControlError:
    """The error for a line or a JSON that breaks a rule: `data`, at `offset`, between `past` and `after`."""
    found = _finding(kind, rule, past, data, after)
    if kind == "unknown_word":
        message = f"{message}; known: {', '.join(WORDS)}"
    whole, position = past + data + after, len(past) + found.position
    return ControlError(
        kind,
        found.rule or rule,
        offset + found.position,
        found.message or message,
        whole[max(0, position - AROUND) : position],
        whole[position : position + AROUND],
        found.cause,
    )


def ended_early(rule: str, offset: int, message: str, past: bytes, seen: bytes, stated: int) -> ControlError:
    """The error for an end in a line, a JSON of `stated` bytes, or a file; `seen` is its beginning."""
    if stated:
        cause = _length(seen, stated) or "the program ended, or was ended, while it was writing"
    elif rule == "C13":
        cause = _line(seen, past).cause
    else:
        cause = "the program ended while it was writing, or the file's `length` is too large"
    before = (past + seen)[-AROUND:]
    return ControlError("truncated", rule, offset + len(seen), message, before, b"", cause)


def _finding(kind: str, rule: str, past: bytes, data: bytes, after: bytes) -> Finding:
    match kind:
        case "bad_json" if rule == "R3":
            return _json(data, after)
        case "bad_json" if data.lstrip()[:1] == b"[":
            return Finding(cause="send each result after a `result N` line of its own")
        case "bad_line" | "unknown_word":
            return _line(data, past)
        case "bad_args":
            return Finding(cause=_arguments(data))
    return Finding()


def _line(line: bytes, past: bytes) -> Finding:
    """Why these bytes are no control line."""
    after_data = past[-1:] not in (b"", b"\n")  # a JSON or a file ended right before it
    if line.startswith(_BOM):
        return Finding(cause="it begins with a byte order mark (BOM); write without one")
    if line.startswith(_WIDE) or b"\0" in line[:4]:
        return Finding(cause="it looks like UTF-16, or like binary data; control lines are ASCII")
    if not line.isascii():
        high = next(index for index, byte in enumerate(line) if byte > 127)
        return Finding(high, _stray(after_data))
    if b"\r" in line:
        return Finding(line.index(b"\r"), "open the descriptor in binary mode: in text mode LF becomes CR LF")
    if not line:
        if past[-1:] == b"}":
            return Finding(cause="the LF after the JSON is not in its length; count it, or leave it out")
        extra = "an LF after a file that its length did not count"
        return Finding(cause=extra if after_data else "an LF too many")
    if line.startswith(b" "):
        return Finding(cause="the word comes first, right after the LF before it")
    return Finding(cause=_word(line.decode("ascii").split(" ")[0], line, after_data))


def _word(word: str, line: bytes, after_data: bool) -> str:
    """Why this is no control word."""
    if line.startswith((b"{", b"[")):
        if after_data:
            return "two results at once; each needs a `result N` line of its own"
        return "JSON without a `result N` line before it"
    if "\t" in word:
        return "a tab; one space separates the word from its argument"
    if word in WORDS:
        return "it was cut off, or its LF is missing"
    close = get_close_matches(word.lower(), WORDS, 1, 0.7)
    if close:
        return f"a misspelt `{close[0]}`"
    glued = next((known for known in WORDS if word.startswith(known)), None)
    if glued:
        return f"after `{glued}` comes one space and its argument, or the LF"
    return _stray(after_data)


def _stray(after_data: bool) -> str:
    if after_data:
        return "the data before it continues: its announced length is too small"
    return "text that was printed to this descriptor, and belongs to stdout or stderr"


def _arguments(line: bytes) -> str:
    """Why the argument of a known word is wrong."""
    if match := re.match(rb"(result [0-9]+)\s*[\[{]", line):
        return f"the LF after `{match[1].decode()}` is missing"
    if b"  " in line:
        return "two spaces; one separates the word from its argument"
    if line.endswith(b" "):
        return "a space at the end of the line"
    if line.startswith(b"result") and re.search(rb"[0-9]", line):
        return "the length is decimal digits and nothing else"
    return ""


def _json(raw: bytes, after: bytes) -> Finding:
    """Why these bytes are not one JSON object in UTF-8."""
    if raw.startswith(_BOM):
        return Finding(0, "write it as UTF-8 without a BOM", "the JSON begins with a byte order mark (BOM)")
    if raw.startswith(_WIDE):
        return Finding(0, "it looks like UTF-16; write it as UTF-8", "the JSON is not UTF-8")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data" and error.end == len(raw):
            return _longer(raw, after)
        cause = "a text in another encoding, such as Latin-1; write it as UTF-8"
        return Finding(error.start, cause, "the JSON is not UTF-8")
    try:
        used = _used(text)
    except RecursionError:
        return Finding()
    except json.JSONDecodeError as error:
        return _malformed(raw, text, error, after)
    except ValueError as error:
        constant = str(error)
        cause = "JSON has no such number; send null or a string"
        return Finding(raw.find(constant.encode()), cause, f"{constant} is not JSON")
    if used == len(raw):
        return _unacceptable(text)
    if raw[used:].lstrip().startswith(b"{"):
        cause = "two results at once; each needs a `result N` line of its own"
        return Finding(used, cause, "a second JSON object follows the first", "R4")
    return Finding(used, _lengths(used, len(raw)), "the JSON ends before its length is used up")


def _malformed(raw: bytes, text: str, error: json.JSONDecodeError, after: bytes) -> Finding:
    position = len(text[: error.pos].encode())
    if error.msg.startswith("Unterminated string") or not text[error.pos :].strip():
        return _longer(raw, after)
    message = f"not JSON: {error.msg[:1].lower()}{error.msg[1:].removesuffix(' at')}"
    if error.msg.startswith("Invalid control character"):
        return Finding(position, r"a line break or the like inside a string; write it as \n", message)
    if text[error.pos] == "'":
        return Finding(position, "single quotes; let a JSON library write it", message)
    return Finding(position, "", message)


def _unacceptable(text: str) -> Finding:
    """JSON by its grammar, and yet not acceptable."""
    surrogate = re.search(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]", text)
    if surrogate:
        cause = "half a character; a byte that is no UTF-8 was read with surrogateescape, perhaps"
        return Finding(len(text[: surrogate.end()].encode()) - 4, cause, "the JSON has a lone surrogate")
    return Finding()


def _longer(raw: bytes, after: bytes) -> Finding:
    cause = _length(raw + after[:LOOK_AHEAD], len(raw))
    if not cause and not raw.isascii():
        cause = "it has characters of several bytes; the length counts bytes, not characters"
    cause = cause or "the length is too small"
    return Finding(len(raw), cause, "the JSON goes on after its length is used up")


def _length(data: bytes, stated: int) -> str:
    """The two lengths, if a whole JSON stands at the beginning of the data; else nothing."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        used = _used(text)
    except (ValueError, RecursionError):
        return ""
    characters = len(data[:used].decode("utf-8", "replace")) == stated
    return _lengths(used, stated) + (", which is its number of characters: count bytes" if characters else "")


def _lengths(used: int, stated: int) -> str:
    return f"JSON is {used} bytes, the line announced {stated}"


def _used(text: str) -> int:
    """The bytes of the JSON value at the beginning of the text, with the blanks around it."""
    begin = len(text) - len(text.lstrip(" \t\r\n"))
    _, end = _READER.raw_decode(text, begin)
    rest = text[end:]
    return len((text[:end] if rest.strip(" \t\r\n") else text).encode("utf-8", "surrogateescape"))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


# Numbers are not converted: only their grammar matters here, and one of many digits would be refused.
_READER = json.JSONDecoder(parse_constant=_refuse, parse_int=len, parse_float=len)
