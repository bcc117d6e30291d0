"""The server over streamable HTTP. Checks the sender, the content and the duration of each request."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from proctor.errors import UsageError
from proctor.mcp_server import messages
from proctor.mcp_server.messages import LONGEST, Refusal

PATH = "/mcp"
REQUEST_SECONDS = 10.0  # for a request to arrive whole
_BACKLOG = 1024  # connections that are not yet accepted
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_ONCE = frozenset(
    {
        "host",
        "origin",
        "authorization",
        "content-length",
        "transfer-encoding",
        "content-type",
        "last-event-id",
    }
)
_HEAD_ENDS = re.compile(rb"\r?\n\r?\n")
_NAME = r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?\Z"
_HOST = re.compile(_NAME, re.IGNORECASE | re.ASCII)
_ORIGIN = re.compile(rf"[a-z][a-z0-9+.-]*://{_NAME}", re.IGNORECASE | re.ASCII)

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


def listen(address: str, token: str) -> socket.socket:
    """A socket at HOST:PORT. An address that other machines can reach needs a token."""
    host, port = _parsed(address)
    if not token and not _is_local(host):
        raise UsageError(
            f"--http {address}: other machines can reach {host}, so a token is needed: set"
            " PROCTOR_MCP_TOKEN or --token-file FILE, or listen on 127.0.0.1"
        )
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(_BACKLOG)  # before its address is printed
    except OSError as error:
        raise UsageError(f"--http {address}: {error.strerror or error}") from None
    return listening


def _parsed(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise UsageError(f"invalid --http {address}: expected HOST:PORT, such as 127.0.0.1:8765")
    return host, int(port)


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def serve(app: App, listening: socket.socket, token: str) -> None:
    host, port = listening.getsockname()[:2]
    guard = Guard(app, host, token)
    shown = f"[{host}]" if ":" in host else host
    config = uvicorn.Config(
        guard,
        http=Connection,
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=1,
        server_header=False,
    )
    print(f"proctor: serving http://{shown}:{port}{PATH}", file=sys.stderr, flush=True)
    await _Uvicorn(config).serve(sockets=[listening])


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the server, which ends its runs first."""
        yield


class Connection(H11Protocol):
    """Closes a connection whose next request has not arrived whole in time, however it trickles in, and one
    whose headers two readers could understand in two ways."""

    seconds = REQUEST_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unwatch()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        doubled = _doubled(self.conn.trailing_data[0]) if self.conn.their_state is h11.IDLE else ""
        if doubled:
            self.send_400_response(f"{doubled}: given twice")
        else:
            super().handle_events()

    def _watch(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._unwatch()
        elif self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self._give_up)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        begun = self.conn.their_state is h11.SEND_BODY or bool(self.conn.trailing_data[0])
        if begun and self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(
                b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            )
        self.transport.close()


def _doubled(received: bytes) -> str:
    """Of headers as they arrived: two equal ones a parser would make one."""
    end = _HEAD_ENDS.search(received)
    if end is None:
        return ""
    return _twice(line.partition(b":")[0].strip() for line in received[: end.start()].splitlines()[1:])


def _twice(names: Iterable[bytes]) -> str:
    """The first header that may be given only once and is there twice."""
    seen: set[str] = set()
    for raw in names:
        name = raw.decode("ascii", "replace").lower()
        if name in seen and (name in _ONCE or name.startswith("mcp-")):
            return name
        seen.add(name)
    return ""


class Guard:
    """Refuses requests without the token, for another host name, from pages of other sites, and messages that
    are none."""

    def __init__(self, app: App, host: str, token: str) -> None:
        self._app, self._token = app, token.encode()
        self._local = _is_local(host)
        self._names = {*_LOCAL_NAMES, host.lower(), *(() if self._local else (socket.gethostname().lower(),))}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if refused := self._refusal(scope):
            await _answer(send, *refused)
            return
        if scope["method"] == "POST":
            body = await _body(receive)
            if body is None:
                return  # the client is gone
            if len(body) > LONGEST:
                await _answer(send, 413, f"longer than {LONGEST} bytes")
                return
            found = messages.read(body)
            if isinstance(found, Refusal):
                await _answer(send, 400, _refused(found), b"application/json")
                return
            receive = _again(body, receive)
        await self._app(scope, receive, send)

    def _refusal(self, scope: Message) -> tuple[int, str] | None:
        if doubled := _twice(name for name, _ in scope["headers"]):  # behind a request that was refused early
            return 400, f"{doubled}: given twice"
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if not scope["path"].startswith("/"):
            return 400, "the target is not a path"
        if b"content-length" in headers and b"transfer-encoding" in headers:
            return 400, "Content-Length and Transfer-Encoding: expected one of them"
        host = _name(_HOST, headers.get(b"host", b""))
        if not self._is_ours(host):
            return 421, "Host: this server has no such name"
        origin = headers.get(b"origin")
        if origin is not None and _name(_ORIGIN, origin) not in (_LOCAL_NAMES if self._local else {host}):
            return 403, "Origin: requests from pages of other sites are refused"
        given = headers.get(b"authorization", b"")
        scheme, _, token = given.partition(b" ")
        if self._token and not (scheme.lower() == b"bearer" and hmac.compare_digest(token, self._token)):
            return 401, "Authorization: expected Bearer TOKEN"
        return None

    def _is_ours(self, host: str) -> bool:
        """A number is safe: other sites can direct a browser here only by a name of theirs."""
        if host in self._names:
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return not self._local


def _name(pattern: re.Pattern[str], value: bytes) -> str:
    """The host in a header; empty if there is anything else, such as the name of a user."""
    found = pattern.match(value.decode("ascii", "replace"))
    return found.group(1).strip("[]").lower() if found else ""


async def _answer(send: Send, status: int, text: str, kind: bytes = b"text/plain") -> None:
    headers = [(b"content-type", kind)]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status in (400, 413):
        headers.append((b"connection", b"close"))  # the rest of it, if there is any, is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def _refused(found: Refusal) -> str:
    """As JSON-RPC has it: one answer, or a list of them; without an id that is null."""
    answers = [answer.decode() for answer in found.answers()]
    if not answers:
        answers = [answer.decode() for answer in Refusal(found.code, found.why, ("null",)).answers()]
    return answers[0] if len(answers) == 1 else f"[{','.join(answers)}]"


async def _body(receive: Receive) -> bytes | None:
    """All of it, or a little more than is allowed; None: it broke off."""
    pieces: list[bytes] = []
    size = 0
    while size <= LONGEST:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        piece: bytes = message.get("body", b"")
        pieces.append(piece)
        size += len(piece)
        if not message.get("more_body", False):
            break
    return b"".join(pieces)


def _again(body: bytes, receive: Receive) -> Receive:
    """Receives a body that was read already, and then what follows."""
    pending = [body]

    async def receive_again() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return receive_again
