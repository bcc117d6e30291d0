"""A runner's plan for a request: the processes to start and, after a build, the next plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from proctor.errors import UsageError
from proctor.launch import ASKED_VARIABLE, Artifact, Launch, Lines, Program, Voice
from proctor.spec import Python, RunSpec

_ASKED_BYTES = 100_000  # Linux takes 128 KiB in one variable, and a later session adds to this
Then: TypeAlias = Callable[[tuple[Artifact, ...]], "Plan"]  # what a build made -> what comes next


class Plan(msgspec.Struct, frozen=True):
    """Programs are one suite together; any other launch is a suite of its own, by the launch's name."""

    launches: tuple[Launch, ...]
    deselected: tuple[str, ...] = ()  # as far as that is known before the run, and no launch has them
    interpreter: str = ""
    then: Then | None = None  # asked when the launches have ended


class Suite(msgspec.Struct, frozen=True):
    """Launches that belong together, ready to be started."""

    name: str
    runner: str
    voice: Voice
    launches: tuple[Launch, ...]
    deselected: tuple[str, ...] = ()
    interpreter: str = ""
    then: Then | None = None


def suites(runner: str, plan: Plan) -> list[Suite]:
    """In the order in which they run."""
    together = [launch for launch in plan.launches if isinstance(launch.speech, Program)]
    groups = [tuple(together)] if together or not plan.launches else []
    groups += [(launch,) for launch in plan.launches if not isinstance(launch.speech, Program)]
    found = [_suite(runner, group, plan) for group in groups]
    found[0] = msgspec.structs.replace(found[0], deselected=found[0].deselected + plan.deselected)
    found[-1] = msgspec.structs.replace(found[-1], then=plan.then)
    return found


def _suite(runner: str, launches: tuple[Launch, ...], plan: Plan) -> Suite:
    voice = launches[0].speech.voice if launches else Voice.PROGRAM
    name = runner if voice is Voice.PROGRAM else launches[0].name
    lines = [launch.speech for launch in launches if isinstance(launch.speech, Lines)]
    deselected = tuple(test for speech in lines for test in speech.deselected)
    return Suite(name, runner, voice, launches, deselected, plan.interpreter)


def asked(spec: RunSpec, **more: object) -> dict[str, str]:
    """What a Python session is asked for beyond a plain run, in the variable that the injected code takes.

    An addition to the environment; empty for a plain run. `more`: what only one runner knows.
    """
    facts = {
        "repeat": spec.repeat if spec.repeat > 1 else 0,
        "locals": spec.locals,
        "test_timeout": spec.test_timeout,
        "isolate": spec.isolate,
        "quarantine": [entry.test for entry in spec.quarantine],
        **more,
    }
    given = {name: value for name, value in facts.items() if value}
    if not given:
        return {}
    import json  # most runs are plain

    text = json.dumps(given)
    if len(text) > _ASKED_BYTES:
        raise UsageError(
            f"quarantine: {len(spec.quarantine)} entries are {len(text):,} bytes:"
            f" expected at most {_ASKED_BYTES:,}; a pattern with * stands for many tests"
        )
    return {ASKED_VARIABLE: text}


def not_a_target(target: str, expected: str, root: Path | None = None) -> UsageError:
    """With the nearest target in this project, if there is one; else with what is expected."""
    from proctor.runners.nearest_tests import suggestion  # only on the way out

    near = suggestion(target, root) if root is not None else ""
    return UsageError(f"not a target: {target!r}{near or f'; expected {expected}'}")


class _Detects(Protocol):
    """A module of this package: it may read the project's files and look programs up, and starts nothing."""

    def detect(self, root: Path) -> bool:
        """Whether the project has tests of this kind; false rather than wrong."""
        ...

    def owns(self, target: str, root: Path) -> bool:
        """Whether a path or an id may be one of its tests, if a project has several kinds of tests."""
        ...


class Runner(_Detects, Protocol):
    def plan(self, spec: RunSpec, environ: Mapping[str, str]) -> Plan:
        """Raises UsageError for what cannot be done: names what was found and what is expected."""
        ...


class PythonRunner(_Detects, Protocol):
    """One whose tests run in the project's interpreter."""

    def plan(self, spec: RunSpec, environ: Mapping[str, str], python: Python) -> Plan: ...
