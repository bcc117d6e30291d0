"""The tools: from checked arguments to an answer. Knows nothing of the protocol."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from proctor import config, plan_run, prepare
from proctor.archive.lookup import LAST, find_run, from_document, read_run
from proctor.archive.store import list_runs, projects_below
from proctor.config import Settings
from proctor.errors import ProctorError, UsageError
from proctor.mcp_server import describe, records, replies
from proctor.mcp_server.one_test import one_test
from proctor.mcp_server.places import Places
from proctor.mcp_server.records import Record
from proctor.mcp_server.replies import Reply
from proctor.mcp_server.runs import Progress, Run, Runs
from proctor.mcp_server.schemas import (
    LEAST_BUDGET,
    MOST_BUDGET,
    TOOLS,
    CancelRun,
    DescribeProject,
    DiscoverTests,
    ExecuteTests,
    GetRun,
    GetTest,
    check,
)
from proctor.spec import Selection

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
            return replies.refusal(error)
        except Exception as error:  # where a tool ends: whatever it is, it is ours
            logging.exception("%s failed", name[:80])
            return replies.refusal(
                ProctorError(f"this is a fault of proctor: {type(error).__name__}: {error}")
            )

    async def _execute_tests(self, asked: ExecuteTests, progress: Progress) -> Reply:
        run = await self._runs.start(lambda: self._plan(asked), asked.wait, progress)
        if run is None:
            return replies.refusal(UsageError(f"not started: {replies.busy(self._runs.under_way)}"))
        try:
            await run.wait(asked.wait, progress)
        except asyncio.CancelledError:
            run.abandon()
            raise
        if not run.over:
            return replies.still_running(run)
        return await _answer(
            run, lambda record: replies.finished(record, asked.detail, _budget(asked, record.settings))
        )

    async def _discover_tests(self, asked: DiscoverTests, progress: Progress) -> Reply:
        run = await self._runs.start(lambda: self._plan(asked), None, progress)
        assert run is not None  # it waits for as long as it takes
        try:
            await run.wait(None, progress)
        except asyncio.CancelledError:
            run.abandon()
            raise
        if run.error is not None:
            raise run.error
        assert run.found is not None
        result, settings = run.found.result, run.found.settings
        budget = _budget(asked, settings)
        return replies.discovered(result, settings.mask_secrets, asked.offset, asked.limit, budget)

    async def _get_run(self, asked: GetRun, progress: Progress) -> Reply:
        run = self._known(asked.run_id)
        if run is not None:
            await run.wait(asked.wait, progress)
            if not run.over:
                return replies.still_running(run)

        def answer(record: Record) -> Reply:
            budget = _budget(asked, record.settings)
            return replies.part(record, asked.select, asked.offset, asked.limit, budget)

        if run is not None:
            return await _answer(run, answer)
        return await _aside(lambda: answer(self.record(asked.run_id)))

    def _get_test(self, asked: GetTest) -> Reply:
        record = self._in_memory(asked.run_id)
        if record is not None:
            run = from_document(record.directory, record.document)
        else:
            path = self.directory(asked.run_id)
            record, run = records.read(path), read_run(path)
        found = one_test(run, record.mask, asked.node_id, _budget(asked, record.settings))
        return Reply(found.text, found.document)

    async def _cancel_run(self, asked: CancelRun, progress: Progress) -> Reply:
        run = self._known(asked.run_id)
        if run is None or run.over:
            alive = ", ".join(self._runs.under_way) or "none"
            raise UsageError(f"run_id: {asked.run_id} is not a run under way; under way: {alive}")
        run.cancel()
        await run.wait(_CANCEL_SECONDS, progress)
        if not run.over:
            return replies.still_running(run)
        return await _answer(run, lambda record: replies.finished(record, "summary", 1000))

    def _describe_project(self, asked: DescribeProject) -> Reply:
        root = self.places.project(asked.project)
        settings = config.load(root)
        python = self.places.python("", root, settings)
        about = describe.describe(root, settings, python, self.places.environ)
        return Reply(describe.text(about), about)

    def _plan(self, asked: ExecuteTests | DiscoverTests) -> plan_run.RunPlan:
        """In the run's own thread: an interpreter may have to be asked."""
        places = self.places
        root = places.project(asked.project)
        settings = config.load(root)
        _budget(asked, settings)  # a bad one is refused before anything runs
        runners = prepare.runners(asked.runner, root, settings)
        request = plan_run.Asked(
            root=root,
            runner=asked.runner,
            python=places.python(asked.python, root, settings),
            selection=Selection(
                places.targets(asked.targets, root, runners, settings), asked.keywords, asked.markers
            ),
            usual_timeout=USUAL_TIMEOUT,
            collect_only=isinstance(asked, DiscoverTests),
        )
        if isinstance(asked, ExecuteTests):
            request = msgspec.structs.replace(
                request,
                timeout=asked.timeout or None,
                maxfail=1 if asked.failfast else asked.maxfail,
                workers=str(asked.workers),
                last_failed=asked.last_failed,
            )
        plan = plan_run.plan_run(request, settings, places.environ)
        prepared = msgspec.structs.replace(plan.prepared, notices=(*plan.prepared.notices, *plan.notices))
        return msgspec.structs.replace(plan, prepared=prepared)

    def record(self, name: str) -> Record:
        """Of any run but one that this server has under way: from memory, else from the archive."""
        return self._in_memory(name) or records.read(self.directory(name))

    def _in_memory(self, name: str) -> Record | None:
        run = self._known(name)
        if run is None and name == LAST:
            run = self._runs.by_id.get(self.directory(name).name)
        return run.record if run is not None else None

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


def _budget(asked: ExecuteTests | DiscoverTests | GetRun | GetTest, settings: Settings) -> int:
    """Tokens of each half of an answer: the caller's number, else the project's, else the usual one."""
    own = 0 if asked.given("budget") else plan_run.budget(None, settings)
    return min(max(own, LEAST_BUDGET), MOST_BUDGET) if own else asked.budget


async def _answer(run: Run, answer: Callable[[Record], Reply]) -> Reply:
    """About a run that is over. Until then its directory is not removed to make room for others."""
    try:
        return await _aside(lambda: answer(_record(run)))
    finally:
        run.release()


def _record(run: Run) -> Record:
    if run.error is not None:
        raise run.error
    if run.record is not None:
        return run.record
    assert run.directory is not None
    return records.read(run.directory)


async def _aside(work: Callable[..., Value], *arguments: Any) -> Value:
    """What reads files does so beside the event loop, which has pings to answer."""
    return await asyncio.to_thread(work, *arguments)
