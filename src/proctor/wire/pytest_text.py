"""pytest's terminal words (`-v --tb=short -rA`) as events, for versions that cannot load the plugin.

What is not said cannot be told: durations, lines and ids with line breaks are beyond this reader, and the
document says `"source": "text"`.
"""

from __future__ import annotations

import re

from proctor import events as e
from proctor.outcome import Outcome

_OUTCOMES = {
    "PASSED": Outcome.PASSED,
    "FAILED": Outcome.FAILED,
    "SKIPPED": Outcome.SKIPPED,
    "ERROR": Outcome.ERROR,
    "XFAIL": Outcome.XFAILED,
    "xfail": Outcome.XFAILED,
    "XPASS": Outcome.XPASSED,
}
_RESULT = re.compile(rf"^(\S.*?) ({'|'.join(_OUTCOMES)})(?: \(.*\))? +\[ *\d+%\]$")
_COLLECTED = re.compile(r"^collected (\d+) items?(?: / (\d+) errors?)?(?: / (\d+) deselected)?.*$")
_COLLECTING = re.compile(r"^collecting \.\.\. ")
_HEADING = re.compile(r"^_{3,} (.+?) _{3,}$")
_SECTION = re.compile(r"^={3,} (.+?) ={3,}$")
_SUMMARY = re.compile(r"^=*\s*((?:\d+ [a-z]+(?:, )?)+) in [0-9.]+(?: ?s(?:econds)?)?.*?=*$")
_ENTRY = re.compile(rf"^({'|'.join(_OUTCOMES)}) (\S+)(?: - (.*))?$")
_PLACE = re.compile(r"^(\S+\.py):(\d+): (?:in |\w)")
_UNDER_WAY = re.compile(r"^(\S+\.py::.+?) $")
_COUNT = re.compile(r"(\d+) ([a-z]+)")


class TextReader:
    """Fed with stdout as it comes. A test is told when its line is; why it failed, at the end."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = ""
        self._seen: dict[str, Outcome] = {}
        self._texts: dict[str, list[str]] = {}
        self._section = ""
        self._heading = ""
        self._counts: dict[str, int] = {}
        self._held = ""  # the last test that passed: its teardown may still fail

    def feed(self, text: str) -> list[e.Event]:
        *lines, self._rest = (self._rest + text).split("\n")
        return [event for line in lines for event in self._line(line.rstrip("\r"))]

    def close(self) -> list[e.Event]:
        """The end of output: what failed and why, and whether pytest came to its own end."""
        cut = _UNDER_WAY.match(self._rest)
        found = self.feed("\n") + self._let_go() + self._collection_errors()
        for test, outcome in self._seen.items():
            if outcome is not Outcome.PASSED:
                found.append(self._finished(test, outcome))
        if cut and cut[1] not in self._seen:
            found.append(e.TestStarted(cut[1]))
        if self._counts and self._agrees():
            found.append(e.SessionFinished(None, len(self._seen)))
        return found

    def _line(self, line: str) -> list[e.Event]:
        line = _COLLECTING.sub("", line)
        if section := _SECTION.match(line):
            self._section, self._heading = section[1], ""
        if summary := _SUMMARY.match(line):
            self._counts = {word: int(count) for count, word in _COUNT.findall(summary[1])}
            return []
        if self._section in ("FAILURES", "ERRORS"):
            self._report(line)
        elif collected := _COLLECTED.match(line):
            return self._collected(int(collected[1]), int(collected[3] or 0))
        elif result := _RESULT.match(line):
            return self._result(result[1], _OUTCOMES[result[2]])
        return []

    def _collected(self, items: int, deselected: int) -> list[e.Event]:
        return [e.SuiteStarted(self._name, "", items - deselected)]

    def _result(self, test: str, outcome: Outcome) -> list[e.Event]:
        before = self._seen.get(test)
        if before is Outcome.FAILED:
            return []  # the call failed, and then its teardown
        self._seen[test] = outcome
        if outcome is not Outcome.PASSED:
            self._held = "" if self._held == test else self._held
            return self._let_go()
        let_go, self._held = self._let_go(), test
        return let_go

    def _let_go(self) -> list[e.Event]:
        test, self._held = self._held, ""
        return [e.TestStarted(test), e.TestFinished(test, Outcome.PASSED)] if test else []

    def _report(self, line: str) -> None:
        if heading := _HEADING.match(line):
            self._heading = heading[1]
            self._texts.setdefault(self._heading, [])
        elif self._heading:
            self._texts[self._heading].append(line)

    def _finished(self, test: str, outcome: Outcome) -> e.TestFinished:
        lines = self._text_of(test)
        shown = [line[2:].strip() for line in lines if line.startswith("E ")]
        message = "\n".join(shown) or None
        places = [_PLACE.match(line) for line in lines]
        found = [e.Place(place[1], int(place[2])) for place in places if place]
        failure = e.Failure("", shown[0] if shown else "", found[-1] if found else None)
        traceback = "\n".join(lines).strip() or None
        return e.TestFinished(test, outcome, message=message, traceback=traceback, failure=failure)

    def _text_of(self, test: str) -> list[str]:
        """Headings drop the file and join classes with dots: `TestA.test_b`."""
        name = ".".join(test.split("::")[1:]).replace(".().", ".")
        wanted: tuple[str, ...] = (name, f"ERROR at setup of {name}", f"ERROR at teardown of {name}")
        short = name.rpartition(".")[2]
        wanted += (f"ERROR at setup of {short}", f"ERROR at teardown of {short}")
        return [line for heading in wanted for line in self._texts.get(heading, ())]

    def _collection_errors(self) -> list[e.Event]:
        found: list[e.Event] = []
        for heading, lines in self._texts.items():
            if heading.startswith("ERROR collecting "):
                shown = [line[2:].strip() for line in lines if line.startswith("E ")]
                message = shown[-1] if shown else ""
                kind = message.partition(":")[0] if ":" in message else ""
                failure = e.Failure(kind, message)
                file = heading.removeprefix("ERROR collecting ")
                found.append(e.CollectionFailed(file, failure, "\n".join(lines).strip()))
        return found

    def _agrees(self) -> bool:
        """pytest's own tally against what was read: a line that was missed must not pass for a pass."""
        passed = sum(outcome is Outcome.PASSED for outcome in self._seen.values())
        failed = sum(outcome is Outcome.FAILED for outcome in self._seen.values())
        late = self._counts.get("error", 0) + self._counts.get("errors", 0)
        return (
            failed == self._counts.get("failed", 0)
            and passed <= self._counts.get("passed", 0) <= passed + late
        )
