"""Detects the format of a report by how it begins or, if it is empty, by its name."""

from __future__ import annotations

import re

from proctor.wire.reports.openings import opening, part, top_level

HEAD = 64 * 1024  # bytes that are enough

#: Keys of a JSON document, the most specific first; all of a row must be there.
_DOCUMENTS: tuple[tuple[str, frozenset[str]], ...] = (
    ("json", frozenset({"schema"})),
    ("jest", frozenset({"numTotalTests", "numRuntimeErrorTestSuites"})),
    ("vitest", frozenset({"numTotalTests", "numTotalTestSuites"})),
    ("json-report", frozenset({"exitcode", "summary"})),
    ("ctrf", frozenset({"results"})),
    ("ctrf", frozenset({"reportFormat"})),
)
_SAYS = {"json": b'"proctor.result/', "ctrf": b'"tool"'}  # what such a document has inside as well
_BEFORE_ROOT = re.compile(rb"\s*<(?:\?.*?\?>|!--.*?-->|!(?!--)[^>]*>)", re.S)
_ROOT = re.compile(rb"\s*<(?:[\w.-]{1,100}:)?testsuites?[\s/>]")
_NAMES = {".tap": "tap", ".t": "tap", ".xml": "junit"}
_BOM = b"\xef\xbb\xbf"


class Detector:
    """Takes the first bytes of a report in pieces. The first line that begins a report decides, because what
    tests print comes after it. If no line does, the first that can only be a part of a report decides."""

    def __init__(self) -> None:
        self.head = b""
        self._at = 0  # the lines before this were looked at
        self._part = ""  # the format of the first line that is a part of a report

    def feed(self, data: bytes) -> str | None:
        """The format, once it is certain."""
        self.head += data
        if len(self.head) >= HEAD:
            return self.close()
        end = self.head.rfind(b"\n") + 1
        if self._at == 0 and not _is_lines(_start(self.head[:end])):
            return None
        return self._begun(end)

    def close(self, name: str = "") -> str | None:
        """The format, if there is any; no more is to come, or no more is needed."""
        text = _start(self.head[:HEAD])
        if not text:
            return next((form for end, form in _NAMES.items() if name.endswith(end)), None)
        if text.startswith((b"<", b"\xff\xfe<", b"\xfe\xff\x00<")):
            return "junit" if _is_junit(text.lstrip(b"\xff\xfe").replace(b"\0", b"")) else None
        document, alone = _document(text) if text.startswith(b"{") else (None, False)
        if document and alone:
            return document
        return self._begun(HEAD) or document or self._part or None

    def _begun(self, end: int) -> str | None:
        """The format of the report that begins with one of the lines up to `end`."""
        lines = self.head[self._at : end].removeprefix(_BOM).splitlines()
        self._at = end
        for line in lines:
            if found := opening(line):
                return found
            self._part = self._part or part(line) or ""
        return None


def detect(data: bytes, name: str = "") -> str | None:
    """The format's name; None where it is not clear."""
    detector = Detector()
    return detector.feed(data[:HEAD]) or detector.close(name)


def _start(head: bytes) -> bytes:
    return head.removeprefix(_BOM).lstrip()


def _is_junit(text: bytes) -> bool:
    """By the first element of the XML."""
    at = 0
    while before := _BEFORE_ROOT.match(text, at):
        at = before.end()
    return bool(_ROOT.match(text, at))


def _is_lines(text: bytes) -> bool:
    """Not XML, and not a JSON object that goes on in the next line or is no line of a known format."""
    first = text.partition(b"\n")[0]
    return (
        bool(first)
        and not first.startswith((b"<", b"\xff", b"\xfe"))
        and (first[:1] != b"{" or bool(part(first)))
    )


def _document(text: bytes) -> tuple[str | None, bool]:
    """Which document begins with the object that the text begins with, and whether nothing follows it."""
    keys, end = top_level(text)
    found = (form for form, needed in _DOCUMENTS if needed <= keys.keys() and _SAYS.get(form, b"") in text)
    return next(found, None), end < 0 or not text[end:].strip()
