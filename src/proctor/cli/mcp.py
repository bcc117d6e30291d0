"""`proctor mcp`: serve proctor's tools to agents."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from proctor.cli import options
from proctor.errors import UsageError


def main(arguments: list[str]) -> int:
    parsed = _parser().parse_args(arguments)
    if parsed.max_runs < 1:
        raise UsageError(f"--max-runs is {parsed.max_runs}; it must be at least 1")
    roots = [options.project(root) for root in parsed.roots or ["."]]
    pythons = [os.path.abspath(path) if os.sep in path else path for path in parsed.pythons]
    if find_spec("mcp") is None:
        raise UsageError("the MCP server needs its SDK; `pip install 'proctor[mcp]'` brings it")
    return _serve(roots, pythons, parsed.max_runs)


def _parser() -> options.Parser:
    parser = options.Parser("proctor mcp", description="Serve proctor's tools to agents, over stdio.")
    parser.add_argument(
        "--root",
        dest="roots",
        action="append",
        default=[],
        metavar="DIR",
        help="a project that may be tested, with all below it (here); repeatable",
    )
    parser.add_argument(
        "--python",
        dest="pythons",
        action="append",
        default=[],
        metavar="PATH",
        help="an interpreter that calls may name; the first is used unless they do; repeatable",
    )
    parser.add_argument(
        "--max-runs", type=int, default=4, metavar="N", help="runs at a time (4); further ones wait"
    )
    return parser


def _serve(roots: list[Path], pythons: list[str], at_once: int) -> int:
    from proctor.mcp_server import server
    from proctor.mcp_server.places import Places

    server.run(Places(roots, pythons, os.environ), at_once)
