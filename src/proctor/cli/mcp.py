"""`proctor mcp`: serve proctor's tools to agents."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path

from proctor.cli import options
from proctor.cli.parser import suggest
from proctor.errors import UsageError
from proctor.mcp_server.clients import CLIENTS

TOKEN_VARIABLE = "PROCTOR_MCP_TOKEN"


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    if parsed.max_runs < 1:
        raise UsageError(f"invalid --max-runs {parsed.max_runs}: expected 1 or more")
    roots = [options.project(root) for root in parsed.roots or ["."]]
    pythons = [os.path.abspath(path) if os.sep in path else path for path in parsed.pythons]
    if parsed.client:
        return _print_configuration(parsed, roots, pythons)
    if find_spec("mcp") is None:
        raise UsageError("the MCP server needs its SDK: install it with `pip install 'proctor[mcp]'`")
    return _serve(parsed, roots, pythons)


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor mcp",
        "Serve proctor's tools to agents, over stdio.",
        examples=(
            ("proctor mcp --root ~/src/shop", "the server, as a client starts it"),
            ("proctor mcp --print-config claude-code", "what to paste into a client's settings"),
            ("proctor mcp --http 127.0.0.1:8080 --token-file token", "over HTTP"),
        ),
        page="docs/reference/mcp.md",
    )
    how = parser.group("how to serve")
    root = "project that may be tested, with all below it (default: the current directory); may be repeated"
    parser.add_repeatable(options.WHERE, "--root", "roots", "DIR", root)
    python = "interpreter that calls may name; the first is the default; may be repeated"
    parser.add_repeatable(options.WHERE, "--python", "pythons", "PATH", python)
    limit = "run at most N at a time; others wait (default: 4)"
    parser.group(options.LIMITS).add_argument("--max-runs", type=int, default=4, metavar="N", help=limit)
    warm = "start every process when its run begins (default: keep one ready for the next run)"
    how.add_argument("--no-warm", action="store_true", help=warm)
    how.add_argument("--http", metavar="HOST:PORT", help="serve over streamable HTTP (default: stdio)")
    token = f"file with the token that HTTP clients must send (default: {TOKEN_VARIABLE})"
    how.add_argument("--token-file", metavar="FILE", help=token)
    clients = tuple(client.name for client in CLIENTS)
    config = f"print the server's entry for the settings of a client: {', '.join(clients)}"
    suggest(how.add_argument("--print-config", dest="client", metavar="CLIENT", help=config), clients)
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
    command += ["--no-warm"] if parsed.no_warm else []
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
    server.run(Access(roots, pythons, environ), parsed.max_runs, not parsed.no_warm, serve)


def _token(path: str) -> str:
    try:
        token = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--token-file {path} cannot be read: {error}") from None
    if not token:
        raise UsageError(f"--token-file {path} is empty: expected one line with the token")
    return token
