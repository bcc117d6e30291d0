"""For GitHub Actions: failures and warnings beside the code (annotations), the report in the log, and the
step's summary: tables of what matters, then each failure."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from proctor.events import Place, SuiteMissing, WarningRecorded
from proctor.outcome import FLAKY, QUARANTINED, Outcome, RunOutcome
from proctor.render.closing import SLOWEST, slowest, verdict
from proctor.render.failure_block import Block, blocks
from proctor.render.failure_report import brief, causes_of, message_of, rows, short, word
from proctor.render.history_words import Words
from proctor.render.human import report_text
from proctor.render.neutral import neutral, neutral_block
from proctor.render.writer import Writer
from proctor.result import RunResult
from proctor.text import utf8
from proctor.wire.reports import contents

if TYPE_CHECKING:  # loaded only if something failed
    from proctor.causes import Occurrence

ANNOTATIONS = 10  # of each kind in a step; GitHub drops what comes after without a word
MESSAGE = 64 << 10  # bytes of one annotation, as GitHub counts them
SUMMARY = 1 << 20  # bytes of all that one step writes to its summary; beyond it GitHub shows nothing

ROWS = 50  # of the table of causes
_SLOW = 0.01  # seconds: what took less is not worth a row
_ELSEWHERE = ("/", "..", "<")  # how a place begins that is no file of the repository
_INSTALLED = frozenset({"site-packages", "dist-packages", "node_modules"})
_MARKDOWN = re.compile(r"[\\`*_\[\]|~]")

_FRAME = 1 << 10  # bytes kept free in each for what stands around the text


class Annotation(msgspec.Struct, frozen=True):
    kind: str  # error, warning
    title: str
    message: str
    place: Place | None = None

    def command(self, prefix: str = "") -> str:
        """The workflow command; `prefix` leads from the repository to the project."""
        facts = {"title": self.title}
        if self.place is not None and not self.place.file.startswith(_ELSEWHERE):
            facts = {"file": neutral(prefix + self.place.file), "line": str(self.place.line or 1), **facts}
        properties = ",".join(f"{name}={_property(value)}" for name, value in facts.items())
        message = _cut(self.message, MESSAGE - _FRAME, "\n... cut: an annotation holds 64 KiB")
        return f"::{self.kind} {properties}::{_data(message)}"


def write_github_log(result: RunResult, write: Writer, prefix: str = "", token: str = "proctor") -> None:
    """Annotations, then the report. The report may contain what tests wrote, so GitHub takes no commands from
    it: only `token`, which no test can know, turns commands on again."""
    for annotation in annotations_of(result):
        write(annotation.command(prefix) + "\n")
    write(f"::stop-commands::{token}\n{report_text(result)}::{token}::\n")


def annotations_of(result: RunResult) -> list[Annotation]:
    return [*_limited(list(_errors(result))), *_limited(list(_warnings(result)))]


def _limited(found: list[Annotation]) -> list[Annotation]:
    """As many annotations as GitHub shows; the last one then counts those left out."""
    if len(found) <= ANNOTATIONS:
        return found
    rest = found[ANNOTATIONS - 1 :]
    titles = "\n".join(annotation.title for annotation in rest)
    return [*found[: ANNOTATIONS - 1], Annotation(rest[0].kind, f"and {len(rest)} more", titles)]


def _errors(result: RunResult) -> Iterator[Annotation]:
    found = causes_of(result)
    yield from (_not_run(missing, "error") for missing in result.missing if missing.required)
    if not found and result.exit_code:
        yield Annotation("error", f"tests: {result.outcome}", verdict(result))
    for cause in found:
        first, others = cause.first, len(cause.tests) - 1
        what = "cannot collect" if first.finished is None else word(first)
        title = f"{what} {neutral(first.test)}" + (f" and {others} more" if others else "")
        listed = "".join(f"\n- {row}" for row in rows(cause, result)) if len(cause.occurrences) > 1 else ""
        message = _message(first) or neutral_block(first.traceback) or word(first)
        yield Annotation("error", title, f"{message}{listed}", _place(first))


def _made_good(result: RunResult) -> list[tuple[str, Occurrence]]:
    """The failures that do not count."""
    if not result.flaky and not result.excused:
        return []
    from proctor.causes import made_good

    return list(made_good(result))


def _message(first: Occurrence) -> str:
    """Where two values differ, if they were compared; else all that was raised."""
    if not first.failure.difference:
        return message_of(first)
    return "\n".join([brief(first), *map(neutral_block, first.failure.difference[1:])])


def _place(first: Occurrence) -> Place | None:
    test = first.finished
    return first.failure.place or (Place(first.test) if test is None else test.place)


def _not_run(missing: SuiteMissing, kind: str) -> Annotation:
    return Annotation(kind, f"{neutral(missing.runner)}: not run", neutral_block(missing.reason) or "not run")


def _warnings(result: RunResult) -> Iterator[Annotation]:
    yield from (_not_run(missing, "warning") for missing in result.missing if not missing.required)
    for name, first in _made_good(result):
        reason = neutral_block(result.quarantined.get(first.test, "") if name == QUARANTINED else "")
        message = ": ".join(part for part in (reason, _message(first) or word(first)) if part)
        yield Annotation("warning", f"{name} {neutral(first.test)}", message, _place(first))
    if result.not_run:
        names = "\n".join(neutral(test) for test in result.not_run)
        yield Annotation("warning", f"{len(result.not_run)} tests not run", names)
    for test in result.tests.values():
        if test.outcome is Outcome.XPASSED:
            message = neutral(f"{test.test} passed though it was expected to fail")
            yield Annotation("warning", "unexpected pass", message, test.place)
    found: dict[tuple[str, str, str, int], WarningRecorded] = {}
    for w in result.warnings:
        found.setdefault((w.category, w.message, w.file, w.line), w)
    for warning in found.values():
        category, message = neutral(warning.category), neutral_block(warning.message)
        yield Annotation("warning", category, message, _warned_at(warning, result))


def _warned_at(warning: WarningRecorded, result: RunResult) -> Place | None:
    """The line that the warning names or, if that is none of the project's, the test that ran into it."""
    root = result.run.cwd.rstrip("/")
    file = warning.file.removeprefix(f"{root}/") if root else warning.file
    if file and not file.startswith(_ELSEWHERE) and _INSTALLED.isdisjoint(file.split("/")):
        return Place(file, warning.line)
    test = result.tests.get(warning.test)
    return test.place if test is not None else None


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cut(text: str, room: int, mark: str) -> str:
    data = utf8(text)
    return text if len(data) <= room else data[: max(0, room)].decode("utf-8", "ignore") + mark


def step_summary(result: RunResult, room: int = SUMMARY) -> str:
    """Markdown for `GITHUB_STEP_SUMMARY`, in no more than `room` bytes: the verdict, tables, and each failure
    as far as they fit."""
    icon = "✅" if result.outcome is RunOutcome.PASSED else "❌"
    text = f"### {icon} {html.escape(verdict(result))}\n\n"
    room -= _FRAME + len(utf8(text))
    if room < 0:
        return ""
    parts, left_out = [text], 0
    tables = (_suites_table, _causes_table, _made_good_table, _slowest_table)
    for table in (table(result) for table in tables):
        if len(utf8(table)) <= room // 2:
            parts.append(table)
            room -= len(utf8(table))
    for part in map(_details, blocks(result)):
        if (size := len(utf8(part))) > room:
            left_out += 1
        else:
            parts.append(part)
            room -= size
    if left_out:
        parts.append(f"{left_out} more failures have no room here; the log has them.\n\n")
    if result.not_run:
        names = "".join(f"- {_code(test)}\n" for test in result.not_run)
        parts.append(_cut(f"{len(result.not_run)} tests not run:\n\n{names}", room, "\n- ...") + "\n")
    return "".join(parts)


def _suites_table(result: RunResult) -> str:
    """Of a run with several suites, or with one that did not run."""
    if not result.several and not result.missing:
        return ""
    more = [FLAKY] * bool(result.flaky) + [QUARANTINED] * bool(result.excused)
    ran = [
        (
            _code_cell(suite.name),
            str(suite.outcome).replace("_", " "),
            str(len(suite.tests)),
            *(str(suite.flaky if name == FLAKY else suite.excused) for name in more),
            f"{suite.seconds:.2f}s",
        )
        for suite in contents.suites(result)
    ]
    absent = [
        (_code_cell(missing.runner), f"not run: {_cell(missing.reason)}", "", *("" for _ in more), "")
        for missing in result.missing
    ]
    return _table(("suite", "outcome", "tests", *more, "time"), [*ran, *absent])


def _causes_table(result: RunResult) -> str:
    found, words = causes_of(result), Words(result)
    known = [words.all(cause.tests) for cause in found[:ROWS]]
    column = ("history",) if any(known) else ()
    listed = []
    for cause, said in zip(found, known, strict=False):
        others, place = len(cause.tests) - 1, _place(cause.first)
        test = _code_cell(cause.first.test) + (f" and {others} more" if others else "")
        where = _code_cell(str(place)) if place else ""
        history = (_cell(said),) if column else ()
        listed.append((word(cause.first), test, *history, where, _cell(brief(cause.first))))
    if len(found) > ROWS:
        listed.append(("", f"and {len(found) - ROWS} more causes", *("" for _ in column), "", ""))
    return _table(("", "test", *column, "place", "message"), listed)


def _made_good_table(result: RunResult) -> str:
    found = _made_good(result)
    listed = []
    for name, first in found[:ROWS]:
        place, reason = _place(first), result.quarantined.get(first.test, "") if name == QUARANTINED else ""
        where = _code_cell(str(place)) if place else ""
        message = ": ".join(part for part in (reason, brief(first)) if part)
        listed.append((name, _code_cell(first.test), where, _cell(message)))
    if len(found) > ROWS:
        listed.append(("", f"and {len(found) - ROWS} more", "", ""))
    return _table(("", "test", "place", "message"), listed)


def _slowest_table(result: RunResult) -> str:
    slow = slowest(result, SLOWEST, _SLOW)
    shown = [(_code_cell(test.test), f"{test.seconds:.2f}s") for test in slow]
    return _table(("slowest", "time"), shown)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines) + "\n"


def _code_cell(name: str) -> str:
    """A table takes a bare `|` for the end of a cell even here."""
    return _code(name).replace("|", "\\|")


def _cell(text: str) -> str:
    """Text in a table: nothing in it is Markdown, HTML or the end of the cell."""
    return _MARKDOWN.sub(r"\\\g<0>", html.escape(neutral(text), quote=False))


def _details(block: Block) -> str:
    head = html.escape(short(block.head))
    body = _cut(block.body, MESSAGE, "\n... cut: the log has all of it")
    if not body:
        return f"- {head}\n\n"
    fence = _fence(body, "```")
    return f"<details><summary>{head}</summary>\n\n{fence}text\n{body}\n{fence}\n\n</details>\n\n"


def _code(name: str) -> str:
    name = neutral(name)
    fence, pad = _fence(name, "`"), " " if "`" in name else ""
    return f"{fence}{pad}{name}{pad}{fence}"


def _fence(text: str, fence: str) -> str:
    """Longer than any in the text, so that nothing in it can end the block."""
    while fence in text:
        fence += "`"
    return fence
