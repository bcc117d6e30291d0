"""The server over streamable HTTP. Checks the token, `Host` and `Origin` of every request."""

from __future__ import annotations

import hmac
import ipaddress
import socket
import sys
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import uvicorn

from proctor.errors import UsageError

PATH = "/mcp"
_BACKLOG = 1024  # connections that are not yet accepted
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

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
        guard, log_config=None, access_log=False, ws="none", timeout_graceful_shutdown=1, server_header=False
    )
    print(f"proctor: serving http://{shown}:{port}{PATH}", file=sys.stderr, flush=True)
    await _Uvicorn(config).serve(sockets=[listening])


class _Uvicorn(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the server, which ends its runs first."""
        yield


class Guard:
    """Refuses requests without the token, for another host name, or from pages of other sites."""

    def __init__(self, app: App, host: str, token: str) -> None:
        self._app, self._token = app, token.encode()
        self._local = _is_local(host)
        self._names = {*_LOCAL_NAMES, host.lower(), *(() if self._local else (socket.gethostname().lower(),))}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        refused = self._refusal(scope) if scope["type"] == "http" else None
        if refused is None:
            await self._app(scope, receive, send)
            return
        status, why = refused
        headers = [(b"content-type", b"text/plain")]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": why.encode()})

    def _refusal(self, scope: Message) -> tuple[int, str] | None:
        headers: dict[bytes, bytes] = dict(scope["headers"])
        host = _name(b"//" + headers.get(b"host", b""))
        if not self._is_ours(host):
            return 421, "Host: this server has no such name"
        origin = headers.get(b"origin")
        if origin is not None and _name(origin) not in (_LOCAL_NAMES if self._local else {host}):
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


def _name(url: bytes) -> str:
    try:
        return urlsplit(url.decode("ascii", "replace")).hostname or ""
    except ValueError:
        return ""
