"""The server over streamable HTTP: who may connect, from where, and by which name they call us."""

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
_WAITING = 1024  # connections that nobody has looked at yet
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Message, Receive, Send], Awaitable[None]]


def listen(address: str, token: str) -> socket.socket:
    """A socket at HOST:PORT. Whoever can be reached from elsewhere needs a token."""
    host, port = _parsed(address)
    if not token and not _is_local(host):
        raise UsageError(
            f"--http {address}: others can reach {host}, so a token is needed; PROCTOR_MCP_TOKEN or"
            " --token-file FILE gives one, or 127.0.0.1 does without"
        )
    try:
        family, kind, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(_WAITING)  # whoever reads our first line can connect
    except OSError as error:
        raise UsageError(f"--http {address}: {error.strerror or error}") from None
    return listening


def _parsed(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not (port.isascii() and port.isdigit() and int(port) < 65536):
        raise UsageError(f"--http {address}: HOST:PORT would do, such as 127.0.0.1:8765")
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
        """They are ours: a run has to be ended before we go."""
        yield


class Guard:
    """Lets a request pass that has the token, calls us by a name of ours, and comes from no other site."""

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
            return 421, "this server is not known by that name: Host"
        origin = headers.get(b"origin")
        if origin is not None and _name(origin) not in (_LOCAL_NAMES if self._local else {host}):
            return 403, "pages of other sites have no business here: Origin"
        given = headers.get(b"authorization", b"")
        scheme, _, token = given.partition(b" ")
        if self._token and not (scheme.lower() == b"bearer" and hmac.compare_digest(token, self._token)):
            return 401, "a token is needed: Authorization: Bearer TOKEN"
        return None

    def _is_ours(self, host: str) -> bool:
        """Other sites can lead a browser to us only by a name of theirs, never by a number."""
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
