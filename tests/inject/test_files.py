"""What a session writes down about the files that it reads, in a real interpreter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.projects import GUARD, clean_environment

from proctor.runners.pytest_suite import PLUGIN_PATH

WATCH = """
import sys
sys.path.insert(0, {home!r})
from _proctor_injected_load import load
load("proctor_files").watch({asked!r})
"""


def _facts(tmp_path: Path, code: str, **asked: Any) -> list[list[Any]]:
    log = tmp_path / "log.jsonl"
    script = WATCH.format(home=PLUGIN_PATH, asked={"log": str(log), **asked}) + code
    environ = clean_environment(PYTHONPATH=":".join(asked.get("path", ())))
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environ, check=True, timeout=GUARD)
    return [json.loads(line) for line in log.read_text().splitlines()]


def test_modules_and_files_are_written_down_also_those_that_are_removed_or_read_in_a_fork(
    tmp_path: Path,
) -> None:
    (tmp_path / "module.py").write_text("")
    (tmp_path / "data.txt").write_text("")
    code = """
import os
import module
del sys.modules["module"]
if os.fork() == 0:
    open("data.txt").close()
    os._exit(0)
os.wait()
"""
    facts = _facts(tmp_path, code)

    assert facts[0][0] == "session"
    assert ["read", str(tmp_path / "module.py")] in facts
    assert ["read", str(tmp_path / "data.txt")] in facts


def test_what_is_not_there_is_written_down_and_what_is_written_is_no_lack(tmp_path: Path) -> None:
    code = """
for place in ("lacking.txt", "lacking/more.txt"):
    try:
        open(place)
    except OSError:
        pass
open("made.txt", "w").close()
try:
    import no_such_module
except ImportError:
    pass
"""
    facts = _facts(tmp_path, code)

    sought = [fact[1] for fact in facts if fact[0] == "sought"]
    assert sought == [str(tmp_path / "lacking.txt"), str(tmp_path / "lacking/more.txt")]
    assert ["wrote", str(tmp_path / "made.txt")] in facts
    missing = next(fact for fact in facts if fact[0] == "missing")
    assert missing[1] == "no_such_module" and PLUGIN_PATH in missing[2]


def test_a_python_that_looks_for_modules_elsewhere_is_written_down(tmp_path: Path) -> None:
    code = """
import os, subprocess
subprocess.run([sys.executable, "-c", ""])
subprocess.run(["true"], env={})
"""
    escaping = """
subprocess.run([sys.executable, "-c", ""], env={})
"""
    asked = {"path": [str(tmp_path)]}

    assert not [fact for fact in _facts(tmp_path, code, **asked) if fact[0] == "escaped"]
    assert [fact for fact in _facts(tmp_path, code + escaping, **asked) if fact[0] == "escaped"]


def test_a_test_that_closes_every_descriptor_gets_no_line_of_ours_in_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("")
    code = """
import os
os.closerange(3, 50)
own = os.open("own.txt", os.O_WRONLY | os.O_CREAT)
open("data.txt").close()
os.write(own, b"mine")
"""
    facts = _facts(tmp_path, code)

    assert (tmp_path / "own.txt").read_bytes() == b"mine"
    assert ["read", str(tmp_path / "data.txt")] in facts
