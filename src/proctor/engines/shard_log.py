"""The log of a shard, on the worker that runs it: kept whole for the answer, sent in batches for display."""

from __future__ import annotations

import base64
import time
import zlib

import msgspec

from proctor.engines.host import Host
from proctor.events import Entry, Noticed, OutputReceived, RunStarted
from proctor.result import RunResult
from proctor.wire.stream import log

OUTPUT_LIMIT = 64 << 20  # characters of output that an answer has
_BATCH = (0.25, 200)  # seconds and lines after which live events are sent
_LEFT_OUT = "its output is longer than {:,} characters: the rest is left out"


class ShardLog:
    """A sink. `pack` returns what it has kept."""

    name = "the log of a shard"

    def __init__(self, attempt: str, host: Host, output_limit: int = OUTPUT_LIMIT) -> None:
        self._attempt, self._host = attempt, host
        self._packer = zlib.compressobj(1)
        self._packed: list[bytes] = []
        self._unsent: list[bytes] = []
        self._at, self._sends = time.monotonic(), True
        self._limit, self._output, self._is_cut = output_limit, 0, False

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if isinstance(entry.event, OutputReceived) and self._is_too_long(entry.event):
            if self._is_cut:
                return
            self._is_cut = True
            entry = msgspec.structs.replace(entry, event=Noticed(_LEFT_OUT.format(self._limit)))
        line = log.encode(entry, so_far)
        self._packed.append(self._packer.compress(line))
        if self._sends:
            self._unsent.append(line)
            if len(self._unsent) >= _BATCH[1] or isinstance(entry.event, RunStarted):
                self._send()  # the first event shows that the shard has begun

    def tick(self, now: float, so_far: RunResult) -> None:
        del now, so_far
        if self._unsent and time.monotonic() - self._at >= _BATCH[0]:
            self._send()

    def pack(self) -> str:
        """The whole log, once the run is over."""
        return base64.b64encode(b"".join([*self._packed, self._packer.flush()])).decode()

    def _is_too_long(self, event: OutputReceived) -> bool:
        """A test may write without end; results are always whole."""
        self._output += len(event.text)
        return self._output > self._limit

    def _send(self) -> None:
        lines, self._at = b"".join(self._unsent).decode(), time.monotonic()
        self._unsent.clear()
        try:
            self._host.send(self._attempt, lines)
        except Exception:  # noqa: BLE001  they are for display: the answer has all of them
            self._sends = False


def unpack(packed: str) -> bytes:
    return zlib.decompress(base64.b64decode(packed))
