"""Asks an interpreter where it finds modules by itself, in one short process. Imports none of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from proctor import decoding
from proctor.process.ask import ask
from proctor.text import first_line

_SHOWN = 200  # characters of what the interpreter says
MARK = "proctor-modules:"


class Modules(msgspec.Struct, frozen=True):
    """Where modules are; or, in `fault`, why nobody knows."""

    path: list[str] = []  # of the interpreter, without the current directory
    found: dict[str, str] = {}  # files of those that were asked for
    namespaces: dict[str, list[str]] = {}  # directories of those that have no file
    editable: dict[str, str] = {}  # where finders of editable installs have modules, asked for or not
    standard: list[str] = []  # those that are the standard library's
    fault: str = ""


def find(python: str, names: Iterable[str], environ: Mapping[str, str], seconds: float) -> Modules:
    """In no directory of the project, so that only what is installed, or on PYTHONPATH, is found."""
    import json

    # The names go through a variable: on a command line, tools that show processes would show them all.
    given = {**environ, "PROCTOR_MODULES": json.dumps(sorted(names))}
    answer = ask((python, "-B", "-c", SCRIPT), "/", given, seconds)
    if answer.fault:
        return Modules(fault=f"{python} {first_line(answer.fault, _SHOWN)}")
    for line in answer.text.splitlines():
        if line.startswith(MARK + "{"):
            return decoding.convert(json.loads(line.removeprefix(MARK)), Modules)
    return Modules(fault=f"{python} did not say where its modules are")


# For Python 3.7 to 3.14. What finds modules was loaded before the path is that of the project again.
SCRIPT = r"""
import os, sys
path = [place for place in sys.path if place]
sys.path[:] = sorted(path, key=lambda place: not place.startswith(os.path.dirname(os.__file__)))
import importlib.util, json, sysconfig
sys.path[:] = path
library = [os.path.realpath(sysconfig.get_paths()[key]) for key in ("stdlib", "platstdlib")]
installed = ("site-packages", "dist-packages")
found, namespaces, editable, standard = {}, {}, {}, []
for finder in sys.meta_path:
    # The first is setuptools', the second that of the package `editables`.
    mapping = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", None)
    for known in (mapping, getattr(finder, "_redirections", None)):
        if isinstance(known, dict):
            editable.update((str(name), str(place)) for name, place in known.items())
for name in json.loads(os.environ.pop("PROCTOR_MODULES")):
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        continue
    if spec is None:
        continue
    origin = spec.origin or ""
    place = os.path.realpath(origin)
    inside = [place[len(base) + 1 :] for base in library if place.startswith(base + os.sep)]
    if origin in ("built-in", "frozen") or any(rest.split(os.sep)[0] not in installed for rest in inside):
        standard.append(name)
    elif spec.has_location:
        found[name] = origin
    elif spec.submodule_search_locations is not None:
        namespaces[name] = [str(place) for place in spec.submodule_search_locations]
facts = {"path": path, "found": found, "namespaces": namespaces, "editable": editable, "standard": standard}
print("\nMARK" + json.dumps(facts))
""".replace("MARK", MARK)
