"""Detects the format of a report from its first bytes or, if it is empty, from its name."""

from __future__ import annotations

import re

HEAD = 64 * 1024  # bytes that are enough

#: Keys of a JSON document, the most specific first; all of a row must be there.
_DOCUMENTS: tuple[tuple[str, tuple[bytes, ...]], ...] = (
    ("json", (b'"schema"', b'"proctor.result/')),
    ("jest", (b'"numTotalTests"', b'"numRuntimeErrorTestSuites"')),
    ("vitest", (b'"numTotalTests"', b'"numTotalTestSuites"')),
    ("json-report", (b'"exitcode"', b'"summary"')),
    ("ctrf", (b'"results"', b'"tool"')),
    ("ctrf", (b'"reportFormat"', b'"CTRF"')),
)
#: Patterns of a line of JSON, the most specific first.
_LINES: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("events", re.compile(rb'"type"\s*:\s*"[a-z]+"\s*,\s*"seq"\s*:\s*[0-9]+\s*,\s*"at"\s*:')),
    ("stream", re.compile(rb'"type"\s*:\s*"suite"(?=.*"(?:rustc|build)"\s*:)(?!.*"event"\s*:)')),
    ("results", re.compile(rb'^\{"test"\s*:\s*"')),
    ("reportlog", re.compile(rb'"\$report_type"\s*:')),
    ("go-json", re.compile(rb'"Action"\s*:\s*"')),
    ("libtest-json", re.compile(rb'"type"\s*:\s*"(?:suite|test)",.*"event"\s*:')),
    ("tap-j", re.compile(rb'"type"\s*:\s*"suite"(?!.*"rustc")')),
)
_TAP = re.compile(rb"^(?:TAP version [0-9]+|1\.\.[0-9]+(?: *#.*)?|(?:not )?ok(?: .*)?)\r?$", re.M)
_LIBTEST = re.compile(rb"^running [0-9]+ tests?\r?$|^error: could not compile `", re.M)
_NAMES = {".tap": "tap", ".t": "tap", ".xml": "junit"}


def detect(head: bytes, name: str = "") -> str | None:
    """The format's name; None where it is not clear."""
    text = head[:HEAD].removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"<", b"\xff\xfe<", b"\xfe\xff\x00<")):
        return "junit" if b"<testsuite" in text.replace(b"\0", b"") else None
    if text.startswith(b"{"):
        if found := _line(text.partition(b"\n")[0]):
            return found
        if found := next((form for form, keys in _DOCUMENTS if all(key in text for key in keys)), None):
            return found
    lines = [line for line in text.splitlines() if line.startswith(b"{")]  # behind what is not JSON
    if found := next((form for line in lines if (form := _line(line))), None):
        return found
    if _LIBTEST.search(text):
        return "libtest"
    if _TAP.search(text):
        return "tap"
    return next((form for end, form in _NAMES.items() if name.endswith(end)), None) if not text else None


def _line(line: bytes) -> str | None:
    return next((form for form, pattern in _LINES if pattern.search(line)), None)
