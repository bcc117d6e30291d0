"""A fault of the history itself, which nobody foresaw."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from proctor.cli.main import main
from proctor.history.memory import Memory


@pytest.mark.parametrize("method", ["_compared", "_row"])
def test_whatever_goes_wrong_in_the_history_the_answer_is_the_same(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\ndef test_b(): assert 0\n")
    monkeypatch.setitem(os.environ, "XDG_STATE_HOME", str(tmp_path / "state"))
    run = ["run", "-C", str(tmp_path), "--format", "agent", "--python", sys.executable, "--no-archive"]

    def fail(*_: object) -> None:
        raise KeyError("nobody thought of this")

    monkeypatch.setattr(Memory, method, fail)
    status = main(run)
    out, err = capsysbinary.readouterr()

    assert status == 1
    assert out.startswith(b"1 failed 1 passed\ntest_a.py::test_b :2 assert 0\n")
    assert b"KeyError: 'nobody thought of this'" in out + err
    assert b"history" in out + err
