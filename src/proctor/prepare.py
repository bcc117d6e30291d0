"""From a wish to a plan: what will be started, and in which interpreter. Nothing of the project runs yet."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import msgspec

from proctor import config
from proctor.config import Settings
from proctor.errors import UsageError
from proctor.launch import Launch, Voice
from proctor.process import interpreter as interpreters
from proctor.runners import pytest_suite
from proctor.spec import RunSpec
from proctor.wire.ledger import Limits

_PLANNERS = ("node", "vitest", "jest")  # loaded when they are asked for: most runs are of pytest


class Prepared(msgspec.Struct, frozen=True):
    """A spec that can be met."""

    launches: tuple[Launch, ...]
    voice: Voice
    limits: Limits = Limits()
    interpreter: str = ""
    deselected: tuple[str, ...] = ()  # as far as that is known before the run


def prepare(spec: RunSpec, settings: Settings, python: str | None, environ: Mapping[str, str]) -> Prepared:
    """Raises what keeps the tests from running, before anything runs."""
    if not Path(spec.root).is_dir():
        raise UsageError(f"no such directory: {spec.root}")
    if spec.runner == "command":
        from proctor.runners import command  # most runs are of pytest

        plan = command.plan(spec, config.programs(settings), environ.get("PATH", ""))
        return Prepared(plan.launches, Voice.PROGRAM, settings.limits, deselected=plan.deselected)
    if spec.runner in _PLANNERS:
        plan = import_module(f"proctor.runners.{spec.runner}").plan(spec, environ)
        return Prepared(plan.launches, plan.launches[0].voice, settings.limits)
    return _pytest(spec, settings, python, environ)


def _pytest(spec: RunSpec, settings: Settings, python: str | None, environ: Mapping[str, str]) -> Prepared:
    root = Path(spec.root)
    chosen = interpreters.choose(root, python, environ, sys.prefix)
    cache = interpreters.default_cache(environ)
    found = interpreters.probe(chosen, root, environ, cache)
    pytest = interpreters.require_pytest(found)
    if spec.workers and "pytest-xdist" not in found.packages:
        needed = f"`-n {spec.workers}` needs pytest-xdist, which {found.path} does not have"
        raise UsageError(f"{needed}; `{found.path} -m pip install pytest-xdist`, or leave out -n")
    able = pytest_suite.can_load_plugin(found.version, pytest)
    voice = Voice.CONTROL if able else Voice.TEXT
    launch = pytest_suite.plan(spec, found.path, voice, environ.get("PYTHONPATH", ""))
    return Prepared((launch,), voice, settings.limits, found.path)
