"""Asks an interpreter how long packages take to import, in one process. Imports them, and runs no tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from proctor.process.ask import ask
from proctor.text import first_line

_SHOWN = 200  # characters of what the interpreter says
VARIABLE = "PROCTOR_MODULES"
# Of `-X importtime`: microseconds of the module itself, and with all that it imports; its name is indented.
_LINE = re.compile(r"import time:\s+[0-9]+ \|\s+([0-9]+) \| +(\S+)")
_FAILED = re.compile(r"^proctor-failed:(\S+)$", re.M)


class ImportTimes(msgspec.Struct, frozen=True):
    """Seconds by package; or, in `fault`, why nobody knows."""

    seconds: dict[str, float] = {}
    fault: str = ""


def import_times(
    python: str, packages: Iterable[str], environ: Mapping[str, str], seconds: float
) -> ImportTimes:
    """Of each package with all that it is the first to import. What pytest imports itself, and its plugins,
    are left out."""
    import json

    wanted = sorted(packages)
    answer = ask(
        (python, "-B", "-X", "importtime", "-c", SCRIPT),
        "/",  # no directory of the project, so that only what is installed is found
        {**environ, VARIABLE: json.dumps(wanted)},
        seconds,
    )
    if answer.fault:
        return ImportTimes(fault=f"{python} {first_line(answer.fault, _SHOWN)}")
    _, begun, measured = answer.text.partition(MARK)
    if not begun:
        return ImportTimes(fault=f"{python} did not say how long they take")
    found = {name: int(taken) / 1e6 for taken, name in _LINE.findall(measured)}
    failed = set(_FAILED.findall(measured))
    return ImportTimes({name: found[name] for name in wanted if name in found and name not in failed})


MARK = "proctor-imports:"
# For Python 3.7 to 3.14. The times are written to stderr, and are the answer.
SCRIPT = r"""
import json, os
names = json.loads(os.environ.pop("PROCTOR_MODULES"))
from _pytest import config
import pytest
try:
    from importlib.metadata import distributions
except ImportError:
    from importlib_metadata import distributions
plugins = set()
for one in distributions():
    if any(entry.group == "pytest11" for entry in one.entry_points):
        plugins.update(config._iter_rewritable_modules([str(file) for file in one.files or ()]))
os.dup2(1, 2)
os.write(2, b"\nproctor-imports:\n")
for name in names:
    if name not in plugins:
        try:
            __import__(name)
        except BaseException:
            os.write(2, b"\nproctor-failed:" + name.encode() + b"\n")
os._exit(0)
"""
