"""One `<testcase>` of JUnit XML, as a value and as text. Knows nothing of which tests there are."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor import events as e
from proctor.wire.reports import contents
from proctor.wire.reports.junit_names import CaseName

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"})
_IN_ATTRIBUTE = _ESCAPES | str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


class Complaint(msgspec.Struct, frozen=True):
    tag: str  # failure, error, skipped
    type: str
    message: str
    text: str = ""


class Case(msgspec.Struct, frozen=True):
    name: CaseName
    seconds: float = 0.0
    complaints: tuple[Complaint, ...] = ()
    stdout: str = ""
    stderr: str = ""
    place: e.Place | None = None
    properties: dict[str, str] = {}

    def has(self, tag: str) -> bool:
        return any(complaint.tag == tag for complaint in self.complaints)

    def xml(self, decimals: int) -> str:
        """What the schema does not know is there only if the case has it."""
        attributes: dict[str, Any] = {**self.name._asdict(), "time": seconds_text(self.seconds, decimals)}
        if self.place is not None:
            attributes |= {"file": self.place.file} | ({"line": self.place.line} if self.place.line else {})
        inner = [properties_xml(self.properties)] if self.properties else []
        for found in self.complaints:
            facts = {"type": found.type} if found.type else {}
            inner.append(element(found.tag, {**facts, "message": found.message}, found.text))
        for tag, text in (("system-out", self.stdout), ("system-err", self.stderr)):
            if text:
                inner.append(element(tag, {}, text))
        opening = f"<testcase{attributes_text(attributes)}"
        return f"{opening}>{''.join(inner)}</testcase>\n" if inner else f"{opening}/>\n"


def seconds_text(seconds: float, decimals: int) -> str:
    """The schema has no negative times, and none that are no number."""
    return f"{seconds if 0 < seconds < e.LONGEST else 0.0:.{decimals}f}"


def properties_xml(properties: dict[str, str]) -> str:
    inner = [element("property", {"name": name, "value": value}) for name, value in properties.items()]
    return f"<properties>{''.join(inner)}</properties>"


def value_text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()


def element(tag: str, attributes: dict[str, str], text: str = "") -> str:
    opening = f"<{tag}{attributes_text(attributes)}"
    body = contents.printable(text).translate(_ESCAPES)
    return f"{opening}>{body}</{tag}>" if body else f"{opening}/>"


def attributes_text(attributes: dict[str, Any]) -> str:
    return "".join(
        f' {name}="{contents.printable(str(value)).translate(_IN_ATTRIBUTE)}"'
        for name, value in attributes.items()
    )
