"""A replay says what the run said: a log cut anywhere is shown the same by every way to show it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.full_runs import CASES
from support.streams import STARTED, Log, publish_suites

from proctor import events as e
from proctor.archive.inside import Folder
from proctor.archive.lookup import read_run
from proctor.archive.read_log import read_log
from proctor.archive.store import RunDirectory
from proctor.cli.show import main
from proctor.mcp_server import run_data
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.wire import formats

SECRET = "hunter2"
LEAKS = f"ValueError: password='{SECRET}'"
WHY = e.Failure("ValueError", LEAKS, e.Place("t.py", 3))
FAILS = e.TestFinished(
    "t.py::test_leaks",
    Outcome.FAILED,
    0.1,
    LEAKS,
    f"trace\n{LEAKS}\n",
    failure=WHY,
    phases=(e.Phase("call", "failed", longrepr=LEAKS, stdout=f"{LEAKS}\n", failure=WHY),),
)
RUNS: dict[str, tuple[e.Event, ...]] = {
    "leaks": (e.SuiteStarted("pytest", "", 2), e.TestStarted("t.py::test_leaks"), FAILS, e.Noticed(LEAKS)),
    "all": CASES["all"],
    "several": CASES["several"],
    "stopped": CASES["stopped"],
}
NEVER_MASKED = {"json", "stream", "events", "results"}


def lines_of(kind: str) -> list[bytes]:
    kept = Log()
    relay = Relay(STARTED, [kept])
    publish_suites(relay, RUNS[kind], 0.5)
    relay.close(1.0)
    return kept.lines


def kept(root: Path, lines: list[bytes]) -> Path:
    path = root / ".proctor" / "runs" / STARTED.run_id
    path.mkdir(parents=True, exist_ok=True)
    (path / "events.jsonl").write_bytes(b"".join(lines))
    return path


def shown(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> str:
    main(list(arguments))
    return capfdbinary.readouterr().out.decode()


@contextmanager
def on_stdin(path: Path) -> Iterator[None]:
    stdin = os.dup(0)
    with open(path, "rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        yield
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verdict(document: str) -> tuple[str, str]:
    found = json.loads(document)
    return found["outcome"], found["reason"]


@pytest.mark.parametrize("kind", RUNS)
def test_every_way_to_show_a_cut_log_agrees_on_outcome_and_reason(
    here: Path, kind: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    lines = lines_of(kind)
    for count in range(1, len(lines) + 1):
        path = kept(here, lines[:count])
        result = read_log(Folder(path)).result
        expected = (str(result.outcome), result.reason)
        assert (count == len(lines)) == ("without its final line" not in result.reason), count

        ways = ["last", path.name, str(path), str(path / "events.jsonl")]
        assert {verdict(shown(capfdbinary, way, "--format", "json")) for way in ways} == {expected}
        for form in ("agent", "human", "summary"):
            texts = {shown(capfdbinary, way, "--format", form) for way in ways}
            assert len(texts) == 1
        assert shown(capfdbinary, "last") == shown(capfdbinary, "last", "--format", "agent")
        assert read_run(Folder(path)).document.outcome == result.outcome
        document = run_data.from_archive(Folder(path)).document
        assert (document.outcome, document.reason) == expected
        with on_stdin(path / "events.jsonl"):
            assert verdict(shown(capfdbinary, "-", "--format", "json")) == expected


@pytest.mark.parametrize("form", formats.offered("show"))
@pytest.mark.parametrize("mask", [True, False])
def test_secrets_are_masked_by_the_settings_and_the_format_alone(
    here: Path, form: str, mask: bool, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (here / "proctor.toml").write_text(f"mask_secrets = {str(mask).lower()}\n")
    lines = lines_of("leaks")
    for count in range(4, len(lines) + 1):
        path = kept(here, lines[:count])
        for way in ("last", str(path / "events.jsonl")):
            text = shown(capfdbinary, way, "--format", form)
            assert (SECRET not in text) == (mask and form not in NEVER_MASKED), text


def test_a_run_under_way_is_running_in_every_format(
    here: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = kept(here, lines_of("leaks")[:4])
    lock = RunDirectory(Folder(path))
    try:
        assert shown(capfdbinary, "last").startswith("running 1 failed\n")
        assert shown(capfdbinary, "last", "--format", "agent").startswith("running 1 failed\n")
        assert "running 1 failed" in shown(capfdbinary, "last", "--format", "summary")
        assert verdict(shown(capfdbinary, "last", "--format", "json")) == ("running", "")
        assert read_log(Folder(path)).result.outcome is RunOutcome.RUNNING
        for form in ("stream", "events"):  # whoever reads them sees that there is no end
            assert '"type":"final"' not in shown(capfdbinary, "last", "--format", form)
    finally:
        lock.close()
