"""The configuration by which each known client starts the server."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from proctor.errors import UsageError
from proctor.nearest import or_known

_PATIENCE = 660  # seconds: more than the longest `wait`


class Client(msgspec.Struct, frozen=True):
    name: str
    title: str
    file: str  # where it goes
    section: str  # the key above the server's name
    more: dict[str, Any] = {}  # beside command and args


CLIENTS = (
    Client("claude-code", "Claude Code", ".mcp.json", "mcpServers", {"type": "stdio"}),
    Client("codex", "Codex", "~/.codex/config.toml", "mcp_servers", {"tool_timeout_sec": _PATIENCE}),
    Client("cursor", "Cursor", ".cursor/mcp.json", "mcpServers"),
    Client("vscode", "VS Code", ".vscode/mcp.json", "servers", {"type": "stdio"}),
    Client("gemini-cli", "Gemini CLI", ".gemini/settings.json", "mcpServers", {"timeout": _PATIENCE * 1000}),
)


def find(name: str) -> Client:
    known = {client.name: client for client in CLIENTS}
    if name not in known:
        raise UsageError(f"no configuration for {name!r}{or_known(name, known)}")
    return known[name]


def configuration(client: Client, command: Sequence[str]) -> str:
    program, *arguments = command
    server = {**client.more, "command": program, "args": arguments}
    if client.file.endswith(".toml"):
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in server.items()]
        return "\n".join([f"[{client.section}.proctor]", *lines]) + "\n"
    return json.dumps({client.section: {"proctor": server}}, indent=2, ensure_ascii=False) + "\n"
