"""What the runners for JavaScript share: package.json, the project's own tools, files, names as patterns."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from proctor.errors import UsageError
from proctor.failure_row import unescaped
from proctor.launch import Launch
from proctor.places import is_program, program, relative
from proctor.regular_files import read_bytes, read_text
from proctor.runners import matching
from proctor.runners.package_scripts import TEST_SCRIPT, Call, Script, depends_on, package, read
from proctor.runners.plan import Plan, not_a_target
from proctor.runners.shell import Word, word
from proctor.runners.walk import all_files
from proctor.spec import RunSpec
from proctor.unique_names import UniqueNames, without_number

INJECT = Path(__file__).parent.parent / "inject"
SUFFIXES = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
BETWEEN = " > "  # a group and what is in it
LISTING_VARIABLE = "PROCTOR_LISTING"
NAMES_VARIABLE = "PROCTOR_NAMES"
IDS_VARIABLE = "PROCTOR_IDS"
WRAPPED_VARIABLE = "PROCTOR_WRAPPED"  # the process ends in another way than the tool does
NOTHING = "^(?!)"  # a pattern that no name matches
_MOST_FILES = 2000  # looked at to find out whether a directory has tests
_TEST_FILE = re.compile(r"(?:^|/)(?:__tests__/.*|.*[._-](?:test|spec))\.[cm]?[jt]sx?\Z")
_IMPORT = re.compile(rb"""(?:\bfrom|\bimport|\brequire\()\s*['"](node:test|vitest|@jest/globals)['"]""")
_TOOLS = {b"node:test": "node", b"vitest": "vitest", b"@jest/globals": "jest"}
_LEFT_OUT = re.compile(r"\..*|node_modules")
_HEAD = 1 << 16  # bytes of a file in which its imports are
_WILD = re.compile(r"\*\*/?|.", re.S)
_SURROGATE = re.compile(r"\\\\(ud[89a-f][0-9a-f]{2})")  # as ids write half of a pair, behind our escape
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")


class Chosen(msgspec.Struct, frozen=True):
    """Which files, as absolute paths (none: all that the tool finds), and which tests of them."""

    files: tuple[Path, ...] = ()
    names: tuple[str, ...] = ()  # full names as ids have them, without the file; none: all tests
    groups: tuple[str, ...] = ()  # those of the names that are groups, with all that is in them
    ids: tuple[tuple[str, tuple[str, ...]], ...] = ()  # a file, and the names of which one must be in it


def detect(root: Path, tool: str, is_set_up: bool) -> bool:
    """Whether `npm test` calls the tool, or the project has settings or files for it. That it is a dependency
    is enough only where there is no `npm test` script."""
    script = read(root)
    if is_set_up or script.of(tool):
        return True
    return depends_on(root, tool) and (not script.calls or _is_imported(root, tool))


def _is_imported(root: Path, tool: str) -> bool:
    return any(is_test_name(file) and imported(file) == tool for file in near(root))


def own_tool(root: Path, name: str, environ: Mapping[str, str]) -> str:
    """The project's own tool: others on this machine, or a download, may be another version."""
    node(environ)
    for directory in _bins(root):
        if is_program(path := directory / name):
            return str(path)
    raise UsageError(f"{name} is not installed in {root} or above it; `npm install --save-dev {name}`")


def _bins(root: Path) -> list[Path]:
    return [directory / "node_modules" / ".bin" for directory in (root, *root.parents)]


def node(environ: Mapping[str, str]) -> str:
    found = program("node", environ)
    if not found:
        raise UsageError("no node on PATH: install node, or add its directory to PATH")
    return found


def launch(
    call: Call, arguments: Iterable[Word], spec: RunSpec, environ: Mapping[str, str], extra: dict[str, str]
) -> Launch:
    """The call with these words behind the tool, as npm would start it: by a shell, where it needs one."""
    root = Path(spec.root)
    plain = [one for one in call.assignments if one.plain]
    environment = {**_environment(root, environ), **dict(one.value.split("=", 1) for one in plain)}
    environment |= extra
    words = [*call.before, _program(call, root, environ), *arguments]
    words[0] = _found(words[0], root, {**environ, **environment})
    if call.before or len(plain) < len(call.assignments) or not all(one.plain for one in words):
        environment[WRAPPED_VARIABLE] = "1"
    if len(plain) == len(call.assignments) and all(one.plain for one in words):
        argv = tuple(one.value for one in words)
    else:
        assigned = [one.text for one in call.assignments if not one.plain]
        argv = ("/bin/sh", "-c", " ".join([*assigned, "exec", *(one.quoted for one in words)]))
    return Launch(argv, spec.root, spec.runner, environment=environment, memory=spec.memory)


def plan(launches: Sequence[Launch]) -> Plan:
    """Each is a suite, with a name of its own."""
    names = UniqueNames()
    return Plan(tuple(msgspec.structs.replace(one, name=names.unique(one.name)) for one in launches))


def _program(call: Call, root: Path, environ: Mapping[str, str]) -> Word:
    if not call.program.plain or "/" in call.program.value:
        return call.program
    if call.program.value in ("node", "nodejs"):
        return word(node(environ))
    return word(own_tool(root, call.program.value, environ))


def _found(first: Word, root: Path, environ: Mapping[str, str]) -> Word:
    if not first.plain:
        return first
    value = first.value
    found = str(root / value) if "/" in value else program(value, environ, root)
    if not is_program(found):
        raise UsageError(
            f"{value} is not installed in {root}, nor on PATH; `npm install` installs what a project needs"
        )
    return word(found)


def _environment(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """As scripts of npm see it, as far as tests may care."""
    described = package(root)
    names = {f"npm_package_{key}": described.get(key) for key in ("name", "version")}
    found = {name: text for name, text in names.items() if isinstance(text, str)}
    bins = [str(directory) for directory in _bins(root) if directory.is_dir()]
    path = os.pathsep.join([*bins, environ.get("PATH", os.defpath)])
    return {**found, "npm_lifecycle_event": TEST_SCRIPT, **({"PATH": path} if bins else {})}


def owns(target: str, root: Path, tool: str) -> bool:
    """Whether it is a file of this tool, a test in one, or a directory with such files."""
    path = root / target.partition("::")[0]
    script = read(root)
    if path.is_dir() and "::" not in target:
        inside = [file for file in near(path) if _is_test(file, root, script)]
        return any(_is_of(file, root, script, tool) for file in inside)
    return path.suffix in SUFFIXES and path.is_file() and _is_of(path, root, script, tool)


def _is_test(file: Path, root: Path, script: Script) -> bool:
    named = any(names_file(call, file, root) for call in script.calls)
    return named or is_test_name(file)


def is_test_name(file: Path) -> bool:
    """One that jest and vitest look for."""
    return _TEST_FILE.search(file.as_posix()) is not None


def _is_of(file: Path, root: Path, script: Script, tool: str) -> bool:
    """By what it imports. What imports none of the tools is for those that name it, or find their files."""
    if found := imported(file):
        return found == tool
    naming = [call.tool for call in script.calls if names_file(call, file, root)]
    finding = [call.tool for call in script.calls if not call.files]
    return tool in (naming or finding) if script.calls else tool != "node"


def imported(path: Path) -> str:
    """The tool that a file imports; empty if it imports none of them."""
    try:
        found = _IMPORT.search(read_bytes(path, _HEAD))
    except OSError:
        return ""
    return _TOOLS[found[1]] if found else ""


def near(directory: Path) -> Iterator[Path]:
    """The sources of which at least one is a test, if the directory has any: not all of a large one."""
    return islice(sources(directory), _MOST_FILES)


def sources(directory: Path) -> Iterator[Path]:
    return (path for path in all_files(directory, _LEFT_OUT) if path.suffix in SUFFIXES)


def shares(spec: RunSpec, of_tool: Sequence[Call]) -> list[tuple[Call, Chosen]]:
    """Each call with what is asked of it; a target goes to the first that runs its file anyway."""
    if spec.selection.markers:
        raise UsageError(f"{spec.runner} has no markers; leave out -m, or use -k")
    if not spec.selection.targets:
        return [(call, Chosen()) for call in of_tool]
    root = Path(spec.root)
    targets: dict[int, list[str]] = {}
    for target in spec.selection.targets:
        targets.setdefault(_runs(of_tool, _path(target, root), root), []).append(target)
    return [(of_tool[number], _chosen(targets[number], root)) for number in sorted(targets)]


def _runs(of_tool: Sequence[Call], path: Path, root: Path) -> int:
    naming = [number for number, call in enumerate(of_tool) if names_file(call, path, root)]
    finding = [number for number, call in enumerate(of_tool) if not call.files]
    return next(iter((*naming, *finding)), 0)


def names_file(call: Call, path: Path, root: Path) -> bool:
    """Whether the call's own words name this file, or a directory that is or holds it, or hold for it."""
    below = relative(path.absolute(), root)
    values = [posixpath.normpath(one.value) for one in call.files]
    return any(
        below == value
        or value == "."
        or below.startswith(f"{value}/")
        or value.startswith(f"{below}/")
        or glob(value).fullmatch(below)
        for value in values
    )


def glob(pattern: str) -> re.Pattern[str]:
    """As shells and node match paths; `**` is any number of directories."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
    try:
        return re.compile(_WILD.sub(lambda found: parts.get(found[0]) or re.escape(found[0]), pattern))
    except re.error:  # a bracket without its other half
        return re.compile(re.escape(pattern))


def _path(target: str, root: Path) -> Path:
    file = target.partition("::")[0]
    path = root / file
    if not file or target.startswith("-") or "\0" in target or not path.exists():
        expected = f"a file, a directory or an id such as test/a.test.js::group{BETWEEN}test"
        raise not_a_target(target, expected, root)
    return path


def _chosen(targets: Iterable[str], root: Path) -> Chosen:
    """If a target is a whole file, all run whole: no tool takes names for each file."""
    files: dict[Path, None] = {}
    names: dict[str, None] = {}
    groups: list[str] = []
    ids = []
    whole = False
    for target in targets:
        path, name = _path(target, root), target.partition("::")[2]
        files[path.absolute()] = None
        if not name:
            whole = True
            continue
        readings = tuple(dict.fromkeys((name, unescaped(name))))
        names.update(dict.fromkeys(readings))
        groups += [reading for reading in readings if _is_group(path, reading)]
        ids.append((os.path.relpath(path, root), readings))
    return Chosen(tuple(files), () if whole else tuple(names), tuple(groups), tuple(ids))


def _is_group(path: Path, name: str) -> bool:
    """Whether the file spells it out as a group's: a hook that fails is reported by that name."""
    last = re.escape(name.rpartition(BETWEEN)[2])
    spelled = re.compile(rf"""\b(?:describe|suite|context)\b[^\n(]*\(\s*(['"`]){last}\1""")
    try:
        return spelled.search(read_text(path, "replace")) is not None
    except OSError:
        return False


def expected(chosen: Chosen) -> dict[str, str]:
    """For the reporter, which knows at the end whether all of these are there."""
    return {IDS_VARIABLE: msgspec.json.encode(chosen.ids).decode()} if chosen.ids else {}


def exactly(names: Iterable[str], groups: Collection[str] = ()) -> str:
    """A pattern that matches these full names alone, the parts of which a tool joins by a space; of a group,
    all that is in it."""
    found: dict[str, None] = {}
    for name in names:
        inside = r"(?: [^]*)?" if name in groups else ""
        for one in (name, without_number(name)):  # the tool has no name for x#2
            found[_full_name(one) + inside] = None
    return rf"^ *(?:{'|'.join(found)})$"


def escaped(text: str) -> str:
    """As a pattern that matches just this."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _full_name(name: str) -> str:
    parts = "(?: > | )".join(map(escaped, name.split(BETWEEN)))
    return _SURROGATE.sub(r"(?:\g<0>|\\\g<1>)", parts)


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


def names(spec: RunSpec, chosen: Chosen) -> tuple[str, dict[str, str]]:
    """The pattern for the tool, and the environment of its reporter. Tests are listed by running none."""
    pattern = _pattern(spec, chosen)
    environment = {**({NAMES_VARIABLE: pattern} if pattern else {}), **expected(chosen)}
    return (NOTHING, {**environment, LISTING_VARIABLE: "1"}) if spec.collect_only else (pattern, environment)


def _pattern(spec: RunSpec, chosen: Chosen) -> str:
    """For both the ids among the targets and `-k`; nothing where neither is given."""
    exact = exactly(chosen.names, chosen.groups) if chosen.names else ""
    if not spec.selection.keywords:
        return exact
    return containing(spec.selection.keywords) + exact.removeprefix("^")
