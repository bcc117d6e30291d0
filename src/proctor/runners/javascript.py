"""What the runners for JavaScript share: package.json, the project's own tools, files, names as patterns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from proctor.errors import UsageError
from proctor.places import program
from proctor.runners import matching
from proctor.runners.plan import not_a_target
from proctor.runners.walk import all_files
from proctor.spec import RunSpec
from proctor.unique_names import without_number

INJECT = Path(__file__).parent.parent / "inject"
SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
BETWEEN = " > "  # a group and what is in it
LISTING_VARIABLE = "PROCTOR_LISTING"
NAMES_VARIABLE = "PROCTOR_NAMES"
NOTHING = "^(?!)"  # a pattern that no name matches
_MOST_FILES = 2000  # looked at to find out whether a directory has tests
_TEST_FILE = re.compile(r"(?:^|/)(?:__tests__/.*|.*[._-](?:test|spec))\.[cm]?[jt]sx?\Z")
_IMPORT = re.compile(rb"""(?:\bfrom|\bimport|\brequire\()\s*['"](node:test|vitest|@jest/globals)['"]""")
_TOOLS = {b"node:test": "node", b"vitest": "vitest", b"@jest/globals": "jest"}
_LEFT_OUT = re.compile(r"\..*|node_modules")
_HEAD = 1 << 16  # bytes of a file in which its imports are
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")


class Chosen(msgspec.Struct, frozen=True):
    """Which files, as absolute paths (none: all that the tool finds), and which full names."""

    files: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()  # as ids have them, without the file


def package(root: Path) -> dict[str, Any]:
    """The content of package.json; empty if it cannot be read."""
    try:
        found = msgspec.json.decode((root / "package.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return found if isinstance(found, dict) else {}


def depends_on(root: Path, name: str) -> bool:
    described = package(root)
    kinds = (described.get("dependencies"), described.get("devDependencies"))
    return any(isinstance(kind, dict) and name in kind for kind in kinds)


def scripts(root: Path) -> list[str]:
    found = package(root).get("scripts")
    return [text for text in found.values() if isinstance(text, str)] if isinstance(found, dict) else []


def own_tool(root: Path, name: str, environ: Mapping[str, str]) -> str:
    """The project's own tool: others on this machine, or a download, may be another version."""
    node(environ)
    for directory in (root, *root.parents):
        path = directory / "node_modules" / ".bin" / name
        if path.is_file():
            return str(path)
    raise UsageError(f"{name} is not installed in {root} or above it; `npm install --save-dev {name}`")


def node(environ: Mapping[str, str]) -> str:
    found = program("node", environ)
    if not found:
        raise UsageError("no node on PATH: install node, or add its directory to PATH")
    return found


def owns(target: str, root: Path, tools: tuple[str, ...]) -> bool:
    """Whether it is a file of one of these tools, a test in one, or a directory with such files."""
    path = root / target.partition("::")[0]
    if path.is_dir() and "::" not in target:
        near = islice(sources(path), _MOST_FILES)
        return any(_TEST_FILE.search(file.as_posix()) and imported(file) in tools for file in near)
    return path.suffix in SUFFIXES and path.is_file() and imported(path) in tools


def imported(path: Path) -> str:
    """The tool that a file imports; empty if it imports none of them."""
    with path.open("rb") as file:
        found = _IMPORT.search(file.read(_HEAD))
    return _TOOLS[found[1]] if found else ""


def sources(directory: Path) -> Iterator[Path]:
    return (path for path in all_files(directory, _LEFT_OUT) if path.suffix in SUFFIXES)


def chosen(spec: RunSpec) -> Chosen:
    """What the targets name. If one is a whole file, all run whole: no tool takes names for each file."""
    if spec.selection.markers:
        raise UsageError(f"{spec.runner} has no markers; leave out -m, or use -k")
    root = Path(spec.root)
    files: dict[Path, None] = {}
    names: dict[str, None] = {}
    for target in spec.selection.targets:
        file, separator, name = target.partition("::")
        path = root / file
        if not file or target.startswith("-") or "\0" in target or not path.exists():
            expected = f"a file, a directory or an id such as test/a.test.js::group{BETWEEN}test"
            raise not_a_target(target, expected)
        files[path.absolute()] = None
        names[name if separator else ""] = None
    return Chosen(tuple(files), () if "" in names else tuple(names))


def exactly(names: Iterable[str]) -> str:
    """A pattern that matches these full names alone, the parts of which a tool joins by a space."""
    both = (one for name in names for one in (name, without_number(name)))  # the tool has no name for x#2
    return rf"^ *(?:{'|'.join(dict.fromkeys(map(_full_name, both)))})$"


def escaped(text: str) -> str:
    """As a pattern that matches just this."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _full_name(name: str) -> str:
    return "(?: > | )".join(map(escaped, name.split(BETWEEN)))


def containing(expression: str) -> str:
    """A pattern that matches the names of which a `-k` expression holds, upper or lower case."""
    return f"^{_condition(matching.read(expression))}"


def _condition(tree: matching.Expression) -> str:
    match tree:
        case matching.Word(text):
            return f"(?=[^]*{any_case(text)})"
        case matching.Not(part):
            return f"(?!{_condition(part)})"
        case matching.All(parts):
            return "".join(map(_condition, parts))
        case matching.Some(parts):
            return f"(?:{'|'.join(map(_condition, parts))})"


def any_case(word: str) -> str:
    return "".join(
        f"[{letter.lower()}{letter.upper()}]"
        if len(letter.lower()) == len(letter.upper()) == 1 and letter.lower() != letter.upper()
        else escaped(letter)
        for letter in word
    )


def names(spec: RunSpec, ids: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """The pattern for the tool, and the environment of its reporter. Tests are listed by running none."""
    pattern = _pattern(spec, ids)
    environment = {NAMES_VARIABLE: pattern} if pattern else {}
    return (NOTHING, {**environment, LISTING_VARIABLE: "1"}) if spec.collect_only else (pattern, environment)


def _pattern(spec: RunSpec, ids: tuple[str, ...]) -> str:
    """For both the ids among the targets and `-k`; nothing where neither is given."""
    if not spec.selection.keywords:
        return exactly(ids) if ids else ""
    condition = containing(spec.selection.keywords)
    return condition + exactly(ids).removeprefix("^") if ids else condition
