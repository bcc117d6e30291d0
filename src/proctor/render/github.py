"""For GitHub Actions: failures beside the code (annotations), the report in the log, the step's summary."""

from __future__ import annotations

import html
from collections.abc import Iterator

import msgspec

from proctor.events import Place
from proctor.outcome import Outcome, RunOutcome
from proctor.render.failure_report import Block, blocks, causes_of, message_of, rows, short, word
from proctor.render.human import report_text, verdict
from proctor.render.neutral import neutral, neutral_block
from proctor.render.writer import Writer
from proctor.result import RunResult
from proctor.text import utf8

ANNOTATIONS = 10  # of each kind in a step; GitHub drops what comes after without a word
MESSAGE = 64 << 10  # bytes of one annotation, as GitHub counts them
SUMMARY = 1 << 20  # bytes of all that one step writes to its summary; beyond it GitHub shows nothing

_FRAME = 1 << 10  # bytes kept free in each for what stands around the text


class Annotation(msgspec.Struct, frozen=True):
    kind: str  # error, warning
    title: str
    message: str
    place: Place | None = None

    def command(self, prefix: str = "") -> str:
        """The workflow command; `prefix` leads from the repository to the project."""
        facts = {"title": self.title}
        if self.place is not None and not self.place.file.startswith(("/", "..", "<")):
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
    if not found and result.exit_code:
        yield Annotation("error", f"tests: {result.outcome}", verdict(result))
    for cause in found:
        first, others = cause.first, len(cause.tests) - 1
        test = first.finished
        what = "cannot collect" if test is None else word(first)
        title = f"{what} {neutral(first.test)}" + (f" and {others} more" if others else "")
        listed = "".join(f"\n- {row}" for row in rows(cause, result)) if len(cause.occurrences) > 1 else ""
        message = message_of(first) or neutral_block(first.traceback) or word(first)
        place = first.failure.place or (Place(first.test) if test is None else test.place)
        yield Annotation("error", title, f"{message}{listed}", place)


def _warnings(result: RunResult) -> Iterator[Annotation]:
    if result.not_run:
        names = "\n".join(neutral(test) for test in result.not_run)
        yield Annotation("warning", f"{len(result.not_run)} tests not run", names)
    for test in result.tests.values():
        if test.outcome is Outcome.XPASSED:
            message = neutral(f"{test.test} passed though it was expected to fail")
            yield Annotation("warning", "unexpected pass", message, test.place)
    found = dict.fromkeys((w.category, w.message, w.file, w.line) for w in result.warnings)
    for category, message, file, line in found:
        yield Annotation("warning", neutral(category), neutral_block(message), Place(file, line))


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _cut(text: str, room: int, mark: str) -> str:
    data = utf8(text)
    return text if len(data) <= room else data[: max(0, room)].decode("utf-8", "ignore") + mark


def step_summary(result: RunResult, room: int = SUMMARY) -> str:
    """Markdown for `GITHUB_STEP_SUMMARY`, in no more than `room` bytes: each failure, as far as they fit."""
    icon = "✅" if result.outcome is RunOutcome.PASSED else "❌"
    text = f"### {icon} {html.escape(verdict(result))}\n\n"
    room -= _FRAME + len(utf8(text))
    if room < 0:
        return ""
    parts, left_out = [text], 0
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


def _details(block: Block) -> str:
    head = html.escape(short(block.head))
    body = _cut(block.body, MESSAGE, "\n... cut: the log has all of it")
    if not body:
        return f"- {head}\n\n"
    fence = _fence(body, "```")
    return f"<details><summary>{head}</summary>\n\n{fence}text\n{body}\n{fence}\n\n</details>\n\n"


def _code(name: str) -> str:
    fence, pad = _fence(name, "`"), " " if "`" in name else ""
    return f"{fence}{pad}{neutral(name)}{pad}{fence}"


def _fence(text: str, fence: str) -> str:
    """Longer than any in the text, so that nothing in it can end the block."""
    while fence in text:
        fence += "`"
    return fence
