"""What `npm test` would run, by the scripts of package.json: calls of known tools, and other commands.

Nothing is run to find out. Where several commands are run, each call is one suite of its tool.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from proctor.regular_files import read_bytes
from proctor.runners import shell
from proctor.runners.node_options import called, is_boolean
from proctor.runners.shell import Command, Word

KNOWN = ("node --test", "vitest", "jest")
TEST_SCRIPT = "test"
_OURS = ("node", "vitest", "jest")
_PLACEHOLDER = re.compile(r"no test specified")  # what `npm init` writes
_HARMLESS = re.compile(r"echo\b.*|true|:|exit(?: 0)?", re.S)
_ONCE_MORE = re.compile(
    r"watch|debug|update"
)  # in the names of scripts that run the same tests in another way
# Programs that run the command behind their own options. The first ones are only ways to find a program.
_FINDERS = ("npx", "bunx", "pnpx")
MANAGERS = ("npm", "yarn", "pnpm", "bun")
_WRAPPERS = (
    "c8",
    "nyc",
    "env",
    "cross-env",
    "cross-env-shell",
    "dotenv",
    "dotenvx",
    "env-cmd",
    "time",
    "timeout",
    "nice",
    "exec",
    "command",
    "stdbuf",
    "xvfb-run",
    "faketime",
)
#: What runs tests and has no runner of ours: programs, and programs with their first argument.
_OTHER_TOOLS = frozenset(
    {"mocha", "_mocha", "ava", "tape", "tap", "jasmine", "karma", "qunit", "uvu", "lab", "borp"}
    | {"wtr", "web-test-runner", "testcafe", "nightwatch", "cypress run", "wdio run"}
    | {f"{name} test" for name in ("bun", "deno", "ng", "playwright", "react-scripts")}
)
_SEVERAL = ("npm-run-all", "npm-run-all2", "run-s", "run-p")
_NODES = ("node", "nodejs", "tsx")
_TOOLS = {"jest": "jest", "jest.js": "jest", "vitest": "vitest", "vitest.mjs": "vitest"}
_VITEST_RUNS = ("run", "watch", "dev")
_VITEST_OTHERS = ("bench", "list", "init", "typecheck", "related", "complete")
_MOST_SCRIPTS = 100  # that are read: each may run several, and each of those
_PLAIN = "node with a file"  # that does not look like a test
_MAIN_ENDINGS = (".js", "/index.js")
_TEST_PATH = re.compile(r"(?:^|[/._-])(?:tests?|specs?|__tests__)(?:[/._-]|$)")


class Call(msgspec.Struct, frozen=True):
    """One call of a tool that we know, in the words of the script."""

    tool: str
    program: Word
    assignments: tuple[Word, ...] = ()
    before: tuple[Word, ...] = ()  # what stands between: `c8 --100`, `timeout 60`
    options: tuple[Word, ...] = ()
    files: tuple[Word, ...] = ()  # files, directories or patterns that it names; none: what it finds itself
    words: tuple[Word, ...] = ()  # options and files in their order, where that may matter


class Script(msgspec.Struct, frozen=True):
    """All that one command line for the project's tests would run."""

    calls: tuple[Call, ...] = ()
    others: tuple[str, ...] = ()  # commands that no runner knows
    text: str = ""  # of the script named `test`; empty where there is none

    def of(self, tool: str) -> list[Call]:
        return [call for call in self.calls if call.tool == tool]


def package(root: Path) -> dict[str, Any]:
    """The content of package.json; empty if it cannot be read."""
    try:
        found = msgspec.json.decode(read_bytes(root / "package.json").removeprefix(b"\xef\xbb\xbf"))
    except (OSError, msgspec.DecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def read(root: Path) -> Script:
    """By the script `test`; without one, by all that call a tool we know."""
    scripts = _scripts(root)
    text = scripts.get(TEST_SCRIPT, "")
    if not text or _PLACEHOLDER.search(text):
        return Script(_every_call(root))
    reader = _Reader(root, scripts)
    reader.run(TEST_SCRIPT)
    calls, others = reader.found()
    return Script(tuple(dict.fromkeys(calls)), tuple(dict.fromkeys(others)), text)


def calls(root: Path, tool: str) -> list[Call]:
    """How the project calls the tool; as anybody would, if no script of it does."""
    script = read(root)
    return script.of(tool) or Script(_every_call(root)).of(tool) or [Call(tool, shell.word(tool))]


def _every_call(root: Path) -> tuple[Call, ...]:
    scripts = _scripts(root)
    found: list[Call] = []
    for name in scripts:
        if not _ONCE_MORE.search(name):
            reader = _Reader(root, scripts)
            reader.run(name)
            found += [call for call in reader.calls if call.tool != _PLAIN]
    return _each_once(found)


def left_out(root: Path, runners: Collection[str]) -> list[str]:
    """What is part of `npm test`, or looks as if it were, and is run by none of these runners."""
    script = read(root)
    found = []
    if script.others and script.calls:
        found.append(f"`npm test` also runs {_listed(script.others)}, which proctor does not run")
    elif text := _unknown(root, script):
        found.append(text)
    for tool in _OURS if script.calls and script.text else ():
        if tool in runners and not script.of(tool):
            found.append(
                f"{tool} tests are run, though `npm test` does not run them; --runner leaves them out"
            )
        elif tool not in runners and depends_on(root, tool):
            found.append(f"{tool} is a dependency, but `npm test` does not run it; --runner {tool} does")
    return found


def runs_other_tests(root: Path) -> bool:
    """Whether `npm test` runs tests by a tool that none of our runners knows."""
    return any(map(_is_other_tool, read(root).others))


def _is_other_tool(command: str) -> bool:
    words = [word for word in command.split() if not word.startswith("-") and "=" not in word]
    while words and PurePosixPath(words[0]).name in (*_FINDERS, *_WRAPPERS, "npm", "yarn", "pnpm"):
        del words[0]
    first = PurePosixPath(words[0]).name if words else ""
    return first in _OTHER_TOOLS or " ".join([first, *words[1:2]]) in _OTHER_TOOLS


def _unknown(root: Path, script: Script) -> str:
    """Why we run nothing that package.json is about; empty if it is about no tests."""
    if script.others:
        return (
            f"the test script of package.json runs {_listed(script.others)}, which no runner knows"
            f" (known: {', '.join(KNOWN)}); {_AS_A_PROGRAM}"
        )
    spaces = package(root).get("workspaces")
    if spaces and not script.calls:
        return (
            "package.json has workspaces and no test script that a runner knows; run proctor in one of them"
        )
    return ""


_AS_A_PROGRAM = (
    "to run it as one test that its exit status decides, list it in the settings:"
    ' [[tool.proctor.tests]] with name = "npm" and command = "npm test";'
    " then `proctor run --runner command`"
)


def depends_on(root: Path, name: str) -> bool:
    described = package(root)
    kinds = (described.get("dependencies"), described.get("devDependencies"))
    return any(isinstance(kind, dict) and name in kind for kind in kinds)


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(f"`{text}`" for text in texts)


def _scripts(root: Path) -> dict[str, str]:
    found = package(root).get("scripts")
    if not isinstance(found, dict):
        return {}
    return {name: text for name, text in found.items() if isinstance(text, str) and text.strip()}


def _each_once(calls: Iterable[Call]) -> tuple[Call, ...]:
    """The same files are the same tests, e.g. with and without coverage."""
    found: dict[tuple[object, ...], Call] = {}
    for call in calls:
        chosen = tuple(option.value for option in call.options if _CHOICE.match(option.value))
        found.setdefault((call.tool, chosen, *(word.value for word in call.files)), call)
    return tuple(found.values())


_CHOICE = re.compile(r"-t\b|-c\b|--(?:test-|config|project|selectProjects|testPath|dir|root)")


class _Reader:
    """Follows scripts to what they call."""

    def __init__(self, root: Path, scripts: dict[str, str]) -> None:
        self._root, self._scripts = root, scripts
        self._open: list[str] = []  # scripts that are being read: one may call itself
        self._count = 0
        self.calls: list[Call] = []
        self.others: list[str] = []

    def found(self) -> tuple[list[Call], list[str]]:
        """The calls and the rest. Any file that node runs may be a test, but where none looks like one, and
        there are commands that we do not know, the test is more likely one of those."""
        plain = [call for call in self.calls if call.tool == _PLAIN]
        if plain and len(plain) == len(self.calls) and self.others:
            return [], [*(f"node {call.files[0].text}" for call in plain), *self.others]
        return [msgspec.structs.replace(c, tool="node") if c in plain else c for c in self.calls], self.others

    def run(self, name: str, arguments: tuple[Word, ...] = ()) -> None:
        """As npm does: with what comes before and after a script by its name."""
        if name in self._open:
            return
        self._count += 1
        if self._count > _MOST_SCRIPTS:
            self.others.append(f"npm run {name}")
            return
        self._open.append(name)
        for each in (f"pre{name}", name, f"post{name}"):
            if each in self._scripts:
                self._line(self._scripts[each], arguments if each == name else ())
        self._open.remove(name)

    def _line(self, line: str, arguments: tuple[Word, ...]) -> None:
        try:
            found = shell.commands(line)
        except ValueError:
            self.others.append(line)
            return
        for number, command in enumerate(found):
            if command.words[0].value == "cd":
                self.others.append(" && ".join(one.text for one in found[number:]))  # ours run in the project
                return
            last = arguments if command is found[-1] else ()
            self._command(msgspec.structs.replace(command, words=command.words + last))

    def _command(self, command: Command) -> None:
        count = next((at for at, one in enumerate(command.words) if not shell.is_assignment(one)), None)
        if count is None or _HARMLESS.fullmatch(command.text):
            return
        assignments, words = command.words[:count], command.words[count:]
        if command.conditional or not (
            self._scripts_run(words, assignments) or self._called(words, assignments)
        ):
            self.others.append(command.text)

    def _scripts_run(self, words: tuple[Word, ...], assignments: tuple[Word, ...]) -> bool:
        """Whether the command runs other scripts, which have then been read."""
        around = () if words[0].value in MANAGERS + _SEVERAL + _NODES else _wrapper(words)
        scripts = self._named(words[len(around) :])
        if scripts is None:
            return False
        before = len(self.calls)
        for name, arguments in scripts:
            self.run(name, arguments)
        inner = self.calls[before:]
        if around and len(inner) > 1:  # a limit of coverage, say, is meant for all of them together
            self.others.append(" ".join(word.text for word in around))
            around = ()
        self.calls[before:] = [
            msgspec.structs.replace(
                call, assignments=assignments + call.assignments, before=around + call.before
            )
            for call in inner
        ]
        return True

    def _called(self, words: tuple[Word, ...], assignments: tuple[Word, ...]) -> bool:
        call = self._call(_without_finders(words))
        if call is None:
            return False
        self.calls.append(msgspec.structs.replace(call, assignments=assignments))
        return True

    def _named(self, words: tuple[Word, ...]) -> list[tuple[str, tuple[Word, ...]]] | None:
        """The scripts that a command runs; None if it is no such command, or they are not here."""
        name = words[0].value
        values = [each.value for each in words[1:]]
        if name in _SEVERAL:
            patterns = [value for value in values if not value.startswith("-")]
            found = [(one, ()) for pattern in patterns for one in _matching(pattern, self._scripts)]
            return list(found) if found else None
        at = _script_at(name, values)
        if at is None or values[at] not in self._scripts:
            return None
        arguments = words[at + 2 :]
        if arguments and arguments[0].value == "--":
            arguments = arguments[1:]
        elif name == "npm":
            arguments = ()  # its own
        return [(values[at], arguments)]

    def _call(self, words: tuple[Word, ...]) -> Call | None:
        for at, found in enumerate(words):
            name = PurePosixPath(found.value).name
            if name in _NODES and (call := self._node_call(words, at)):
                return call
            if name in _TOOLS:
                return _tool_call(_TOOLS[name], words, at)
            if at == 0 and name not in _WRAPPERS + _NODES:
                return None
        return None

    def _node_call(self, words: tuple[Word, ...], at: int) -> Call | None:
        """Of node's own tests, of a tool's main file, or of a file that is a test itself."""
        options, rest = called(words[at + 1 :])
        values = [option.value for option in options]
        if "--test" in values:
            kept = tuple(each for each in options if each.value not in ("--test", "--watch"))
            return Call("node", words[at], (), words[:at], kept, rest)
        if not rest:
            return None
        if tool := _TOOLS.get(PurePosixPath(rest[0].value).name):
            return _tool_call(tool, words, len(words) - len(rest))
        file = self._file(rest[0]) if len(rest) == 1 else None
        if file is None:
            return None
        tool = "node" if _TEST_PATH.search(file.value) else _PLAIN
        return Call(tool, words[at], (), words[:at], options, (file,))

    def _file(self, named: Word) -> Word | None:
        """As node finds its main file."""
        value = named.value.removesuffix("/")
        for name in (value, *(f"{value}{ending}" for ending in _MAIN_ENDINGS)):
            if named.plain and os.path.isfile(self._root / name):
                return shell.word(name)
        return None


def _tool_call(tool: str, words: tuple[Word, ...], at: int) -> Call | None:
    options: list[Word] = []
    files: list[Word] = []
    for number, found in enumerate(words[at + 1 :], at + 1):
        previous = words[number - 1].value
        is_value = number > at + 1 and previous.startswith("-") and not is_boolean(tool, previous)
        if found.value.startswith("-") or is_value:
            options.append(found)
        else:
            files.append(found)
    behind = words[at + 1 :]
    if tool == "vitest" and files and files[0].value in _VITEST_RUNS:
        behind = tuple(found for found in behind if found is not files[0])
        del files[0]
    elif tool == "vitest" and files and files[0].value in _VITEST_OTHERS:
        return None
    return Call(tool, words[at], (), words[:at], tuple(options), tuple(files), behind)


def _wrapper(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """What stands before a command that runs scripts: `c8 npm run unit`."""
    if PurePosixPath(words[0].value).name not in _WRAPPERS:
        return ()
    runners = MANAGERS + _SEVERAL
    return words[: next((at for at, found in enumerate(words) if found.value in runners), 0)]


def _without_finders(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """`npx --yes c8 node`, `pnpm exec jest`, `yarn vitest`: the project's own program."""
    values = [found.value for found in words]
    at = 0
    if values and values[0] in _FINDERS:
        at = 1
    elif values and values[0] in MANAGERS:
        at = 2 if values[1:2] in (["exec"], ["x"]) or (values[0] != "npm" and values[1:2] == ["run"]) else 1
    else:
        return words
    while at < len(values) and values[at].startswith("-"):
        at += 1
    is_program = at < len(values) and (values[at] in _TOOLS or values[at] in _WRAPPERS + _NODES)
    return words[at:] if is_program and (at > 1 or values[0] != "npm") else words


def _script_at(name: str, values: list[str]) -> int | None:
    """Where among the words behind it a command names a script."""
    if name in _NODES:
        return 1 if values[:1] == ["--run"] and len(values) > 1 else None
    if name not in MANAGERS or any(_ELSEWHERE.match(value) for value in values):
        return None
    words = [at for at, value in enumerate(values) if not value.startswith("-")]
    if not words:
        return None
    if values[words[0]] in ("run", "run-script"):
        return words[1] if len(words) > 1 else None
    if values[words[0]] in ("t", "tst") and name == "npm":
        values[words[0]] = TEST_SCRIPT
    is_script = name in ("yarn", "pnpm") or values[words[0]] == TEST_SCRIPT
    return words[0] if is_script and not (name == "bun" and values[words[0]] == TEST_SCRIPT) else None


_ELSEWHERE = re.compile(
    r"-w\b|-ws\b|-r\b|-F\b|-C\b|--(?:workspaces?|recursive|filter|prefix|dir|cwd)\b|workspaces?\Z"
)


def _matching(pattern: str, names: Iterable[str]) -> Iterator[str]:
    """`test:*` names those of one more part, `test:**` all below."""
    parts = pattern.count(":")
    for name in names:
        if fnmatchcase(name, pattern) and ("**" in pattern or name.count(":") == parts):
            yield name
