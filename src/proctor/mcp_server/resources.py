"""Whole documents and outputs of kept runs, by URI: `proctor://runs/ID/result.json` and others."""

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
    uri_template: str
    name: str
    description: str
    mime_type: str


TEMPLATES = (
    Template("proctor://runs/{id}/result.json", "result", "The whole result document of a run", JSON),
    Template("proctor://runs/{id}/output.txt", "output", "The output of its processes", TEXT),
    Template("proctor://runs/{id}/tests/{n}", "test", "One test, by its index in `tests`", JSON),
)


class Resource(msgspec.Struct, frozen=True):
    mime_type: str
    text: str


def read(tools: Tools, uri: str) -> Resource:
    """Raises a UsageError if there is no such resource."""
    found = _ADDRESS.match(uri)
    if found is None:
        known = ", ".join(template.uri_template for template in TEMPLATES)
        raise UsageError(f"no resource {uri[:200]!r}; known: {known}")
    run_id, part, number = found.groups()
    data = tools.data(run_id)
    if part == OUTPUT_FILE:
        text = loader(data.directory)(OUTPUT_FILE)
        return Resource(TEXT, masked(text) if data.mask else text)
    if part == RESULT_FILE:
        return Resource(JSON, encode(data.whole()).decode())
    tests = data.document.tests
    if int(number) >= len(tests):
        raise UsageError(f"run {data.run_id} has {len(tests)} tests, and none has the number {number}")
    test = tests[int(number)]
    below = [other for other in tests if other.node_id.startswith(f"{test.node_id}/")]
    whole = {"test": test, "captured": captured(data.document, test.node_id), "results_below": below}
    return Resource(JSON, encode({"run_id": data.run_id, **plain(whole, data.mask)}).decode())
