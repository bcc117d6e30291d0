"""JUnit XML as events, while it arrives. There is no standard: what the well-known writers do is read.

A document that declares entities is refused: no report needs them, and they are how XML is made to explode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.parsers import expat

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import Outcome
from proctor.result import Excerpt
from proctor.text import first_line
from proctor.wire.reports import node
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

OUTCOME = "proctor.outcome"  # the property that has the outcome where an element cannot say it
COLLECTING = "collection failure"  # pytest's message for a file that it could not import
_TEARDOWN = "failed on teardown with "  # pytest repeats a test that failed for its teardown
_NOT_RUN = {"notrun", "skipped", "suppressed", "disabled"}  # googletest's words, in `status` and `result`


class _Suite:
    def __init__(self, attributes: dict[str, str]) -> None:
        self.name = attributes.get("name", "")
        self.tests = count_of(attributes.get("tests"))
        self.bad = count_of(attributes.get("failures")) + count_of(attributes.get("errors"))
        self.direct = self.found = self.found_bad = 0

    def gap(self) -> str:
        """Where what it says of itself is more than what is in it."""
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
    """The output of a suite, told as it comes; what is only there to look well in the file is none."""

    def __init__(self, stream: str) -> None:
        self._stream, self._blank, self._begun = stream, "", False

    def add(self, text: str) -> list[e.Event]:
        text, self._blank = self._blank + text, ""
        self._begun = self._begun or not text.isspace() or len(text) > _BLANK
        if self._begun:
            return [e.OutputReceived(self._stream, text)]
        self._blank = text
        return []


class _Case:
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
        told = {self.attributes.get("status", ""), self.attributes.get("result", "")}
        return Outcome.SKIPPED if told & _NOT_RUN else Outcome.PASSED


class JunitReader(Report):
    format = "junit"

    def __init__(self) -> None:
        super().__init__()
        self._found: list[e.Event] = []
        self._path: list[str] = []  # tags
        self._suites: list[_Suite] = []
        self._case: _Case | None = None
        self._text: Excerpt | None = None  # of the element that is being read
        self._printed: _Printed | None = None  # while the output of a suite is being read
        self._held: e.TestFinished | None = None  # pytest may have more to say about it
        self._writer = ""  # the name of the outermost suite
        self._of_node = False  # the only one that says nothing there
        self._started = 0.0
        self._took: float | None = None  # what the outermost element says
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
        except (
            LookupError,
            ValueError,
        ) as error:  # an encoding that Python does not know, or expat cannot use
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
            self._case = _Case(attributes)
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

    def _count_parts(self, case: _Case) -> None:
        if max(len(case.complaints), len(case.properties)) > MAX_PARTS:
            raise self._at(f"a test with more than {MAX_PARTS} failures or properties")

    # Suites

    def _open_suite(self, tag: str, attributes: dict[str, str]) -> None:
        suite = _Suite(attributes)
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

    def _close_case(self, case: _Case) -> None:
        self._loose = self._loose or len(self._suites) == 1
        self._suites[-1].direct += 1
        self._suites[-1].found += 1
        bad = [complaint for complaint in case.complaints if complaint.kind != "skipped"]
        self._suites[-1].found_bad += bool(bad)
        if bad and COLLECTION_ERROR in (case.properties.get(OUTCOME), _collecting(bad[0])):
            self._found += self._release()
            name = self._name(case)
            failure = e.Failure(bad[0].type, _last_line(bad[0]))
            self._names.unique(name)
            self._found.append(e.CollectionFailed(name, failure, bad[0].text.text().strip()))
        elif self._held is not None and bad and bad[0].message.startswith(_TEARDOWN):
            self._held = self._joined(self._held, case)
        else:
            self._found += self._release()
            self._held = self._told(case, self._names.unique(self._name(case)))

    def _joined(self, held: e.TestFinished, case: _Case) -> e.TestFinished:
        """pytest's second element for a test: what failed, and then its teardown."""
        if held.test != self._name(case):
            self._found.append(held)
            return self._told(case, self._names.unique(self._name(case)))
        more = self._told(case, held.test)
        message = "\n".join(text for text in (held.message, more.message) if text)
        traceback = "\n".join(text for text in (held.traceback, more.traceback) if text)
        return e.TestFinished(
            held.test,
            held.outcome,
            held.seconds + more.seconds,
            message,
            traceback or None,
            held.place,
            held.failure,
            held.phases + more.phases,
            properties=held.properties,
        )

    def _release(self) -> Iterable[e.Event]:
        held, self._held = self._held, None
        return [held] if held is not None else []

    def _name(self, case: _Case) -> str:
        name, owner = case.attributes.get("name", ""), case.attributes.get("classname", "")
        if self._of_node and owner == node.CLASS:
            return " > ".join([*scope((suite.name for suite in self._suites[1:]), " > "), name])
        inner = scope((suite.name for suite in self._suites[2:] if suite.name), "::")
        return "::".join(part for part in (*inner, owner, name) if part) or "(no name)"

    def _told(self, case: _Case, name: str) -> e.TestFinished:
        attributes = case.attributes
        outcome = refined(case.outcome(), case.properties.pop(OUTCOME, None))
        said = [complaint for complaint in case.complaints if complaint.message or complaint.text.text()]
        message = "\n".join(complaint.message for complaint in said)
        traceback = "\n".join(text for c in said if (text := c.text.text().strip()))
        if outcome is Outcome.PASSED and (doubt := self._doubt(attributes)):
            outcome, message = Outcome.ERROR, doubt
        first = next((complaint for complaint in said if complaint.kind != "skipped"), None)
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
        """Why a test that is written as passed may not have."""
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


def _collecting(complaint: _Complaint) -> str:
    return COLLECTION_ERROR if complaint.message == COLLECTING else ""


def _last_line(complaint: _Complaint) -> str:
    """pytest's message says only that it failed; the reason is at the end of the text."""
    if complaint.message != COLLECTING:
        return complaint.message
    lines = complaint.text.text().strip().splitlines()
    return lines[-1].removeprefix("E").strip() if lines else complaint.message
