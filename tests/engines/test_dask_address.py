"""Addresses of schedulers: what is wrong with them, and who could listen."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from proctor.engines.dask_engine import warning
from proctor.engines.engine import engine
from proctor.errors import UsageError


@pytest.mark.parametrize(
    "address",
    [
        *(
            "tcp://127.0.0.1:8786",
            "127.0.0.1:8786",
            "tcp://127.8.8.8:1",
            "tcp://localhost:8786",
            "tcp://[::1]:8786",
        ),
        *(
            "tls://10.0.0.7:8786",
            "tls://dask.example.org:8786",
            "wss://dask.example.org:8786",
            "inproc://10.0.0.1/1",
        ),
    ],
)
def test_an_address_that_nobody_else_can_listen_to_needs_no_warning(address: str) -> None:
    assert warning(address) == ""


@pytest.mark.parametrize(
    "address",
    [
        *("tcp://10.0.0.7:8786", "10.0.0.7:8786", "tcp://dask.example.org:8786", "tcp://[2001:db8::1]:8786"),
        *(
            "ws://10.0.0.7:8786",
            "tcp://127.0.0.1.example.org:8786",
            "tcp://0.0.0.0:8786",
            "tcp://localhost.:8786",
        ),
    ],
)
def test_an_address_without_tls_gets_a_warning(address: str) -> None:
    assert warning(address).startswith(f"the connection to {address} has no TLS: ")


def test_without_distributed_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)

    with pytest.raises(
        UsageError,
        match=r"^--engine dask:127.0.0.1:1 needs distributed: install it with `pip install 'proctor\[d",
    ):
        engine("dask:127.0.0.1:1", 1, tmp_path)


@contextmanager
def _port(answer: bytes) -> Iterator[int]:
    """A server that says this to everybody."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="proctor[dask] is not installed")
    monkeypatch.setattr("proctor.engines.dask_engine._ANSWER", 0.5)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "address", ["tcp://", "foo://127.0.0.1:1", "127.0.0.1:port", "127.0.0.1:99999", "::", "\0:1"]
)
def test_what_is_no_address_is_an_error(address: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no dask scheduler answers there: .*; expected e\.g\. dask:127"):
        engine(f"dask:{address}", 1, tmp_path)


@pytest.mark.usefixtures("impatient")
def test_a_port_where_nobody_listens_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    with pytest.raises(UsageError, match=f"--engine dask:127.0.0.1:{port}: no dask scheduler answers there"):
        engine(f"dask:127.0.0.1:{port}", 1, tmp_path)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\xff" * 4096, bytes(100)])
def test_a_port_where_something_else_answers_is_an_error(answer: bytes, tmp_path: Path) -> None:
    with (
        _port(answer) as port,
        pytest.raises(
            UsageError, match=f"--engine dask:tcp://127.0.0.1:{port}: no dask scheduler answers there"
        ),
    ):
        engine(f"dask:tcp://127.0.0.1:{port}", 1, tmp_path)
