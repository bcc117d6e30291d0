"""Checks which projects, targets and interpreters a caller may use. Callers are not trusted; projects are."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from proctor import config, plan_run
from proctor.config import Settings
from proctor.errors import UsageError
from proctor.process import interpreter as interpreters
from proctor.runners.nearest_tests import suggestion
from proctor.spec import TARGET_BYTES

_COMMAND = "command"  # the names of its tests look like paths
_BY_A_LINK = ", behind a link: it cannot be a target; it runs only if the project's own tool follows the link"
_SHOWN = 200  # characters of a target that an error repeats


class Access:
    def __init__(self, roots: Sequence[Path], pythons: Sequence[str], environ: Mapping[str, str]) -> None:
        self.roots = [Path(os.path.realpath(root)) for root in roots]
        self.environ = environ
        self._pythons = pythons

    def project(self, named: str) -> Path:
        """A root, or a directory below one. A relative name starts at the first root."""
        if not named:
            return self.roots[0]
        path = Path(os.path.realpath(self.roots[0] / os.path.expanduser(named)))
        if not any(path.is_relative_to(root) for root in self.roots):
            served = ", ".join(map(str, self.roots))
            raise UsageError(
                f"project: {named!r} is outside of the directories that this server serves: {served}"
            )
        if not path.is_dir():
            raise UsageError(f"project: no such directory: {named!r}")
        return path

    def python(self, named: str, root: Path, settings: Settings) -> str | None:
        """One that the rules found or the server's owner named; the caller may choose among these."""
        if not named:
            return self._pythons[0] if self._pythons else settings.python
        wanted = os.path.normpath(os.path.join(root, os.path.expanduser(named)))
        allowed: dict[str, None] = {}
        for python in self._allowed(root, settings):
            path = os.path.normpath(os.path.join(root, python))
            if wanted in (path, os.path.dirname(os.path.dirname(path))):
                return python
            allowed[path] = None
        known = ", ".join(allowed) or "none"
        raise UsageError(f"python: {named!r} is no interpreter of this project; known: {known}")

    def _allowed(self, root: Path, settings: Settings) -> Iterator[str]:
        yield from self._pythons
        if settings.python:
            yield settings.python
        found = interpreters.candidates(root, None, self.environ, sys.prefix)
        yield from (candidate.path for candidate in found if candidate.usable)

    def targets(
        self, named: Sequence[str], root: Path, runners: Sequence[str], settings: Settings
    ) -> tuple[str, ...]:
        if sum(len(os.fsencode(target)) + 1 for target in named) > TARGET_BYTES:
            raise UsageError(f"targets: more than {TARGET_BYTES} bytes: name their directory instead")
        programs = [test.name for test in config.programs(settings)] if _COMMAND in runners else []
        targets = plan_run.targets(tuple(named), root, settings, ",".join(runners))
        for number, target in enumerate(targets):
            fault = _fault(target, root, runners, programs)
            if fault:
                raise UsageError(f"targets[{number}]: {fault}")
        return targets


def _fault(target: str, root: Path, runners: Sequence[str], programs: Sequence[str]) -> str:
    """Why it is refused; empty: it is not."""
    shown = repr(target if len(target) <= _SHOWN else target[:_SHOWN] + "…")
    if not target or target.startswith(("-", "@")):
        return f"{shown} is not a target: expected a path or a test's id such as tests/test_a.py::test_b"
    if _COMMAND in runners and target.startswith("/") and not _is_inside(target, root):
        known = any(target == name or target.startswith(f"{name}/") for name in programs)
        return "" if known or _is_of_program(target, root) else f"no program or test {shown} in the project"
    paths = _paths(target) if tuple(runners) != (_COMMAND,) else [target]
    if not all(_is_inside(path, root) for path in paths):
        return f"{shown} is outside of the project{_BY_A_LINK if _looks_inside(paths, root) else ''}"
    if not any(os.path.exists(os.path.join(root, path)) for path in paths):
        return f"no such file or directory in the project: {shown}{suggestion(target, root)}"
    return ""


def _paths(target: str) -> list[str]:
    """The path in a test's id; some versions of pytest cut it off at a bracket."""
    path = target.partition("::")[0]
    return [path, path.partition("[")[0] or path]


def _is_inside(path: str, root: Path) -> bool:
    """Links are followed, also those in the path of the root."""
    return Path(os.path.realpath(os.path.join(root, path))).is_relative_to(os.path.realpath(root))


def _looks_inside(paths: Sequence[str], root: Path) -> bool:
    """By their names alone."""
    return all(
        Path(os.path.normpath(os.path.join(root, path))).is_relative_to(os.path.normpath(root))
        for path in paths
    )


def _is_of_program(name: str, root: Path) -> bool:
    """Names of tests look like paths: `/tools/check/part` is a part of the program tools/check."""
    below = root / name[1:]
    return os.pardir not in below.parts and any(
        path.is_file() and os.access(path, os.X_OK) and _is_inside(str(path), root)
        for path in (below, *below.parents)
        if path != root and path.is_relative_to(root)
    )
