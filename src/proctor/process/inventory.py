"""Asks an interpreter for its version and packages, in one short process. Nothing is kept."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from proctor import decoding
from proctor.errors import InterpreterError
from proctor.process.ask import ask
from proctor.text import first_line

PATIENCE = 30.0  # seconds; a cold network disk is slow, a hanging interpreter is endless
_SHOWN = 300  # characters of what another program says
_OURS = 20  # characters of a line by which our script is known, which some programs repeat
MARK = "proctor-inventory:"  # a sitecustomize may print, too


class Inventory(msgspec.Struct, frozen=True):
    """`places` are the directories in which packages are installed: if one changes, so may the rest."""

    executable: str
    version: tuple[int, int, int]
    implementation: str
    prefix: str
    packages: dict[str, str]
    places: list[str]
    installed: list[str]  # names, in their normal form, and versions of all that is, except the project's own


def take(python: str, cwd: str, environ: Mapping[str, str]) -> Inventory:
    """Packages are those of `python -m pytest` in `cwd`, except metadata that lies in `cwd` itself."""
    import json

    # -B: the first run of an interpreter would leave bytecode beside its sources. Not -I: it would
    # hide the user's site-packages and PYTHONPATH.
    answer = ask((python, "-B", "-c", SCRIPT), cwd, environ, PATIENCE)
    if answer.fault:
        repeated = any(line.strip() in answer.fault for line in SCRIPT.splitlines() if len(line) > _OURS)
        fault = "does not run Python code" if repeated else answer.fault
        raise InterpreterError(
            f"{python} {first_line(fault, _SHOWN)}; expected a Python interpreter, 2.7 or newer"
        )
    for line in answer.text.splitlines():
        if line.startswith(MARK + "{"):  # and not an `echo` of the script
            # The standard decoder takes the lone surrogates of a path that is not UTF-8.
            return decoding.convert(json.loads(line.removeprefix(MARK)), Inventory)
    raise InterpreterError(f"{python} is not a Python interpreter: it answered {answer.text[:80]!r}")


# For Python 2.7 to 3.14, so it reads the metadata itself: importlib.metadata came with 3.8, and
# importing it takes longer than this does.
SCRIPT = r"""
import os, sys  # both loaded before we begin
# A project's own json.py must not be ours: no current directory, and the standard library first.
path = [place for place in sys.path if place]
sys.path[:] = sorted(path, key=lambda place: not place.startswith(os.path.dirname(os.__file__)))
import io, json, re, site

installed = {}
WANTED = ("pip", "pytest", "pytest-xdist", "pytest-timeout", "execnet")
packages = {}

def normal(name):
    return re.sub("[-_.]+", "-", name).lower()

def read(*parts):
    try:
        with io.open(os.path.join(*parts), encoding="utf-8", errors="replace") as file:
            return file.read()
    except (IOError, OSError):
        return u""

def look(info, name):
    # What was installed from a directory, such as the project itself, is no part of its surroundings; neither
    # are metadata without a version, which lie beside sources, and what pip left of something (~) when it was
    # interrupted. Of two, the first one is imported.
    own, version = (name.split("-") + [""])[:2]
    if own and own[0] != "~" and version and '"dir_info"' not in read(info, "direct_url.json"):
        installed.setdefault(normal(own), version)
    plugin = re.search(r"^\[pytest11\]", read(info, "entry_points.txt"), re.M)
    if not plugin and normal(name.split("-")[0]) not in WANTED:
        return
    text = read(info, "METADATA") or read(info, "PKG-INFO") or read(info)
    head = dict(re.findall(r"^(Name|Version):\s*(\S+)", text.split("\n\n")[0], re.M))
    if len(head) == 2:
        packages.setdefault(normal(head["Name"]), head["Version"])

for place in path:
    try:
        names = sorted(os.listdir(place))
    except (IOError, OSError):
        continue
    for name in names:
        if name.endswith((".dist-info", ".egg-info")):
            look(os.path.join(place, name), os.path.splitext(name)[0])
        elif name == "EGG-INFO":
            look(os.path.join(place, name), os.path.basename(place))

user_site = getattr(site, "USER_SITE", None)
if user_site and getattr(site, "ENABLE_USER_SITE", None) and user_site not in path:
    path.append(user_site)
known = getattr(sys, "implementation", None)
print("\nMARK" + json.dumps({
    "executable": sys.executable or "",
    "version": sys.version_info[:3],
    "implementation": known.name if known else "pypy" if hasattr(sys, "pypy_version_info") else "cpython",
    "prefix": sys.prefix,
    "packages": packages,
    "installed": [name + " " + version for name, version in sorted(installed.items())],
    "places": path + [os.path.join(sys.prefix, "pyvenv.cfg")],
}))
""".replace("MARK", MARK)
