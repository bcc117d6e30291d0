"""Runs the tests that failed again, with the code and the tests of another commit.

The run in the other tree is no run of its own: nothing of it is kept or shown, and no verdict depends on it.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from proctor.baseline import evidence
from proctor.baseline.checkout import Asking, CannotCheckOut, Checkout, checked_out
from proctor.baseline.paths import CannotPlace, Interpreter, Trees, module_path, usual_places, with_path
from proctor.baseline.reference import resolve
from proctor.baseline.words import Ended, Told, told
from proctor.errors import ProctorError
from proctor.events import ABSENT, CANNOT_TELL, BaselineCompared, Event
from proctor.execute import BeforeEnd, Request, execute
from proctor.launch import Voice, asking
from proctor.places import user_cache
from proctor.plan_run import RunPlan
from proctor.prepare import Prepared, prepare
from proctor.process.git import ELSEWHERE, Git
from proctor.process.stop import Stop
from proctor.regular_files import read_bytes
from proctor.result import RunResult, SuiteResult
from proctor.running import Keeping
from proctor.spec import RunSpec, Selection

_PATIENCE = 600.0  # seconds for git and interpreters, in a run without a limit
_RUNNERS = ("pytest", "unittest")
#: pytest's settings, in its own order; in a shared file only with their section.
_SETTINGS = {
    "pytest.toml": b"",
    ".pytest.toml": b"",
    "pytest.ini": b"",
    ".pytest.ini": b"",
    "pyproject.toml": b"[tool.pytest",
    "tox.ini": b"[pytest]",
    "setup.cfg": b"[tool:pytest]",
}


class CannotTell(Exception):
    """Why nothing can be said of some tests, to be shown to the user."""


def comparison(plan: RunPlan, stop: Stop) -> BeforeEnd | None:
    """What to call before the end of the run; None: nobody asked for it.

    Raises UsageError for a commit that was named and does not exist.
    """
    return None if plan.baseline is None else _Comparison(plan, stop)


class _Comparison:
    def __init__(self, plan: RunPlan, stop: Stop) -> None:
        self._plan, self._stop = plan, stop
        assert plan.baseline is not None
        self._reference, self._repository = resolve(plan.baseline, Path(plan.spec.root), plan.environ)
        self._until = 0.0  # by the clock that never goes back

    def __call__(self, result: RunResult, seconds: float) -> Iterator[Event]:
        failing = result.failing
        if not failing:
            return
        limit = self._plan.spec.timeout
        self._until = time.monotonic() + (limit - seconds if limit else _PATIENCE)
        try:
            found = self._told(result, failing)
        except (CannotTell, CannotCheckOut, ProctorError, OSError, ValueError) as error:
            found = dict.fromkeys(failing, Told(CANNOT_TELL, str(error)))
        yield self._event({test: found.get(test, Told(CANNOT_TELL, "it has no suite")) for test in failing})

    def _event(self, found: dict[str, Told]) -> BaselineCompared:
        why = {test: known.reason for test, known in found.items() if known.word == CANNOT_TELL}
        usual = Counter(why.values()).most_common(1)[0][0] if why else ""
        return BaselineCompared(
            self._reference.ref,
            self._reference.commit,
            {test: known.word for test, known in found.items()},
            usual,
            {test: reason for test, reason in why.items() if reason != usual},
        )

    def _left(self) -> float:
        return self._until - time.monotonic()

    def _check_time(self) -> None:
        if self._stop.reason is not None:
            raise CannotTell("the run was stopped")
        if self._left() <= 0:
            raise CannotTell("no time was left of --timeout")

    def _told(self, result: RunResult, failing: list[str]) -> dict[str, Told]:
        if self._reference.reason:
            raise CannotTell(self._reference.reason)
        assert self._repository is not None
        self._check_time()
        found: dict[str, Told] = {}
        able: list[tuple[SuiteResult, list[str]]] = []
        for suite in result.suites:
            own = [test for test in failing if test in suite.tests or test in _files(suite)]
            if why := _unable(suite, result.several):
                found |= dict.fromkeys(own, Told(CANNOT_TELL, why))
            elif own:
                able.append((suite, own))
        if not able:
            return found
        cache = user_cache(self._plan.environ)
        if cache is None:
            raise CannotTell("there is no directory for it: neither HOME nor XDG_CACHE_HOME is set")
        git = Asking(self._repository, lambda where: Git(where, self._plan.environ), self._left, self._stop)
        with checked_out(self._reference.commit, cache, git) as checkout:
            for suite, own in able:
                self._check_time()
                one = _Suite(self._plan, suite, git, checkout, self._stop)
                try:
                    found |= one.told(own)
                except CannotPlace as error:
                    found |= dict.fromkeys(own, Told(CANNOT_TELL, str(error)))
        return found


def _files(suite: SuiteResult) -> set[str]:
    return {error.file for error in suite.errors}


def _unable(suite: SuiteResult, several: bool) -> str:
    if suite.entered.runner not in _RUNNERS or suite.source != Voice.CONTROL:
        return f"only tests of {' and '.join(_RUNNERS)} can be run at another commit"
    if several and any("#" in test for test in suite.tests):
        return "another suite has tests of the same names"
    return ""


class _Suite:
    """The failures of one suite, in the other tree."""

    def __init__(
        self, plan: RunPlan, suite: SuiteResult, git: Asking, checkout: Checkout, stop: Stop
    ) -> None:
        self._plan, self._suite, self._git, self._checkout, self._stop = plan, suite, git, checkout, stop
        top = os.path.realpath(git.repository.top)
        self._trees = Trees(top, str(checkout.tree))
        self._root = _inside(plan.spec.root, top)  # the project, from the top of the repository
        described = suite.described
        self._named_from = _inside(described.root, top) if described else self._root  # what ids start at

    def told(self, failing: list[str]) -> dict[str, Told]:
        places = {test: test.partition("::")[0] for test in failing}
        absent = [test for test in failing if not self._is_there(places[test])]
        found = {test: self._absent(places[test]) for test in absent}
        rest = [test for test in failing if test not in found]
        if rest:
            ended, trust = self._run(rest)
            for test in rest:
                found[test] = told(test, self._suite, ended, trust, self._trees)
        return found

    def _is_there(self, file: str) -> bool:
        return os.path.exists(os.path.join(self._trees.there, self._named_from, file))

    def _absent(self, file: str) -> Told:
        if os.path.exists(os.path.join(self._trees.here, self._named_from, file)):
            return Told(ABSENT)
        return Told(CANNOT_TELL, f"{file or 'the failure'} is no file")

    def _run(self, failing: list[str]) -> tuple[Ended, evidence.Evidence]:
        trees, plan = self._trees, self._plan
        environ = {name: trees.moved(value) for name, value in plan.environ.items() if name in _MOVED}
        environ = {**plan.environ, **environ}
        environ = {name: value for name, value in environ.items() if name not in ELSEWHERE}
        python = self._suite.entered.interpreter
        path = module_path(trees, self._root, Interpreter(python, environ, self._git.seconds))
        environ = with_path(environ, path)
        log = str(self._checkout.scratch / f"files-{self._suite.entered.runner}.jsonl")
        spec = self._spec(failing)
        prepared = prepare(spec, plan.settings, python, environ)
        tests = [trees.moved(test) for test in failing if "::" in test or test in self._suite.tests]
        prepared = self._asking(prepared, tests, {"log": log, "path": path})
        there = RunPlan(spec, prepared, environ, Keeping(archive=False), plan.settings)
        executed = execute(Request(there, self._stop))
        known = evidence.Known(
            trees,
            list(dict.fromkeys([*path, *usual_places(trees, self._root)])),
            self._checkout.filtered,
            str(self._checkout.scratch),
            self._tracked,
        )
        return Ended(executed.result, tests), evidence.read(log, known)

    def _tracked(self, files: list[str]) -> Iterable[str]:
        literal = [f":(top,literal){file}" for file in files]
        answer = self._git.ask(self._trees.here, "ls-files", "-z", "--full-name", "--", *literal)
        return os.fsdecode(answer or b"").split("\0")

    def _spec(self, failing: list[str]) -> RunSpec:
        spec, trees = self._plan.spec, self._trees
        named_from = os.path.join(trees.there, self._named_from)
        root = os.path.join(trees.there, self._root)
        files = dict.fromkeys(os.path.join(named_from, _target(test)) for test in failing)
        runner = self._suite.entered.runner
        arguments: tuple[str, ...] = ()
        if runner == self._plan.prepared.arguments_for:
            arguments = tuple(map(self._argument, spec.arguments))
        if runner == "pytest":
            arguments = (*_settings(named_from, arguments), *arguments)
        return msgspec.structs.replace(
            spec,
            root=os.path.normpath(root),
            runner=runner,
            selection=Selection(tuple(os.path.relpath(file, root) for file in files)),
            maxfail=0,
            workers="",
            parallel="",
            retries=0,
            timeout=max(self._git.seconds(), 0.1),
            arguments=arguments,
            quarantine=(),
            locals=False,
        )

    def _argument(self, argument: str) -> str:
        """With the path of the other tree, if it names a file of the user's."""
        moved = self._trees.moved(argument)
        if moved != argument:
            path = moved[moved.index(self._trees.there) :].partition("::")[0]
            if os.path.exists(self._trees.back(path)) and not os.path.exists(path):
                raise CannotPlace(f"{argument} names a file that is not there")
        return moved

    def _asking(self, prepared: Prepared, tests: list[str], files: dict[str, object]) -> Prepared:
        scratch = self._checkout.scratch
        runner = self._suite.entered.runner
        only = scratch / f"only-{runner}.json"
        only.write_text(json.dumps({"tests": tests}), encoding="utf-8")
        more = {
            "only": str(only),
            "files": files,
            "maxfail": 0,
            "reports": str(scratch / f"reports-{runner}"),
        }
        suite = prepared.suites[0]
        launch = asking(msgspec.structs.replace(suite.launches[0], instead=None), more)
        return msgspec.structs.replace(prepared, suites=(msgspec.structs.replace(suite, launches=(launch,)),))


#: Variables in which paths of the user's tree are those of the other one there.
_MOVED = ("PYTHONPATH", "PYTEST_ADDOPTS", "PWD", "COVERAGE_PROCESS_START", "COVERAGE_FILE")


def _inside(path: str, top: str) -> str:
    inside = os.path.relpath(os.path.realpath(path), top)
    if inside.startswith(".."):
        raise CannotTell(f"{path} is not in the repository")
    return "" if inside == "." else inside


def _target(test: str) -> str:
    """What has to be collected: a file, or the directory of a conftest.py that cannot be loaded."""
    file = test.partition("::")[0]
    return (os.path.dirname(file) or ".") if os.path.basename(file) == "conftest.py" else file


def _settings(root: str, arguments: tuple[str, ...]) -> list[str]:
    """Options that give pytest the root and the settings that it found in the user's run, not those next to
    the files that failed."""
    options = ["--continue-on-collection-errors"]
    if any(argument.startswith(("-c", "--rootdir", "--config-file")) for argument in arguments):
        return options
    options.append(f"--rootdir={root}")
    for name, section in _SETTINGS.items():
        path = Path(root, name)
        try:
            if path.is_file() and section in read_bytes(path):
                return [*options, "-c", str(path)]
        except OSError:
            continue
    return options
