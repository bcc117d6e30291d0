"""JUnit XML as events. There is no standard, so this reads what the well-known writers write.

A document that declares entities is refused: no report needs them, and they can make XML grow without limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.parsers import expat

from msgspec.structs import replace

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import BAD, Outcome
from proctor.result import Excerpt
from proctor.text import first_line
from proctor.wire.control.session import without_type
from proctor.wire.document.history import Heard
from proctor.wire.reports import contents, junit_history, node
from proctor.wire.reports.pytest_session import skip_facts
from proctor.wire.reports.report import (
    COLLECTION_ERROR,
    Report,
    count_of,
    finished,
    moment,
    refined,
    scope,
    seconds_of,
)
from proctor.wire.stream.words import KIND

MAX_DEPTH = 100
MAX_TOKEN = 16 << 20  # bytes of one tag or comment
_RERUN = {"rerunFailure": Outcome.FAILED, "rerunError": Outcome.ERROR}  # it failed again
_FLAKY = {"flakyFailure": Outcome.FAILED, "flakyError": Outcome.ERROR}  # it failed, and passed at last
_AGAIN = _RERUN | _FLAKY
_COMPLAINTS = frozenset({"failure", "error", "skipped", *_AGAIN})
MAX_PARTS = 100  # failures and properties of one test
_BLANK = 4096  # characters of white space that are output after all

OUTCOME = "proctor.outcome"  # the property with the outcome, where no element stands for it
QUARANTINE = "proctor.quarantine"  # likewise, with the reason for it
ATTACHED = "proctor.file."  # begins the name of a property with the path of an attached file
COLLECTING = "collection failure"  # pytest's message for a file that it could not import
NOT_COLLECTED = "collection skipped"  # and for one that skipped itself
XFAIL = "pytest.xfail"  # pytest's type of an expected failure
TEARDOWN = "failed on teardown with "  # pytest repeats a test that failed for its teardown
#: Attributes of a suite that count.
_COUNTED = ("tests", "failures", "errors", "skipped", "disabled")
#: Words in `status` and `result` of a test, in small letters; any other is not known to mean a pass.
_NOT_RUN = {"notrun", "not run", "skipped", "skip", "suppressed", "disabled", "ignored", "pending"}
_PASSED = {"", "run", "completed", "passed", "pass", "ok", "success", "successful", "fixed", "executed"}
_FAILED = {"failed", "fail", "failure", "regression"}


class _SuiteElement:
    """What a suite counts in its attributes, and what it has."""

    def __init__(self, attributes: dict[str, str]) -> None:
        self.name = attributes.get("name", "")
        self.unreadable = [
            f"suite {self.name!r} says {name}={attributes[name][:20]!r}, which is no count"
            for name in _COUNTED
            if name in attributes and _count(attributes[name]) is None
        ]
        stated = {name: _count(attributes.get(name)) for name in _COUNTED}
        self.tests, self.skipped = stated["tests"], stated["skipped"]
        bad = [count for name in ("failures", "errors") if (count := stated[name]) is not None]
        self.bad = sum(bad) if bad else None
        self.disabled = stated["disabled"] or 0
        self.direct = 0  # suites and tests that are its children
        self.own = self.own_bad = self.own_skipped = 0  # tests that are its children
        self.found = self.found_bad = self.found_skipped = 0  # tests in it
        self.complaints = 0  # failures and errors in it: a test may have several
        self.skips = 0  # likewise, elements that say so: pytest has two for a module with doctests

    def add(self, case: _CaseElement, complaints: int) -> None:
        outcome = case.outcome()
        self.direct += 1
        self.own += 1
        self.found += 1
        self.own_bad += outcome in BAD
        self.found_bad += outcome in BAD
        self.complaints += complaints or outcome in BAD
        skipped = KIND[outcome] is Outcome.SKIPPED
        self.own_skipped += skipped
        self.found_skipped += skipped
        self.skips += sum(complaint.kind == "skipped" for complaint in case.complaints) or skipped

    def take(self, inner: _SuiteElement) -> None:
        self.found += inner.found
        self.found_bad += inner.found_bad
        self.found_skipped += inner.found_skipped
        self.complaints += inner.complaints
        self.skips += inner.skips

    def gaps(self) -> Iterator[str]:
        """Where its attributes count other than what it has."""
        yield from self.unreadable
        # Some count suites among the tests, some what is in them, some leave out what was skipped.
        counted = {self.direct, self.own, self.found, self.own - self.own_skipped}
        counted.add(self.found - self.found_skipped)
        # With subtests, pytest counts reports.
        more = self.name in ("pytest", "pytest tests") and (self.tests or 0) > self.found
        if self.tests is not None and self.tests not in counted and not more:
            fewer = self.found < self.tests
            has = f"has {self.found} of its" if fewer else f"lists {self.found} tests and counts"
            yield f"suite {self.name!r} {has} {self.tests}{' tests' if fewer else ''}"
        if self.bad is not None and not self.own_bad <= self.bad <= self.complaints:
            which = "none of its tests did" if not self.found_bad else f"{self.found_bad} of its tests did"
            yield f"suite {self.name!r} says {self.bad} failed; {which}"
        elif self.bad == 0 and self.found_bad:
            yield f"suite {self.name!r} says 0 failed; {self.found_bad} of its tests did"
        if self.skipped is not None and not self.own_skipped - self.disabled <= self.skipped <= self.skips:
            yield f"suite {self.name!r} says {self.skipped} skipped; {self.found_skipped} of its tests were"


def _count(text: str | None) -> int | None:
    """None for what is missing, and for what is no count of a few digits."""
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


class _Complaint:
    """A `failure`, `error` or `skipped` element, or that of a failure when the test was run again."""

    def __init__(self, kind: str, attributes: dict[str, str]) -> None:
        self.kind = kind
        self.type = attributes.get("type", "")
        self._message = attributes.get("message", "")
        self.text = Excerpt()

    @property
    def message(self) -> str:
        return self._message or first_line(self.text.text())


class _Printed:
    """The output of a suite in pieces, without white space that only indents the XML."""

    def __init__(self, stream: str) -> None:
        self._stream, self._blank, self._begun = stream, "", False

    def add(self, text: str) -> list[e.Event]:
        text = self._blank + text
        self._begun = self._begun or not text.isspace() or len(text) > _BLANK
        self._blank = "" if self._begun else text
        return [e.OutputReceived(self._stream, text)] if self._begun else []


class _CaseElement:
    def __init__(self, attributes: dict[str, str]) -> None:
        self.attributes = attributes
        self.complaints: list[_Complaint] = []
        self.output = {"system-out": Excerpt(), "system-err": Excerpt()}
        self.properties: dict[str, str] = {}

    @property
    def main(self) -> list[_Complaint]:
        """Those of the try that counts."""
        own = [complaint for complaint in self.complaints if complaint.kind not in _AGAIN]
        return own or [complaint for complaint in self.complaints if complaint.kind in _RERUN][-1:]

    @property
    def attempts(self) -> tuple[e.Attempt, ...]:
        """The tries before that."""
        main = self.main
        found = [complaint for complaint in self.complaints if complaint.kind in _AGAIN]
        return tuple(_attempt(complaint) for complaint in found if complaint not in main)

    def outcome(self) -> Outcome:
        kinds = {complaint.kind for complaint in self.main}
        skip = next((c.type for c in self.complaints if c.kind == "skipped"), "")
        if skip == "todo":  # node's: such a test is expected to fail
            return Outcome.XFAILED if len(kinds) > 1 else Outcome.XPASSED
        if any(complaint.type == node.TIMEOUT for complaint in self.main):
            return Outcome.TIMEOUT
        if kinds & {"failure", "rerunFailure"}:
            return Outcome.FAILED
        if kinds & {"error", "rerunError"}:
            return Outcome.ERROR
        if "skipped" in kinds:
            return Outcome.XFAILED if skip == XFAIL else Outcome.SKIPPED
        words = self.words()
        if words - _PASSED - _NOT_RUN:
            return Outcome.FAILED if words & _FAILED else Outcome.ERROR
        return Outcome.SKIPPED if words & _NOT_RUN else Outcome.PASSED

    def words(self) -> set[str]:
        """What its attributes say of how it ended."""
        return {self.attributes.get(name, "").strip().lower() for name in ("status", "result")}

    def verdict(self) -> str:
        """What its attributes say, as it is written there, of a test that did not pass by them."""
        said = [
            f"{name}={self.attributes[name]!r}" for name in ("status", "result") if name in self.attributes
        ]
        return "" if self.words() <= _PASSED | _NOT_RUN else f"the report says {' '.join(said)} and no more"


class JunitReader(Report):
    format = "junit"

    def __init__(self) -> None:
        super().__init__()
        self._found: list[e.Event] = []
        self._path: list[str] = []  # tags
        self._suites: list[_SuiteElement] = []
        self._case: _CaseElement | None = None
        self._text: Excerpt | None = None  # of the element that is being read
        self._printed: _Printed | None = None  # while the output of a suite is being read
        self._held: e.TestFinished | None = None  # pytest may have a second element for it
        self._writer = ""  # the name of the outermost suite
        self._of_node = False  # the only writer without a name there
        self._started = 0.0
        self._took: float | None = None  # of the outermost element
        self._suites_took = 0.0
        self._heard = Heard()
        self._of_run: dict[str, str] = {}  # properties that are those of the run
        self._loose = False  # there are tests outside of suites: the times of suites are not all there is
        self._quiet = 0  # bytes since anything was recognised
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._finish
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._entity
        self._parser.SkippedEntityHandler = self._skipped_entity

    def _read(self, data: bytes) -> Iterator[e.Event]:
        self._quiet += len(data)
        yield from self._parse(data, last=False)
        if self._quiet > MAX_TOKEN:
            raise self._at(f"a tag or comment of more than {MAX_TOKEN >> 20} MiB")

    def _end(self) -> Iterator[e.Event]:
        yield from self._parse(b"", last=True)
        yield from self._release()
        yield from self._heard.events_of(junit_history.of_properties(self._of_run))
        yield e.SuiteStarted(self._writer, "", len(self._names))
        seconds = self._took if self._took is not None else 0.0 if self._loose else self._suites_took
        created = self._started + seconds if self._started else 0.0
        yield self._ending(None, len(self._names), duration=seconds, created=created)

    def _parse(self, data: bytes, last: bool) -> Iterator[e.Event]:
        problem: StreamError | None = None
        try:
            self._parser.Parse(data, last)
        except expat.ExpatError as error:
            problem = self._fault(f"line {error.lineno}: {expat.ErrorString(error.code)}")
            self._parser.buffer_text = False  # hands out what it holds
        except (LookupError, ValueError) as error:  # Python or expat cannot use the encoding
            problem = self._at(str(error))
        except StreamError as error:
            problem = error
        yield from self._found
        self._found = []
        if problem is not None:
            raise problem

    def _at(self, what: str) -> StreamError:
        return self._fault(f"line {self._parser.CurrentLineNumber}: {what}")

    # Elements

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._quiet = 0
        tag = name.rpartition(":")[2]
        if not self._path and tag not in ("testsuites", "testsuite"):
            raise self._at(f"<{name}> begins no JUnit report; <testsuites> or <testsuite> does")
        if len(self._path) == MAX_DEPTH:
            raise self._at(f"elements are nested deeper than {MAX_DEPTH}")
        parent = self._path[-1] if self._path else ""
        self._path.append(tag)
        if tag in ("testsuites", "testsuite"):
            self._open_suite(tag, attributes)
        elif tag == "testcase":
            self._case = _CaseElement(attributes)
        elif tag in _COMPLAINTS:
            self._complain(tag, attributes, parent)
        elif tag == "property" and self._case is not None:
            self._case.properties[attributes.get("name", "")] = attributes.get("value", "")
            self._count_parts(self._case)
        elif tag == "property" and attributes.get("name") in junit_history.OF_RUN.values():
            self._of_run[attributes["name"]] = attributes.get("value", "")
        elif tag in ("system-out", "system-err"):
            if parent == "testcase" and self._case is not None:
                self._text = self._case.output[tag]
            elif self._case is None:
                self._printed = _Printed("stdout" if tag == "system-out" else "stderr")

    def _finish(self, name: str) -> None:
        self._quiet = 0
        tag = self._path.pop()
        if tag in ("testsuites", "testsuite"):
            self._close_suite()
        elif tag == "testcase" and self._case is not None:
            self._close_case(self._case)
            self._case = None
        self._text = self._printed = None

    def _characters(self, text: str) -> None:
        self._quiet = 0
        if self._text is not None:
            self._text.add(text)
        elif self._printed is not None:
            self._found += self._printed.add(text)

    def _entity(self, name: str, *facts: object) -> None:
        raise self._at(f"it declares the entity {name!r}; reports with entities are refused")

    def _skipped_entity(self, name: str, is_parameter: bool) -> None:
        raise self._at(f"undefined entity {name!r}")

    def _complain(self, tag: str, attributes: dict[str, str], parent: str) -> None:
        complaint = _Complaint(tag, attributes)
        if parent == "testcase" and self._case is not None:
            self._case.complaints.append(complaint)
            self._count_parts(self._case)
            self._text = complaint.text
        elif self._case is None and tag != "skipped":
            failure = e.Failure(complaint.type, attributes.get("message", tag))
            self._suites[-1].found_bad += 1
            self._suites[-1].complaints += 1
            self._found.append(e.CollectionFailed(self._suites[-1].name, failure))

    def _count_parts(self, case: _CaseElement) -> None:
        if max(len(case.complaints), len(case.properties)) > MAX_PARTS:
            raise self._at(f"a test with more than {MAX_PARTS} failures or properties")

    # Suites

    def _open_suite(self, tag: str, attributes: dict[str, str]) -> None:
        suite = _SuiteElement(attributes)
        took = attributes.get("time")
        if not self._suites:
            self._of_node = tag == "testsuites" and not attributes
            self._writer = suite.name
            self._took = None if took is None else seconds_of(took)
        else:
            self._suites[-1].direct += 1
            self._suites_took += seconds_of(took) if len(self._suites) == 1 else 0.0
        self._suites.append(suite)
        self._started = self._started or moment(attributes.get("timestamp"))

    def _close_suite(self) -> None:
        suite = self._suites.pop()
        self._gaps += suite.gaps()
        if self._suites:
            self._suites[-1].take(suite)

    # Tests

    def _close_case(self, case: _CaseElement) -> None:
        self._loose = self._loose or len(self._suites) == 1
        bad = [complaint for complaint in case.main if complaint.kind != "skipped"]
        self._suites[-1].add(case, sum(c.kind != "skipped" and c.kind not in _FLAKY for c in case.complaints))
        name, held, told = self._name(case), self._held, junit_history.taken(case.properties)
        message, kind = bad[0].message if bad else "", case.properties.get(OUTCOME)
        collecting = bool(bad) and (_could_not_collect(message) or kind == COLLECTION_ERROR)
        if held is not None and held.test == name and message.startswith(TEARDOWN) and not collecting:
            self._held = self._joined(held, self._test(case, name))
            return
        self._found += self._release()
        unique = self._names.unique(name)
        if told:
            self._heard.take(name if collecting else unique, told)
        if collecting:
            failure = e.Failure(bad[0].type, _last_line(bad[0]))
            self._found.append(e.CollectionFailed(name, failure, bad[0].text.text().strip()))
        else:
            excused = None if bad else case.properties.pop(QUARANTINE, None)
            if excused is not None:
                self._found.append(e.TestsQuarantined({unique: excused}))
            self._held = self._test(case, unique, excused)

    def _joined(self, held: e.TestFinished, more: e.TestFinished) -> e.TestFinished:
        """pytest writes a second element for a test that failed if its teardown fails too."""
        return replace(
            held,
            seconds=held.seconds + more.seconds,
            message="\n".join(text for text in (held.message, more.message) if text),
            traceback="\n".join(text for text in (held.traceback, more.traceback) if text) or None,
            phases=held.phases + more.phases,
        )

    def _release(self) -> Iterable[e.Event]:
        held, self._held = self._held, None
        return [held] if held is not None else []

    def _name(self, case: _CaseElement) -> str:
        name, owner = case.attributes.get("name", ""), case.attributes.get("classname", "")
        if self._of_node and owner == node.CLASS:
            return " > ".join([*scope((suite.name for suite in self._suites[1:]), " > "), name])
        inner = scope((suite.name for suite in self._suites[2:] if suite.name), "::")
        return "::".join(part for part in (*inner, owner, name) if part) or "(no name)"

    def _test(self, case: _CaseElement, name: str, excused: str | None = None) -> e.TestFinished:
        attributes, word = case.attributes, case.properties.pop(OUTCOME, None)
        outcome = refined(case.outcome(), word)
        complaints = [c for c in case.main if c.message or c.text.text()]
        message = "\n".join(map(_message, complaints)) or case.verdict()
        if excused is not None and outcome is Outcome.SKIPPED and word in BAD:
            outcome, message = Outcome(word), message.removeprefix(contents.excused(excused, " ")[:-1])
        traceback = "\n".join(text for c in complaints if (text := c.text.text().strip()))
        if outcome is Outcome.PASSED and (doubt := self._doubt(attributes)):
            outcome, message = Outcome.ERROR, doubt
        first = next((complaint for complaint in complaints if complaint.kind != "skipped"), None)
        return finished(
            name,
            outcome,
            seconds_of(attributes.get("time")),
            message=message,
            traceback=traceback,
            place=self._place(attributes),
            failure=e.Failure(first.type, first.message) if first else None,
            stdout=case.output["system-out"].text(),
            stderr=case.output["system-err"].text(),
            properties=dict(case.properties),
            attempts=case.attempts,
        )

    def _doubt(self, attributes: dict[str, str]) -> str:
        """Why a test without a failure may not have passed."""
        name, owner = attributes.get("name"), attributes.get("classname")
        if not name:
            return "the report does not say which test this is: the session ended during it"
        if self._of_node and owner == node.CLASS and node.is_file(name):
            return node.SILENT
        if self._writer == "vitest tests" and attributes.get("time") == "0":
            return "vitest gives it no time: it never ran to its end"
        return ""

    def _place(self, attributes: dict[str, str]) -> e.Place | None:
        file, line = attributes.get("file"), attributes.get("line")
        if not file:
            return None
        from_zero = self._writer.startswith("pytest") and line is not None
        return e.Place(file, count_of(line) + from_zero)


class JunitFullReader(JunitReader):
    """The same for the variant that `junit_full` writes, under its name."""

    format = "junit-full"


def _message(complaint: _Complaint) -> str:
    """Of a module that skipped itself pytest's text has the reason, with the place of the skip."""
    if complaint.kind == "skipped" and complaint.message == NOT_COLLECTED:
        return without_type(skip_facts(complaint.text.text())[0])
    return complaint.message


def _attempt(complaint: _Complaint) -> e.Attempt:
    """One that crashed or took too long is an error whose type says so."""
    ended = complaint.type in (Outcome.CRASH, Outcome.TIMEOUT)
    outcome = Outcome(complaint.type) if ended else _AGAIN[complaint.kind]
    kind = "" if complaint.type == outcome else complaint.type
    return e.Attempt(outcome, 0.0, complaint.message or None, e.Failure(kind, complaint.message))


def _could_not_collect(message: str) -> bool:
    """As pytest says it, or as we do: with the reason behind it."""
    return message == COLLECTING or message.startswith(f"{COLLECTING}: ")


def _last_line(complaint: _Complaint) -> str:
    """The message or, of pytest's collection errors, the end of the text, which has the reason."""
    if complaint.message != COLLECTING:
        return complaint.message.removeprefix(f"{COLLECTING}: ")
    lines = complaint.text.text().strip().splitlines()
    return lines[-1].removeprefix("E").strip() if lines else complaint.message
