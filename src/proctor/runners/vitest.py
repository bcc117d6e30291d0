"""Plan a vitest run: the project's own vitest, with our reporter beside its usual one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proctor.launch import Launch
from proctor.runners import javascript
from proctor.runners.node_options import without
from proctor.runners.package_scripts import Call, calls
from proctor.runners.plan import Plan
from proctor.runners.shell import word
from proctor.spec import RunSpec

REPORTER = str(javascript.INJECT / "vitest_reporter.mjs")
_NAME = "vitest"
_OPTIONS = ("--includeTaskLocation", "--passWithNoTests", "--reporter=default", f"--reporter={REPORTER}")


def detect(root: Path) -> bool:
    is_set_up = any(root.glob("vitest.config.*"))
    return javascript.detect(root, _NAME, is_set_up)


def owns(target: str, root: Path) -> bool:
    return javascript.owns(target, root, _NAME)


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    shares = javascript.shares(spec, calls(Path(spec.root), _NAME))
    return javascript.plan([_launch(call, chosen, spec, environ) for call, chosen in shares])


def _launch(call: Call, chosen: javascript.Chosen, spec: RunSpec, environ: Mapping[str, str]) -> Launch:
    pattern, environment = javascript.names(spec, chosen)
    options = [f"--testNamePattern={pattern}"] if pattern else []
    if spec.maxfail:
        options.append(f"--bail={spec.maxfail}")
    if spec.workers not in ("", "auto"):
        options.append(f"--maxWorkers={spec.workers}")
    replaced = ("-t", "--testNamePattern") if pattern else ()
    own = without(
        call.options if chosen.files else call.words, _NAME, "--reporter", "--run", "--watch", "-w", *replaced
    )
    words = [word("run"), *own, *map(word, (*_OPTIONS, *options, *spec.arguments))]
    return javascript.launch(call, [*words, *map(word, map(str, chosen.files))], spec, environ, environment)
