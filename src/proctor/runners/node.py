"""Plan a run of node's own test runner, with our module in its process and in that of each file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from proctor.errors import UsageError
from proctor.launch import Launch
from proctor.runners import javascript, jest, vitest
from proctor.runners.package_scripts import Call, calls, read
from proctor.runners.plan import Plan
from proctor.runners.shell import Word, word
from proctor.spec import RunSpec

REPORTER = str(javascript.INJECT / "node_reporter.cjs")
LEFT_VARIABLE = "PROCTOR_NODE_LEFT"
_NAME = "node"
_LOOKED_AT = 200  # files that may import node's tests
# As node itself looks for files in a directory.
_NAMED = re.compile(r"(?:(?:.*[._-])?test|test-.*)\.[cm]?[jt]s\Z")
_TEST_DIRECTORY = "test"


def detect(root: Path) -> bool:
    return bool(read(root).of(_NAME)) or _is_imported(root)


def _is_imported(root: Path) -> bool:
    tests = (path for path in javascript.near(root) if _is_test(path, root) and path.is_file())
    return any(javascript.imported(path) == _NAME for path in islice(tests, _LOOKED_AT))


def owns(target: str, root: Path) -> bool:
    return javascript.owns(target, root, _NAME)


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    root = Path(spec.root)
    shares = javascript.shares(spec, calls(root, _NAME))
    return javascript.plan([_launch(call, chosen, spec, environ) for call, chosen in shares])


def _launch(call: Call, chosen: javascript.Chosen, spec: RunSpec, environ: Mapping[str, str]) -> Launch:
    patterns = _patterns(chosen)
    options = [f"--test-name-pattern={pattern}" for pattern in patterns]
    environment = javascript.expected(chosen)
    if spec.selection.keywords:
        environment[javascript.NAMES_VARIABLE] = javascript.containing(spec.selection.keywords)
    if spec.collect_only:
        environment[javascript.LISTING_VARIABLE] = "1"
    if spec.maxfail:
        environment[LEFT_VARIABLE] = str(spec.maxfail)
        options.append("--test-concurrency=1")  # or other files would run on
    elif spec.workers not in ("", "auto"):
        options.append(f"--test-concurrency={spec.workers}")
    own = [one for one in call.options if not (patterns and one.value.startswith("--test-name-pattern"))]
    ours = map(word, ("--test", *options, *spec.arguments))
    words = [word("--require"), word(REPORTER), *own, *ours, *_named(call, chosen, Path(spec.root))]
    return javascript.launch(call, words, spec, environ, environment)


def _named(call: Call, chosen: javascript.Chosen, root: Path) -> list[Word]:
    """The files for the command line; none: those that node finds."""
    if chosen.files:
        found = [str(file) for path in chosen.files for file in _files(path, root, call)]
        return [word(file) for file in dict.fromkeys(found)]
    return [*call.files] or [word(file) for file in _own_files(root)]


def _files(path: Path, root: Path, call: Call) -> list[Path]:
    if path.is_file():
        return [path]
    below = list(javascript.sources(path))
    found = [file for file in below if _is_test(file, root) or javascript.names_file(call, file, root)]
    if not found:
        raise UsageError(f"no test file in {path}; node looks for a.test.js, test-a.js or test/a.js")
    return found


def _own_files(root: Path) -> list[str]:
    """If no script names node's files and there is another tool: the files that are not the other tool's."""
    if read(root).of(_NAME) or not (vitest.detect(root) or jest.detect(root)):
        return []
    tests = [path for path in javascript.sources(root) if _is_test(path, root)]
    found = [str(path) for path in tests if _is_nodes(path)]
    if not found:
        raise UsageError("no test file imports node:test; name the files, or leave node out with --runner")
    return found


def _is_nodes(path: Path) -> bool:
    """One that imports no tool is node's, unless other tools look for such names as well."""
    tool = javascript.imported(path)
    return tool == _NAME or (not tool and not javascript.is_test_name(path))


def _is_test(path: Path, root: Path) -> bool:
    below = path.relative_to(root) if path.is_relative_to(root) else path
    named = bool(_NAMED.match(path.name))
    return named or (path.suffix in (".js", ".mjs", ".cjs") and _TEST_DIRECTORY in below.parts[:-1])


def _patterns(chosen: javascript.Chosen) -> list[str]:
    """Each alone chooses a test. Node 20 compares its own name with them, newer ones its full name, too."""
    full = [javascript.exactly([name], chosen.groups) for name in chosen.names]
    own = [javascript.exactly([name.rpartition(javascript.BETWEEN)[2]]) for name in chosen.names]
    return list(dict.fromkeys([*full, *own]))
