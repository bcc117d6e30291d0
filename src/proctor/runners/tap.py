"""Plan a run of TAP programs: bats files, perl's `t/*.t`, anything that prints TAP. Each file is a suite.

A test is `file::description`. bats runs that one alone; any other program always runs as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from proctor.errors import UsageError
from proctor.failure_row import unescaped
from proctor.launch import KnownTest, Launch, Lines
from proctor.places import is_program, program, relative
from proctor.regular_files import read_bytes, read_text
from proctor.runners import matching
from proctor.runners.plan import Plan, not_a_target
from proctor.spec import RunSpec
from proctor.text import literal, text_of
from proctor.unique_names import without_number

_BATS, _PERL = ".bats", ".t"
_USUAL = ("*.bats", "test/**/*.bats", "tests/**/*.bats", "t/**/*.bats", "t/**/*.t")
_OWN_BATS = ("node_modules", "test", "tests", "test/test_helper")  # where a project may have bats
_MERGED = ("/bin/sh", "-c", 'exec "$@" 2>&1', "sh")
_VENDORED = re.compile(r"(^|/)(node_modules|bats|bats-core|test_helper|\.[^/]+)/")
_TEST = re.compile(r"""[ \t]*@test[ \t]+(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+))[ \t]+\{""")
_SPECIAL = re.compile(r"[][\\.*^$+?(){}|]")


def detect(root: Path) -> bool:
    return any(_usual(root))


def owns(target: str, root: Path) -> bool:
    path = root / target.partition("::")[0]
    return path.suffix in (_BATS, _PERL) or (path.is_dir() and any(_below(path)))


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    if spec.workers:
        raise UsageError("tap runs files one by one; leave out -n, or name another runner with --runner")
    if spec.selection.markers:
        raise UsageError("tap has no markers; leave out -m, or name another runner with --runner")
    root = Path(spec.root)
    launches: list[Launch] = []
    deselected: list[str] = []
    for file, wanted in _files(spec.selection.targets, root).items():
        name = literal(file)
        known = _known(root / file, name) if file.endswith(_BATS) else [KnownTest(name, name, 0)]
        names = _meant(file, wanted, known)
        chosen = [test for test in known if _is_chosen(test, names, spec.selection.keywords)]
        deselected += [test.name for test in known if test not in chosen]
        if chosen or not known:
            launches.append(_launch(file, wanted, tuple(chosen), len(chosen) < len(known), spec, environ))
    return Plan(tuple(launches), tuple(deselected))


def _files(targets: tuple[str, ...], root: Path) -> dict[str, list[str]]:
    """Each file once, with the descriptions that were asked for; none: all of it."""
    if not targets:
        found = list(_usual(root))
        if not found:
            raise UsageError(f"no TAP program in {root}; name one, or a directory of *.bats or *.t files")
        return {relative(path, root): [] for path in found}
    files: dict[str, list[str]] = {}
    for target in targets:
        name, _, description = target.partition("::")
        path = root / name
        if not name or name.startswith("-") or "\0" in target or not path.exists():
            expected = "a file, a directory of them, or a test's id such as test/a.bats::adds up"
            raise not_a_target(target, expected, root)
        inside = sorted(_below(path)) if path.is_dir() else [path]
        if not inside:
            raise UsageError(f"no *.bats and no *.t in {path}")
        for file in inside:
            one = relative(file, root)
            if one in files and not (files[one] and description):
                files[one] = []
            else:
                files.setdefault(one, []).extend([description] if description else [])
    return files


def _usual(root: Path) -> Iterator[Path]:
    for pattern in _USUAL:
        yield from sorted(path for path in root.glob(pattern) if not _VENDORED.search(relative(path, root)))


def _below(directory: Path) -> Iterator[Path]:
    for path in directory.rglob("*"):
        ours = path.suffix in (_BATS, _PERL) and not _VENDORED.search(relative(path, directory))
        if ours and path.is_file():
            yield path


def _known(path: Path, file: str) -> list[KnownTest]:
    """The tests that a bats file names plainly; a loop may make more of them."""
    try:
        lines = read_text(path, "backslashreplace").splitlines()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    found = []
    for number, line in enumerate(lines, 1):
        if test := _TEST.match(line):
            name = re.sub(r"\\(.)", r"\1", test[1]) if test[1] is not None else test[2] or test[3]
            found.append(KnownTest(f"{file}::{name.strip()}", file, number))
    return found


def _meant(file: str, wanted: list[str], known: list[KnownTest]) -> list[str]:
    """The descriptions as bats knows them: the second `x` is shown as `x#2`."""
    if not file.endswith(_BATS):
        return wanted  # its tests are not known before it runs, and it runs as a whole
    names = {test.name.partition("::")[2] for test in known}
    plain = [name if name in names else unescaped(name) for name in wanted]  # a row of the failure index
    found = [without_number(name, names) for name in plain]
    for description, name in zip(wanted, found, strict=True):
        if name not in names:
            raise UsageError(
                f"no test {description!r} in {file}; it has {', '.join(sorted(names)) or 'none'}"
            )
    return found


def _is_chosen(test: KnownTest, wanted: list[str], keywords: str) -> bool:
    description = test.name.partition("::")[2]
    if wanted and description and description not in wanted:
        return False
    return matching.in_name(keywords)(test.name)


def _launch(
    file: str,
    wanted: list[str],
    tests: tuple[KnownTest, ...],
    narrowed: bool,
    spec: RunSpec,
    environ: Mapping[str, str],
) -> Launch:
    path = Path(spec.root) / file
    expected = () if file.endswith(_BATS) or spec.collect_only else wanted
    if file.endswith(_BATS):
        argv, reader = _bats(path, tests if narrowed else (), spec, environ), "bats"
    else:
        argv, reader = (*_program(path, environ), *spec.arguments), "tap"
        if file.endswith(_PERL):
            argv = (*_MERGED, *argv)  # Test::More explains failures on stderr, each behind its point
    return Launch(
        () if spec.collect_only else argv,
        spec.root,
        literal(file),
        Lines(reader, f"{literal(file)}::", tests, tuple(f"{literal(file)}::{name}" for name in expected)),
        _perl_library(Path(spec.root), environ) if file.endswith(_PERL) else {},
        spec.memory,
    )


def _bats(
    path: Path, only: tuple[KnownTest, ...], spec: RunSpec, environ: Mapping[str, str]
) -> tuple[str, ...]:
    own = [Path(spec.root, place, "bats/bin/bats") for place in _OWN_BATS]
    bats = next((str(place) for place in own if is_program(place)), program("bats", environ))
    if not bats:
        raise UsageError(f"no bats for {path}; `npm install --save-dev bats`, or add bats to PATH")
    names = "|".join(_SPECIAL.sub(r"\\\g<0>", test.name.partition("::")[2]) for test in only)
    filtered = ("--filter", f"^({names})$") if only else ()
    return (bats, "--formatter", "cat", "--timing", *filtered, *spec.arguments, str(path))


def _program(path: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """By its `#!` line; without one perl runs a `.t`, and anything else must be executable."""
    try:
        first = read_bytes(path, 1000).partition(b"\n")[0]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    words = text_of(first[2:]).split() if first.startswith(b"#!") else []
    if not words and path.suffix == _PERL:
        words = ["perl"]
    if words:
        return (*_interpreter(words, path, environ), str(path))
    if not is_program(path):
        raise UsageError(f"{path} is no program; `chmod +x {path}`, or add a first line with #!")
    return (str(path),)


def _interpreter(words: list[str], path: Path, environ: Mapping[str, str]) -> list[str]:
    """The words of a `#!` line. That there is no perl is no fault of perl's tests."""
    at = 1 if Path(words[0]).name == "env" and len(words) > 1 else 0
    if Path(words[at]).name != "perl" or is_program(words[at]):
        return words
    if not (perl := program("perl", environ)):
        raise UsageError(f"no perl for {path}: install perl, or add its directory to PATH")
    return [perl, *words[at + 1 :]]


def _perl_library(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """As `prove -l` has it: what is tested is in lib."""
    if not (root / "lib").is_dir():
        return {}
    before = environ.get("PERL5LIB", "")
    return {"PERL5LIB": f"{root / 'lib'}:{before}" if before else str(root / "lib")}
