"""`proctor mcp`: serve proctor's tools to agents."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from proctor.cli import options
from proctor.errors import UsageError

TOKEN_VARIABLE = "PROCTOR_MCP_TOKEN"


def main(arguments: list[str]) -> int:
    parsed = _parser().parse_args(arguments)
    if parsed.max_runs < 1:
        raise UsageError(f"--max-runs is {parsed.max_runs}; it must be at least 1")
    roots = [options.project(root) for root in parsed.roots or ["."]]
    pythons = [os.path.abspath(path) if os.sep in path else path for path in parsed.pythons]
    if parsed.client:
        return _print_configuration(parsed, roots, pythons)
    if find_spec("mcp") is None:
        raise UsageError("the MCP server needs its SDK: install it with `pip install 'proctor[mcp]'`")
    return _serve(parsed, roots, pythons)


def _parser() -> options.Parser:
    parser = options.Parser("proctor mcp", description="Serve proctor's tools to agents, over stdio.")
    root = "a project that may be tested, with all below it (here); repeatable"
    python = "an interpreter that calls may name; the first is used unless they do; repeatable"
    token = f"the token that HTTP clients need; or {TOKEN_VARIABLE}"
    config = "print what to paste into a client's settings"
    parser.add_repeatable("--root", "roots", "DIR", root)
    parser.add_repeatable("--python", "pythons", "PATH", python)
    parser.add_argument(
        "--max-runs", type=int, default=4, metavar="N", help="runs at a time (4); others wait"
    )
    parser.add_argument("--http", metavar="HOST:PORT", help="serve over streamable HTTP instead")
    parser.add_argument("--token-file", metavar="FILE", help=token)
    parser.add_argument("--print-config", dest="client", metavar="CLIENT", help=config)
    return parser


def _print_configuration(parsed: argparse.Namespace, roots: list[Path], pythons: list[str]) -> int:
    from proctor.mcp_server import clients

    if parsed.http:
        raise UsageError("--print-config is for clients that start the server; leave out --http")
    client = clients.find(parsed.client)
    own = os.path.abspath(sys.argv[0])
    start = [own] if os.path.basename(own) == "proctor" else [sys.executable, "-m", "proctor"]
    command = [*start, "mcp"]
    for root in roots:
        command += ["--root", str(root)]
    for python in pythons:
        command += ["--python", python]
    sys.stdout.write(clients.configuration(client, command))
    print(f"proctor: for {client.title}, in {client.file}", file=sys.stderr)
    return 0


def _serve(parsed: argparse.Namespace, roots: list[Path], pythons: list[str]) -> int:
    environ = dict(os.environ)
    token = environ.pop(TOKEN_VARIABLE, "")  # tests must not see it
    if parsed.token_file:
        token = _token(parsed.token_file)
    if parsed.token_file and not parsed.http:
        raise UsageError("--token-file needs --http HOST:PORT: only HTTP clients send a token")

    gc.disable()  # whatever is imported stays in memory: there is nothing to collect
    from proctor.mcp_server import server
    from proctor.mcp_server.access import Access

    gc.freeze()
    gc.set_threshold(1000)  # this verb lives on, and the SDK leaves cycles after each request
    gc.enable()
    serve: server.Serve = server.over_stdio
    if parsed.http:
        from proctor.mcp_server.over_http import listen

        serve = server.over_http(listen(parsed.http, token), token)
    server.run(Access(roots, pythons, environ), parsed.max_runs, serve)


def _token(path: str) -> str:
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file {path} cannot be read: {error}") from None
    if not token:
        raise UsageError(f"--token-file {path} is empty: expected one line with the token")
    return token
