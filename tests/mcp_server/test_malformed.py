"""Messages that are none are answered with an error, or with silence for a reason; then the server works."""

from __future__ import annotations

import json
import random
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.pieces import pieces
from support.projects import GUARD, clean_environment, command

from proctor.mcp_server import messages
from proctor.mcp_server.messages import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, Lines, Refusal

HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "0"},
}


def request(number: int | str, method: str = "ping", **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, **more}).encode()


class Server:
    """A real server over real pipes, which are read all the time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.answers: list[dict[str, Any]] = []
        self.said: list[str] = []
        self._changed = threading.Condition()
        for stream, keep in ((process.stdout, self._answered), (process.stderr, self._talked)):
            threading.Thread(target=self._follow, args=(stream, keep), daemon=True).start()

    def _follow(self, stream: Any, keep: Callable[[bytes], None]) -> None:
        for line in stream:
            with self._changed:
                keep(line)
                self._changed.notify_all()

    def _answered(self, line: bytes) -> None:
        self.answers.append(json.loads(line))

    def _talked(self, line: bytes) -> None:
        self.said.append(line.decode())

    def send(self, *lines: bytes) -> None:
        for line in lines:
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def answer(self, number: int | str) -> dict[str, Any]:
        with self._changed:
            found = self._changed.wait_for(lambda: [a for a in self.answers if a["id"] == number], GUARD)
        return found[0]

    def talk(self, count: int) -> list[str]:
        """What it said on stderr, when there is so much."""
        with self._changed:
            self._changed.wait_for(lambda: len(self.said) >= count, GUARD)
        return self.said

    def works(self, number: str) -> None:
        self.send(request(f"{number}-hello", "initialize", params=HELLO))
        self.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        self.send(request(f"{number}-tools", "tools/list"))
        assert self.answer(f"{number}-hello")["result"]["serverInfo"]["name"] == "proctor"
        assert len(self.answer(f"{number}-tools")["result"]["tools"]) == 8


@contextmanager
def serving(root: Path) -> Iterator[Server]:
    process = subprocess.Popen(
        command("mcp", "--root", str(root)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
    )
    try:
        yield Server(process)
        process.stdin.close()
        assert process.wait(GUARD) == 0
    finally:
        process.kill()
        process.wait(GUARD)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


DEEP = 100_000
#: A request in which one thing is wrong, by the text of its id. The server answers it with this error.
ANSWERED: dict[str, tuple[int, bytes]] = {
    "params is a list": (INVALID_PARAMS, b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":[1]}'),
    "params is a text": (INVALID_PARAMS, b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":"x"}'),
    "params is a number": (INVALID_PARAMS, b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":0}'),
    "params is false": (
        INVALID_PARAMS,
        b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":false}',
    ),
    "half an emoji": (
        INVALID_PARAMS,
        b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"a\\ud83d"}}',
    ),
    "half an emoji as a name": (
        INVALID_PARAMS,
        b'{"jsonrpc":"2.0","method":"tools/call","params":{"a":[{"\\udc00":1}]},"id":%s}',
    ),
    "half an emoji in the method": (
        INVALID_REQUEST,
        b'{"jsonrpc":"2.0","id":%s,"method":"\\udfff"}',
    ),
    "half an emoji beside it": (
        INVALID_REQUEST,
        b'{"jsonrpc":"2.0","id":%s,"method":"ping","x":"\\ud800"}',
    ),
    "a long integer": (
        INVALID_PARAMS,
        b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"a":' + b"9" * 5000 + b"}}",
    ),
    "a long negative integer": (
        INVALID_PARAMS,
        b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"a":-' + b"9" * 5000 + b"}}",
    ),
    "no jsonrpc": (INVALID_REQUEST, b'{"id":%s,"method":"ping"}'),
    "jsonrpc 1.0": (INVALID_REQUEST, b'{"jsonrpc":"1.0","id":%s,"method":"ping"}'),
    "jsonrpc as a number": (INVALID_REQUEST, b'{"jsonrpc":2.0,"id":%s,"method":"ping"}'),
    "no method": (INVALID_REQUEST, b'{"jsonrpc":"2.0","id":%s}'),
    "method is null": (INVALID_REQUEST, b'{"jsonrpc":"2.0","id":%s,"method":null}'),
    "method is a list": (INVALID_REQUEST, b'{"jsonrpc":"2.0","id":%s,"method":["ping"]}'),
    "request and result": (
        INVALID_REQUEST,
        b'{"jsonrpc":"2.0","id":%s,"method":"ping","result":{}}',
    ),
    "a batch of one": (INVALID_REQUEST, b'[{"jsonrpc":"2.0","id":%s,"method":"ping"}]'),
    "a batch with more": (
        INVALID_REQUEST,
        b'[1,{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":%s,"method":"ping"}]',
    ),
    "NaN": (PARSE_ERROR, b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"a":NaN}}'),
    "Infinity": (
        PARSE_ERROR,
        b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"a":-Infinity}}',
    ),
    "a comma too many": (PARSE_ERROR, b'{"jsonrpc":"2.0","id":%s,"method":"ping",}'),
    "single quotes": (PARSE_ERROR, b'{"jsonrpc":"2.0","id":%s,"method":\'ping\'}'),
    "cut off": (PARSE_ERROR, b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"a":[1'),
    "two in a line": (PARSE_ERROR, b'{"jsonrpc":"2.0","id":%s,"method":"ping"}{}'),
    "not UTF-8": (PARSE_ERROR, b'{"jsonrpc":"2.0","id":%s,"method":"p\xff\xfe"}'),
    "a surrogate as UTF-8": (PARSE_ERROR, b'{"jsonrpc":"2.0","id":%s,"method":"\xed\xa0\x80"}'),
    "NUL": (PARSE_ERROR, b'{"jsonrpc":"2.0","id":%s,"method":"a\0b"}'),
    "a bad escape": (PARSE_ERROR, b'{"jsonrpc":"2.0","id":%s,"method":"\\x"}'),
    "a name twice": (INVALID_REQUEST, b'{"jsonrpc":"2.0","method":"a","method":"ping","id":%s}'),
    "an argument twice": (
        INVALID_PARAMS,
        b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"a","name":"b"}}',
    ),
    "deep": (
        INVALID_PARAMS,
        (b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":{"a":' + b"[" * 200 + b"]" * 200 + b"}}"),
    ),
    "very deep": (
        INVALID_REQUEST,
        b'{"jsonrpc":"2.0","method":"ping","params":' + b"[" * 9000 + b"]" * 9000 + b',"id":%s}',
    ),
    "an unknown method": (-32601, b'{"jsonrpc":"2.0","id":%s,"method":"no/such"}'),
    "an empty method": (-32601, b'{"jsonrpc":"2.0","id":%s,"method":""}'),
}
#: Nobody can be answered: a line on stderr says so.
TOLD = [
    b"garbage",
    b"{",
    b"}",
    b'"ping"',
    b"17",
    b"null",
    b"[]",
    b"[1, 2]",
    b"NaN",
    b"\0",
    b"\xff\xfe{\0}\0",
    b"[" * 9000,
    b"{}",
    b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":1e3,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
    b'{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}',
    b'{"jsonrpc":"2.0","id":[1],"method":"ping"}',
    b'{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}',
    b'{"jsonrpc":"1.0","method":"notifications/initialized"}',
    b'{"method":"ping"}',
    b'[{"jsonrpc":"2.0","method":"notifications/initialized"}]',
]
#: Nothing is to be said.
SILENT = [
    b"",
    b"\r",
    b" \t ",
    b"\xef\xbb\xbf",
    b'{"jsonrpc":"2.0","id":1,"result":{}}',
    b'{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}',
    b'{"id":1,"result":"no object"}',
    b'{"jsonrpc":"2.0","method":"no/such/notification"}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"never asked"}}',
]


@pytest.mark.parametrize("mistake", ANSWERED)
@pytest.mark.parametrize("written", ["7", "-7", '"seven"', '"\\ud83d"', "7" * 4000, '"\\"id\\":1"'])
def test_a_request_with_a_mistake_is_refused_with_its_own_id(mistake: str, written: str) -> None:
    code, template = ANSWERED[mistake]
    found = messages.read(template.replace(b"%s", written.encode()))

    if code == -32601 and "ud83d" not in written and len(written) < 1000:
        assert isinstance(found, dict)  # the SDK answers
        return
    assert isinstance(found, Refusal)
    assert found.ids == (written,)
    assert [json.loads(answer)["error"]["code"] for answer in found.answers()] == [found.code]
    assert found.code == code or "ud83d" in written or len(written) > 1000


@pytest.mark.parametrize("line", TOLD)
def test_what_has_no_id_is_refused_without_one(line: bytes) -> None:
    found = messages.read(line)

    assert isinstance(found, Refusal)
    assert found.ids == ()


@pytest.mark.parametrize(
    "line",
    [
        request(1),
        request("a", params={"a": "\0😀" + "x" * 100_000, "b": 10**900}),
        b"\xef\xbb\xbf" + request(1),
        request(1) + b"\r",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null,"more":[]}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        request(1, params={"a": json.loads("[" * 90 + "]" * 90)}),
    ],
)
def test_what_is_right_is_taken(line: bytes) -> None:
    found = messages.read(line)

    assert found == json.loads(line.removeprefix(b"\xef\xbb\xbf"))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_messages_do_not_depend_on_how_the_bytes_arrive(size: int) -> None:
    data = b"\n".join([request(1), b"garbage", b"", request(2) + b"\r", request(3)])
    lines = Lines()
    found = [message for piece in pieces(data, size) for message in lines.feed(piece)] + [*lines.close()]

    assert [message["id"] if isinstance(message, dict) else message.ids for message in found] == [1, (), 2, 3]


@pytest.mark.parametrize("last", [True, False])
def test_of_a_line_that_is_too_long_only_its_ends_are_kept(last: bool) -> None:
    long = b'"params":{"a":"' + b"x" * (messages.LONGEST + 70_000) + b'"}'
    line = b'{"jsonrpc":"2.0",' + (long + b',"id":5}' if last else b'"id":5,' + long + b"}")
    lines = Lines()
    found = [message for piece in pieces(line + b"\n", 1 << 16) for message in lines.feed(piece)]
    found += lines.feed(request(6) + b"\n")

    assert [getattr(message, "ids", message) for message in found] == [("5",), json.loads(request(6))]


def test_an_id_at_the_end_is_the_outermost_one() -> None:
    tail = b'xx","id":1},"id":"a\\"b","jsonrpc":"2.0"}'

    assert messages.too_long(b'{"params":"xx', tail).ids == ('"a\\"b"',)
    assert messages.too_long(b'{"params":"xx', b'"id":1}}').ids == ()
    assert messages.too_long(b'{"params":"xx', b'\\"id\\":1"}').ids == ()


def test_a_thousand_malformed_requests_are_answered_and_then_the_server_works(tmp_path: Path) -> None:
    """Each is made from a mistake that the tables above name, in a request or beside requests."""
    chance = random.Random(20260728)
    expected: Counter[tuple[int | str, int]] = Counter()
    lines, told = [], 0
    for number in range(1000):
        kind = chance.random()
        if kind < 0.15:
            lines.append(chance.choice(TOLD))
            told += 1
        elif kind < 0.25:
            lines.append(chance.choice(SILENT))
        else:
            code, template = chance.choice(list(ANSWERED.values()))
            own: int | str = number if chance.random() < 0.5 else f"n{number}"
            written = json.dumps(own)
            ending = b"\r" if chance.random() < 0.2 else b""
            lines.append(template.replace(b"%s", written.encode()) + ending)
            expected[own, code] += 1
    with serving(tmp_path) as server:
        server.send(*lines)
        server.send(request("end"))
        server.answer("end")
        server.works("afterwards")
        talk = server.talk(told)
        answers = [answer for answer in server.answers if "error" in answer]

    unanswered = expected - Counter((answer["id"], answer["error"]["code"]) for answer in answers)
    assert not unanswered
    assert len(answers) == expected.total()
    assert len(talk) == told
    assert all("a message cannot be answered" in line for line in talk)


def test_nobody_has_to_read_what_the_server_says(tmp_path: Path) -> None:
    """More answers and more lines of talk than pipes have room for, before anybody reads one."""
    process = subprocess.Popen(
        command("mcp", "--root", str(tmp_path)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
    )
    try:
        for number in range(3000):
            process.stdin.write(b"garbage\n" + request(number, params=[]) + b"\n")
        process.stdin.write(request("end") + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(3001)]
    finally:
        process.kill()
        process.wait(GUARD)
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()

    assert {answer["id"] for answer in answers} == {*range(3000), "end"}


def test_a_line_of_a_hundred_megabytes_is_refused_and_not_kept(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        server.process.stdin.write(b'{"jsonrpc":"2.0","id":"big","method":"')
        for _ in range(100):
            server.process.stdin.write(b"x" * (1 << 20))
        server.send(b'"}')
        assert server.answer("big")["error"]["code"] == INVALID_REQUEST
        status = Path(f"/proc/{server.process.pid}/status").read_text()
        server.works("afterwards")

    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    assert peak < 200_000  # kilobytes


def test_what_is_asked_before_the_input_ends_is_answered(tmp_path: Path) -> None:
    lines = b"\n".join([b"garbage", request(1, params=[]), b'{"id":2}'])
    ran = subprocess.run(
        command("mcp", "--root", str(tmp_path)), input=lines, capture_output=True, env=clean_environment()
    )

    assert [json.loads(line)["id"] for line in ran.stdout.splitlines()] == [1, 2]
    assert ran.stderr.count(b"a message cannot be answered") == 1
    assert ran.returncode == 0
