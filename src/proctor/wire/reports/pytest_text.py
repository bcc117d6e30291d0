"""pytest's terminal output (`--verbosity=1 --tb=short -rA`) as events, for pytests too old for the plugin.

It lacks durations, the lines of tests, and the ids of tests that were deselected or never ran. Reasons and
warnings are in a section that `inject/path/_proctor_injected_text.py` adds. The session has finished only if
pytest's tally, its last line, is the sum of what was read.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import dropwhile, groupby, takewhile

import msgspec
from msgspec.structs import replace

from proctor import decoding
from proctor import events as e
from proctor.outcome import BAD, Outcome
from proctor.text import without_escapes
from proctor.unique_names import UniqueNames
from proctor.wire.control.session import not_collected_but_skipped, without_type

_OUTCOMES = {
    "PASSED": Outcome.PASSED,
    "FAILED": Outcome.FAILED,
    "SKIPPED": Outcome.SKIPPED,
    "ERROR": Outcome.ERROR,
    "XFAIL": Outcome.XFAILED,
    "xfail": Outcome.XFAILED,
    "XPASS": Outcome.XPASSED,
    "xpass": Outcome.XPASSED,
}

# While the tests run. An id ends where its brackets do: what is in them may look like anything. Its file ends
# at the first colons: a line may have very many.
_FILE = r"\S(?:(?!::).)*::"
_ID = rf"{_FILE}[^\[]*?(?:\[.*?\])?"
_WORD = rf"({'|'.join(_OUTCOMES)})(?: \((.*)\))?(?: +\[ *[0-9]+(?:%|/[0-9]+)\])?"
_RESULT = re.compile(rf"({_ID}) {_WORD}")
_LATE_RESULT = re.compile(_WORD)  # with -s or live logs, what the test wrote stands between id and word
_WORKER_RESULT = re.compile(rf"\[(gw[0-9]+)\] (?:\[ *[0-9]+%\] )?({'|'.join(_OUTCOMES)}) ({_ID}) ?")
_UNDER_WAY = re.compile(rf"({_FILE}[^\[\s]+(?![^\[\s])(?:\[.*\](?= $)|\[.*?\])?) ")
_COLLECTED = re.compile(r"(?:collecting \.\.\. )?collected ([0-9]{1,9}) items?((?: / [0-9]{1,9} [a-z]+)*)")
_SCHEDULED = re.compile(r"gw[0-9]+ \[([0-9]{1,9})\](?: / gw[0-9]+ \[[0-9]+\])*")

# Afterwards.
_MORE = "more about this session"  # ours
_TITLES = f"ERRORS|FAILURES|X?PASSES|XFAILURES|warnings summary|short test summary info|slowest .*|{_MORE}"
_SECTION = re.compile(f"=+ ({_TITLES}) =+")
_HEADING = re.compile(r"_+ (.+) _+")
_STOPPED = re.compile(r"!+ (?:[\w.]*\.)?(KeyboardInterrupt|Interrupted|Exit)(?:: (.*?))? !+")
_TALLY = re.compile(r"(?:=+ )?(no tests ran|[0-9]{1,9} [a-z]+(?:, [0-9]{1,9} [a-z]+)*) in [0-9.]+ ?s.*")
_COUNT = re.compile(r"([0-9]{1,9}) ([a-z]+)")
_COLLECTING = "ERROR collecting "

# At any time.
_ROOT = re.compile(r"rootdir: (.+?)(?:, (?:inifile|configfile|testpaths): .*)?")
_ENDS = 1 << 14  # characters of a long line at either end that are looked at
_INTERNAL = "INTERNALERROR> "

# In an explanation.
_WORKER = re.compile(r"\[gw[0-9]+\] .+")
_CAPTURED = re.compile(r"-+ Captured .+ -+")
_PLACE = re.compile(r"(\S.*?):([0-9]{1,9}): (?:in .+|\w+)")
_SYNTAX = re.compile(r'E +File "(.+)", line ([0-9]{1,9})')
_RAISED = re.compile(r"([A-Za-z_][\w.]*)(?::|$)")
_DOCTEST = re.compile(r"^[0-9]{3} *>>> (.+)\nExpected:\n((?: {4}.*\n)+)Got:\n((?: {4}.*\n?)+)", re.M)


class _Reason(msgspec.Struct):
    id: str
    reason: str
    collector: bool = False  # a module or package, which has no test that could be skipped
    place: e.Place | None = None


class _Fact(msgspec.Struct):
    """A line of our own section."""

    reason: _Reason | None = None
    warning: e.WarningRecorded | None = None


_fact = decoding.decoder(_Fact).decode


class TextReader:
    """Takes stdout in pieces. The event of a test comes with the next test, because its teardown may still
    fail. Reasons come at the end: from the first test that has one on, all events wait for it, because they
    come in the order of the tests."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._root = ""
        self._rest = ""
        self._reports: dict[str, list[Outcome]] = {}
        self._reasons: dict[str, str] = {}
        self._reported: set[str] = set()
        self._held = False  # a test waits for its reason, and the others behind it
        self._facts: list[_Fact] = []
        self._under_way: dict[str, None] = {}
        self._last: dict[str, str] = {}  # worker -> its latest test
        self._parallel = False
        self._scheduled = 0  # by xdist, which counts no module that was skipped
        self._section = ""  # none yet: tests are running
        self._explained: dict[str, list[list[str]]] = {}  # heading -> the lines of each text under it
        self._lines: list[str] = []  # of the text that is being read
        self._stopped: e.Failure | None = None
        self._internal: list[str] = []
        self._tally: Counter[str] | None = None

    def feed(self, text: str) -> list[e.Event]:
        *lines, rest = (self._rest + text).split("\n")
        self._rest = rest if len(rest) < 4 * _ENDS else rest[:_ENDS] + rest[-_ENDS:]
        return [event for line in lines for event in self._line(without_escapes(line.rstrip("\r")))]

    def close(self) -> list[e.Event]:
        """The end of output: what failed and why, and whether pytest finished."""
        found = self.feed("\n") if self._rest else []
        found += self._collection_errors()
        found += self._skipped_collectors()
        for test in self._reports:
            found += self._events(test)
        found += [fact.warning for fact in self._facts if fact.warning is not None]
        found += [e.TestStarted(test) for test in self._under_way]
        if self._internal:
            found.append(self._broke())
        if self._stopped is not None:
            found.append(e.SessionInterrupted(self._stopped))
        if self._tally is not None:
            found.append(self._finished(self._tally))
        return found

    # Lines

    def _line(self, line: str) -> list[e.Event]:
        if section := _SECTION.fullmatch(line):
            self._section, self._lines = section[1], []
            if self._section == _MORE:
                self._facts = []  # an earlier one was a test's
        elif tally := _TALLY.fullmatch(line):
            self._tally = _counts(tally[1])
        elif line.startswith(_INTERNAL):
            self._internal.append(line.removeprefix(_INTERNAL))
        elif stopped := _STOPPED.fullmatch(line):
            self._section = "stopped"
            self._stopped = e.Failure(stopped[1], stopped[2] or stopped[1])
        elif self._section == "stopped" and self._stopped is not None:
            self._stopped = replace(self._stopped, place=self._stopped.place or self._place(line))
        elif self._section in ("FAILURES", "ERRORS"):
            self._explanation(line)
        elif self._section == _MORE:
            self._take_fact(line)
        elif not self._section:
            return self._progress(line)
        return []

    def _progress(self, line: str) -> list[e.Event]:
        if root := _ROOT.fullmatch(line):
            self._root = root[1]
        elif collected := _COLLECTED.fullmatch(line):
            others = _counts(collected[2])
            count = int(collected[1]) - others["deselected"] + others["error"] + others["skipped"]
            return [e.SuiteStarted(self._name, "", count, others["deselected"])]
        elif scheduled := _SCHEDULED.fullmatch(line):
            self._parallel, self._scheduled = True, int(scheduled[1])
            return [e.SuiteStarted(self._name, "", self._scheduled)]
        elif result := _RESULT.fullmatch(line):
            return self._result(result[1], result[2], result[3])
        elif result := _WORKER_RESULT.fullmatch(line):
            return self._result(result[3], result[2], worker=result[1])
        elif self._under_way and (result := _LATE_RESULT.fullmatch(line)):
            return self._result(next(iter(self._under_way)), result[1], result[2])
        elif (test := _UNDER_WAY.match(line)) and (self._parallel or not self._under_way):
            self._under_way[test[1]] = None
        return []

    def _result(self, test: str, word: str, reason: str | None = None, worker: str = "") -> list[e.Event]:
        self._under_way.pop(test, None)
        self._tally = None  # whatever looked like one was not the last line
        self._reports.setdefault(test, []).append(_OUTCOMES[word])
        if reason and not reason.endswith("..."):  # cut at the width of the terminal
            self._reasons[test] = reason
        before, self._last[worker] = self._last.get(worker, test), test
        if before == test:
            return []
        self._held = self._held or self._outcome(before) is not Outcome.PASSED
        return [] if self._held else self._events(before)

    def _explanation(self, line: str) -> None:
        heading = _HEADING.fullmatch(line)
        if heading and (heading[1].startswith("ERROR ") or self._section == "FAILURES"):
            self._lines = []
            self._explained.setdefault(heading[1], []).append(self._lines)
        else:
            self._lines.append(line)

    def _take_fact(self, line: str) -> None:
        try:
            fact = _fact(line)
        except msgspec.DecodeError:
            return  # another plugin's line
        self._facts.append(fact)
        if fact.reason is not None and not fact.reason.collector:
            self._reasons[fact.reason.id] = without_type(fact.reason.reason).removeprefix("reason: ")

    # Events

    def _outcome(self, test: str) -> Outcome:
        """A test has a second report only if its teardown failed."""
        reports = self._reports[test]
        return Outcome.FAILED if Outcome.FAILED in reports else reports[-1]

    def _events(self, test: str) -> list[e.Event]:
        if test in self._reported:
            return []
        self._reported.add(test)
        outcome = self._outcome(test)
        if outcome in BAD:
            return [e.TestStarted(test), self._failed(test, outcome)]
        return [e.TestStarted(test), e.TestFinished(test, outcome, message=self._reasons.get(test) or None)]

    def _failed(self, test: str, outcome: Outcome) -> e.TestFinished:
        texts = [text for report in self._reports[test] for text in self._take(test, report)]
        failures = [self._failure(lines) for lines in texts]
        message = "\n".join(failure.message for failure in failures)
        return e.TestFinished(
            test,
            outcome,
            message=message or "the output ended before pytest said why",
            traceback="\n".join(_text(lines) for lines in texts) or None,
            failure=failures[0] if failures else None,
        )

    def _take(self, test: str, report: Outcome) -> list[list[str]]:
        """The text about one report: tests of one name in several files are explained in their order."""
        for heading in _headings(test, report):
            if texts := self._explained.get(heading):
                return [texts.pop(0)]
        return []

    def _collection_errors(self) -> list[e.Event]:
        return [
            e.CollectionFailed(heading.removeprefix(_COLLECTING), self._failure(lines), _text(lines))
            for heading, texts in self._explained.items()
            if heading.startswith(_COLLECTING)
            for lines in texts
        ]

    def _skipped_collectors(self) -> list[e.Event]:
        names = UniqueNames()
        return [
            not_collected_but_skipped(names.unique(reason.id or "."), reason.reason, reason.place)
            for fact in self._facts
            if (reason := fact.reason) is not None and reason.collector
        ]

    def _broke(self) -> e.SessionBroke:
        last = next((line for line in reversed(self._internal) if line.strip()), "")
        return e.SessionBroke(e.Failure(_raised(last), last), "\n".join(self._internal))

    def _finished(self, tally: Counter[str]) -> e.SessionFinished | e.ChannelBroken:
        """A missed line must not count as a pass."""
        read = Counter(str(report) for reports in self._reports.values() for report in reports)
        read["error"] += len(self._collection_errors())
        read["skipped"] += len(self._skipped_collectors())
        exact = ("passed", "failed", "error", "xfailed", "xpassed")
        # Without our section, a module that was skipped as a whole is in the tally only.
        if all(read[word] == tally[word] for word in exact) and read["skipped"] <= tally["skipped"]:
            if len(self._reports) < self._scheduled and self._stopped is None:
                missing = self._scheduled - len(self._reports)
                return e.ChannelBroken(f"{missing} of {self._scheduled} tests have no result")
            return e.SessionFinished(None, len(self._reports))
        return e.ChannelBroken(f"pytest counted {_shown(tally)}; its output was read as {_shown(read)}")

    # Explanations

    def _failure(self, lines: list[str]) -> e.Failure:
        own = _own(lines)
        raised = _exception(own)
        message = raised or _doctest(own) or _text(own)
        places = [place for line in own if (place := self._place(line))]
        return e.Failure(_raised(message) if raised else "", message, places[-1] if places else None)

    def _place(self, line: str) -> e.Place | None:
        """A line of the user's code, judged by its path."""
        found = _PLACE.fullmatch(line) or _SYNTAX.fullmatch(line)
        if found is None:
            return None
        path = found[1].removeprefix(self._root + "/")
        foreign = path.startswith(("/", "../")) or "site-packages/" in path
        return None if foreign else e.Place(path, int(found[2]))


def _counts(text: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for count, word in _COUNT.findall(text):
        counts["error" if word == "errors" else word] += int(count)
    return counts


def _shown(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in sorted(counts.items()) if count) or "nothing"


def _headings(test: str, report: Outcome) -> tuple[str, ...]:
    """The file is dropped, the rest joined with dots: `TestA.test_b[x::y]`. A doctest is marked as one."""
    path, bracket, parameters = test.partition("[")
    name = ".".join(part for part in path.split("::")[1:] if part != "()") + bracket + parameters
    names = (name, f"[doctest] {name}")
    if report is Outcome.FAILED:
        return names
    if report is not Outcome.ERROR:
        return ()
    return tuple(f"ERROR at {phase} of {name}" for phase in ("setup", "teardown") for name in names)


def _own(lines: list[str]) -> list[str]:
    """Without the name of xdist's worker, and up to what the test printed: that may look like anything."""
    start = 1 if lines and _WORKER.fullmatch(lines[0]) else 0
    return list(takewhile(lambda line: not _CAPTURED.fullmatch(line), lines[start:]))


def _text(lines: list[str]) -> str:
    return "\n".join(_own(lines)).strip()


def _exception(lines: list[str]) -> str:
    """The last block of `E` lines: the earlier ones led to it. A syntax error comes after its code."""
    groups = groupby(lines, lambda line: line[:2].rstrip() == "E")
    blocks = [list(block) for marked, block in groups if marked]
    last = [line[4:] for line in blocks[-1]] if blocks else []
    return "\n".join(dropwhile(lambda line: line.startswith(" "), last))


def _raised(message: str) -> str:
    """The type of an exception, from its message; pytest omits that of a plain assert."""
    if message.startswith("assert "):
        return "AssertionError"
    found = _RAISED.match(message)
    return found[1].rpartition(".")[2] if found else ""


def _doctest(lines: list[str]) -> str:
    found = _DOCTEST.search("\n".join(lines))
    if found is None:
        return ""
    want, got = (re.sub("^ {4}", "", part, flags=re.M).strip() for part in found.group(2, 3))
    return f"{found[1]}: expected {want}, got {got}"
