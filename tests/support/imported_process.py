"""A process that has imported something and can be asked whether that is still what would be imported."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.process.standby import HOOK
from support.projects import clean_environment

INJECTED = Path(HOOK).parent
SECOND = 1_000_000_000
FRESH = ""

_ASKED = """
import os, sys, time
sys.path.pop(0)
from _proctor_injected_load import load
freshness = load("proctor_freshness")
started = time.time_ns() + int(sys.argv[2])
if sys.argv[1] == "in the site":
    usual = freshness.site.getsitepackages()
    freshness.site.getsitepackages = lambda: [*usual, os.environ["PLACE"]]
places = freshness.Places()
places.remember_missing()
exec(sys.argv[3])
seen = freshness.Seen(places, [], started)
print("ready", flush=True)
for line in sys.stdin:
    print(seen.stale(os.getcwd()) or "fresh", flush=True)
    exec(line)
"""


class Asked:
    """A process that has imported something. `place` is on its path, `root` is where it is."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.tell()

    def tell(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def stale(self, then: str = "") -> str:
        """Why it must not be used; empty: it may. It does `then` when it has answered."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{then}\n")
        self._process.stdin.flush()
        return self.tell().replace("fresh", "") if then == "" else self.tell()


@contextmanager
def imported(
    home: Path,
    code: str,
    *,
    in_site: bool = False,
    path: str = "",
    early: int = SECOND,
    python: str = sys.executable,
    **environ: str,
) -> Iterator[Asked]:
    """A process that has done `code`, with `home/place` on its path: as a site directory, or any other.

    Usually it believes that it was started a second later than it was, and so that all files are older.
    """
    (home / "root").mkdir(exist_ok=True)
    place = home / "place"
    where = "in the site" if in_site else "elsewhere"
    environ = {"PYTHONPATH": f"{INJECTED}/path:{path or place}", "PLACE": str(place), **environ}
    process = subprocess.Popen(
        [python, "-c", _ASKED, where, str(early), textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=home / "root",
        env=clean_environment(**environ),
    )
    try:
        yield Asked(process)
    finally:
        process.communicate()


def rewrite(path: Path, text: str) -> None:
    """In place, without a trace in its time of change."""
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path, text: str) -> None:
    """As editors do."""
    fresh = path.with_name("~fresh")
    fresh.write_text(text)
    fresh.replace(path)


def archive(path: Path, **modules: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name, text in modules.items():
            file.writestr(f"{name}.py", text)
