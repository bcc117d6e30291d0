"""The protocol: calls the tools and sends their answers. The only module that imports the SDK."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeAlias

import mcp_types as types
from anyio import create_memory_object_stream, create_task_group
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from msgspec.structs import asdict

from proctor import __version__
from proctor.errors import ProctorError
from proctor.mcp_server import messages, pipes, resources
from proctor.mcp_server.access import Access
from proctor.mcp_server.calls import uri
from proctor.mcp_server.messages import Lines, Refusal, Values
from proctor.mcp_server.runs import Progress, ServerRuns
from proctor.mcp_server.schemas import TOOLS, input_schema
from proctor.mcp_server.tools import Tools
from proctor.places import user_cache
from proctor.process.preloads import Preloads
from proctor.process.warm_start import Standbys
from proctor.text import literal
from proctor.wire.literal import carried

END_SECONDS = 0.8  # for runs to end and be written when the server ends
FLUSH_SECONDS = 0.5  # for answers to be read when no more requests come
_TALK_SECONDS = 0.1  # for what stderr has yet to take when the server ends
INSTRUCTIONS = """\
proctor runs this project's tests and reports exactly what happened.
Call execute_tests after each change; name targets to go faster, or last_failed=true to repeat what failed.
Only outcome `passed` is green. `running`: poll get_run(run_id, wait=50); cancel_run ends it.
An answer names what it omits and the call that returns it; get_test returns everything about one test.
A refused call names the wrong argument; describe_project lists the possible values."""

Context: TypeAlias = ServerRequestContext[Any, Any]
Paging: TypeAlias = types.PaginatedRequestParams | None
Incoming: TypeAlias = SessionMessage | Exception  # as the SDK has it
Serve: TypeAlias = "Callable[[Server[Any]], Awaitable[None]]"


def run(access: Access, at_once: int, warm: bool, serve: Serve) -> NoReturn:
    """Serve until the client goes or a signal comes; nothing that was started outlives this process."""
    talk = pipes.Talk(sys.stderr.fileno())
    logging.basicConfig(handlers=[talk], level=logging.WARNING, format="%(message)s")
    standbys = None
    if warm:
        standbys = Standbys(Preloads(user_cache(access.environ)), logging.getLogger("proctor").warning)
    asyncio.run(_serve(access, ServerRuns(at_once, standbys), serve, talk))
    raise AssertionError("unreachable: the server ends the process")


async def _serve(access: Access, runs: ServerRuns, serve: Serve, talk: pipes.Talk) -> None:
    def leave(code: int) -> NoReturn:
        runs.end(END_SECONDS)
        talk.writer.flush(_TALK_SECONDS)
        os._exit(code)  # the thread that reads stdin cannot be asked to stop

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup and in background jobs
            signal.signal(number, lambda number, _: leave(128 + number))
    try:
        await serve(build(Tools(access, runs)))
    except BaseException:
        logging.exception("the server failed")
        leave(3)
    leave(0)


def over_http(listening: socket.socket, token: str) -> Serve:
    from proctor.mcp_server import over_http as http  # not loaded for stdio

    def serve(server: Server[Any]) -> Awaitable[None]:
        # Host and Origin are checked by our own guard; the SDK's knows the loopback only.
        app = server.streamable_http_app(streamable_http_path=http.PATH, host="")
        return http.serve(app, listening, token)

    return serve


async def over_stdio(server: Server[Any]) -> None:
    """A message is a line. What the SDK would not understand is answered here, and goes no further."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    stdin, stdout = pipes.taken(0, nothing), pipes.Writer(pipes.taken(1, 2))
    incoming, read = create_memory_object_stream[Incoming](0)
    write, outgoing = create_memory_object_stream[SessionMessage](0)

    async def receive() -> None:
        lines = Lines()
        async with incoming:
            async for piece in pipes.pieces(stdin):
                for found in lines.feed(piece):
                    await take(found)
            for found in lines.close():
                await take(found)

    async def take(found: Values | Refusal) -> None:
        message = _message(found) if not isinstance(found, Refusal) else found
        if isinstance(message, SessionMessage):
            await incoming.send(message)
            return
        if not message.ids:
            logging.warning("proctor: a message cannot be answered (%d): %s", message.code, message.why)
        for answer in message.answers():
            await stdout.send(answer)

    async def send() -> None:
        async with outgoing:
            async for message in outgoing:
                await stdout.send(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

    async with create_task_group() as tasks:
        tasks.start_soon(receive)
        tasks.start_soon(send)
        await server.run(read, write, server.create_initialization_options())
    await asyncio.to_thread(stdout.flush, FLUSH_SECONDS)


def _message(values: Values) -> SessionMessage | Refusal:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_python(values, by_name=False))
    except ValueError as error:  # a rule of the SDK that we do not know
        return messages.refused(values, str(error).splitlines()[0])


def build(tools: Tools) -> Server[Any]:
    async def list_tools(_: Context, __: Paging) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_TOOLS)

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        progress = Progress(context.session.report_progress)
        reply = await tools.call(params.name, params.arguments or {}, progress)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=literal(reply.text))],
            structured_content=carried(reply.document),
            is_error=reply.is_error,
        )

    async def list_resources(_: Context, __: Paging) -> types.ListResourcesResult:
        kept = await asyncio.to_thread(tools.kept, resources.LISTED)
        listed = [
            types.Resource(uri=uri(run_id), name=f"run {run_id}", mime_type=resources.JSON) for run_id in kept
        ]
        return types.ListResourcesResult(resources=listed)

    async def list_templates(_: Context, __: Paging) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=_TEMPLATES)

    async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        try:
            found = await asyncio.to_thread(resources.read, tools, str(params.uri))
        except ProctorError as error:
            raise MCPError(types.INVALID_PARAMS, literal(str(error))) from None
        contents = types.TextResourceContents(uri=params.uri, mime_type=found.mime_type, text=found.text)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "proctor",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )


_TOOLS = [
    types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=input_schema(tool.arguments),
        output_schema=tool.output,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only,
            destructive_hint=None if tool.reads_only else False,  # meaningless for tools that only read
            idempotent_hint=tool.idempotent or None,
            open_world_hint=False,
        ),
    )
    for tool in TOOLS
]

_TEMPLATES = [types.ResourceTemplate(**asdict(template)) for template in resources.TEMPLATES]
