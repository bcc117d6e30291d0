"""The server over HTTP: who may connect, and that it is the same server."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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

from proctor.mcp_server import over_http

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


def raw(port: int, *lines: str, body: bytes = b"") -> tuple[int, bytes]:
    """Sends exactly these lines; returns the status and the body of the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=GUARD) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        response = http.client.HTTPResponse(connection)
        response.begin()
        return response.status, response.read()


ASKED = json.dumps(HELLO).encode()
START, HOST = "POST /mcp HTTP/1.1", "Host: 127.0.0.1"
USUAL = ("Content-Type: application/json", "Accept: application/json, text/event-stream")
LENGTH = f"Content-Length: {len(ASKED)}"


@pytest.mark.parametrize(
    "lines",
    [
        (START, "Host: user@127.0.0.1", LENGTH),
        (START, "Host: user:pw@127.0.0.1:80", LENGTH),
        (START, "Host: evil.example@127.0.0.1", LENGTH),
        (START, "Host: 127.0.0.1/evil.example", LENGTH),
        (START, "Host: 127.0.0.1#@evil.example", LENGTH),
        (START, "Host: 127.0.0.1:80:80", LENGTH),
        (START, "Host: ", LENGTH),
        (START, "Host: 2130706433", LENGTH),
        (START, LENGTH),
        (START, HOST, "Origin: http://user@localhost", LENGTH),
        (START, HOST, "Origin: http://evil.example@localhost", LENGTH),
        (START, HOST, "Origin: http://localhost/evil.example", LENGTH),
        (START, HOST, "Origin: http://localhost http://evil.example", LENGTH),
        (START, HOST, "Origin: localhost", LENGTH),
        (START, HOST, "Origin: http://evil.example\\@localhost", LENGTH),
        (START, HOST, "Origin: ", LENGTH),
        (START, HOST, "Origin: http://evil.example", "Origin: http://localhost", LENGTH),
        (START, HOST, "Origin: http://localhost", "origin: http://localhost", LENGTH),
        (START, HOST, HOST, LENGTH),
        (START, "Host: evil.example", HOST, LENGTH),
        (START, HOST, LENGTH, LENGTH),
        (START, HOST, LENGTH, "Content-Length: 1"),
        (START, HOST, "Content-Length: +5"),
        (START, HOST, "Authorization: Bearer a", "Authorization: Bearer b", LENGTH),
        (START, HOST, "Mcp-Session-Id: a", "Mcp-Session-Id: b", LENGTH),
        (START, HOST, LENGTH, "Transfer-Encoding: chunked"),
        (START, HOST, "Transfer-Encoding: chunked", LENGTH),
        (START, HOST, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
        (START, HOST, "Transfer-Encoding: gzip, chunked"),
        (START, HOST, "Transfer-Encoding : chunked", LENGTH),
        ("POST http://evil.example/mcp HTTP/1.1", HOST, LENGTH),
        ("POST http://127.0.0.1/mcp HTTP/1.1", "Host: evil.example", LENGTH),
        ("POST //evil.example/mcp HTTP/1.1", HOST, LENGTH),
        ("POST evil.example:80 HTTP/1.1", HOST, LENGTH),
        ("POST * HTTP/1.1", HOST, LENGTH),
    ],
)
def test_what_two_readers_could_understand_in_two_ways_is_refused(
    open_port: int, lines: tuple[str, ...]
) -> None:
    first, *rest = lines
    status, _ = raw(open_port, first, *USUAL, *rest, body=ASKED)

    assert 400 <= status < 500


def test_what_is_right_is_not_refused(open_port: int) -> None:
    for more in ([], ["Origin: http://localhost:3000"], ["Origin: https://[::1]"], ["X-A: 1", "X-A: 2"]):
        assert raw(open_port, START, HOST, *USUAL, *more, LENGTH, body=ASKED)[0] == 200
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(ASKED), ASKED)
    assert raw(open_port, START, HOST, *USUAL, "Transfer-Encoding: chunked", body=chunks)[0] == 200


def test_a_doubled_token_is_refused_also_if_one_is_right(guarded_port: int) -> None:
    right, wrong = f"Authorization: Bearer {TOKEN}", "Authorization: Bearer wrong"
    for tokens in ((right, wrong), (wrong, right), (right, right)):
        assert raw(guarded_port, START, HOST, *USUAL, *tokens, LENGTH, body=ASKED)[0] == 400
    assert raw(guarded_port, START, HOST, *USUAL, right, LENGTH, body=ASKED)[0] == 200


def test_a_request_behind_one_that_is_refused_early_is_looked_at_as_well(guarded_port: int) -> None:
    right = f"Authorization: Bearer {TOKEN}"
    second = "\r\n".join(
        [START, HOST, *USUAL, right, "Authorization: Bearer x", right, LENGTH, "", ""]
    ).encode()
    with socket.create_connection(("127.0.0.1", guarded_port), timeout=GUARD) as connection:
        connection.sendall("\r\n".join([START, HOST, *USUAL, LENGTH, "", ""]).encode())
        assert connection.recv(12) == b"HTTP/1.1 401"
        connection.sendall(ASKED + second + ASKED)
        answers = _until_closed(connection)

    assert b"HTTP/1.1 400" in answers
    assert b"HTTP/1.1 200" not in answers


@pytest.mark.parametrize(
    "body, number, code",
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', 7, -32602),
        (b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"\\ud83d"}}', "a", -32602),
        (b'{"id":7,"method":"ping"}', 7, -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":' + b"9" * 5000 + b"}}", 7, -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":' + b"[" * 50_000, 7, -32600),
        (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]', 7, -32600),
        (b"garbage", None, -32700),
        (b"\xff", None, -32700),
    ],
)
def test_a_message_that_is_none_is_answered_with_its_id(
    open_port: int, body: bytes, number: int | str | None, code: int
) -> None:
    status, answer = raw(open_port, START, HOST, *USUAL, f"Content-Length: {len(body)}", body=body)
    found = json.loads(answer)

    assert (status, found["id"], found["error"]["code"]) == (400, number, code)
    assert post(open_port) == 200


def test_a_body_that_is_too_long_is_refused(open_port: int) -> None:
    body = b" " * ((4 << 20) + 1)
    assert raw(open_port, START, HOST, *USUAL, f"Content-Length: {len(body)}", body=body)[0] == 413


HALVES = {
    "nothing": b"",
    "half a line": b"POST /mcp",
    "half the headers": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "half the body": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{",
    "half a chunk": b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{",
    "a body nobody wants": b"POST /mcp HTTP/1.1\r\nHost: evil\r\nContent-Length: 99\r\n\r\n{",
    "a second request": b"GET /no HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nPOST /mcp HTTP/1.1\r\nHost",
}


@pytest.fixture(scope="module")
def hasty_port() -> Iterator[int]:
    """A server that gives a request less time; what it serves does not matter."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body"})

    listening = over_http.listen("127.0.0.1:0", "")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(over_http.Connection, "seconds", 0.4)
        loop = asyncio.new_event_loop()
        task = loop.create_task(over_http.serve(app, listening, ""))
        thread = threading.Thread(target=lambda: loop.run_until_complete(asyncio.wait([task])))
        thread.start()
        yield listening.getsockname()[1]
        loop.call_soon_threadsafe(task.cancel)
        thread.join(GUARD)
        loop.close()
    listening.close()


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_a_request_that_never_arrives_whole_is_closed(hasty_port: int, half: bytes) -> None:
    with _sent_at_once(hasty_port, half) as connection:
        answer = _until_closed(connection)

    expected = {b"": (), HALVES["a body nobody wants"]: (b"421",)}.get(half, (b"408",))
    assert [status for status in (b"408", b"421") if b"HTTP/1.1 " + status in answer] == [*expected]


def test_a_request_that_trickles_in_is_closed(hasty_port: int) -> None:
    with socket.create_connection(("127.0.0.1", hasty_port), timeout=0.05) as connection:
        deadline = time.monotonic() + GUARD
        while time.monotonic() < deadline:
            try:
                connection.sendall(b"X")
                if not connection.recv(1000).startswith(b"HTTP/1.1 408"):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert time.monotonic() < deadline


def _sent_at_once(port: int, data: bytes) -> socket.socket:
    """A connection on which this has been sent, with no pause of a busy machine before it."""
    while True:
        began = time.monotonic()
        connection = socket.create_connection(("127.0.0.1", port), timeout=GUARD)
        connection.sendall(data)
        if time.monotonic() - began < over_http.Connection.seconds / 2:
            return connection
        connection.close()


def _until_closed(connection: socket.socket) -> bytes:
    answer = b""
    try:
        while piece := connection.recv(1000):
            answer += piece
    except ConnectionResetError:
        pass
    return answer


def test_the_limit_is_the_one_that_is_documented() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "reference" / "mcp.md").read_text()

    assert f"within {over_http.REQUEST_SECONDS:.0f} seconds" in docs


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
    with serving(root, "--no-warm", MARK=mark) as port:
        talking = Talk(f"http://127.0.0.1:{port}/mcp", mode)
        call = talking.begin(talking.client.call_tool("execute_tests", {}))
        until(lambda: (root / "begun").exists())
        call.cancel()
        until(lambda: len(processes_with("MARK", mark)) == 1)  # the server
        talking.close()
