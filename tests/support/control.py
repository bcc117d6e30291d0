"""A control decoder that is fed in pieces of any size."""

from __future__ import annotations

from proctor.wire.control.decoder import ControlDecoder, Frame
from proctor.wire.control.ledger import Ledger, Limits
from support.pieces import pieces


def decode(data: bytes, size: int = 0, limits: Limits | None = None) -> tuple[list[Frame], ControlDecoder]:
    decoder = ControlDecoder(Ledger(limits))
    frames = [frame for piece in pieces(data, size) for frame in decoder.feed(piece)]
    return frames + decoder.close(), decoder
