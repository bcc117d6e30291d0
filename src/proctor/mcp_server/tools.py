"""The tools: from checked arguments to an answer. Knows nothing of the protocol."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from proctor import config
from proctor.archive.history import only_last_failed
from proctor.archive.lookup import LAST, find_run, read_run
from proctor.archive.store import list_runs, projects_below
from proctor.errors import ProctorError, UsageError
from proctor.mcp_server import answers, describe, records
from proctor.mcp_server.answers import Reply
from proctor.mcp_server.one_test import one_test
from proctor.mcp_server.places import Places
from proctor.mcp_server.records import Record
from proctor.mcp_server.runs import Plan, Progress, Run, Runs
from proctor.mcp_server.schemas import (
    TOOLS,
    CancelRun,
    DescribeProject,
    DiscoverTests,
    ExecuteTests,
    GetRun,
    GetTest,
    check,
)
from proctor.prepare import prepare, runners
from proctor.running import Keeping
from proctor.spec import RunSpec, Selection

USUAL_TIMEOUT = 300.0  # seconds of a run, unless the project's settings say otherwise
_SECOND = len("20260101-000000")  # of a run's id: the rest says nothing about time
_CANCEL_SECONDS = 10.0  # for a cancelled run to be gone

Value = TypeVar("Value")


class Tools:
    def __init__(self, places: Places, runs: Runs) -> None:
        self.places, self._runs = places, runs
        self._projects: list[Path] | None = None

    async def call(self, name: str, arguments: Mapping[str, Any], progress: Progress) -> Reply:
        """What kept a tool from doing its work is an answer too, one that says so."""
        try:
            match name:
                case "execute_tests":
                    return await self._execute_tests(check(ExecuteTests, arguments), progress)
                case "discover_tests":
                    return await self._discover_tests(check(DiscoverTests, arguments), progress)
                case "get_run":
                    return await self._get_run(check(GetRun, arguments), progress)
                case "get_test":
                    return await _aside(self._get_test, check(GetTest, arguments))
                case "cancel_run":
                    return await self._cancel_run(check(CancelRun, arguments), progress)
                case "describe_project":
                    return await _aside(self._describe_project, check(DescribeProject, arguments))
            known = ", ".join(tool.name for tool in TOOLS)
            raise UsageError(f"no tool {name[:80]!r}; known: {known}")
        except ProctorError as error:
            return answers.refusal(error)
        except Exception as error:  # where a tool ends: whatever it is, it is ours
            logging.exception("%s failed", name[:80])
            return answers.refusal(
                ProctorError(f"this is a fault of proctor: {type(error).__name__}: {error}")
            )

    async def _execute_tests(self, wish: ExecuteTests, progress: Progress) -> Reply:
        run = await self._runs.start(lambda: self._plan(wish), wish.wait, progress)
        if run is None:
            return answers.refusal(UsageError(f"not started: {answers.busy(self._runs.under_way)}"))
        try:
            await run.wait(wish.wait, progress)
        except asyncio.CancelledError:
            run.abandon()
            raise
        if not run.over:
            return answers.still_running(run)
        return await _tell(run, lambda record: answers.finished(record, wish.detail, wish.budget))

    async def _discover_tests(self, wish: DiscoverTests, progress: Progress) -> Reply:
        run = await self._runs.start(lambda: self._plan(wish), None, progress)
        assert run is not None  # it waits for as long as it takes
        try:
            await run.wait(None, progress)
        except asyncio.CancelledError:
            run.abandon()
            raise
        if run.error is not None:
            raise run.error
        assert run.result is not None
        return answers.discovered(run.result, wish.offset, wish.limit, wish.budget)

    async def _get_run(self, wish: GetRun, progress: Progress) -> Reply:
        run = self._known(wish.run_id)
        if run is not None:
            await run.wait(wish.wait, progress)
            if not run.over:
                return answers.still_running(run)

        def answer(record: Record) -> Reply:
            return answers.part(record, wish.select, wish.offset, wish.limit, wish.budget)

        if run is not None:
            return await _tell(run, answer)
        return await _aside(lambda: answer(records.read(self.directory(wish.run_id))))

    def _get_test(self, wish: GetTest) -> Reply:
        path = self.directory(wish.run_id)
        found = one_test(read_run(path), records.read(path), wish.node_id, wish.budget)
        return Reply(found.text, found.document)

    async def _cancel_run(self, wish: CancelRun, progress: Progress) -> Reply:
        run = self._known(wish.run_id)
        if run is None or run.over:
            alive = ", ".join(self._runs.under_way) or "none"
            raise UsageError(f"run_id: {wish.run_id} is not a run under way; under way: {alive}")
        run.cancel()
        await run.wait(_CANCEL_SECONDS, progress)
        if not run.over:
            return answers.still_running(run)
        return await _tell(run, lambda record: answers.finished(record, "summary", 1000))

    def _describe_project(self, wish: DescribeProject) -> Reply:
        root = self.places.project(wish.project)
        settings = config.load(root)
        python = self.places.python("", root, settings)
        about = describe.describe(root, settings, python, self.places.environ)
        return Reply(describe.text(about), about)

    def _plan(self, wish: ExecuteTests | DiscoverTests) -> Plan:
        """In the run's own thread: an interpreter may have to be asked."""
        places = self.places
        root = places.project(wish.project)
        settings = config.load(root)
        chosen = runners(wish.runner, root, settings)
        targets = places.targets(wish.targets, root, chosen, settings)
        spec = RunSpec(
            str(root),
            wish.runner,
            Selection(targets, wish.keywords, wish.markers),
            timeout=config.seconds(settings.timeout, "timeout") or USUAL_TIMEOUT,
            memory=config.size(settings.memory, "memory"),
            collect_only=isinstance(wish, DiscoverTests),
        )
        notices: tuple[str, ...] = ()
        if isinstance(wish, ExecuteTests):
            spec = _as_wished(spec, wish)
            if wish.last_failed:
                spec, notices = only_last_failed(spec, places.environ)
        prepared = prepare(spec, settings, places.python(wish.python, root, settings), places.environ)
        environ = config.visible(places.environ, settings.hide_environment)
        return Plan(spec, prepared, environ, Keeping(not spec.collect_only, settings.keep_runs), notices)

    def _known(self, name: str) -> Run | None:
        """A run of this server, by its id or the beginning of it."""
        if name == LAST:
            alive = self._runs.under_way
            return self._runs.by_id[alive[-1]] if alive else None
        found = [run for run_id, run in self._runs.by_id.items() if run_id.startswith(name)]
        return found[0] if len(found) == 1 else None

    def directory(self, name: str) -> Path:
        """Of a run that is kept: of this server, of one of its roots, or of a project below one."""
        run = self._known(name)
        if run is not None and run.directory is not None:
            return run.directory
        faults: list[str] = []
        newest = self._own()[-1:] if name == LAST else []
        newest += self._found(name, self.places.roots, faults)
        if name == LAST or not newest:
            newest += self._found(name, self._below(again=name != LAST), [])
        if newest:
            return max(newest, key=lambda path: path.name[:_SECOND])  # of equals the first: our own
        raise UsageError(f"run_id: {'; '.join(faults)}")

    def _found(self, name: str, projects: Iterable[Path], faults: list[str]) -> list[Path]:
        found = []
        for project in projects:
            try:
                found.append(find_run(name, project, self.places.environ))
            except UsageError as error:
                faults.append(str(error))
        return found

    def _below(self, again: bool) -> list[Path]:
        """Projects below the roots that have runs. A look around takes a while, so it is remembered."""
        if self._projects is None or again:
            environ = self.places.environ
            self._projects = [path for root in self.places.roots for path in projects_below(root, environ)]
        return self._projects

    def _own(self) -> list[Path]:
        """Runs of this server, also of projects below its roots."""
        return [run.directory for run in self._runs.by_id.values() if run.directory is not None]

    def kept(self, count: int) -> list[str]:
        """Ids of the newest runs."""
        projects = (*self.places.roots, *self._below(again=False))
        of_projects = (path for project in projects for path in list_runs(project, self.places.environ))
        return sorted({path.name for path in (*of_projects, *self._own())}, reverse=True)[:count]


def _as_wished(spec: RunSpec, wish: ExecuteTests) -> RunSpec:
    return msgspec.structs.replace(
        spec,
        maxfail=1 if wish.failfast else wish.maxfail,
        workers=str(wish.workers),
        timeout=wish.timeout or spec.timeout,
    )


def _record(run: Run) -> Record:
    if run.error is not None:
        raise run.error
    if run.record is not None:
        return run.record
    assert run.directory is not None
    record = records.read(run.directory)
    record.result.notices += run.notices
    record.document["notices"] += run.notices
    return record


async def _tell(run: Run, answer: Callable[[Record], Reply]) -> Reply:
    """Of a run that is over. Until it has been told, its record is not removed to make room for others."""
    try:
        return await _aside(lambda: answer(_record(run)))
    finally:
        run.let_go()


async def _aside(work: Callable[..., Value], *arguments: Any) -> Value:
    """What reads files does so beside the event loop, which has pings to answer."""
    return await asyncio.to_thread(work, *arguments)
