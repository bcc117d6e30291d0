"""JUnit XML as events. There is no standard, so this reads what the well-known writers write.

A document that declares entities is refused: no report needs them, and they can make XML grow without limit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.parsers import expat

from msgspec.structs import replace

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import Outcome
from proctor.result import Excerpt
from proctor.text import first_line
from proctor.wire.control.session import without_type
from proctor.wire.reports import node
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

MAX_DEPTH = 100
MAX_TOKEN = 16 << 20  # bytes of one tag or comment
MAX_PARTS = 100  # failures and properties of one test
_BLANK = 4096  # characters of white space that are output after all

OUTCOME = "proctor.outcome"  # the property with the outcome, where no element stands for it
COLLECTING = "collection failure"  # pytest's message for a file that it could not import
NOT_COLLECTED = "collection skipped"  # and for one that skipped itself
_TEARDOWN = "failed on teardown with "  # pytest repeats a test that failed for its teardown
_NOT_RUN = {"notrun", "skipped", "suppressed", "disabled"}  # googletest's words, in `status` and `result`


class _SuiteElement:
    def __init__(self, attributes: dict[str, str]) -> None:
        self.name = attributes.get("name", "")
        self.tests = count_of(attributes.get("tests"))
        self.bad = count_of(attributes.get("failures")) + count_of(attributes.get("errors"))
        self.direct = self.found = self.found_bad = 0

    def gap(self) -> str:
        """Where its attributes count more than it has."""
        # With subtests, pytest counts reports; some count suites among the tests, some what is in them.
        if self.tests > max(self.direct, self.found) and self.name not in ("pytest", "pytest tests"):
            return f"suite {self.name!r} has {self.found} of its {self.tests} tests"
        if self.bad and not self.found_bad:
            return f"suite {self.name!r} says {self.bad} failed; none of its tests did"
        return ""


class _Complaint:
    """A `failure`, `error` or `skipped` element."""

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

    def outcome(self) -> Outcome:
        kinds = {complaint.kind for complaint in self.complaints}
        skip = next((c.type for c in self.complaints if c.kind == "skipped"), "")
        if skip == "todo":  # node's: such a test is expected to fail
            return Outcome.XFAILED if len(kinds) > 1 else Outcome.XPASSED
        if any(complaint.type == node.TIMEOUT for complaint in self.complaints):
            return Outcome.TIMEOUT
        if "failure" in kinds:
            return Outcome.FAILED
        if "error" in kinds:
            return Outcome.ERROR
        if "skipped" in kinds:
            return Outcome.XFAILED if skip == "pytest.xfail" else Outcome.SKIPPED
        words = {self.attributes.get("status", ""), self.attributes.get("result", "")}
        return Outcome.SKIPPED if words & _NOT_RUN else Outcome.PASSED


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
        elif tag in ("failure", "error", "skipped"):
            self._complain(tag, attributes, parent)
        elif tag == "property" and self._case is not None:
            self._case.properties[attributes.get("name", "")] = attributes.get("value", "")
            self._count_parts(self._case)
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
        if gap := suite.gap():
            self._gaps.append(gap)
        if self._suites:
            self._suites[-1].found += suite.found
            self._suites[-1].found_bad += suite.found_bad

    # Tests

    def _close_case(self, case: _CaseElement) -> None:
        self._loose = self._loose or len(self._suites) == 1
        self._suites[-1].direct += 1
        self._suites[-1].found += 1
        bad = [complaint for complaint in case.complaints if complaint.kind != "skipped"]
        self._suites[-1].found_bad += bool(bad)
        name, held = self._name(case), self._held
        message, kind = bad[0].message if bad else "", case.properties.get(OUTCOME)
        collecting = bool(bad) and (message == COLLECTING or kind == COLLECTION_ERROR)
        if held is not None and held.test == name and message.startswith(_TEARDOWN) and not collecting:
            self._held = self._joined(held, self._test(case, name))
            return
        self._found += self._release()
        unique = self._names.unique(name)
        if collecting:
            failure = e.Failure(bad[0].type, _last_line(bad[0]))
            self._found.append(e.CollectionFailed(name, failure, bad[0].text.text().strip()))
        else:
            self._held = self._test(case, unique)

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

    def _test(self, case: _CaseElement, name: str) -> e.TestFinished:
        attributes = case.attributes
        outcome = refined(case.outcome(), case.properties.pop(OUTCOME, None))
        complaints = [c for c in case.complaints if c.message or c.text.text()]
        message = "\n".join(map(_message, complaints))
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


def _message(complaint: _Complaint) -> str:
    """Of a module that skipped itself pytest's text has the reason, with the place of the skip."""
    if complaint.kind == "skipped" and complaint.message == NOT_COLLECTED:
        return without_type(skip_facts(complaint.text.text())[0])
    return complaint.message


def _last_line(complaint: _Complaint) -> str:
    """The message or, of pytest's collection errors, the end of the text, which has the reason."""
    if complaint.message != COLLECTING:
        return complaint.message
    lines = complaint.text.text().strip().splitlines()
    return lines[-1].removeprefix("E").strip() if lines else complaint.message
