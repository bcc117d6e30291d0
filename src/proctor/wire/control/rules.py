"""The rules of the control channel, one sentence each: what the `rule` of a ControlError refers to."""

from __future__ import annotations

RULES = {
    "C2": "a control line has only bytes 0 to 127",
    "C3": "a control line is a word, or a word, one space and its argument; it has no CR",
    "C5": "a control line is at most 4096 bytes with its LF",
    "C6": "`result N`: N is the number of bytes of the JSON that follows, at least 1, at most the limit",
    "C7": "`exitcode N`: N is a whole number",
    "C8": "`duration` takes a time, + or - a time, save, or restore after a save",
    "C9": "the words are result, duration, exitcode, noop, disconnect and reconnect [always]",
    "C13": "the input may end only after a whole line, JSON or file",
    "R2": "`status` is pass, fail, info, warn, skip or error, or absent",
    "R3": "a result is exactly N bytes of JSON in UTF-8, without BOM, NaN or lone surrogates",
    "R4": "a result is one JSON object: no array, no second object",
    "R5": "`name` is a string with at least one character, or absent",
    "F1": "`files` is an array of objects with a `name` and a `length`, a whole number of bytes",
    "F2": "after the JSON come exactly `length` bytes for each of its files, in order",
    "F3": "a file's name is a relative path without empty, `.` or `..` parts, each at most 255 bytes",
    "F4": "a file's name is there once in a result",
    "F5": "a file of a result is sent once",
    "P1": "`partial` is true or false",
    "T1": "`testout` is a name such as a file has",
    "T2": "`testout` is not also the name of a file of the same result",
    "limits": "a test may send so much and no more; each limit can be raised",
}
