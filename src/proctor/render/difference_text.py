"""Where two compared values differ, for people: the place, then lines that were removed and added, with the
words in which they differ marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff

import msgspec

from proctor.events import Failure
from proctor.render.neutral import neutral_block
from proctor.render.writer import Tone, Writer

_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 2000  # characters of a line in which changed words are looked for
_ALIKE = 0.3  # less than this in common: another line, not a changed one
_CONTEXT = 2  # lines around a change
_LEGEND = ["- Expected", "+ Received"]  # of vitest


class Marked(msgspec.Struct, frozen=True):
    """A line of a difference. `words` are (text, whether it differs) of a line that has a counterpart."""

    sign: str  # -, + or a blank
    words: tuple[tuple[str, bool], ...]

    @property
    def carets(self) -> str:
        """A line that points at the words; empty if there are none."""
        return "".join(("^" if changed else " ") * len(text) for text, changed in self.words).rstrip()


def write_difference(failure: Failure, write: Writer, indent: str = "  ") -> None:
    """What agents get as well, or the two values that another tool gave as texts."""
    lines = [line for text in failure.difference for line in neutral_block(text).split("\n")]
    if not lines:
        _write_compared(failure, write, indent)
        return
    if lines[:2] == _LEGEND:
        write(f"{indent}- expected, + received\n", "quiet")
        _write_lines(lines[2:], write, indent)
        return
    head = lines[0].removeprefix("at ") if len(lines) == 1 else lines[0]
    signed = head.endswith(":") and len(lines) > 1
    write(f"{indent}{head}", "strong")
    write("  - right, + left\n" if signed else "\n", "quiet")
    _write_lines(lines[1:], write, indent)


def _write_lines(lines: Sequence[str], write: Writer, indent: str) -> None:
    for line in marked(lines):
        _write_line(line, write, f"{indent}{line.sign} ")


def _write_line(line: Marked, write: Writer, before: str) -> None:
    normal, changed = _TONES[line.sign]
    write(before, normal)
    for text, differs in line.words:
        write(text, changed if differs else normal)
    write("\n")
    if line.carets:
        write(f"{' ' * len(before)}{line.carets}\n", "carets")


_TONES: dict[str, tuple[Tone, Tone]] = {"-": ("removed", "less"), "+": ("added", "more"), " ": ("", "")}


def _write_compared(failure: Failure, write: Writer, indent: str) -> None:
    expected, actual = (
        None if text is None else neutral_block(text).rstrip("\n")
        for text in (failure.expected, failure.actual)
    )
    if expected is not None and actual is not None and "\n" in expected + actual:
        write(f"{indent}- expected, + actual\n", "quiet")
        changes = list(unified_diff(expected.split("\n"), actual.split("\n"), lineterm="", n=_CONTEXT))[2:]
        shown = [line for line in changes if not line.startswith("@@")]
        _write_lines([f"{line[0]} {line[1:]}" for line in shown], write, indent)
        return
    old, new = _pair(expected or "", actual or "")
    for name, value, line in (("expected", expected, old), ("actual", actual, new)):
        if value is not None:
            _write_line(line, write, f"{indent}{name:>8}: ")


def marked(lines: Sequence[str]) -> Iterator[Marked]:
    """Each line; a removed line and the added one that replaces it have the words marked that differ."""
    at = 0
    while at < len(lines):
        removed = _run(lines, at, "- ")
        added = _run(lines, at + len(removed), "+ ")
        if not removed and not added:
            yield Marked(" ", ((lines[at].removeprefix("  "), False),))
            at += 1
            continue
        pairs = [_pair(old, new) for old, new in zip(removed, added, strict=False)]
        olds = [old for old, _ in pairs] + [_unmarked("-", text) for text in removed[len(pairs) :]]
        news = [new for _, new in pairs] + [_unmarked("+", text) for text in added[len(pairs) :]]
        if len(olds) == len(news):
            yield from (line for pair in zip(olds, news, strict=True) for line in pair)
        else:
            yield from [*olds, *news]
        at += len(removed) + len(added)


def _run(lines: Sequence[str], begin: int, sign: str) -> list[str]:
    end = begin
    while end < len(lines) and (lines[end].startswith(sign) or lines[end] == sign[0]):
        end += 1
    return [line[2:] for line in lines[begin:end]]


def _unmarked(sign: str, text: str) -> Marked:
    return Marked(sign, ((text, False),))


def _pair(old: str, new: str) -> tuple[Marked, Marked]:
    if max(len(old), len(new)) > _LONGEST:
        return _unmarked("-", old), _unmarked("+", new)
    olds, news = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, olds, news, autojunk=False)
    if matcher.ratio() < _ALIKE:
        return _unmarked("-", old), _unmarked("+", new)
    kept: tuple[list[tuple[str, bool]], list[tuple[str, bool]]] = ([], [])
    for what, i, j, k, m in matcher.get_opcodes():
        for side, text in ((kept[0], "".join(olds[i:j])), (kept[1], "".join(news[k:m]))):
            if text:
                side.append((text, what != "equal"))
    return Marked("-", tuple(kept[0])), Marked("+", tuple(kept[1]))
