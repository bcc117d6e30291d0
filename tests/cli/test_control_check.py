"""`proctor control check`, as whoever writes a reporter meets it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.control_vectors import VECTORS, named, stream_of
from support.projects import GUARD, clean_environment, command, proctor

from proctor.wire.control.decoder import encode
from proctor.wire.control.rules import RULES

SEED = stream_of(named("seed-full-stream-literal-109"))
GOOD = (
    b"noop\nduration 5m\nduration +10\n"
    + encode({"name": "a", "status": "pass", "files": [{"name": "f", "length": 3}]})
    + b"abc"
    + encode({"name": "b", "status": "fail"})
    + encode({"name": "c", "partial": True})
    + encode({})
)


def check(stream: bytes, *arguments: str, cwd: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        command("control", "check", *arguments),
        input=stream,
        cwd=cwd,
        env=clean_environment(),
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_a_good_stream_is_one_line_that_says_what_is_in_it(tmp_path: Path) -> None:
    assert check(GOOD, cwd=tmp_path) == (
        0,
        "good: 3 results (1 fail, 1 pass, 1 without a status); 1 partial still open (c); "
        "1 file of 3 bytes; 1 noop; 2 duration\n",
        "",
    )
    assert list(tmp_path.iterdir()) == []


def test_the_seeds_own_example_is_broken_and_shown_in_full(tmp_path: Path) -> None:
    (tmp_path / "stream").write_bytes(SEED)

    ran = proctor("control", "check", "stream", cwd=tmp_path)

    assert ran.code == 1
    assert ran.out.splitlines() == [
        "broken at byte 119: the JSON ends before its length is used up",
        '  bytes     gth": 13}, {"name": "B", "length": 13}]}contents of Acontents of Bresult 43\\n{"st',
        "                                                    ^",
        f"  rule      R3: {RULES['R3']}",
        "  likely    JSON is 108 bytes, the line announced 109",
        "  complete  no results",
    ]


def test_what_was_complete_before_the_error_is_said(tmp_path: Path) -> None:
    code, out, _ = check(GOOD + b"resutl 2\n{}", cwd=tmp_path)

    assert code == 1
    assert out.startswith(f"broken at byte {len(GOOD)}: unknown control word 'resutl'")
    assert "  likely    a misspelt `result`\n" in out
    assert "  complete  3 results (1 fail, 1 pass, 1 without a status); 1 partial still open (c)" in out


def test_a_file_that_did_not_come_whole_is_not_counted(tmp_path: Path) -> None:
    stream = encode({"files": [{"name": "f", "length": 1}, {"name": "g", "length": 5}]}) + b"abc"

    _, out, _ = check(stream, "--format", "json", cwd=tmp_path)

    document = json.loads(out)
    assert document["files"] == {"count": 0, "bytes": 0}
    assert document["error"]["rule"] == "F2"


def test_as_json_with_the_bytes_readable(tmp_path: Path) -> None:
    code, out, _ = check(GOOD + b"caf\xc3\xa9\n", "-", "--format", "json", cwd=tmp_path)

    document = json.loads(out)
    assert code == 1
    assert document["schema"] == "proctor.control-check/1"
    assert document["good"] is False
    assert document["results"] == {"fail": 1, "pass": 1, "none": 1}
    assert document["own_result"] is True
    assert document["open_partials"] == ["c"]
    assert document["words"] == {"noop": 1, "duration": 2}
    assert document["error"]["rule"] == "C2"
    assert document["error"]["offset"] == len(GOOD) + 3
    assert document["error"]["before"].endswith("result 2\\n{}caf")
    assert document["error"]["after"] == "\\xc3\\xa9\\n"


def test_a_partial_that_only_the_end_of_the_test_finds_wanting(tmp_path: Path) -> None:
    stream = encode({"partial": True, "testout": "f", "files": [{"name": "f", "length": 0}]})

    code, out, _ = check(stream, cwd=tmp_path)

    assert code == 1
    assert "testout 'f' is also the name of a file" in out


def test_what_comes_after_disconnect_is_counted_and_not_judged(tmp_path: Path) -> None:
    code, out, _ = check(b"disconnect\nrubbish", cwd=tmp_path)

    assert code == 0
    assert "7 bytes after disconnect" in out
    assert "its exit code decides" in out


def test_the_limits_are_those_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "proctor.toml").write_text("[limits]\nresults = 2\n")

    code, out, _ = check(GOOD, cwd=tmp_path)

    assert code == 1
    assert "more than 2 results; raise the limit `results`" in out


@pytest.mark.parametrize("vector", VECTORS[::12], ids=lambda vector: vector["name"])
def test_it_agrees_with_the_vectors(vector: dict[str, Any], tmp_path: Path) -> None:
    code, out, _ = check(stream_of(vector), "--format", "json", cwd=tmp_path)

    error = json.loads(out)["error"]
    assert (error and error["kind"]) == vector["expected"]["error"]
    assert code == (1 if error else 0)


def test_a_large_stream_takes_little_memory(tmp_path: Path) -> None:
    """512 MiB of files under an address space of 400 MiB."""
    size = 1 << 26
    with open(tmp_path / "stream", "wb") as file:
        for number in range(8):
            file.write(encode({"name": str(number), "files": [{"name": "f", "length": size}]}))
            file.seek(size - 1, 1)
            file.write(b"\0")
    limited = 'ulimit -v 409600; exec "$@"'

    done = subprocess.run(
        ["sh", "-c", limited, "sh", *command("control", "check", "stream")],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        timeout=GUARD,
        check=False,
    )

    assert done.stdout.startswith(b"good: 8 results (8 without a status); 8 files of 536870912 bytes")


@pytest.mark.parametrize(
    "arguments, word", [(["check", "nowhere"], "nowhere"), (["chekc"], "chekc"), ([], "action")]
)
def test_bad_input_is_one_line_and_exit_code_4(tmp_path: Path, arguments: list[str], word: str) -> None:
    ran = proctor("control", *arguments, cwd=tmp_path)

    assert ran.code == 4
    assert word in ran.err
    assert ran.err.count("\n") == 1
