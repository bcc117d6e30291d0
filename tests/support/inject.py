"""A plain pytest with our plugin beside it, in each version that the plugin has to know."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import proctor
from support.projects import GUARD, Ran, clean_environment, environment, interpreters, project_python

SOURCE = Path(proctor.__file__).parent.parent
QUIET = ("-p", "no:cacheprovider")


@dataclass(frozen=True)
class Version:
    python: str
    requirements: tuple[str, ...]

    def __str__(self) -> str:
        return self.requirements[0]

    def interpreter(self) -> str:
        if self.python not in interpreters():
            pytest.skip(f"no interpreter for Python {self.python}")
        return environment(interpreters()[self.python], self.requirements)


VERSIONS = [
    Version(
        "3.11",
        ("pytest==7.4.4", "pytest-xdist==3.6.1", "pytest-rerunfailures==14.0", "pytest-subtests==0.13.1"),
    ),
    Version(
        "3.12",
        ("pytest==8.4.2", "pytest-xdist==3.8.0", "pytest-rerunfailures==16.0.1", "pytest-subtests==0.14.2"),
    ),
    Version("3.13", ("pytest==9.2.0", "pytest-xdist==3.8.0", "pytest-rerunfailures")),
]
each_version = pytest.mark.parametrize("version", VERSIONS, ids=str)


def plain(root: Path, *arguments: str, python: str = "", **more: str) -> Ran:
    """pytest itself, with our plugin beside it; `more` is added to an environment without agents."""
    done = subprocess.run(
        [python or project_python(), "-m", "pytest", *QUIET, "-p", "proctor_pytest", *arguments],
        cwd=root,
        env=clean_environment(PYTHONPATH=str(SOURCE), **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    return Ran(done.returncode, text_of(done.stdout), text_of(done.stderr))


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")
