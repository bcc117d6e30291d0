"""The DevTools protocol over two pipes: JSON messages that end with NUL. Knows no page and no browser."""

from __future__ import annotations

import json
import os
import select
import time
from collections import deque
from collections.abc import Callable
from typing import Any

GUARD = 60.0  # seconds: only against hanging
_PIECE = 1 << 16
Message = dict[str, Any]


class DevToolsError(Exception):
    """The browser refuses a command, is gone, or takes too long."""


class Connection:
    """Commands and their answers, one at a time. Events on the way go to the listener of their session."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._last = 0
        self._rest = b""
        self._waiting: deque[Message] = deque()
        self._listeners: dict[str, Callable[[Message], None]] = {}

    def listen(self, session: str, listener: Callable[[Message], None]) -> None:
        self._listeners[session] = listener

    def forget(self, session: str) -> None:
        self._listeners.pop(session, None)

    def call(self, method: str, session: str = "", guard: float = GUARD, **params: Any) -> Message:
        """The result of a command."""
        self._last += 1
        number = self._last
        message: Message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._write(json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + guard
        while True:
            found = self._next(deadline, method)
            if found.get("id") == number:
                if "error" in found:
                    raise DevToolsError(f"{method}: {found['error']['message']}")
                result: Message = found["result"]
                return result

    def wait_until(self, happened: Callable[[], bool], what: str, guard: float = GUARD) -> None:
        """Hear events until one of them has made this true."""
        deadline = time.monotonic() + guard
        while not happened():
            self._next(deadline, what)

    def close(self) -> None:
        os.close(self._commands)
        os.close(self._answers)

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._commands, data) :]
        except BrokenPipeError:
            raise DevToolsError("the browser has ended") from None

    def _next(self, deadline: float, what: str) -> Message:
        """The next message; events are told to their listener first."""
        while not self._waiting:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._answers], [], [], left)[0]:
                raise DevToolsError(f"{what}: the browser took too long")
            data = os.read(self._answers, _PIECE)
            if not data:
                raise DevToolsError(f"{what}: the browser has ended")
            *whole, self._rest = (self._rest + data).split(b"\0")
            self._waiting += map(json.loads, whole)
        message = self._waiting.popleft()
        listener = self._listeners.get(message.get("sessionId", ""))
        if "method" in message and listener:
            listener(message)
        return message
