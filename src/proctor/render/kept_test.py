"""One test of a kept run, as text for people: its outcome, why, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from proctor.render.history_words import baseline_word, history_word
from proctor.render.neutral import neutral, neutral_block
from proctor.text import first_line
from proctor.wire.document.schema import Captured, Test


def kept_test_text(
    test: Test,
    captured: Sequence[Captured],
    below: Sequence[Test],
    directory: str,
    notes: Sequence[str] = (),
) -> str:
    """`below` are results of its parts; `directory` is where the paths of files begin."""
    traceback, message = (neutral_block(text or "").rstrip() for text in (test.traceback, test.message))
    own = [message] if message not in traceback else []  # most tracebacks contain it
    parts = [
        [
            *(f"note: {neutral(note)}" for note in notes),
            _headline(test),
            *_quarantine(test),
            *_history(test),
            *own,
        ],
        [traceback] if traceback else [],
        [note for note in _notes(test) if note not in traceback],
        _section("attempts", _attempts(test)),
        _section("properties", _properties(test)),
        _section("subtests", _subtests(test)),
        *([f"{part.kind} of {part.when}", neutral_block(part.text).rstrip()] for part in captured),
        _section("files", _files(test, directory)),
        _section("results below", map(_with_reason, below)),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _notes(test: Test) -> list[str]:
    return [neutral_block(note) for note in test.failure.notes] if test.failure else []


class _Frame(Protocol):
    """One call, with its local variables as texts."""

    @property
    def file(self) -> str: ...
    @property
    def line(self) -> int: ...
    @property
    def function(self) -> str: ...
    @property
    def locals(self) -> Mapping[str, str]: ...


def locals_text(frames: Iterable[_Frame]) -> str:
    """`file:line in function`, and below it each variable."""
    lines = []
    for frame in frames:
        lines.append(f"{neutral(frame.file)}:{frame.line} in {neutral(frame.function)}")
        lines += [f"  {neutral(name)} = {neutral(value)}" for name, value in frame.locals.items()]
    return "\n".join(lines) + "\n"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    indented = [f"  {line}" for line in lines]
    return [title, *indented] if indented else []


def _headline(test: Test) -> str:
    took = f" in {test.duration:.2f}s" if test.duration else ""
    place = f" at {neutral(str(test.place))}" if test.place else ""
    session = f" in session {test.session}" if test.session > 1 else ""
    worker = f" on {neutral(test.worker)}" if test.worker else ""
    word = "FLAKY" if test.flaky else neutral(test.outcome).upper()
    return f"{word} {neutral(test.node_id)}{took}{session}{worker}{place}"


def _quarantine(test: Test) -> list[str]:
    if not test.quarantined:
        return []
    return [
        f"in quarantine: {neutral(test.quarantine_reason)}" if test.quarantine_reason else "in quarantine"
    ]


def _history(test: Test) -> Iterator[str]:
    """What earlier runs and another commit say of it."""
    if word := history_word(test.history):
        since = test.history.since if test.history else None
        yield f"history: {word}{f', run {neutral(since.run_id)}' if since else ''}"
    if test.baseline:
        yield baseline_word(test.baseline, neutral(first_line(test.baseline_reason)))


def _attempts(test: Test) -> Iterator[str]:
    for number, one in enumerate(test.attempts, 1):
        took = f" in {one.duration:.2f}s" if one.duration else ""
        place = f" at {neutral(str(one.failure.place))}" if one.failure and one.failure.place else ""
        reason = neutral(first_line(one.message or ""))
        yield f"{number} {neutral(one.outcome)}{took}{place}{f': {reason}' if reason else ''}"


def _properties(test: Test) -> Iterator[str]:
    for key, value in (test.properties or {}).items():
        if key != "note" or value != test.message:  # a note is the message
            shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            yield f"{neutral(key)}: {neutral(shown)}"


def _subtests(test: Test) -> Iterator[str]:
    for subtest in test.subtests:
        yield f"{neutral(str(subtest.get('outcome')))} {neutral(str(subtest.get('name')))}"


def _files(test: Test, directory: str) -> Iterator[str]:
    for file in test.files:
        yield f"{neutral(file.name)}  {file.size} bytes  {neutral(f'{directory}/{file.path}')}"
    if test.testout:
        where = neutral(f"{directory}/{test.testout.path}")
        yield f"{neutral(test.testout.name)}  its stdout and stderr  {where}"


def _with_reason(test: Test) -> str:
    reason = neutral(first_line(test.message or ""))
    return f"{_headline(test)}: {reason}" if reason else _headline(test)
