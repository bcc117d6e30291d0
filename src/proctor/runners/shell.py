"""A line of shell as words and commands, as far as a package's scripts need it. Runs and expands nothing."""

from __future__ import annotations

import re
import shlex

import msgspec

_OPERATOR = re.compile(r"&&|\|\||[;&|\n]")
_REDIRECTION = re.compile(r"(?:\d*(?:[<>]{1,2}&?|>\|)|&>{1,2})[ \t]*")
_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_END = re.compile(r"[ \t\r\n;&|<>()]")
_EXPANDED = frozenset("*?[]{}~$`")  # outside of quotes; inside of double ones only the last two
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class Word(msgspec.Struct, frozen=True):
    text: str  # as it is written
    value: str  # without its quotes
    plain: bool = True  # the value is all that a shell makes of it

    @property
    def quoted(self) -> str:
        """So that a shell makes the same of it."""
        return shlex.quote(self.value) if self.plain else self.text


class Command(msgspec.Struct, frozen=True):
    words: tuple[Word, ...]
    follows: str = ""  # the operator in front of it

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)

    @property
    def conditional(self) -> bool:
        """It runs only if the one before fails, or reads what that prints."""
        return self.follows in ("||", "|")


def word(value: str) -> Word:
    return Word(shlex.quote(value), value)


def is_assignment(found: Word) -> bool:
    return _ASSIGNMENT.match(found.text) is not None


def commands(line: str) -> list[Command]:
    """The simple commands of a line, without redirections. Raises ValueError if it has others."""
    found: list[Command] = []
    words: list[Word] = []
    follows, at = "", 0
    while at < len(line):
        if blank := _BLANK.match(line, at):
            at = blank.end()
        elif redirection := _REDIRECTION.match(line, at):
            _, at = _word(line, redirection.end())
        elif operator := _OPERATOR.match(line, at):
            if words:
                found.append(Command(tuple(words), follows))
            words, follows, at = [], operator[0], operator.end()
        else:
            one, at = _word(line, at)
            words.append(one)
    return [*found, Command(tuple(words), follows)] if words else found


def _word(line: str, start: int) -> tuple[Word, int]:
    value, plain, at = "", True, start
    while at < len(line) and not _END.match(line, at):
        character = line[at]
        if character == "'":
            end = line.index("'", at + 1)
            value, at = value + line[at + 1 : end], end + 1
        elif character == '"':
            inner, at, kept = _quoted(line, at + 1)
            value, plain = value + inner, plain and kept
        elif character == "\\":
            value, at = value + line[at + 1 : at + 2], at + 2
        elif line.startswith("$(", at):
            end = _bracket(line, at + 2)
            value, plain, at = value + line[at:end], False, end
        elif character == "`":
            end = line.index("`", at + 1) + 1
            value, plain, at = value + line[at:end], False, end
        else:
            value, plain, at = value + character, plain and character not in _EXPANDED, at + 1
    if at == start:
        raise ValueError("brackets")  # of a group of commands
    return Word(line[start:at], value, plain), at


def _quoted(line: str, at: int) -> tuple[str, int, bool]:
    """What is inside of double quotes, where it ends, and whether it stands for itself."""
    value, plain = "", True
    while line[at : at + 1] != '"':
        if at >= len(line):
            raise ValueError("a quote is not closed")
        if line[at] == "\\" and line[at + 1 : at + 2] in ('"', "\\", "$", "`"):
            at += 1
        elif line[at] in "$`":
            plain = False
        value, at = value + line[at], at + 1
    return value, at + 1, plain


def _bracket(line: str, at: int) -> int:
    depth = 1
    while depth:
        if at >= len(line):
            raise ValueError("a bracket is not closed")
        depth += {"(": 1, ")": -1}.get(line[at], 0)
        at += 1
    return at
