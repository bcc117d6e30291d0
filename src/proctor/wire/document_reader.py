"""The result document, read back. Tolerant: words and fields that this version does not know do no harm."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor import events as e
from proctor.errors import StreamError
from proctor.wire import document
from proctor.wire.json_report import Load

RUNNING = "running"


class KeptTest(msgspec.Struct, omit_defaults=True, kw_only=True):
    """One test as it is on record. `outcome` is that of the document, or `running`."""

    node_id: str
    outcome: str
    duration: float
    message: str | None
    traceback: str | None
    place: e.Place | None = None
    failure: e.Failure | None = None
    files: tuple[e.File, ...] = ()
    testout: e.OutputLink | None = None
    properties: dict[str, Any] | None = None
    subtests: tuple[dict[str, Any], ...] = ()
    part_of: str = ""


class KeptDocument(msgspec.Struct):
    run_id: str
    outcome: str
    tests: list[KeptTest] = []
    not_run: list[str] = []


_decode = msgspec.json.Decoder(KeptDocument).decode


def read(raw: bytes) -> KeptDocument:
    try:
        return _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StreamError(f"not a result document: {error}") from None


def kept_test(event: e.TestFinished, load: Load) -> KeptTest:
    """A test of the event log, as the document would have it."""
    return msgspec.convert(document.test(event, load), KeptTest, from_attributes=True)


def without_result(test: str, outcome: str, files: tuple[e.File, ...] = ()) -> KeptTest:
    """A test that has not ended, or has never begun."""
    return KeptTest(node_id=test, outcome=outcome, duration=0.0, message=None, traceback=None, files=files)
