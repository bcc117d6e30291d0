"""The command that runs tests again, to be pasted into a shell where the person stands. Looks at no file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from posixpath import relpath
from shlex import quote

from proctor.events import Invocation
from proctor.failure_row import escaped
from proctor.render.neutral import neutral
from proctor.result import RunResult

_NAMED = 5  # tests named in one command, where others can be found in the archive
_NAMED_AT_ALL = 50
LAST_FAILED = "--last-failed"
_PYTHON = "--python"
_ODD = ("-", "@")  # beginnings that make an option, or a file of arguments, of a word


def rerun(result: RunResult, tests: Iterable[str]) -> str:
    """The command for these tests of the run; empty where nobody knows who ran them."""
    named, asked = list(dict.fromkeys(tests)), result.run.invocation or Invocation("")
    if not named or not result.run.runner or (len(named) > _NAMED_AT_ALL and not asked.kept):
        return ""
    words = ["proctor", "run", *_directory(asked), *_options(asked)]
    words += [LAST_FAILED] if len(named) > _NAMED and asked.kept else map(_target, named)
    if asked.arguments and asked.arguments_for in _runners(result, named):
        words += ["--", *asked.arguments]
    return " ".join(map(_word, words))


def project_option(result: RunResult) -> str:
    """` -C DIR`, if the person does not stand in the project; otherwise empty."""
    words = _directory(result.run.invocation or Invocation(""))
    return "".join(f" {_word(word)}" for word in words)


def _directory(asked: Invocation) -> list[str]:
    if not asked.project or asked.project == asked.directory:
        return []
    if not asked.directory:  # it is gone, say
        return ["-C", asked.project]
    there = _plain(relpath(asked.project, asked.directory))
    return ["-C", min(there, asked.project, key=len)]


def _options(asked: Invocation) -> Iterator[str]:
    before = ""
    for word in asked.options:
        below = asked.directory and word.startswith(f"{asked.directory}/")
        yield _interpreter(relpath(word, asked.directory)) if before == _PYTHON and below else word
        before = word


def _interpreter(path: str) -> str:
    """Without a slash it would be a name that is looked up on PATH."""
    return _plain(path) if "/" in path else f"./{path}"


def _plain(word: str) -> str:
    return f"./{word}" if word.startswith(_ODD) else word


def _target(test: str) -> str:
    """The id; where a terminal cannot show it, as the failure index writes it, which is a target as well."""
    if neutral(test) != test:
        plain = escaped(test)
        test = "".join(letter if neutral(letter) == letter else f"\\u{ord(letter):04x}" for letter in plain)
    return _plain(test)


def _runners(result: RunResult, tests: list[str]) -> set[str]:
    return {suite.entered.runner for suite in result.suites if any(test in suite.tests for test in tests)}


def _word(word: str) -> str:
    return neutral(quote(word))
