"""The server over HTTP: who may connect, and that it is the same server."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.mcp_client import Talk, until
from support.projects import (
    GUARD,
    clean_environment,
    command,
    processes_with,
    proctor,
    project_python,
    write_project,
)

TOKEN = "a-token-of-some-length"
FILES = {
    "test_a.py": """
        import os

        def test_a(): pass

        def test_the_token_is_not_for_tests(): assert "PROCTOR_MCP_TOKEN" not in os.environ
    """
}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    },
}


@contextmanager
def serving(root: Path, *options: str, **environ: str) -> Iterator[int]:
    arguments = command("mcp", "--http", "127.0.0.1:0", "--python", project_python(), *options)
    process = subprocess.Popen(
        arguments, cwd=root, env=clean_environment(**environ), stderr=subprocess.PIPE, text=True
    )
    try:
        said = process.stderr.readline()
        yield int(re.findall(r":([0-9]+)/mcp", said)[0])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(GUARD)
        process.stderr.close()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_project(tmp_path_factory.mktemp("project"), FILES)


@pytest.fixture(scope="module")
def open_port(project: Path) -> Iterator[int]:
    with serving(project) as port:
        yield port


@pytest.fixture(scope="module")
def guarded_port(project: Path) -> Iterator[int]:
    with serving(project, PROCTOR_MCP_TOKEN=TOKEN) as port:
        yield port


def post(port: int, **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=GUARD)
    usual = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request("POST", "/mcp", json.dumps(HELLO), {**usual, **headers})
    response = connection.getresponse()
    connection.close()
    return response.status


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_tools_are_there_over_http_too(open_port: int, mode: str) -> None:
    talking = Talk(f"http://127.0.0.1:{open_port}/mcp", mode)
    try:
        assert talking.document("execute_tests")["summary"]["passed"] == 2
        assert "targets[0]" in talking.refusal("execute_tests", targets=["--pdb"])
    finally:
        talking.close()


def test_other_names_and_other_sites_are_refused(open_port: int) -> None:
    assert post(open_port) == 200
    assert post(open_port, Origin="http://localhost:3000") == 200
    assert post(open_port, Host="evil.example") == 421
    assert post(open_port, Host="evil.example:80") == 421
    assert post(open_port, Origin="http://evil.example") == 403
    assert post(open_port, Origin="null") == 403


def test_a_token_is_asked_for_where_there_is_one(guarded_port: int) -> None:
    assert post(guarded_port) == 401
    assert post(guarded_port, Authorization="Bearer wrong") == 401
    assert post(guarded_port, Authorization=f"Basic {TOKEN}") == 401
    assert post(guarded_port, Authorization=f"Bearer {TOKEN}") == 200


def test_a_token_can_come_from_a_file(project: Path, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    with serving(project, "--token-file", str(tmp_path / "token")) as port:
        assert post(port) == 401
        assert post(port, Authorization=f"Bearer {TOKEN}") == 200


def test_clients_that_say_nothing_keep_nobody_waiting(open_port: int) -> None:
    idle = [socket.create_connection(("127.0.0.1", open_port)) for _ in range(200)]
    try:
        for connection in idle[:100]:
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127")
        assert post(open_port) == 200
    finally:
        for connection in idle:
            connection.close()


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--http", "0.0.0.0:0"], "a token is needed"),
        (["--http", "nonsense"], "HOST:PORT"),
        (["--http", "127.0.0.1:99999"], "HOST:PORT"),
        (["--token-file", os.devnull], "is empty"),
        (["--token-file", "nowhere"], "cannot be read"),
        (["--print-config", "cursor", "--http", "127.0.0.1:0"], "leave out --http"),
        (["--print-config", "emacs"], "known: claude-code, codex, cursor, vscode, gemini-cli"),
    ],
)
def test_what_cannot_be_served_is_refused(tmp_path: Path, arguments: list[str], words: str) -> None:
    ran = proctor("mcp", *arguments, cwd=tmp_path)

    assert ran.code == 4
    assert words in ran.err


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_call_that_is_taken_back_ends_its_run(tmp_path: Path, mode: str) -> None:
    body = """
        import os, pathlib, time

        def test_endless():
            pathlib.Path("begun").touch()
            while True: time.sleep(0.1)
    """
    root = write_project(tmp_path, {"test_a.py": body})
    mark = uuid.uuid4().hex
    with serving(root, MARK=mark) as port:
        talking = Talk(f"http://127.0.0.1:{port}/mcp", mode)
        call = talking.begin(talking.client.call_tool("execute_tests", {}))
        until(lambda: (root / "begun").exists())
        call.cancel()
        until(lambda: len(processes_with("MARK", mark)) == 1)  # the server
        talking.close()
