"""What many tests need: projects on disk, proctor as a process, real interpreters and environments."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, TypeVar

from proctor.agent_mode import STRONG, WEAK

GUARD = 180  # seconds: only against hanging
LIMITS = (4, 12, 60)  # seconds for --timeout: the first is enough for an idle machine to reach a test
SCRUBBED = (
    *STRONG,
    *WEAK,
    "PROCTOR_AGENT",
    "CI",
    "COLUMNS",
    "FORCE_COLOR",
    "NO_COLOR",
    "PYTEST_ADDOPTS",
    "PYTHONPATH",
    "VIRTUAL_ENV",
)
Value = TypeVar("Value")

#: What tests install is the same for every clone: real tools, in environments of their own.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "proctor-tests"


@dataclass(frozen=True)
class Ran:
    """A proctor process that has ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        return json.loads(self.out)


def write_project(root: Path, files: Mapping[str, str]) -> Path:
    """Files by relative path; texts are dedented. Returns the root.

    A file that is written again is at least a second younger than before: Python takes bytecode
    for current by whole seconds and size, so a test that is mended within one would run unmended.
    """
    for name, text in files.items():
        path = root / name
        before = path.stat().st_mtime if path.exists() else 0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        if path.stat().st_mtime < before + 1:
            os.utime(path, (before + 1, before + 1))
    return root


def clean_environment(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in SCRUBBED} | more


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "proctor", *arguments]


def proctor(
    *arguments: str, cwd: Path, environ: Mapping[str, str] | None = None, **streams: int | IO[bytes]
) -> Ran:
    """Run proctor to its end. What one of its streams is given (as `stdout=FILE`) is not read here."""
    usual = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    chosen: dict[str, Any] = usual | streams
    done = subprocess.run(
        command(*arguments),
        cwd=cwd,
        env=dict(environ) if environ is not None else clean_environment(),
        timeout=GUARD,
        check=False,
        **chosen,
    )
    out, err = done.stdout or b"", done.stderr or b""
    return Ran(done.returncode, out.decode(), err.decode("utf-8", "backslashreplace"))


def run_suite(root: Path, *arguments: str, python: str = "", **more: str) -> Ran:
    """`proctor run` as for a project of its own; `more` is added to the environment."""
    chosen = ("--python", python or project_python())
    return proctor("run", *chosen, *arguments, cwd=root, environ=clean_environment(**more))


def document_of(root: Path, *arguments: str, python: str = "", **more: str) -> dict[str, Any]:
    ran = run_suite(root, "--format", "json", *arguments, python=python, **more)
    assert ran.out, ran.err
    return ran.document


def outcomes(document: Mapping[str, Any]) -> dict[str, str]:
    return {test["node_id"]: test["outcome"] for test in document["tests"]}


def with_enough_time(start: Callable[[str], Value], reached: Path) -> Value:
    """Start something with a time limit that ends it after it has made the file `reached`.

    A busy machine may need more than the shortest limit: then the same starts once more with a longer one.
    The file must be a second older than the limit, so that reports on the way have arrived.
    """
    for limit in LIMITS:
        reached.unlink(missing_ok=True)
        latest = time.time() + limit - 1
        value = start(str(limit))
        if reached.exists() and reached.stat().st_mtime < latest:
            break
    return value


def processes_with(variable: str, value: str) -> list[int]:
    """Living processes that have this in their environment."""
    wanted = f"{variable}={value}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def interpreters() -> dict[str, str]:
    """Interpreters by version ("3.8"), as far as this machine has them; the one that runs us among them."""
    found = {f"{sys.version_info[0]}.{sys.version_info[1]}": sys.executable}
    for path in sorted(Path("~/.pyenv/versions").expanduser().glob("*/bin/python")):
        version = ".".join(path.parent.parent.name.split(".")[:2])
        found.setdefault(version, str(path))
    return found


@cache
def project_python() -> str:
    """Of a project that has pytest and a few plugins: half as slow to start as our own, which has all that
    proctor is developed with."""
    names = ("pytest", "pytest-xdist", "pytest-json-report", "pytest-reportlog")
    return environment(sys.executable, [f"{name}=={version(name)}" for name in names])


def environment(python: str, requirements: Sequence[str]) -> str:
    """The interpreter of a virtual environment with these packages; made once, kept in the user's cache."""
    import fcntl
    import hashlib
    import shutil

    python = os.path.realpath(python)  # the same for all clones that use it
    key = hashlib.sha256(json.dumps([python, *requirements]).encode()).hexdigest()[:16]
    home = CACHE / "environments" / key
    made = home / "bin" / "python"
    if not (home / ".ready").exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        with open(home.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # other workers may want the same one at the same time
            if not (home / ".ready").exists():
                shutil.rmtree(home, ignore_errors=True)  # what an interrupted attempt left
                _make_environment(python, home)
                _install(made, *requirements)
                (home / ".ready").touch()
    return str(made)


def _make_environment(python: str, home: Path) -> None:
    ask = [python, "-c", "import sys; print('%d %d' % sys.version_info[:2])"]
    answer = subprocess.run(ask, check=True, capture_output=True, text=True).stdout
    major, minor = map(int, answer.split())
    if major == 2:  # no venv module; a copy of virtualenv that still knows it
        tool = environment(sys.executable, ["virtualenv<20.22"])
        subprocess.run([tool, "-m", "virtualenv", "-q", "-p", python, str(home)], check=True, timeout=600)
    else:
        subprocess.run([python, "-m", "venv", str(home)], check=True, timeout=600)
    if (major, minor) == (3, 6):  # its own pip takes packages that are too new for it
        _install(home / "bin" / "python", "pip>=21,<22")


def _install(python: Path, *requirements: str) -> None:
    command = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *requirements]
    subprocess.run(command, check=True, timeout=600, stdin=subprocess.DEVNULL)


@cache
def cargo_works() -> bool:
    """rustup puts a cargo on the path that is there and has no toolchain."""
    found = shutil.which("cargo")
    return bool(found) and subprocess.run([str(found), "-V"], capture_output=True).returncode == 0
