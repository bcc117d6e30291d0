"""`proctor report`, `begin`, `duration` and `noop`, as a test in any language calls them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.channel import VARIABLES, Listener
from support.projects import GUARD, Ran, clean_environment, command

import proctor
from proctor.wire.control.decoder import Duration, DurationAction, Noop
from proctor.wire.control.ledger import Partial

SOURCES = str(Path(proctor.__file__).parent.parent)


def call(listener: Listener, *arguments: str | bytes, **environ: str) -> Ran:
    done = subprocess.run(
        [*command(), *arguments],
        env=clean_environment(**listener.environment, **environ),
        pass_fds=[listener.writer],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def listener() -> Listener:
    return Listener.on_a_pipe().listen()


def test_a_result_with_everything_in_it(listener: Listener, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"a" * 100_000)
    (tmp_path / "b=c.log").write_bytes(b"\xff")
    ran = call(
        listener,
        *("report", "--status", "pass", "--name", "some/test", "--note", 'said "no"'),
        *("--file", f"{tmp_path}/a.log", "--file", f"deep/b.log={tmp_path}/b=c.log"),
        *("--testout", "out.txt", "--set", 'tags=["x", {"y": null}]', "--set", "x-rerun=3"),
    )

    assert (ran.code, ran.out, ran.err) == (0, "", "")
    (result,) = listener.finish().results
    assert result.pop("files") == [{"name": "a.log", "length": 100_000}, {"name": "deep/b.log", "length": 1}]
    assert result == {
        "status": "pass",
        "name": "some/test",
        "note": 'said "no"',
        "testout": "out.txt",
        "tags": ["x", {"y": None}],
        "x-rerun": 3,
    }
    assert listener.files["some/test", "a.log"] == b"a" * 100_000
    assert listener.files["some/test", "deep/b.log"] == b"\xff"


def test_a_guard_a_partial_and_wishes(listener: Listener) -> None:
    for arguments in (
        ["begin"],
        ["report", "--partial", "--name", "x"],
        ["duration", "+60"],
        ["duration", "-1h", "30m"],
        ["duration", "save"],
        ["noop"],
    ):
        assert call(listener, *arguments).code == 0

    begun, partial, *rest = listener.finish().frames
    assert (type(begun), begun.body) == (Partial, {"status": "error"})
    assert (type(partial), partial.body) == (Partial, {"name": "x"})
    assert rest == [
        Duration(DurationAction.ADD, 60),
        Duration(DurationAction.SUBTRACT, 5400),
        Duration(DurationAction.SAVE),
        Noop(),
    ]


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8", "no_SUCH.locale"])
def test_names_and_lengths_are_right_in_any_locale(listener: Listener, tmp_path: Path, locale: str) -> None:
    (tmp_path / "größe.log").write_bytes("größe\n".encode())
    ran = call(
        listener,
        "report",
        "--name",
        "größe ☃",
        "--file",
        f"{tmp_path}/größe.log",
        "--note",
        "ß",
        LC_ALL=locale,
    )

    assert ran.code == 0, ran.err
    (result,) = listener.finish().results
    assert (result["name"], result["note"]) == ("größe ☃", "ß")
    assert listener.files == {("größe ☃", "größe.log"): "größe\n".encode()}


def test_an_argument_that_is_not_unicode_is_sent_as_literal_text(listener: Listener) -> None:
    assert call(listener, b"report", b"--name", b"\xff").code == 0

    assert [result["name"] for result in listener.finish().results] == ["\\udcff"]


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["report", "--status", "passed"], "'passed'; known: pass, fail"),
        (["report", "--name", ""], "invalid name ''"),
        (["report", "--file", "nowhere.log"], "nowhere.log cannot be read: No such file"),
        (["report", "--file", "/"], "expected PATH or NAME=PATH"),
        (["report", "--file", "/tmp"], "/tmp cannot be read: Is a directory"),
        (["report", "--file", "x="], "expected PATH or NAME=PATH"),
        (["report", "--file", "../x=/dev/null"], "without the part '..'"),
        (["report", "--file", "/dev/null", "--file", "null=/dev/null"], "'null' is given twice"),
        (["report", "--set", "key"], "expected KEY=JSON"),
        (["report", "--set", "key=text"], "'text' is not JSON; a string needs quotes"),
        (["report", "--set", "key=NaN"], "NaN"),
        (["report", "--set", 'status="pass"'], "'status' has an option of its own"),
        (["report", "pass"], "unexpected argument 'pass'"),
        (["duration", "soon"], "invalid duration 'soon'"),
        (["duration"], "TIME"),
        (["begin", "x"], "unexpected argument 'x'"),
        (["noop", "x"], "unexpected argument 'x'"),
    ],
)
def test_bad_input_is_one_line_that_names_it_and_nothing_is_sent(
    listener: Listener, arguments: list[str], word: str
) -> None:
    ran = call(listener, *arguments)

    assert ran.code == 4
    assert word in ran.err
    assert ran.err.count("\n") == 1
    assert listener.finish().frames == []


VERBS = [["report", "--status", "pass"], ["begin"], ["duration", "60"], ["noop"]]


@pytest.mark.parametrize("arguments", VERBS, ids=lambda arguments: arguments[0])
def test_without_a_channel_every_verb_names_the_variables(arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        command(*arguments), env=clean_environment(), capture_output=True, text=True, timeout=GUARD
    )

    assert done.returncode == 4
    assert all(variable in done.stderr for variable in VARIABLES)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", VERBS, ids=lambda arguments: arguments[0])
def test_on_a_closed_channel_every_verb_says_so_in_one_line(arguments: list[str]) -> None:
    listener = Listener.on_a_pipe()
    os.close(listener.reader)
    ran = call(listener, *arguments)
    os.close(listener.writer)

    assert ran.code == 2
    assert "proctor has closed it" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("arguments", VERBS, ids=lambda arguments: arguments[0])
def test_every_verb_has_help(arguments: list[str], listener: Listener) -> None:
    ran = call(listener, arguments[0], "--help")

    assert ran.code == 0
    assert f"usage: proctor {arguments[0]}" in ran.out
    assert listener.finish().frames == []


def test_a_verb_imports_no_more_than_it_needs(listener: Listener) -> None:
    code = """if True:
        import sys
        from proctor.cli.main import main
        assert main(["report", "--status", "pass"]) == 0
        assert not {"msgspec", "typing", "subprocess", "rich"} & sys.modules.keys(), sys.modules.keys()
    """
    done = subprocess.run(
        [*command()[:1], "-S", "-c", code],
        env=clean_environment(PYTHONPATH=SOURCES, **listener.environment),
        pass_fds=[listener.writer],
        capture_output=True,
        timeout=GUARD,
    )

    assert done.returncode == 0, done.stderr.decode()
    assert listener.finish().results == [{"status": "pass"}]
