"""The tools: from checked arguments to an answer. Knows nothing of the protocol."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from proctor import config, plan_run, prepare
from proctor.archive.inside import Folder
from proctor.archive.lookup import LAST, find_run, from_document, read_run
from proctor.archive.store import list_runs, projects_below
from proctor.comparison import Side, side
from proctor.config import Settings
from proctor.describe import describe
from proctor.errors import ProctorError, UsageError
from proctor.mcp_server import replies, run_data, schemas
from proctor.mcp_server.access import Access
from proctor.mcp_server.one_test import difference, one_test
from proctor.mcp_server.pages import page
from proctor.mcp_server.reply import Reply
from proctor.mcp_server.run_data import RunData
from proctor.mcp_server.runs import Progress, ServerRun, ServerRuns
from proctor.nearest import or_known
from proctor.spec import Selection

USUAL_TIMEOUT = 300.0  # seconds of a run, unless the project's settings say otherwise
_SECOND = len("20260101-000000")  # the part of a run's id that is its time, to the second
_CANCEL_SECONDS = 10.0  # for a cancelled run to be gone


class _Project(msgspec.Struct, frozen=True):
    """A project that may have runs, and the root of the server in which it was found."""

    root: Path
    within: Path


class Tools:
    def __init__(self, access: Access, runs: ServerRuns) -> None:
        self.access, self._runs = access, runs
        self._projects: list[_Project] | None = None

    async def call(self, name: str, arguments: Mapping[str, Any], progress: Progress) -> Reply:
        """An error is an answer too."""
        try:
            tool = next((tool for tool in schemas.TOOLS if tool.name == name), None)
            if tool is None:
                known = [tool.name for tool in schemas.TOOLS]
                raise UsageError(f"no tool {name[:80]!r}{or_known(name, known)}")
            reply: Reply = await getattr(self, f"_{name}")(schemas.check(tool.arguments, arguments), progress)
            return reply
        except ProctorError as error:
            return replies.refusal(error)
        except Exception as error:  # where a tool ends: whatever it is, it is ours
            logging.exception("%s failed", name[:80])
            return replies.refusal(
                ProctorError(f"internal error in proctor: {type(error).__name__}: {error}")
            )

    async def _execute_tests(self, asked: schemas.ExecuteTests, progress: Progress) -> Reply:
        run = await self._run(asked, asked.wait, progress)
        if run is None:
            alive = ", ".join(self._runs.under_way)
            raise UsageError(f"not started: the server's limit of runs is reached ({alive}); try again later")
        if not run.over:
            return replies.still_running(run)
        return await _answer(run, lambda data: _finished(data, asked))

    async def _discover_tests(self, asked: schemas.DiscoverTests, progress: Progress) -> Reply:
        run = await self._run(asked, None, progress)
        assert run is not None  # it waits for its turn as long as it takes
        if run.error is not None:
            raise run.error
        assert run.discovered is not None
        result, settings = run.discovered
        budget = _budget(asked, settings)
        return replies.discovered(result, settings.mask_secrets, asked.offset, asked.limit, budget)

    async def _run(
        self, asked: schemas.Running, seconds: float | None, progress: Progress
    ) -> ServerRun | None:
        """Starts a run and waits for its end, or for so long; None: too many runs are under way."""
        run = await self._runs.start(lambda: self._plan(asked), seconds, progress)
        if run is not None:
            try:
                await run.wait(seconds, progress)
            except asyncio.CancelledError:
                run.abandon()
                raise
        return run

    async def _get_run(self, asked: schemas.GetRun, progress: Progress) -> Reply:
        def answer(data: RunData) -> Reply:
            if asked.select == "failures" and not asked.given("offset") and not asked.given("limit"):
                return _finished(data, asked)
            budget = _budget(asked, data.settings)
            return page(data, asked.select, asked.offset, asked.limit, budget)

        run = self._known(asked.run_id)
        if run is None:
            return await asyncio.to_thread(lambda: answer(self.data(asked.run_id)))
        await run.wait(asked.wait, progress)
        return await _answer(run, answer) if run.over else replies.still_running(run)

    async def _get_test(self, asked: schemas.GetTest, _: Progress) -> Reply:
        def answer() -> Reply:
            data = self._in_memory(asked.run_id)
            if data is not None:
                run = from_document(data.directory, data.document)
            else:
                folder = self.directory(asked.run_id)
                data, run = run_data.from_archive(folder), read_run(folder)
            budget = _budget(asked, data.settings)
            if asked.part == "difference":
                return difference(run, data.mask, asked.node_id, asked.offset, budget)
            return one_test(run, data.mask, asked.node_id, budget, asked.locals)

        return await asyncio.to_thread(answer)

    async def _get_history(self, asked: schemas.GetHistory, _: Progress) -> Reply:
        def answer() -> Reply:
            from proctor.mcp_server.history_answers import history_answer  # loads sqlite

            self._runs.settle()
            root = self.access.project(asked.project)
            settings = config.load(root)
            budget = _budget(asked, settings)
            return history_answer(asked, self.access, root, budget, settings.mask_secrets)

        return await asyncio.to_thread(answer)

    async def _compare_runs(self, asked: schemas.CompareRuns, _: Progress) -> Reply:
        def answer() -> Reply:
            from proctor.mcp_server.comparison_answer import comparison_answer

            before, after = self._side(asked.a), self._side(asked.b)
            return comparison_answer(
                asked, before[0], after[0], _budget(asked, after[1]), after[1].mask_secrets
            )

        return await asyncio.to_thread(answer)

    def _side(self, name: str) -> tuple[Side, Settings]:
        """A run by its id: of the archive, else of the history of a root."""
        try:
            data = self.data(name)
            return side(data.result, data.run_id), data.settings
        except UsageError:
            from proctor.history.compared import remembered_side  # loads sqlite

            self._runs.settle()
            for root in self.access.roots:
                if found := remembered_side(name, root, self.access.environ, self.access.roots):
                    return found, config.load(root)
            raise

    async def _cancel_run(self, asked: schemas.CancelRun, progress: Progress) -> Reply:
        run = self._known(asked.run_id)
        if run is None or run.over:
            alive = ", ".join(self._runs.under_way) or "none"
            raise UsageError(f"run_id: {asked.run_id} is not a run under way; under way: {alive}")
        run.cancel()
        await run.wait(_CANCEL_SECONDS, progress)
        if not run.over:
            return replies.still_running(run)
        return await _answer(run, lambda data: replies.finished(data, "summary", 1000))

    async def _describe_project(self, asked: schemas.DescribeProject, _: Progress) -> Reply:
        def answer() -> Reply:
            root = self.access.project(asked.project)
            settings = config.load(root)
            python = self.access.python("", root, settings)
            return replies.described(
                describe(root, settings, python, self.access.environ), settings.mask_secrets
            )

        return await asyncio.to_thread(answer)

    def _plan(self, asked: schemas.Running) -> plan_run.RunPlan:
        """Called in the run's own thread: it may have to start an interpreter."""
        access = self.access
        root = access.project(asked.project)
        settings = config.load(root)
        _budget(asked, settings)  # a bad one is refused before anything runs
        runners = prepare.runners(asked.runner, root, settings)
        request = plan_run.Asked(
            root=root,
            runner=asked.runner,
            python=access.python(asked.python, root, settings),
            selection=Selection(
                access.targets(asked.targets, root, runners, settings), asked.keywords, asked.markers
            ),
            usual_timeout=USUAL_TIMEOUT,
            collect_only=isinstance(asked, schemas.DiscoverTests),
        )
        if isinstance(asked, schemas.ExecuteTests):
            request = msgspec.structs.replace(
                request,
                timeout=asked.timeout or None,
                maxfail=1 if asked.failfast else asked.maxfail,
                workers=str(asked.workers) or None,
                test_timeout=asked.test_timeout or None,
                retries=asked.retries if asked.given("retries") else None,
                last_failed=asked.last_failed,
                baseline="" if asked.baseline else None,
                repeat=asked.repeat,
                seed=asked.seed if asked.given("seed") else None,
                verbosity=asked.verbosity if asked.given("verbosity") else None,
                locals=asked.locals,
                environment=config.allowed_environment(asked.env, settings),
            )
        plan = plan_run.plan_run(request, settings, access.environ)
        return plan.with_notices(*plan.notices)

    def data(self, name: str) -> RunData:
        """From memory, else from the archive; not for a run that this server has under way."""
        return self._in_memory(name) or run_data.from_archive(self.directory(name))

    def _in_memory(self, name: str) -> RunData | None:
        run = self._known(name)
        if run is None and name == LAST:
            run = self._runs.by_id.get(self.directory(name).name)
        return run.data if run is not None else None

    def _known(self, name: str) -> ServerRun | None:
        """A run of this server, by its id or the beginning of it."""
        if name == LAST:
            alive = self._runs.under_way
            return self._runs.by_id[alive[-1]] if alive else None
        found = [run for run_id, run in self._runs.by_id.items() if run_id.startswith(name)]
        return found[0] if len(found) == 1 else None

    def directory(self, name: str) -> Folder:
        """The directory of a kept run: of this server, of one of its roots, or of a project below one."""
        run = self._known(name)
        if run is not None and run.directory is not None:
            return run.directory
        faults: list[str] = []
        newest = self._own(mistakes=False)[-1:] if name == LAST else []
        newest += self._found(name, self._roots(), faults)
        if name == LAST or not newest:
            newest += self._found(name, self._below(again=name != LAST), [])
        if newest:
            return max(newest, key=lambda folder: folder.name[:_SECOND])  # of equals the first: our own
        raise UsageError(f"run_id: {'; '.join(faults)}")

    def _found(self, name: str, projects: Iterable[_Project], faults: list[str]) -> list[Folder]:
        found = []
        for project in projects:
            try:
                found.append(find_run(name, project.root, self.access.environ, project.within))
            except UsageError as error:
                faults.append(str(error))
        return found

    def _roots(self) -> list[_Project]:
        return [_Project(root, root) for root in self.access.roots]

    def _below(self, again: bool) -> list[_Project]:
        """Projects below the roots that have runs. The search takes a while, so its result is kept."""
        if self._projects is None or again:
            environ = self.access.environ
            self._projects = [
                _Project(path, root) for root in self.access.roots for path in projects_below(root, environ)
            ]
        return self._projects

    def _own(self, mistakes: bool = True) -> list[Folder]:
        """Directories of this server's own runs, also of projects below its roots."""
        runs = [run for run in self._runs.by_id.values() if mistakes or not run.is_mistake]
        return [run.directory for run in runs if run.directory is not None]

    def kept(self, count: int) -> list[str]:
        """Ids of the newest runs."""
        of_projects = [
            folder
            for project in (*self._roots(), *self._below(again=False))
            for folder in list_runs(project.root, self.access.environ, project.within)
        ]
        return sorted({folder.name for folder in (*of_projects, *self._own())}, reverse=True)[:count]


def _budget(asked: schemas.Budgeted, settings: Settings) -> int:
    """Tokens of each half of an answer: the caller's number, else the project's, else the usual one."""
    own = 0 if asked.given("budget") else plan_run.budget(None, settings)
    return min(max(own, schemas.LEAST_BUDGET), schemas.MOST_BUDGET) if own else asked.budget


def _finished(data: RunData, asked: schemas.ExecuteTests | schemas.GetRun) -> Reply:
    return replies.finished(data, asked.detail, _budget(asked, data.settings), asked.given("budget"))


async def _answer(run: ServerRun, answer: Callable[[RunData], Reply]) -> Reply:
    """Answers about a finished run, in a thread because it may read files. Its directory stays locked."""

    def work() -> Reply:
        if run.error is not None:
            raise run.error
        data = run.data
        if data is None:
            assert run.directory is not None
            data = run_data.from_archive(run.directory)
        return answer(data)

    try:
        return await asyncio.to_thread(work)
    finally:
        run.release()
