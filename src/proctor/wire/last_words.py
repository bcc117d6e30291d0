"""Why a process ended with a status that no test explains, from what it and its plugins printed.

Lines are found by general signs, not by a table of tools. Where there are none, the last lines are quoted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from proctor.events import OutputQuoted
from proctor.text import without_escapes

LAST = 20  # lines that are quoted where none of them explains anything
_TELLING = 4  # lines that explain a status
_LOOKED_AT = 100  # lines at the end of a text
_WIDTH = 400  # characters of a line

# How a complaint begins: `FAIL Required …`, `ERROR: …`, `[error] …`, `E   …`, `npm error …`.
_MARKED = re.compile(
    r"(?:(?:\S\s|\W){0,4}(?:FAIL(?:ED|URE)?|ERROR|FATAL|[Ff]ail(?:ed|ure)?(?=:)|[Ee]rror(?=[:\]])|[Ff]atal(?=:))\b"
    r"|E(?= {2,}\S)|[\w.-]{1,40}:? (?:error|fatal|ERR!)(?=[: ])|[\w.]{1,80}(?:Error|Exception): )"
)
# How it says that something was to be more, or less.
_MISSED = re.compile(
    r"\b(?:not (?:reached|met|achieved|satisfied|allowed)|(?:does|do|did) not (?:meet|reach|satisfy)"
    r"|exceed(?:s|ed)?|(?:less|lower|fewer|more|greater|higher) than|below|above|threshold|at (?:least|most)"
    r"|too (?:low|high|many|few)|regress(?:ed|ion)|minimum|maximum)\b",
    re.I,
)
_TROUBLE = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure|ures)?|errors?|refus(?:es|ed|ing)|denied|forbidden|violat(?:es|ed|ions?)|invalid"
    r"|unexpected|abort(?:s|ed|ing)?|cannot|unable|limit|unused|obsolete|outdated"
    r"|unknown|unrecogni[sz]ed|bad option)\b",
    re.I,
)
_NONE = re.compile(
    r"\b0\s+\w+|\bno\s+(?:\w+\s+)?(?:fail\w*|errors?)\b|\b(?:fail\w*|errors?)\s*[:=]?\s*0\b", re.I
)
_FINE = re.compile(r"\b(?:PASS|PASSED|SKIPPED|XFAIL|XPASS|ok)\b|[✓✔√]|\d+ passed\b|\w+Warning: ")
_NAMES = re.compile(r"\S*(?:/|\\|::|\.[A-Za-z]\w*)\S*")  # of files and tests
_SECTION = re.compile(r"(?:[=_!-]{3,} (?P<title>.+?) [=_!-]{3,}|(?P<docs>-- Docs: .*))$")
_OWN = ("warnings summary", "short test summary info", "PASSES", "XFAILURES", "XPASSES", "slowest ")


def quoted(printed: str, stderr: str = "", stdout: str = "", output: str = "") -> OutputQuoted | None:
    """`printed` is what plugins printed after the tests, `output` is stdout and stderr in their order.

    None if there is nothing to quote.
    """
    sources = [list(_candidates(text)) for text in (printed, stderr, stdout)]
    for is_telling, looked_at in ((_is_complaint, _LOOKED_AT), (_is_trouble, LAST)):
        for lines in sources:
            if found := _telling(lines[-looked_at:], is_telling):
                return OutputQuoted(tuple(found), explains=True)
    last = _lines(output)[-LAST:]
    return OutputQuoted(tuple(last)) if last else None


def _telling(lines: list[str], is_telling: Callable[[str], bool]) -> list[str]:
    """The last lines that explain something; one that ends with a colon goes on in the next."""
    found: dict[str, None] = {}
    goes_on = False
    for line in lines:
        if goes_on or is_telling(line):
            found.setdefault(line)
        goes_on = line.endswith(":") and line in found
    return list(found)[-_TELLING:]


def _candidates(text: str) -> Iterator[str]:
    """Lines that may explain a status: not those in which pytest tells of tests that did not fail."""
    skipping = False
    for line in map(str.strip, _lines(text)):
        if section := _SECTION.fullmatch(line):
            skipping = (section["title"] or "").startswith(_OWN)
        if not skipping:
            yield line


def _is_complaint(line: str) -> bool:
    line = _NONE.sub("", line)
    return not _FINE.search(line) and bool(_MARKED.match(line) or _MISSED.search(_NAMES.sub("", line)))


def _is_trouble(line: str) -> bool:
    line = _NAMES.sub("", _NONE.sub("", line))
    return not _FINE.search(line) and bool(_TROUBLE.search(line))


def _lines(text: str) -> list[str]:
    """Without those that say nothing; a long one is cut."""
    lines = (line.rstrip() for line in without_escapes(text).splitlines())
    return [line if len(line) <= _WIDTH else line[: _WIDTH - 3] + "..." for line in lines if line]
