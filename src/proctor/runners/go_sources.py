"""Modules, packages and tests with their lines, read from Go's sources without compiling them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from proctor.launch import KnownTest
from proctor.regular_files import read_text

MODULE_FILES = ("go.mod", "go.work")

_LEFT_OUT = re.compile(r"[._].*|testdata|vendor|node_modules")
_MODULE = re.compile(r'^module[ \t]+"?([^\s"]+)"?', re.M)
_USED = re.compile(r'^(?:use[ \t]+|[ \t]+)"?(\.[^\s"(]*)"?[ \t]*$', re.M)
_TEST = re.compile(r"^func ((?:Test|Example|Fuzz)(?!\w)|(?:Test|Example|Fuzz)[^a-z(]\w*)\(", re.M)
_STANDARD = "std"  # the one module whose packages do not begin with its name


class Package(msgspec.Struct, frozen=True):
    """A directory with tests."""

    directory: str  # relative to the project, `.` for itself
    path: str  # by which it is imported
    tests: tuple[KnownTest, ...]

    @property
    def names(self) -> list[str]:
        return [test.name.partition("::")[2] for test in self.tests]


def modules(root: Path) -> dict[str, str]:
    """The paths of the project's modules by their directories: its own, and those that go.work uses."""
    found = {".": module} if (module := _module(root)) else {}
    for used in _USED.findall(_text(root / "go.work")):
        directory = Path(used).as_posix()
        if module := _module(root / directory):
            found[directory] = module
    return found


def packages(root: Path) -> list[Package]:
    found = []
    for top, module in modules(root).items():
        for directory in directories(root / top):
            inside = directory.relative_to(root / top).as_posix()
            path = "/".join(part for part in (module, inside) if part not in (".", _STANDARD))
            tests = [
                test for file in sorted(directory.glob("*_test.go")) for test in tests_in(file, root, path)
            ]
            if tests:
                found.append(Package(directory.relative_to(root).as_posix(), path, tuple(tests)))
    return found


def tests_in(file: Path, root: Path, package: str) -> list[KnownTest]:
    text, name = _text(file), file.relative_to(root).as_posix()
    return [
        KnownTest(f"{package}::{test[1]}", name, text.count("\n", 0, test.start()) + 1)
        for test in _TEST.finditer(text)
        if test[1] != "TestMain"
    ]


def directories(top: Path) -> Iterator[Path]:
    """Those that may be packages of the module in `top`."""
    yield top
    try:
        entries = sorted(top.iterdir())
    except OSError:
        return
    for entry in entries:
        if _LEFT_OUT.fullmatch(entry.name) or entry.is_symlink() or not entry.is_dir():
            continue
        if not (entry / "go.mod").is_file():
            yield from directories(entry)


def _module(directory: Path) -> str:
    found = _MODULE.search(_text(directory / "go.mod"))
    return found[1] if found else ""


def _text(file: Path) -> str:
    try:
        return read_text(file, "replace")
    except OSError:
        return ""
