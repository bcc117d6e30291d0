"""What a soak runs: small projects of many tempers, and what is true of each, whatever is done to it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.projects import write_project

from proctor.process.tagged import TAG_VARIABLE

BEGUN = "SOAK_BEGUN"  # names the directory where a test that waits for its end leaves a note
SUITE, CROWDED, PROGRAMS = "suite", "crowded", "programs"
KEPT = {SUITE: 40, CROWDED: 3, PROGRAMS: 10}  # runs of each project; fewer than there are at a time, too

_HOLD = f"""
import json, os, pathlib, subprocess, sys, time

def note(child=0):
    path = pathlib.Path(os.environ["{BEGUN}"], os.environ["{TAG_VARIABLE}"])
    part = path.with_name(f"{{path.name}}.part")
    part.write_text(json.dumps({{"test": os.getpid(), "child": child}}))
    part.rename(path)

def hold():
    note()
    while True:
        time.sleep(0.05)

def in_another_session():
    subprocess.Popen(["sleep", "600"], start_new_session=True)
"""

_TESTS = {
    "holding.py": _HOLD,
    "test_pass.py": """
        import pytest

        @pytest.mark.parametrize("number", range(20))
        def test_number(number): pass
    """,
    "test_fail.py": """
        def test_good(): pass

        def test_bad():
            left = [1, 2, 3]
            assert left == [1, 2, 4]
    """,
    "test_crash.py": """
        import os, signal

        def test_before(): pass

        def test_crash(): os.kill(os.getpid(), signal.SIGSEGV)
    """,
    "test_exit.py": """
        import os

        def test_before(): pass

        def test_exit(): os._exit(0)
    """,
    "test_flood.py": """
        def test_flood(capfd):
            with capfd.disabled():
                for number in range(1024):
                    print(f"{number:06d} " + "x" * 1016)

        def test_captured_flood():
            print("y" * (1 << 20))
            raise AssertionError("y" * (1 << 16))
    """,
    "test_grandchild.py": """
        from holding import in_another_session

        def test_leaves_somebody_behind(): in_another_session()
    """,
    "test_broken.py": "import nothing_of_that_name",
    "test_workers.py": """
        import pytest

        @pytest.mark.parametrize("number", range(6))
        def test_number(number): pass
    """,
    "test_endless.py": """
        from holding import hold, in_another_session

        def test_before(): pass

        def test_endless():
            in_another_session()
            hold()
    """,
    "test_child.py": """
        import subprocess
        from holding import note

        def test_waits_for_a_child():
            child = subprocess.Popen(["sleep", "600"])
            note(child.pid)
            assert child.wait() == 0
    """,
    "test_endless_worker.py": """
        import pytest
        from holding import hold

        @pytest.mark.parametrize("number", range(4))
        def test_number(number): pass

        def test_endless(): hold()
    """,
    "pytest.ini": "[pytest]\naddopts = -p xdist.plugin -p no:cacheprovider",
}

_REPORTS = """
    import json, os, sys, time
    from pathlib import Path

    def say(**body):
        raw = json.dumps(body).encode()
        os.write(3, b"result %d\\n%b" % (len(raw), raw))

    for number in range(50):
        say(name=f"part/{number}", status="pass")
    if sys.argv[1:] == ["hold"]:
        sys.path.insert(0, str(Path(__file__).parent))
        from holding import hold
        say(status="pass", partial=True)
        hold()
    say(status="pass")
"""


@dataclass(frozen=True)
class Kind:
    """`alone` is how it ends if nothing is done to it; one that never ends by itself has none."""

    name: str
    arguments: Mapping[str, object]
    alone: str = ""
    tests: int = 0
    passed: int = 0
    failed: int = 0
    projects: tuple[str, ...] = (SUITE, SUITE, CROWDED)
    deeds: tuple[str, ...] = field(default=())  # that only make sense here


KINDS = (
    Kind("pass", {"targets": ["test_pass.py"]}, "passed", 20, 20),
    Kind("fail", {"targets": ["test_fail.py"]}, "failed", 2, 1, 1),
    Kind("crash", {"targets": ["test_crash.py"]}, "crashed", 2, 1),
    Kind("exit", {"targets": ["test_exit.py"]}, "crashed", 2, 1),
    Kind("flood", {"targets": ["test_flood.py"]}, "failed", 2, 1, 1),
    Kind("grandchild", {"targets": ["test_grandchild.py"]}, "passed", 1, 1),
    Kind("broken", {"targets": ["test_broken.py"]}, "collection_error"),
    Kind("workers", {"targets": ["test_workers.py"], "workers": 2}, "passed", 6, 6),
    Kind("program", {"targets": ["/reports"]}, "passed", 1, 51, projects=(PROGRAMS,)),
    Kind("endless", {"targets": ["test_endless.py"]}),
    Kind("child", {"targets": ["test_child.py"]}, deeds=("kill_child",)),
    Kind("endless worker", {"targets": ["test_endless_worker.py"], "workers": 2}),
    Kind("endless program", {"targets": ["/holds"]}, projects=(PROGRAMS,)),
)


def write_projects(root: Path) -> None:
    for name in (SUITE, CROWDED):
        write_project(root / name, _TESTS | {"proctor.toml": f"keep_runs = {KEPT[name]}"})
    here = root / PROGRAMS
    command = f'"{sys.executable}", "reports.py"'
    settings = f"""
        keep_runs = {KEPT[PROGRAMS]}
        runner = "command"
        tests = [
            {{name = "/reports", command = [{command}]}},
            {{name = "/holds", command = [{command}, "hold"]}},
        ]
    """
    write_project(here, {"proctor.toml": settings, "reports.py": _REPORTS, "holding.py": _HOLD})
