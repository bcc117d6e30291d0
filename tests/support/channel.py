"""The reading end of a control channel: what programs write is decoded as proctor would, in pieces."""

from __future__ import annotations

import os
import socket
import threading
from itertools import cycle
from typing import Any

from proctor.wire.control.decoder import Broken, ControlDecoder, FileChunk, FileOpened, Frame
from proctor.wire.control.ledger import Finished, Ledger, Partial

SIZES = (1, 7, 100, 5000, 65536)  # of the reads
VARIABLES = ("PROCTOR_CONTROL_FD", "PROCTOR_CONTROL", "ATEX_TEST_CONTROL")


class Listener:
    """Give `writer` to programs; `finish` closes ours, waits for theirs, and says what was heard."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader, self.writer = reader, writer
        self.frames: list[Frame] = []
        self._decoder = ControlDecoder(Ledger())
        self._thread: threading.Thread | None = None

    @classmethod
    def on_a_pipe(cls) -> Listener:
        return cls(*os.pipe())

    @classmethod
    def on_a_socket(cls) -> Listener:
        ours, theirs = socket.socketpair()
        return cls(ours.detach(), theirs.detach())

    @property
    def environment(self) -> dict[str, str]:
        return {"PROCTOR_CONTROL_FD": str(self.writer)}

    def listen(self) -> Listener:
        """Read from now on."""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def take(self, size: int) -> None:
        """Read that much and no more, as a proctor that is slow would."""
        while size:
            data = os.read(self.reader, size)
            assert data, "the channel ended"
            self.frames += self._decoder.feed(data)
            size -= len(data)

    def _read(self) -> None:
        for size in cycle(SIZES):
            data = os.read(self.reader, size)
            if not data:
                break
            self.frames += self._decoder.feed(data)
        os.close(self.reader)

    def finish(self) -> Listener:
        if self._thread is None:
            self.listen()
        assert self._thread is not None
        os.close(self.writer)
        self._thread.join()
        self.frames += self._decoder.close()
        return self

    @property
    def error(self) -> str | None:
        return next((str(frame.error) for frame in self.frames if isinstance(frame, Broken)), None)

    @property
    def results(self) -> list[dict[str, Any]]:
        """Every message as it came in, finished or partial; an error of the channel is one of the test."""
        assert self.error is None, self.error
        return [frame.body for frame in self.frames if isinstance(frame, (Partial, Finished))]

    @property
    def files(self) -> dict[tuple[str | None, str], bytes]:
        chunks: dict[tuple[str | None, str], list[bytes]] = {}
        current: list[bytes] = []
        for frame in self.frames:
            if isinstance(frame, FileOpened):
                current = chunks[frame.result, frame.name] = []
            elif isinstance(frame, FileChunk):
                current.append(frame.data)
        return {key: b"".join(parts) for key, parts in chunks.items()}
