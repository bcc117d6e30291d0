"""A real client of the SDK, talking to a real `proctor mcp` process, for tests that are plain functions."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from support.projects import GUARD, clean_environment, command, processes_with, project_python

Value = TypeVar("Value")


class Talk:
    """A client in a thread of its own."""

    def __init__(self, server: Any, mode: str) -> None:
        self._server, self._mode = server, mode
        self._ready: Future[None] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._live()), daemon=True)
        self._thread.start()
        self._ready.result(GUARD)

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        try:
            async with Client(self._server, mode=self._mode) as self.client:
                self._ready.set_result(None)
                await self._over.wait()
        except BaseException as error:  # noqa: BLE001  whoever waits for it should hear of it
            if not self._ready.done():
                self._ready.set_exception(error)

    def begin(self, what: Coroutine[Any, Any, Value]) -> Future[Value]:
        return asyncio.run_coroutine_threadsafe(what, self._loop)

    def do(self, what: Coroutine[Any, Any, Value]) -> Value:
        return self.begin(what).result(GUARD)

    def call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        return self.do(self.client.call_tool(tool, arguments))

    def document(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        result = self.call(tool, **arguments)
        assert not result.is_error, text_of(result)
        return result.structured_content

    def refusal(self, tool: str, /, **arguments: Any) -> str:
        result = self.call(tool, **arguments)
        assert result.is_error, result.structured_content
        assert result.structured_content is None
        return text_of(result)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(GUARD)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + GUARD
    while not true():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.03)  # a look through all processes costs milliseconds


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    return block.text


def stdio(root: Path, *options: str, without_python: bool = False, **environ: str) -> StdioServerParameters:
    """`proctor mcp` for that project, with the pytest of all projects unless the options name another."""
    python = () if without_python or "--python" in options else ("--python", project_python())
    first, *rest = command("mcp", "--root", str(root), *python, *options)
    return StdioServerParameters(command=first, args=rest, env=clean_environment(**environ), cwd=str(root))


@contextmanager
def talk(
    root: Path, *options: str, mode: str = "auto", without_python: bool = False, **environ: str
) -> Iterator[Talk]:
    talking = Talk(stdio(root, *options, without_python=without_python, **environ), mode)
    try:
        yield talking
    finally:
        talking.close()


def server_pid(variable: str, value: str) -> int:
    """The server among the processes of a test: the first that was started."""
    return min(processes_with(variable, value), key=lambda pid: os.stat(f"/proc/{pid}").st_ctime_ns)
