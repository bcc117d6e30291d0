"""Many runs through one MCP server, several at a time, while runs are cancelled and processes are killed.

Every answer must be true of what was done, and once all runs of a batch have ended the server must be what
it was before: the same descriptors and threads, no child, no temporary file, and no more memory.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from mcp import Client
from mcp_types import CallToolResult
from soak.errands import Errand, errands
from soak.kinds import BEGUN, CROWDED, KEPT, write_projects
from soak.levels import MIB, Levels, children, described, descriptors, growth, left_in, levels, with_argument
from support.mcp_client import server_pid, stdio, text_of
from support.projects import GUARD, processes_with

from proctor.archive.store import RUN_FILE, RunHead, list_runs, read_head
from proctor.process.tagged import TAG_VARIABLE, tagged

MARK = "SOAK_MARK"
BATCHES = 20  # after each of which the server is looked at
LOOK = 0.03  # seconds between two looks at something
#: What is free goes back to the system at once, so that RSS is what the server holds on to. Left to itself,
#: glibc keeps a heap for each of many threads, and RSS goes up and down by a quarter.
PLAIN_MALLOC = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}


class Soak:
    """One server and what is seen of it."""

    def __init__(self, client: Client, server: int, mark: str, root: Path, temporary: Path) -> None:
        self._client, self._server, self._mark = client, server, mark
        self._root, self._temporary = root, temporary
        self.faults: list[str] = []
        self.ends: Counter[str] = Counter()

    async def run(self, errand: Errand) -> None:
        try:
            await asyncio.wait_for(self._run(errand), GUARD)
        except Exception as error:  # noqa: BLE001  the others go on; nothing is forgotten
            self.faults.append(f"{errand}: {type(error).__name__}: {error}")

    async def _run(self, errand: Errand) -> None:
        match errand.deed:
            case "wait" | "limit":
                result = await self._call("execute_tests", **errand.arguments, wait=GUARD)
            case "full":
                result = await self._call("execute_tests", **errand.arguments, wait=GUARD, detail="full")
            case "discover":
                await self._discover(errand)
                return
            case "take_back":
                await self._take_back(errand)
                return
            case _:
                result = await self._begin_and_disturb(errand)
        self._judge(errand, result)

    async def _call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        return await self._client.call_tool(tool, arguments)

    async def _discover(self, errand: Errand) -> None:
        named = {name: errand.arguments[name] for name in ("project", "targets")}
        found = (await self._call("discover_tests", **named)).structured_content
        self._expect(errand, found["total"] == errand.kind.tests, f"{found['total']} tests were found")
        self.ends["discovered"] += 1

    async def _begin_and_disturb(self, errand: Errand) -> CallToolResult:
        wait = errand.wait if errand.deed == "poll" else 0
        while (result := await self._call("execute_tests", **errand.arguments, wait=wait)).is_error:
            if "try again later" not in text_of(result):  # a run that was taken back may not have ended yet
                return result
            await asyncio.sleep(LOOK)
        run_id = result.structured_content["run_id"]
        if errand.deed != "poll":
            note = await self._moment(errand, run_id)
            if errand.deed == "cancel":
                cancelled = await self._call("cancel_run", run_id=run_id)
                if not cancelled.is_error:
                    return cancelled
                assert "is not a run under way" in text_of(cancelled), text_of(cancelled)
            else:
                self._kill(errand, run_id, note)
        while not result.is_error and result.structured_content["outcome"] == "running":
            result = await self._call("get_run", run_id=run_id, wait=errand.wait)
        return result

    async def _moment(self, errand: Errand, run_id: str) -> dict[str, int]:
        """For the deed: once the test waits for it, or at any time if it waits for nobody."""
        if errand.kind.alone:
            await asyncio.sleep(errand.delay)
            return {}
        path = self._root / "begun" / f"{run_id}-1"
        await self._until(path.exists, "the test never began")
        return json.loads(path.read_text())

    def _kill(self, errand: Errand, run_id: str, note: dict[str, int]) -> None:
        ours = set(tagged(f"{run_id}-1"))
        supervisors = ours & set(children(self._server))
        if errand.deed == "kill_supervisor":
            victims, number = supervisors, signal.SIGKILL
        elif errand.deed == "kill_child":
            victims, number = {note["child"]}, signal.SIGKILL
        elif note:
            victims, number = {note["test"]}, errand.signal
        else:
            tests = {child for supervisor in supervisors for child in children(supervisor)}
            victims, number = tests & ours, errand.signal
        for victim in victims:
            with suppress(ProcessLookupError):
                os.kill(victim, number)

    async def _take_back(self, errand: Errand) -> None:
        """The client no longer wants it; whoever asks for nothing gets no answer, so look at the disk."""
        call = asyncio.create_task(self._call("execute_tests", **errand.arguments, wait=GUARD))
        if errand.kind.alone:
            await asyncio.sleep(errand.delay)
        else:
            await self._until(lambda: self._has_begun(errand) or call.done(), "the test never began")
        if call.done():
            self._judge(errand, call.result())
            return
        call.cancel()
        with suppress(asyncio.CancelledError):
            await call
        await self._until(lambda: not with_argument(errand.token), "its processes live on")
        while (outcome := self._outcome(errand)) == "running":
            await asyncio.sleep(LOOK)
        # None if it was taken back before it began, or has been removed since.
        self._expect(errand, outcome is None or outcome in errand.ends, f"{outcome} is on record")
        self.ends[f"taken back: {outcome or 'not on record'}"] += 1

    def _has_begun(self, errand: Errand) -> bool:
        head = self._head(errand)
        return head is not None and (self._root / "begun" / f"{head.run_id}-1").exists()

    def _outcome(self, errand: Errand) -> str | None:
        head = self._head(errand)
        return head.outcome if head is not None else None

    def _head(self, errand: Errand) -> RunHead | None:
        heads = (read_head(path) for path in list_runs(self._root / errand.project, {}))
        return next((head for head in heads if head is not None and errand.token in str(head.command)), None)

    def _judge(self, errand: Errand, result: CallToolResult) -> None:
        if result.is_error:
            self._expect(errand, False, f"refused: {text_of(result)}")
            return
        answer = result.structured_content
        outcome, summary = answer["outcome"], answer["summary"]
        self.ends[outcome] += 1
        self._expect(errand, outcome in errand.ends, f"{outcome}, {answer.get('reason')}: {text_of(result)}")
        if outcome == errand.kind.alone != errand.done:
            found = (summary["passed"], summary["failed"])
            due = (errand.kind.passed, errand.kind.failed)
            self._expect(errand, found == due, f"{outcome} with {summary}: {text_of(result)}")
        green = re.match(r"\d+ passed\b", text_of(result)) is not None
        self._expect(errand, green == (outcome == "passed"), f"{outcome}, in other words: {text_of(result)}")
        alive = processes_with(TAG_VARIABLE, f"{answer['run_id']}-1")
        self._expect(errand, not alive, f"{alive} are alive after its end")

    def _expect(self, errand: Errand, true: bool, otherwise: str) -> None:
        if not true:
            self.faults.append(f"{errand}: {otherwise}")

    async def _until(self, true: Callable[[], bool], otherwise: str) -> None:
        deadline = time.monotonic() + GUARD / 2
        while not true():
            if time.monotonic() > deadline:
                raise TimeoutError(otherwise)
            await asyncio.sleep(LOOK)

    async def warm_up(self, parallel: int) -> None:
        """Until there is every thread that a server keeps for later."""
        for _ in range(3):
            asking = (self._call("describe_project", project=CROWDED) for _ in range(8 * parallel))
            await asyncio.gather(*asking)

    async def at_rest(self, usual: Levels | None) -> Levels:
        """What there is once everything has ended."""
        try:
            await self._until(lambda: self._alive() == [], "")
        except TimeoutError:
            self.faults.append(f"alive, though all runs have ended: {list(map(described, self._alive()))}")
        for _ in range(int(GUARD / 4 / LOOK)):  # for threads to notice that there is nothing to do
            found = levels(self._server, self._temporary, self._kept())
            if usual is None or (found.descriptors, found.threads) == (usual.descriptors, usual.threads):
                break
            await asyncio.sleep(LOOK)
        return found

    def _alive(self) -> list[int]:
        return [pid for pid in processes_with(MARK, self._mark) if pid != self._server]

    def _kept(self) -> int:
        return sum(1 for name in KEPT for _ in list_runs(self._root / name, {}))

    def _without_end(self) -> list[str]:
        """Runs on disk that say they are not over, though they are."""
        files = [run.path / RUN_FILE for name in KEPT for run in list_runs(self._root / name, {})]
        return [text for file in files if "outcome" not in json.loads(text := file.read_text())]

    def compare(self, found: Levels, usual: Levels, parallel: int) -> None:
        for name in ("descriptors", "threads", "children", "temporary"):
            now, before = getattr(found, name), getattr(usual, name)
            if now != before:
                self.faults.append(f"{name}: {now}, and {before} in the beginning{self._which(name)}")
        most = sum(KEPT.values()) + parallel
        if found.runs > most:
            self.faults.append(f"{found.runs} runs are on disk; at most {most} should be")
        self.faults += [f"a run without an end is on disk: {head}" for head in self._without_end()]

    def _which(self, name: str) -> str:
        if name == "descriptors":
            return f": {sorted(descriptors(self._server))}"
        return f": {left_in(self._temporary)}" if name == "temporary" else ""


@asynccontextmanager
async def soaking(home: Path, parallel: int) -> AsyncIterator[Soak]:
    mark = uuid.uuid4().hex
    root, temporary = home / "root", home / "temporary"
    for folder in (root / "begun", temporary, home / "pytest"):
        folder.mkdir(parents=True)
    write_projects(root)
    environ: dict[str, Any] = {
        MARK: mark,
        BEGUN: str(root / "begun"),
        "TMPDIR": str(temporary),
        "PYTEST_DEBUG_TEMPROOT": str(home / "pytest"),  # whose files are no business of ours
        "XDG_CACHE_HOME": str(home / "cache"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **PLAIN_MALLOC,
    }
    async with Client(stdio(root, "--no-warm", "--max-runs", str(parallel), **environ)) as client:
        yield Soak(client, server_pid(MARK, mark), mark, root, temporary)


async def soak(
    home: Path, runs: int, parallel: int, seed: int, tolerance: int, tell: Callable[[str], None]
) -> list[str]:
    """What was not as it should be. By `tolerance` bytes RSS may grow from the second quarter to the last."""
    tell(f"seed {seed}: {runs} runs, {parallel} at a time")
    work = errands(runs, random.Random(seed))
    size = -(-runs // min(BATCHES, max(4, runs // 10)))
    async with soaking(home, parallel) as one:
        await one.warm_up(parallel)
        usual = await one.at_rest(None)
        tell(f"before: {usual}")
        seen, told = [], 0
        for start in range(0, runs, size):
            await _together([one.run(errand) for errand in work[start : start + size]], parallel)
            found = await one.at_rest(usual)
            one.compare(found, usual, parallel)
            seen.append(found)
            tell(f"{min(start + size, runs)} runs: {found}")
            for fault in one.faults[told:]:
                tell(f"FAULT {fault}")
            told = len(one.faults)
        grown = growth([found.memory for found in seen])
        tell(f"ends: {dict(one.ends.most_common())}")
        tell(f"RSS grew by {grown / MIB:.1f} MiB from the second to the last quarter")
        if grown > tolerance:
            one.faults.append(f"RSS grew by {grown / MIB:.1f} MiB; {tolerance / MIB:g} may be")
            tell(f"FAULT {one.faults[-1]}")
        return one.faults


async def _together(work: Sequence[Any], parallel: int) -> None:
    """So many at a time; as soon as one has ended, the next begins."""
    free = asyncio.Semaphore(parallel)

    async def one(task: Any) -> None:
        async with free:
            await task

    await asyncio.gather(*map(one, work))
