"""The configuration that is printed for each client starts a server that answers."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from support.mcp_client import Talk
from support.projects import clean_environment, proctor, write_project

SECTIONS = {
    "claude-code": "mcpServers",
    "codex": "mcp_servers",
    "cursor": "mcpServers",
    "vscode": "servers",
    "gemini-cli": "mcpServers",
}


def printed(root: Path, client: str, *options: str) -> Any:
    ran = proctor("mcp", "--print-config", client, *options, cwd=root)
    assert ran.code == 0, ran.err
    load = tomllib.loads if client == "codex" else json.loads
    return load(ran.out)[SECTIONS[client]]["proctor"]


@pytest.mark.parametrize("client", SECTIONS)
def test_each_client_is_told_the_command_the_roots_and_the_interpreters(tmp_path: Path, client: str) -> None:
    server = printed(tmp_path, client, "--python", "python3")

    assert server["args"][-5:] == ["mcp", "--root", str(tmp_path), "--python", "python3"]


def test_a_server_that_keeps_nothing_ready_is_printed_as_such(tmp_path: Path) -> None:
    assert printed(tmp_path, "codex", "--no-warm")["args"][-1] == "--no-warm"


def test_what_is_printed_works(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": "def test_a(): pass"})
    server = printed(tmp_path, "claude-code")
    talking = Talk(
        StdioServerParameters(command=server["command"], args=server["args"], env=clean_environment()), "auto"
    )
    try:
        assert talking.document("describe_project")["project"] == str(tmp_path)
    finally:
        talking.close()
