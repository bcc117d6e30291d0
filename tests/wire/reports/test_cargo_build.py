"""What cargo says while it builds, as events and artifacts: the same in pieces of any size."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pieces import pieces

from proctor import events as e
from proctor.launch import Artifact
from proctor.wire import formats
from proctor.wire.reports.cargo_build import (
    BROKEN,
    COMPILER,
    LIBRARY,
    PATHS,
    PROGRAM,
    SCRIPT,
    TEST,
    CargoBuildReader,
    target_id,
)

OURS = {"package_id": "path+file:///w/a#alpha-one@0.1.0", "manifest_path": "/w/a/Cargo.toml"}
NAMELESS = {"package_id": "path+file:///w/beta#0.1.0", "manifest_path": "/w/beta/Cargo.toml"}


def target(kind: str, name: str, source: str, **more: Any) -> dict[str, Any]:
    return {"target": {"kind": [kind], "name": name, "src_path": source, **more}}


def diagnostic(level: str, message: str, line: int, **more: Any) -> dict[str, Any]:
    place = {"file_name": "a/tests/t.rs", "line_start": line, "is_primary": True, "label": None}
    rendered = f"{level}: {message}\n --> a/tests/t.rs:{line}\n"
    return {
        "message": {"message": message, "level": level, "rendered": rendered, "spans": [place], **more},
        "reason": "compiler-message",
        **OURS,
        **target("test", "t", "/w/a/tests/t.rs"),
    }


BUILT = "compiler-artifact"
SAID = [
    {"reason": BUILT, **OURS, **target("lib", "alpha_one", "/w/a/src/lib.rs", doctest=True)}
    | {"filenames": ["/t/liba.rlib"], "executable": None, "profile": {"test": False}},
    {"reason": BUILT, **OURS, **target("bin", "tool", "/w/a/src/main.rs")}
    | {"filenames": ["/t/tool"], "executable": "/t/tool", "profile": {"test": False}},
    {"reason": BUILT, **NAMELESS, **target("rlib", "beta", "/w/beta/src/lib.rs", doctest=False)}
    | {"filenames": ["/t/beta-1"], "executable": "/t/beta-1", "profile": {"test": True}},
    {"reason": "build-script-executed", **OURS, "out_dir": "/t/out", "env": [["A", "1"]]}
    | {"linked_paths": ["native=/t/out/lib", "/usr/lib"]},
    diagnostic("warning", "unused variable: `x`", 2, code={"code": "unused_variables"}),
    diagnostic("error", "no such thing", 3),
    diagnostic("error", "no such thing", 3),  # the library is compiled twice
    diagnostic("error", "another", 4, code={"code": "E0425"}),
    {"reason": "something-new", "extra": 1},
    {"reason": "build-finished", "success": False},
]
LINES = b"".join(json.dumps(line).encode() + b"\n" for line in SAID)
DATA = b"rustc 1.95.0 (59807616e 2026-04-14)\nhost: x86_64-unknown\nsysroot: /rust\n" + LINES


def told(data: bytes, size: int) -> tuple[list[e.Event], list[Artifact]]:
    reader = CargoBuildReader()
    events = [event for piece in pieces(data, size) for event in reader.feed(piece)]
    return [*events, *reader.close()], reader.artifacts


@pytest.mark.parametrize("size", [1, 7, len(DATA)])
def test_a_build_tells_what_it_made_however_the_bytes_arrive(size: int) -> None:
    _, artifacts = told(DATA, size)

    made = [(one.kind, one.path, one.name, one.root) for one in artifacts]
    assert made == [
        (COMPILER, "/rust", "rustc 1.95.0 (59807616e 2026-04-14)", ""),
        (LIBRARY, "/t/liba.rlib", "alpha_one", "/w/a"),
        (PROGRAM, "/t/tool", "tool", "/w/a"),
        (TEST, "/t/beta-1", "beta", "/w/beta"),
        (SCRIPT, "/t/out", "alpha-one", ""),
        (BROKEN, "", "", ""),
    ]
    facts = {one.kind: one.facts for one in artifacts}
    assert facts[COMPILER] == {"host": "x86_64-unknown"}
    assert (facts[TEST]["package"], facts[TEST]["target"]) == ("beta", "lib")
    assert facts[SCRIPT] == {"A": "1", "OUT_DIR": "/t/out", PATHS: "/t/out/lib:/usr/lib"}


def test_the_errors_of_a_target_are_one_with_all_their_texts() -> None:
    events, _ = told(DATA, 100)

    (error,) = [event for event in events if isinstance(event, e.CollectionFailed)]
    assert error.file == "/w/a/tests/t.rs"
    assert error.failure == e.Failure("", "no such thing", e.Place("a/tests/t.rs", 3))
    assert error.traceback.count("no such thing") == 1
    assert "error: another" in error.traceback
    (warning,) = [event for event in events if isinstance(event, e.WarningRecorded)]
    assert (warning.category, warning.line) == ("unused_variables", 2)
    assert e.SuiteDescribed("", {"rustc": "rustc 1.95.0 (59807616e 2026-04-14)"}) in events
    assert isinstance(events[-1], e.SessionFinished)


def test_a_build_without_its_end_is_not_whole() -> None:
    events, artifacts = told(LINES.rpartition(b'{"reason": "build-finished"')[0], 100)

    assert isinstance(events[-1], e.ChannelBroken)
    assert artifacts[-1].kind == BROKEN


def test_names_of_tests_begin_with_their_target() -> None:
    assert target_id("alpha-one", "lib", "alpha_one") == "alpha_one"
    assert target_id("alpha-one", "test", "sales") == "alpha_one::test/sales"
    assert target_id("alpha-one", "bin", "alpha-one") == "alpha_one::bin/alpha-one"


PIECES = [
    b"\n",
    b"{",
    b"}",
    b"\x1e",
    b"\x1e=0",
    b": test",
    b"sysroot: ",
    b"host: ",
    b"rustc ",
    *DATA.split(b"\n"),
]


@pytest.mark.parametrize("form", ["cargo-build", "libtest-list"])
@given(st.lists(st.one_of(st.binary(max_size=20), st.sampled_from(PIECES)), max_size=20), st.integers(1, 50))
def test_any_bytes_end_in_events(form: str, parts: list[bytes], size: int) -> None:
    reader = formats.reader(form)
    for piece in pieces(b"\n".join(parts), size):
        reader.feed(piece)

    assert isinstance(reader.close()[-1], e.SessionFinished | e.ChannelBroken)
