"""Plan a run of node's own test runner, with our module in its process and in that of each file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from proctor.errors import UsageError
from proctor.launch import Launch
from proctor.runners import javascript, jest, matching, vitest
from proctor.runners.plan import Plan
from proctor.spec import RunSpec

REPORTER = str(javascript.INJECT / "node_reporter.cjs")
LEFT_VARIABLE = "PROCTOR_NODE_LEFT"
_NAME = "node"
_SCRIPT = re.compile(r"\bnode\b[^&|;]*\s--test\b")
_LOOKED_AT = 20  # files that may import node's tests
# As node itself looks for files in a directory.
_NAMED = re.compile(r"(?:(?:.*[._-])?test|test-.*)\.[cm]?[jt]s\Z")
_TEST_DIRECTORY = "test"


def detect(root: Path) -> bool:
    if any(_SCRIPT.search(script) for script in javascript.scripts(root)):
        return True
    near = [root / _TEST_DIRECTORY, root]
    files = (path for place in near if place.is_dir() for path in sorted(place.iterdir()))
    tests = (path for path in files if _is_test(path, root) and path.is_file())
    return any(javascript.imported(path) == _NAME for path in islice(tests, _LOOKED_AT))


def owns(target: str, root: Path) -> bool:
    return javascript.owns(target, root, (_NAME,))


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    node = javascript.node(environ)
    wanted = javascript.chosen(spec)
    root = Path(spec.root)
    files = [str(file) for path in wanted.files for file in _files(path, root)] or _own_files(root)
    options = [f"--test-name-pattern={pattern}" for pattern in _patterns(spec, wanted.names)]
    environment = {javascript.LISTING_VARIABLE: "1"} if spec.collect_only else {}
    if spec.maxfail:
        environment[LEFT_VARIABLE] = str(spec.maxfail)
        options.append("--test-concurrency=1")  # or other files would run on
    elif spec.workers not in ("", "auto"):
        options.append(f"--test-concurrency={spec.workers}")
    argv = (node, "--require", REPORTER, "--test", *options, *spec.arguments, *dict.fromkeys(files))
    return Plan((Launch(argv, spec.root, spec.runner, environment=environment, memory=spec.memory),))


def _files(path: Path, root: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = [file for file in javascript.sources(path) if _is_test(file, root)]
    if not found:
        raise UsageError(f"no test file in {path}; node looks for a.test.js, test-a.js or test/a.js")
    return found


def _own_files(root: Path) -> list[str]:
    """Beside another tool, node gets the files that ask for it; alone, it finds them itself."""
    if not (vitest.detect(root) or jest.detect(root)):
        return []
    tests = [path for path in javascript.sources(root) if _is_test(path, root)]
    found = [str(path) for path in tests if javascript.imported(path) == _NAME]
    if not found:
        raise UsageError("no test file imports node:test; name the files, or leave node out with --runner")
    return found


def _is_test(path: Path, root: Path) -> bool:
    below = path.relative_to(root) if path.is_relative_to(root) else path
    named = bool(_NAMED.match(path.name))
    return named or (path.suffix in (".js", ".mjs", ".cjs") and _TEST_DIRECTORY in below.parts[:-1])


def _patterns(spec: RunSpec, names: tuple[str, ...]) -> list[str]:
    """Each alone chooses a test. Node 20 compares its own name with them, newer ones its full name, too."""
    words = _words(spec.selection.keywords)
    if words and names:
        raise UsageError("node cannot choose by -k among single tests; leave out -k, or name whole files")
    full = [javascript.exactly([name]) for name in names]
    own = [javascript.exactly([name.rpartition(javascript.BETWEEN)[2]]) for name in names]
    return list(dict.fromkeys([*full, *own, *map(javascript.any_case, words)]))


def _words(expression: str) -> list[str]:
    if not expression:
        return []
    tree = matching.read(expression)
    parts = tree.parts if isinstance(tree, matching.Some) else (tree,)
    if not all(isinstance(part, matching.Word) for part in parts):
        raise UsageError(f"node cannot choose by {expression!r}: expected a word, or words joined by `or`")
    return [part.text for part in parts if isinstance(part, matching.Word)]
