"""Plan a vitest run: the project's own vitest, with our reporter beside its usual one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proctor.launch import Launch
from proctor.runners import javascript
from proctor.runners.plan import Plan
from proctor.spec import RunSpec

REPORTER = str(javascript.INJECT / "vitest_reporter.mjs")
_OPTIONS = ("--includeTaskLocation", "--passWithNoTests", "--reporter=default", f"--reporter={REPORTER}")


def detect(root: Path) -> bool:
    return javascript.depends_on(root, "vitest") or any(root.glob("vitest.config.*"))


def owns(target: str, root: Path) -> bool:
    return javascript.owns(target, root, ("vitest", ""))


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    wanted = javascript.chosen(spec)
    pattern, environment = javascript.names(spec, wanted.names)
    options = [f"--testNamePattern={pattern}"] if pattern else []
    if spec.maxfail:
        options.append(f"--bail={spec.maxfail}")
    if spec.workers not in ("", "auto"):
        options.append(f"--maxWorkers={spec.workers}")
    tool = javascript.own_tool(Path(spec.root), "vitest", environ)
    argv = (tool, "run", *_OPTIONS, *options, *spec.arguments)
    argv += tuple(map(str, wanted.files))
    return Plan((Launch(argv, spec.root, spec.runner, environment=environment, memory=spec.memory),))
