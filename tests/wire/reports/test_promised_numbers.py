"""Nothing grows with a number that somebody wrote: what is promised and missing is counted, never made."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from support.made_reports import go, objects, rust, text

from proctor.cli.text_settings import TextSettings
from proctor.cli.writers import Output, Runs
from proctor.outcome import RunOutcome
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.wire import formats

SMALL, LARGE = 3000, 999_999_999_999
REST = "0 failed; 0 ignored; 0 measured; 0 filtered out"
MEMORY = 8 << 20  # bytes, for all that is read and written


def promises(number: int) -> dict[str, tuple[str, bytes]]:
    """Reports that promise as many tests and have one, by what promises them."""
    return {
        "TAP plan": ("tap", text(f"1..{number}", "ok 1 - a")),
        "TAP plan at the end": ("tap", text(f"ok {number} - a", f"1..{number}")),
        "TAP plan of subtests": ("tap", text("1..1", f"    1..{number}", "    ok 1 - x", "ok 1 - a")),
        "TAP tests to do": ("tap", text(f"1..{number} todo {number}", "ok 1 - a")),
        "TAP indentation": ("tap", text("1..1", "not ok 1", "  ---", f"  a: |{number}", "    x", "  ...")),
        "libtest": ("libtest", text(f"running {number} tests", "test a ... ok")),
        "libtest tally": (
            "libtest",
            text("running 1 test", "test a ... ok", f"test result: ok. {number} passed; {REST}"),
        ),
        "cargo targets": ("libtest", text("running 0 tests", f"error: {number} targets failed:")),
        "test_count": (
            "libtest-json",
            objects(rust("suite", "started", test_count=number), rust("test", "ok", name="a")),
        ),
        "suite counts": (
            "libtest-json",
            objects(
                rust("suite", "started", test_count=number),
                rust("test", "ok", name="a"),
                rust("suite", "ok", passed=number, failed=0, ignored=0, measured=0),
            ),
        ),
        "TAP-J count": (
            "tap-j",
            objects(
                {"type": "suite", "count": number},
                {"type": "case", "label": "c", "level": number},
                {"type": "test", "label": "a", "status": "pass", "line": number, "file": "a"},
                {"type": "final", "counts": {"pass": number, "total": number}},
            ),
        ),
        "go time": ("go-json", objects(go("run", "TestA"), go("fail", "TestA", Elapsed=number), go("fail"))),
    }  # fmt: skip


def written(form: str, data: bytes, target: str) -> tuple[int, RunResult]:
    file, results = io.BytesIO(), list[RunResult]()
    runs = Runs(target, Output(file, TextSettings(), {}))
    replay = Replay(runs.sinks, results.append)
    reader = formats.run_reader(form)
    replay.take(reader.feed(data))
    replay.take(reader.close())
    replay.close()
    replay.check()
    runs.close(form)
    return len(file.getvalue()), results[0]


@pytest.mark.parametrize("target", formats.offered("show"))
@pytest.mark.parametrize("name", promises(1))
def test_a_number_costs_no_more_than_its_digits(name: str, target: str) -> None:
    form, small = promises(SMALL)[name]
    usual, _ = written(form, small, target)
    tracemalloc.start()
    try:
        size, result = written(form, promises(LARGE)[name][1], target)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert result.outcome not in (RunOutcome.PASSED, RunOutcome.NO_TESTS)
    assert peak < MEMORY
    assert size < usual * 1.2 + 200
