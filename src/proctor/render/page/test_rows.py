"""The list of all tests, by file: rows of HTML where there are few, data for the script where there are many.

Who has no script sees rows of those that did not pass, and the others counted by file. With very many tests,
so does everybody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

import msgspec
from markupsafe import Markup

from proctor.durations import brief
from proctor.events import TestFinished
from proctor.outcome import BAD, FLAKY, QUARANTINED, Outcome
from proctor.render.ids import file_of
from proctor.render.page.markup import fragment, html, line
from proctor.render.verdict_line import counted
from proctor.result import RunResult, SuiteResult
from proctor.wire.reports.contents import suites, tests_of

IN_HTML = 5_000  # tests whose rows are part of the page
IN_DATA = 50_000  # tests whose rows the script can make
_FILES = 2_000  # that are listed where rows are not part of the page
_FEW = 30  # tests of the only file, which is then unfolded

_WORDS = (*Outcome, FLAKY, QUARANTINED)
_CODES = dict(zip(_WORDS, "pfesxXctniwkq", strict=True))
_BAD = frozenset({*map(str, BAD)})
_ALL = frozenset(map(str, _WORDS))
_NOT_PASSED = _ALL - {Outcome.PASSED}


class Group(msgspec.Struct):
    """The tests of one file in one suite."""

    suite: str
    file: str  # or what stands for it: the name of the suite
    tests: list[tuple[TestFinished, str]] = []  # with the word as which each counts
    counts: Counter[str] = msgspec.field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def bad(self) -> int:
        return sum(self.counts[word] for word in _BAD)

    @property
    def told(self) -> str:
        """`1 failed, 12 passed`."""
        order = sorted(self.counts.items(), key=lambda item: (item[0] not in _BAD, -item[1]))
        return ", ".join(counted(count, word) for word, count in order)


class TestList(msgspec.Struct):
    """All tests of a run, files with failures first."""

    groups: list[Group]
    total: int
    causes: Mapping[str, int]  # the number of the failure that tells of a test, by its id
    several: bool  # there are several suites

    @property
    def in_html(self) -> bool:
        return self.total <= IN_HTML

    @property
    def without_passed(self) -> bool:
        return self.total > IN_DATA

    @property
    def rows(self) -> int:
        """Tests that have a row, of the page or made by the script."""
        return sum(len(kept) for _, kept in self.kept(IN_DATA))

    def kept(self, most: int) -> Iterator[tuple[Group, list[tuple[TestFinished, str]]]]:
        """Each file with its tests that have rows, at most so many in all: every test where they are few
        enough, else those that did not pass, else those that failed."""
        words = _ALL
        if self.total > most:
            words = _NOT_PASSED if sum(map(_not_passed, self.groups)) <= most else _BAD
        for group in self.groups:
            kept = [one for one in group.tests if one[1] in words][:most]
            most -= len(kept)
            yield group, kept


def test_list(result: RunResult, causes: Mapping[str, int]) -> TestList:
    found: dict[tuple[str, str], Group] = {}
    total = 0
    for suite in suites(result):
        for test in tests_of(suite):
            _add(found, suite, test)
            total += 1
    groups = sorted(found.values(), key=lambda group: not group.bad)
    return TestList(groups, total, causes, len({group.suite for group in groups}) > 1)


def _add(found: dict[tuple[str, str], Group], suite: SuiteResult, test: TestFinished) -> None:
    file = file_of(test.test) or (test.place.file if test.place else "") or suite.name
    group = found.get((suite.name, file))
    if group is None:
        group = found[suite.name, file] = Group(suite.name, file)
    word = suite.counted(test)
    group.tests.append((test, word))
    group.counts[word] += 1
    group.seconds += test.seconds


def _not_passed(group: Group) -> int:
    return len(group.tests) - group.counts[Outcome.PASSED]


def listed(tests: TestList) -> Iterator[Markup]:
    """The files, each with the rows that are part of the page."""
    files = len(tests.groups) if tests.in_html else _FILES
    unfolded = tests.in_html and len(tests.groups) == 1 and tests.total <= _FEW
    for number, (group, kept) in enumerate(islice(tests.kept(IN_HTML), files)):
        suite = f'<span class="suite">{html(group.suite)}</span> ' if tests.several else ""
        yield Markup(
            f'<details class="file{" bad" if group.bad else ""}" data-group="{number}"'
            f' data-suite="{html(group.suite)}"'
            f"{' open' if unfolded else ''}><summary>{suite}"
            f'<span class="path">{html(group.file)}</span> <span class="told">{html(group.told)}</span>'
            f' <span class="time">{brief(group.seconds)}</span></summary><ol>'
        )
        yield Markup("".join(_row(group, test, word, tests) for test, word in kept))
        yield Markup("</ol></details>\n")
    if rest := tests.groups[files:]:
        count = sum(len(group.tests) for group in rest)
        yield Markup(f'<p class="more">and {count} tests in {len(rest)} more files</p>')


def _row(group: Group, test: TestFinished, word: str, tests: TestList) -> str:
    name = html(_name(test.test, group.file))
    cause = tests.causes.get(test.test)
    shown = f'<a href="#failure-{cause}">{name}</a>' if cause else f"<span>{name}</span>"
    link = f' data-link="{fragment(test.test)}"' if line(test.test) != test.test else ""
    return (
        f'<li data-id="{html(test.test)}"{link} class="{word}"><b>{word.replace("_", " ")}</b> {shown}'
        f" <small>{brief(test.seconds)}</small></li>\n"
    )


def _name(test: str, file: str) -> str:
    """The id without the file, which stands above it."""
    return test.removeprefix(f"{file}::")


def data(tests: TestList) -> Iterator[Markup]:
    """The same as JSON, for the script: nothing in it can end the element that holds it."""
    yield Markup('{"words":') + _json({_CODES[word]: word.replace("_", " ") for word in _WORDS})
    yield Markup(',"groups":[')
    for number, (group, kept) in enumerate(tests.kept(IN_DATA)):
        yield Markup("," * bool(number)) + _json(_group_data(group, kept, tests.causes))
    yield Markup("]}")


def _group_data(
    group: Group, kept: Sequence[tuple[TestFinished, str]], causes: Mapping[str, int]
) -> dict[str, object]:
    prefix = f"{group.file}::"
    if not all(test.test.startswith(prefix) for test, _ in kept):
        prefix = ""
    told = {str(at): causes[test.test] for at, (test, _) in enumerate(kept) if test.test in causes}
    links = {
        str(at): fragment(test.test) for at, (test, _) in enumerate(kept) if line(test.test) != test.test
    }
    return {
        "suite": line(group.suite),
        "file": line(group.file),
        "prefix": line(prefix),  # of the ids, before the names
        "names": [line(test.test[len(prefix) :]) for test, _ in kept],
        "words": "".join(_CODES[word] for _, word in kept),
        "times": [round(test.seconds * 1e4) for test, _ in kept],  # tenths of a millisecond
        **({"causes": told} if told else {}),
        **({"links": links} if links else {}),  # to ids that are not shown as they are
    }


def _json(value: object) -> Markup:
    text = msgspec.json.encode(value).decode()
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)
