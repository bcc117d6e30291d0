"""Plan a jest run: the project's own jest, with our reporter beside its usual one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from proctor.errors import UsageError
from proctor.launch import Launch
from proctor.runners import javascript
from proctor.runners.plan import Plan
from proctor.spec import RunSpec

REPORTER = str(javascript.INJECT / "jest_reporter.cjs")
_OPTIONS = ("--testLocationInResults", "--passWithNoTests", "--reporters=default", f"--reporters={REPORTER}")


def detect(root: Path) -> bool:
    configured = any(root.glob("jest.config.*")) or "jest" in javascript.package(root)
    return configured or javascript.depends_on(root, "jest")


def owns(target: str, root: Path) -> bool:
    return javascript.owns(target, root, ("jest", ""))


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    wanted = javascript.chosen(spec)
    pattern, environment = javascript.names(spec, wanted.names)
    options = [f"--testNamePattern={pattern}"] if pattern else []
    if spec.maxfail > 1:
        raise UsageError(f"jest cannot stop after {spec.maxfail} failures; -x stops it after the first")
    if spec.maxfail:
        options.append("--bail")
    if spec.workers not in ("", "auto"):
        options.append(f"--maxWorkers={spec.workers}")
    paths = [f"^{javascript.escaped(str(path))}{'/' if path.is_dir() else '$'}" for path in wanted.files]
    tool = javascript.own_tool(Path(spec.root), "jest", environ)
    # Paths first, because jest takes what follows an option with a list for more of the list.
    argv = (tool, *paths, *_OPTIONS, *options, *spec.arguments)
    return Plan((Launch(argv, spec.root, spec.runner, environment=environment, memory=spec.memory),))
