"""The old text: byte for byte what the real `cargo test` prints for the same tests."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.made_reports import libtest, objects, rust
from support.projects import GUARD, cargo_works
from support.reports import REPORTS
from support.streams import case, final, rendered, suite, written

from proctor.events import RunStarted
from proctor.relay import Relay
from proctor.render.libtest import Libtest
from proctor.wire.formats import run_reader

DATA = Path(__file__).parent.parent / "data"
CRATE = DATA / "crate"
PANICKING = ("does_not_panic", "ignored_should_panic", "panics", "panics_otherwise")


def masked(text: str) -> str:
    """Without what is different each time: durations, and the numbers of threads."""
    return re.sub(r"(finished in )\d+\.\d\d|(' \()\d+(\) panicked)", r"\1\2\3", text)


def cargo(root: Path, *arguments: str) -> str:
    environ = {**os.environ, "RUST_BACKTRACE": "0", "RUSTC_BOOTSTRAP": "1", "CARGO_TERM_COLOR": "never"}
    done = subprocess.run(
        ["cargo", "test", "--offline", "--quiet", "--", "--test-threads=1", *arguments],
        cwd=root,
        env=environ,
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    assert done.returncode in (0, 101), done.stderr.decode()
    return done.stdout.decode()


def as_stream(report: str) -> bytes:
    """libtest's own JSON as a public stream; what it does not say about a test we know."""
    lines: list[dict[str, Any]] = []
    for event in map(json.loads, report.splitlines()):
        if event["type"] == "suite" and event["event"] == "started":
            lines.append(suite(event["test_count"]))
        elif event["type"] == "suite":
            facts = {"seconds": event["exec_time"]}
            lines[0]["extra"] = {"filtered_out": event["filtered_out"]}
            lines.append(final(event["passed"], event["failed"], event["ignored"], extra=facts))
        elif event["event"] != "started":
            lines.append(_test(event))
    return written(*lines)


def _test(event: dict[str, Any]) -> dict[str, Any]:
    status = {"ok": "ok", "failed": "fail", "ignored": "ignore"}[event["event"]]
    test = case(event["name"], status)
    if event["name"].rpartition("::")[2] in PANICKING:
        test["subtype"] = "should_panic"
    if stdout := event.get("stdout"):
        test["stdout"] = stdout
    if message := event.get("message"):
        test["extra"] = {"skip_reason": message} if status == "ignore" else {"failure": {"message": message}}
    elif status == "fail":
        test["reason"] = stdout.strip().splitlines()[-1]
    return test


@pytest.mark.skipif(not cargo_works(), reason="needs cargo")
@pytest.mark.parametrize("chosen", [(), ("adds",), ("nothing",), ("panics",)], ids=" ".join)
def test_it_is_what_cargo_prints(tmp_path_factory: pytest.TempPathFactory, chosen: tuple[str, ...]) -> None:
    root = tmp_path_factory.getbasetemp() / "crate"
    if not root.exists():
        shutil.copytree(CRATE, root)
    stream = as_stream(cargo(root, *chosen, "-Zunstable-options", "--format=json", "--report-time"))

    assert masked(rendered(stream, Libtest)) == masked(cargo(root, *chosen, "--format=pretty"))


def test_it_is_what_cargo_printed_when_this_was_written() -> None:
    golden = DATA / "libtest"

    text = rendered((golden / "stream.jsonl").read_bytes(), Libtest)

    assert masked(text) == masked((golden / "cargo.txt").read_text())


def test_a_benchmark_is_printed_as_cargo_bench_prints_it() -> None:
    stream = written(
        suite(3),
        case("fast", subtype="bench", duration=1, extra={"properties": {"median": 1.19, "deviation": 0.82}}),
        case("slow", subtype="bench", duration=1504, throughput=664),
        case("late", "ignore", extra={"outcome": "not_run"}),
        final(2, 0, 1),
    )

    assert rendered(stream, Libtest) == (
        "\nrunning 3 tests\n"
        "test fast ... bench:           1.19 ns/iter (+/- 0.82)\n"
        "test slow ... bench:       1,504.00 ns/iter = 664 MB/s\n"
        "test late ... ignored, not run\n"
        "\ntest result: FAILED. 0 passed; 0 failed; 1 ignored; 2 measured; 0 filtered out\n\n"
        "error: incomplete: 1 of 3 tests were not run\n\n"
    )


def test_several_suites_are_printed_one_after_another() -> None:
    stream = written(suite(1), case("a"), final(1), suite(0), final())

    assert rendered(stream, Libtest) == (
        "\nrunning 1 test\ntest a ... ok\n"
        "\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\n"
        "\nrunning 0 tests\n"
        "\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\n"
    )


def test_a_failure_that_nothing_was_printed_about_still_says_why() -> None:
    stream = written(suite(1), case("a", "fail", reason="exit status 3", stderr="oh\n"), final(0, 1))

    assert "---- a stdout ----\nexit status 3\n---- a stderr ----\noh\n\n\nfailures:\n    a\n" in rendered(
        stream, Libtest
    )


def test_an_incomplete_stream_does_not_look_like_a_success() -> None:
    text = rendered(written(suite(2), case("a")), Libtest)

    assert "test result: FAILED. 1 passed; 0 failed;" in text
    assert "error: incomplete: the stream ends without its final line; 1 of 2 tests have no result\n" in text


def test_what_a_test_printed_cannot_move_the_cursor() -> None:
    stream = written(suite(1), case("a\x1b[2J", "fail", stdout="\x1b[31mred\x1b[0m\x07\n"), final(0, 1))

    text = rendered(stream, Libtest)

    assert "\x1b" not in text
    assert "---- a stdout ----\nred\\x07\n" in text


def shown(data: bytes, form: str) -> str:
    """A report as cargo's text."""
    written: list[str] = []
    sink = Libtest(lambda text, tone="", link="": written.append(text))
    relay: Relay | None = None
    for entry in [*(reader := run_reader(form)).feed(data), *reader.close()]:
        if isinstance(entry.event, RunStarted):
            relay = Relay(entry.event, [sink])
        elif relay is not None:
            relay.publish(entry.event, entry.at, entry.suite)
    return "".join(written)


def test_cargos_text_is_shown_as_it_was() -> None:
    text = (DATA / "libtest" / "cargo.txt").read_text()

    assert shown(text.encode(), "libtest") == text.replace("; finished in 0.00s", "")  # it took no time


@pytest.mark.parametrize("name", ["cargo/sums.jsonl", "cargo/text.txt"])
def test_libtests_own_message_is_a_note_from_json_and_from_text(name: str) -> None:
    text = shown(REPORTS[name], "libtest-json" if name.endswith("jsonl") else "libtest")

    assert "\ntest tests::does_not_panic - should panic ... FAILED\n" in text
    note = "---- tests::does_not_panic stdout ----\nnote: test did not panic as expected at src/lib.rs:51:8\n"
    assert note in text
    assert text.count("note: test did not panic") == 1


@pytest.mark.parametrize(
    ("message", "printed", "subtype"),
    [
        (
            "panic did not contain expected string\n panic: x",
            "thread 'a' panicked at a.rs:1:2:\nx\n",
            " - should panic",
        ),
        ("got unexpected return code 7", "out\n", ""),
    ],
)
def test_every_message_of_libtest_is_a_note(message: str, printed: str, subtype: str) -> None:
    data = objects(
        rust("suite", "started", test_count=1),
        rust("test", "failed", name="a", stdout=printed, message=message),
        rust("suite", "failed", passed=0, failed=1, ignored=0, measured=0),
    )
    text = shown(data, "libtest-json")

    assert f"test a{subtype} ... FAILED\n" in text
    assert f"---- a stdout ----\n{printed}note: {message}\n" in text


def test_a_failure_without_a_note_gets_none() -> None:
    lines = ("failures:", "", "---- a stdout ----", "this message", "", "", "failures:", "    a")
    data = libtest("test a - should panic ... FAILED", "", *lines, tally=(0, 1, 0, 0))

    assert "note:" not in shown(data, "libtest")
