"""Plan a jest run: the project's own jest, with our reporter beside its usual one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from proctor.errors import UsageError
from proctor.launch import Launch
from proctor.runners import javascript
from proctor.runners.node_options import without
from proctor.runners.package_scripts import Call, calls, package
from proctor.runners.plan import Plan
from proctor.runners.shell import word
from proctor.spec import RunSpec

REPORTER = str(javascript.INJECT / "jest_reporter.cjs")
_NAME = "jest"
_OPTIONS = ("--testLocationInResults", "--passWithNoTests", "--reporters=default", f"--reporters={REPORTER}")


def detect(root: Path) -> bool:
    is_set_up = any(root.glob("jest.config.*")) or _NAME in package(root)
    return javascript.detect(root, _NAME, is_set_up)


def owns(target: str, root: Path) -> bool:
    return javascript.owns(target, root, _NAME)


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    if spec.maxfail > 1:
        raise UsageError(f"jest cannot stop after {spec.maxfail} failures; -x stops it after the first")
    shares = javascript.shares(spec, calls(Path(spec.root), _NAME))
    return javascript.plan([_launch(call, chosen, spec, environ) for call, chosen in shares])


def _launch(call: Call, chosen: javascript.Chosen, spec: RunSpec, environ: Mapping[str, str]) -> Launch:
    pattern, environment = javascript.names(spec, chosen)
    options = [f"--testNamePattern={pattern}"] if pattern else []
    if spec.maxfail:
        options.append("--bail")
    if spec.workers not in ("", "auto"):
        options.append(f"--maxWorkers={spec.workers}")
    replaced = ("-t", "--testNamePattern") if pattern else ()
    own = without(
        call.options if chosen.files else call.words, _NAME, "--reporters", "--watch", "--watchAll", *replaced
    )
    # Jest knows files by what links to them lead to.
    real = [(os.path.realpath(path), path.is_dir()) for path in chosen.files]
    paths = [f"^{javascript.escaped(path)}{'/' if is_directory else '$'}" for path, is_directory in real]
    # Paths first, because jest takes what follows an option with a list for more of the list.
    words = [*map(word, paths), *own, *map(word, (*_OPTIONS, *options, *spec.arguments))]
    return javascript.launch(call, words, spec, environ, environment)
