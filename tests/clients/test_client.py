"""`proctor.client` against the real decoder, through real pipes, from real processes."""

from __future__ import annotations

import ast
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.channel import VARIABLES, Listener
from support.projects import GUARD, clean_environment, interpreters

from proctor import client
from proctor.process import supervise
from proctor.wire.control import ledger
from proctor.wire.control.decoder import LINE, Disconnected, Duration, DurationAction, ExitCode, Noop

SOURCE = Path(client.__file__)


@pytest.fixture
def channel(monkeypatch: pytest.MonkeyPatch) -> Listener:
    """A channel whose writing end this process has, as a test under proctor does."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    listener = Listener.on_a_pipe().listen()
    monkeypatch.setenv("PROCTOR_CONTROL_FD", str(listener.writer))
    return listener


def start(
    code: str, listener: Listener, *arguments: str, python: str = sys.executable, **environ: str
) -> subprocess.Popen[str]:
    """A program that has imported the client, and the channel."""
    return subprocess.Popen(
        [python, "-c", "import sys; from proctor import client\n" + textwrap.dedent(code), *arguments],
        env=clean_environment(**(environ or listener.environment)),
        pass_fds=[listener.writer],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=GUARD)
    assert process.returncode == 0, err
    return out


# What is said


def test_a_result_with_everything_in_it(channel: Listener, tmp_path: Path) -> None:
    (tmp_path / "ä.log").write_bytes(b"one\n")
    fields: dict[str, Any] = {"my-key": {"deep": [1, None, 2**70, 0.5, True]}}
    client.report(
        "fail",
        "größe/☃",
        files={"sub/a.log": tmp_path / "ä.log", "raw": b"\xff\n", "empty": b""},
        testout="output.txt",
        note="a\nb",
        **fields,
    )

    (result,) = channel.finish().results
    assert result == {
        "name": "größe/☃",
        "status": "fail",
        "testout": "output.txt",
        "note": "a\nb",
        "files": [
            {"name": "sub/a.log", "length": 4},
            {"name": "raw", "length": 2},
            {"name": "empty", "length": 0},
        ],
        "my-key": {"deep": [1, None, 2**70, 0.5, True]},
    }
    name = "größe/☃"
    assert channel.files == {(name, "sub/a.log"): b"one\n", (name, "raw"): b"\xff\n", (name, "empty"): b""}


def test_paths_are_sent_under_their_last_part(channel: Listener, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"a")
    (tmp_path / "b.log").write_bytes(b"b" * 200_000)

    client.report("pass", files=[tmp_path / "a.log", os.fsencode(tmp_path / "b.log")])

    assert channel.finish().results[0]["status"] == "pass"
    assert channel.files == {(None, "a.log"): b"a", (None, "b.log"): b"b" * 200_000}


def test_a_guard_is_an_open_error_until_the_test_reports(channel: Listener) -> None:
    client.begin()
    client.report("pass")

    opened, closed = channel.finish().frames
    assert type(opened) is ledger.Partial
    assert opened.body == {"status": "error"}
    assert closed.body == {"status": "pass"}


def test_what_is_not_a_result(channel: Listener) -> None:
    client.noop()
    client.duration("+60")
    client.duration("1h 30m")
    client.duration("save")
    client.exitcode(-3)
    client.disconnect()

    assert channel.finish().frames == [
        Noop(),
        Duration(DurationAction.ADD, 60),
        Duration(DurationAction.SET, 5400),
        Duration(DurationAction.SAVE),
        ExitCode(-3),
        Disconnected(),
    ]


def test_what_is_not_unicode_is_sent_as_literal_text(channel: Listener, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff.log"
    with open(odd, "wb") as file:
        file.write(b"x")

    client.report("pass", "\ud800", files=[odd], key={"\udcff": "\ud83d\ude00"})

    (result,) = channel.finish().results
    assert result["name"] == "\\ud800"
    assert result["key"] == {"\\udcff": "\\ud83d\\ude00"}
    assert channel.files == {("\\ud800", "\\udcff.log"): b"x"}


def test_a_file_that_has_no_size_is_read_to_its_end(channel: Listener, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    writer = subprocess.Popen(["sh", "-c", f"printf 123 >'{tmp_path}/fifo'"])

    client.report("pass", files={"fifo": tmp_path / "fifo", "proc": "/proc/self/status"})

    writer.wait(GUARD)
    files = channel.finish().files
    assert files[None, "fifo"] == b"123"
    assert files[None, "proc"].startswith(b"Name:")


@pytest.mark.parametrize(
    "arguments, word",
    [
        ({"status": "passed"}, "'passed'; known: pass, fail"),
        ({"name": ""}, "expected a string that is not empty"),
        ({"name": 3}, "invalid name 3"),
        ({"files": "a.log"}, "a list of paths"),
        ({"files": {"/abs": b""}}, "relative path"),
        ({"files": {"a/../b": b""}}, "'..'"),
        ({"files": {"a\0": b""}}, "NUL"),
        ({"files": {"": b""}}, "expected a string that is not empty"),
        ({"files": {"x" * 256: b""}}, "255"),
        ({"files": ["/dev/null", "/dev/../dev/null"]}, "mapping"),
        ({"files": {"a": b""}, "testout": "a"}, "testout 'a'"),
        ({"testout": "../a"}, "testout"),
        ({"key": float("nan")}, "NaN"),
        ({"key": object()}, "JSON"),
    ],
)
def test_what_proctor_would_refuse_is_refused_before_it_is_sent(
    channel: Listener, arguments: dict[str, Any], word: str
) -> None:
    with pytest.raises(client.BadMessage, match=word.replace(".", r"\.")):
        client.report(**arguments)

    assert channel.finish().frames == []


@pytest.mark.parametrize("change", ["", "soon", "1 h", "+", "60\n", 60, "1s " * 2000 + "1s"])
def test_a_duration_that_proctor_would_refuse_is_not_sent(channel: Listener, change: Any) -> None:
    with pytest.raises(client.BadMessage):
        client.duration(change)

    assert channel.finish().frames == []


def test_a_file_that_cannot_be_opened_is_named_and_nothing_is_sent(channel: Listener, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.log"):
        client.report("pass", files=[tmp_path / "nowhere.log"])

    assert channel.finish().frames == []


NAMES = st.text(max_size=6) | st.sampled_from(["a", "a/b", "..", "/a", "a//b", "\ud800", "x" * 300])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.none() | st.sampled_from([*client.STATUSES, "odd", ""]),
    st.none() | NAMES,
    st.dictionaries(NAMES, st.binary(max_size=20), max_size=3),
    st.booleans(),
    st.none() | NAMES,
    VALUES,
)
def test_whatever_the_client_sends_proctor_takes(
    status: str | None, name: str, files: dict[str, bytes], partial: bool, testout: str | None, value: Any
) -> None:
    listener = Listener.on_a_pipe()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROCTOR_CONTROL_FD", str(listener.writer))
        try:
            client.report(status, name, files=files, partial=partial, testout=testout, key=value)
            expected = 1
        except client.BadMessage:
            expected = 0

    assert len(listener.finish().results) == expected
    assert [content for _, content in listener.files.items()] == (list(files.values()) if expected else [])


def test_the_client_and_proctor_use_the_same_words() -> None:
    assert set(client.STATUSES) == ledger.STATUSES
    assert client.LINE == LINE
    assert set(client.VARIABLES) == supervise._with_channel({}).keys()


# How it is sent


WRITER = """
    mine = sys.argv[1]
    for number in range(25):
        data = mine.encode() * (100_000 + number)
        client.report("pass", f"{mine}/{number}", files={"data": data, "path": sys.argv[2]})
        client.report("info", f"{mine}/{number}/small")
"""


def test_long_messages_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"L" * 300_000)
    listener = Listener.on_a_pipe().listen()
    writers = [start(WRITER, listener, mine, str(tmp_path / "large")) for mine in "abcd"]
    for writer in writers:
        output_of(writer)

    assert len(listener.finish().results) == 4 * 25 * 2
    assert listener.files == {
        (f"{mine}/{number}", name): data
        for mine in "abcd"
        for number in range(25)
        for name, data in (("data", mine.encode() * (100_000 + number)), ("path", b"L" * 300_000))
    }


def test_long_messages_of_several_threads_do_not_mix(channel: Listener) -> None:
    from threading import Thread

    def send(mine: str) -> None:
        for number in range(10):
            client.report("pass", f"{mine}/{number}", files={"data": mine.encode() * 100_000})

    threads = [Thread(target=send, args=(mine,)) for mine in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(channel.finish().results) == 40
    assert {((name or "")[:1], data) for (name, _), data in channel.files.items()} == {
        (mine, mine.encode() * 100_000) for mine in "abcd"
    }


SMALL_WRITER = """
    import os, json
    fd, mine = int(os.environ["PROCTOR_CONTROL_FD"]), sys.argv[1]
    for number in range(500):
        raw = json.dumps({"status": "pass", "name": "%s/%d" % (mine, number), "pad": ""}).encode()
        raw = raw[:-2] + mine.encode() * (4096 - len(raw) - 12) + b'"}'
        message = b"result %d\\n%b" % (len(raw), raw)
        assert len(message) == 4096, len(message)
        assert os.write(fd, message) == 4096
"""


def test_short_messages_in_one_write_do_not_mix_without_a_lock() -> None:
    listener = Listener.on_a_pipe().listen()
    writers = [start(SMALL_WRITER, listener, mine) for mine in "abcd"]
    for writer in writers:
        output_of(writer)

    results = listener.finish().results
    assert len(results) == 2000
    assert {(result["name"][0], *set(result["pad"])) for result in results} == {(m, m) for m in "abcd"}


def test_where_no_lock_can_be_had_short_messages_go_and_long_ones_say_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listener = Listener.on_a_socket().listen()
    monkeypatch.setenv("PROCTOR_CONTROL_FD", str(listener.writer))

    client.report("pass", "short")
    with pytest.raises(client.CannotLock, match=r"expected at most 4096.*/proc/self/fd"):
        client.report("pass", "long", files={"data": bytes(4096)})
    client.report("pass", "after")

    assert [result["name"] for result in listener.finish().results] == ["short", "after"]


def test_a_channel_that_somebody_made_non_blocking_still_gets_everything() -> None:
    listener = Listener.on_a_socket()
    os.set_blocking(listener.writer, False)
    writer = start("for n in range(500): client.report('pass', str(n), pad='x' * 3000)", listener)
    listener.listen()
    output_of(writer)

    assert len(listener.finish().results) == 500


LARGE_SENDER = """
    try:
        client.report("pass", "large", files=[sys.argv[1]])
        print("sent")
    except KeyboardInterrupt:
        print("interrupted")
    except client.FileChanged as error:
        print(error)
    client.report("pass", "after")
"""


def large_file(tmp_path: Path) -> Path:
    path = tmp_path / "large.bin"
    path.write_bytes(b"L" * (4 << 20))
    return path


def test_an_interrupt_in_the_middle_leaves_a_whole_message(tmp_path: Path) -> None:
    listener = Listener.on_a_pipe()
    sender = start(LARGE_SENDER, listener, str(large_file(tmp_path)))
    listener.take(1000)  # it is under way, and the pipe holds less than the rest
    sender.send_signal(signal.SIGINT)
    listener.listen()

    assert output_of(sender) == "interrupted\n"
    assert [result["name"] for result in listener.finish().results] == ["large", "after"]
    assert listener.files == {("large", "large.bin"): b"L" * (4 << 20)}


def test_a_file_that_shrinks_is_filled_up_and_said_so(tmp_path: Path) -> None:
    path = large_file(tmp_path)
    listener = Listener.on_a_pipe()
    sender = start(LARGE_SENDER, listener, str(path))
    listener.take(1000)
    os.truncate(path, 0)
    listener.listen()

    told = output_of(sender)
    assert "large.bin" in told
    assert "of 4194304 bytes" in told
    assert [result["name"] for result in listener.finish().results] == ["large", "after"]
    content = listener.files["large", "large.bin"]
    assert len(content) == 4 << 20
    assert content.strip(b"\0") == b"L" * len(content.strip(b"\0"))
    assert content.endswith(b"\0")


def test_a_file_that_grows_is_sent_as_long_as_it_was(tmp_path: Path) -> None:
    path = large_file(tmp_path)
    listener = Listener.on_a_pipe()
    sender = start(LARGE_SENDER, listener, str(path))
    listener.take(1000)
    with open(path, "ab") as file:
        file.write(b"more")
    listener.listen()

    assert output_of(sender) == "sent\n"
    assert len(listener.finish().results) == 2
    assert listener.files == {("large", "large.bin"): b"L" * (4 << 20)}


# Where the channel is


def test_without_a_channel_the_variables_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)

    with pytest.raises(client.NoChannel) as caught:
        client.report("pass")

    assert all(variable in str(caught.value) for variable in VARIABLES)


@pytest.mark.parametrize("value", ["three", "-1", "9" * 30])
def test_a_variable_that_is_no_number_is_shown(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("PROCTOR_CONTROL_FD", value)

    with pytest.raises(client.NoChannel, match=f"PROCTOR_CONTROL_FD is '{value}'"):
        client.noop()


def test_the_older_variable_alone_is_enough(channel: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROCTOR_CONTROL_FD")
    monkeypatch.setenv("ATEX_TEST_CONTROL", str(channel.writer))

    client.report("pass")

    assert channel.finish().results == [{"status": "pass"}]


def test_the_path_serves_when_the_descriptor_was_lost(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "control")
    reader = os.open(tmp_path / "control", os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    listener = Listener(reader, os.open(tmp_path / "control", os.O_WRONLY)).listen()
    code = "client.report('pass', files={'data': bytes(200_000)})"
    lost = {"PROCTOR_CONTROL_FD": "9", "PROCTOR_CONTROL": str(tmp_path / "control")}
    output_of(start(code, listener, **lost))

    assert len(listener.finish().results) == 1
    assert listener.files == {(None, "data"): bytes(200_000)}


def test_the_path_may_be_that_of_a_descriptor(channel: Listener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PROCTOR_CONTROL_FD")
    monkeypatch.setenv("PROCTOR_CONTROL", f"/dev/fd/{channel.writer}")

    client.report("pass", files={"data": bytes(200_000)})

    assert len(channel.finish().results) == 1


def test_a_fifo_that_nobody_reads_is_closed_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "control")
    monkeypatch.delenv("PROCTOR_CONTROL_FD", raising=False)
    monkeypatch.setenv("PROCTOR_CONTROL", str(tmp_path / "control"))

    with pytest.raises(client.ChannelClosed):
        client.noop()


@pytest.mark.parametrize("deadly", [False, True], ids=["SIGPIPE ignored", "SIGPIPE deadly"])
def test_a_channel_that_proctor_closed_is_an_exception_and_no_signal(deadly: bool) -> None:
    listener = Listener.on_a_pipe()
    os.close(listener.reader)
    code = f"""
        import signal
        if {deadly}:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        for size in (10, 100_000):
            try:
                client.report("pass", files={{"data": bytes(size)}})
            except client.ChannelClosed as error:
                print(error)
    """
    told = output_of(start(code, listener)).splitlines()
    os.close(listener.writer)

    assert len(told) == 2
    assert all("proctor has closed it, most likely because of a channel error" in line for line in told)


def test_a_descriptor_that_is_not_open_is_a_closed_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    os.close(writer)
    monkeypatch.setenv("PROCTOR_CONTROL_FD", str(writer))

    with pytest.raises(client.ChannelClosed, match="did not pass it on"):
        client.noop()


def test_a_file_that_took_the_number_of_the_channel_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(tmp_path / "database", "wb") as file:
        monkeypatch.setenv("PROCTOR_CONTROL_FD", str(file.fileno()))
        with pytest.raises(client.ChannelClosed, match="not the channel"):
            client.noop()

    assert (tmp_path / "database").read_bytes() == b""


def test_no_descriptor_is_left_open(channel: Listener, tmp_path: Path) -> None:
    path = large_file(tmp_path)
    before = os.listdir("/proc/self/fd")

    client.report("pass", files=[path])
    with pytest.raises(client.BadMessage):
        client.report("pass", files={"a": path, "..": path})

    assert os.listdir("/proc/self/fd") == before
    channel.finish()


# Where it runs


@pytest.mark.parametrize("version", ["3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13"])
def test_the_file_alone_works_in_other_interpreters(version: str, tmp_path: Path) -> None:
    python = interpreters().get(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    shutil.copy(SOURCE, tmp_path / "reporting.py")
    (tmp_path / "large").write_bytes(b"L" * 100_000)
    listener = Listener.on_a_pipe().listen()
    code = """
        import reporting
        reporting.begin()
        reporting.duration("+60")
        reporting.report("warn", "\\u2603 \\udcff", files={"large": "large", "raw": b"x"}, key=[1])
        try:
            reporting.report("passed")
        except reporting.BadMessage:
            reporting.report("pass")
    """
    done = subprocess.run(
        [python, "-W", "error", "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        env=clean_environment(LC_ALL="C", **listener.environment),
        pass_fds=[listener.writer],
        capture_output=True,
        timeout=GUARD,
    )

    assert done.returncode == 0, done.stderr.decode()
    assert [result.get("name") for result in listener.finish().results] == [None, "☃ \\udcff", None]
    assert listener.files["☃ \\udcff", "large"] == b"L" * 100_000


def test_the_file_is_python_3_7_and_imports_the_standard_library_only() -> None:
    tree = ast.parse(SOURCE.read_text(), feature_version=(3, 7))

    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    assert {name.partition(".")[0] for name in names} <= sys.stdlib_module_names


def test_importing_it_loads_nothing_of_proctor_but_the_package() -> None:
    code = "import sys, json, proctor.client; print(json.dumps([n for n in sys.modules if 'proctor' in n]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=GUARD, check=True)

    # An editable install may add a module of its own to find the package.
    loaded = [name for name in json.loads(done.stdout) if name.partition(".")[0] == "proctor"]
    assert loaded == ["proctor", "proctor.client"]
