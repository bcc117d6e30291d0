"""Whole texts of runs that are kept, by address: `proctor://runs/ID/result.json` and its neighbours."""

from __future__ import annotations

import re

import msgspec

from proctor.archive.recording import loader
from proctor.archive.store import OUTPUT_FILE, RESULT_FILE
from proctor.errors import UsageError
from proctor.mcp_server.one_test import captured
from proctor.mcp_server.tools import Tools
from proctor.render.masking import plain
from proctor.render.secrets import masked
from proctor.wire.literal import encode

LISTED = 10  # runs
JSON, TEXT = "application/json", "text/plain"
_ADDRESS = re.compile(r"proctor://runs/([0-9a-z-]{1,22})/(result\.json|output\.txt|tests/([0-9]{1,9}))\Z")


class Template(msgspec.Struct, frozen=True):
    uri: str
    name: str
    description: str
    media_type: str


TEMPLATES = (
    Template("proctor://runs/{id}/result.json", "result", "The whole result document of a run", JSON),
    Template("proctor://runs/{id}/output.txt", "output", "What its processes wrote", TEXT),
    Template("proctor://runs/{id}/tests/{n}", "test", "One test, by its place in `tests`", JSON),
)


class Resource(msgspec.Struct, frozen=True):
    media_type: str
    text: str


def read(tools: Tools, uri: str) -> Resource:
    """Raises a UsageError for what is not there."""
    found = _ADDRESS.match(uri)
    if found is None:
        known = ", ".join(template.uri for template in TEMPLATES)
        raise UsageError(f"no resource {uri[:200]!r}; known: {known}")
    run_id, part, number = found.groups()
    record = tools.record(run_id)
    if part == OUTPUT_FILE:
        text = loader(record.directory)(OUTPUT_FILE)
        return Resource(TEXT, masked(text) if record.mask else text)
    if part == RESULT_FILE:
        return Resource(JSON, encode(record.whole()).decode())
    tests = record.document.tests
    if int(number) >= len(tests):
        raise UsageError(f"run {record.run_id} has {len(tests)} tests; {number} is none of them")
    test = tests[int(number)]
    whole = {"test": test, "captured": captured(record.document, test.node_id)}
    return Resource(JSON, encode({"run_id": record.run_id, **plain(whole, record.mask)}).decode())
