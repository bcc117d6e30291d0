"""Links to files in a terminal's text (OSC 8): which terminals take them, and where they lead."""

from __future__ import annotations

from collections.abc import Mapping
from posixpath import join, normpath

from proctor.events import Place
from proctor.result import RunResult, SuiteResult

_WITHOUT = ("", "dumb", "linux", "cons25", "emacs", "eterm", "eterm-color")  # they would show the codes


def has_links(environ: Mapping[str, str]) -> bool:
    """Whether the terminal takes links. Nearly all do, or skip them without a trace."""
    return environ.get("TERM", "") not in _WITHOUT


def base_directory(suite: SuiteResult) -> str:
    """What the files of its places are relative to: pytest's rootdir may be above the project."""
    return (suite.described.root if suite.described else "") or suite.run.cwd


def file_url(file: str, cwd: str) -> str:
    """The address of a file, which may be relative to `cwd`; empty for what is no path on this machine."""
    path = join(cwd, file)
    if not file or not path.startswith("/") or "\0" in path:
        return ""
    from urllib.parse import quote  # only where something is linked

    try:
        return "file://" + quote(normpath(path).encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return ""


def place_url(place: Place | None, result: RunResult, test: str) -> str:
    """The address of a place that a failure of this test, or of this file, has."""
    if place is None:
        return ""
    suite = next((suite for suite in result.suites if test in suite.tests), result.suites[0])
    return file_url(place.file, base_directory(suite))
