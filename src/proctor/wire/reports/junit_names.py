"""The `classname` and `name` of a test in JUnit XML, as `pytest --junitxml` writes them."""

from __future__ import annotations

import re
from collections.abc import Container
from typing import NamedTuple

from proctor import events as e
from proctor.launch import Voice
from proctor.result import SuiteResult
from proctor.unique_names import without_number
from proctor.wire.reports.id_parts import id_parts

# What XML cannot hold, and other control characters; pytest shows them as `#x1B`.
_ILLEGAL = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_PYTHON = re.compile(r"\.py\Z")


class CaseName(NamedTuple):
    classname: str
    name: str


def test_name(test: e.TestFinished, suite: SuiteResult, earlier: Container[str] = ()) -> CaseName:
    """Of a test. A number that it has only because an `earlier` suite has a test of its name is left out."""
    base = without_number(test.test)
    name = base if base != test.test and base in earlier else test.test
    if name.startswith("/") and suite.source != Voice.REPORT:
        return _program(name, test.part_of, suite.name)
    path, names = id_parts(name)
    if not names:
        return CaseName(shown(suite.name), shown(name) or "?")
    return CaseName(shown(".".join([dotted(path), *names[:-1]])), shown(names[-1]) or "?")


def collector_name(name: str) -> CaseName:
    """Of what is no test: a file or a package that failed or was skipped as a whole."""
    path, names = id_parts(name)
    *owners, last = [dotted(path), *names]
    return CaseName(shown(".".join(owners)), shown(last) or "?")


def shown(text: str) -> str:
    """Without characters that XML cannot hold: each is visible instead, so that names stay apart."""
    return text if text.isascii() and text.isprintable() else _ILLEGAL.sub(_code, text)


def _code(found: re.Match[str]) -> str:
    return f"#x{ord(found[0]):02X}"


def dotted(path: str) -> str:
    return _PYTHON.sub("", path.replace("/", "."))


def _program(name: str, part_of: str, suite: str) -> CaseName:
    """Under its directory; a result that it reports beside its own is under the program."""
    inside = part_of.startswith("/") and name.startswith(f"{part_of}/")
    directory, last = (part_of, name[len(part_of) + 1 :]) if inside else name.rsplit("/", 1)
    owner = directory.strip("/").replace("/", ".")
    return CaseName(shown(owner or suite), shown(last) or "?")
