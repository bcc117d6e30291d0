"""A Rust package as its Cargo.toml describes it, and the environment that cargo gives to its tests."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from proctor.regular_files import read_text

_MANIFEST = "Cargo.toml"
_VERSION = re.compile(r"([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?")
_FIELDS = [
    "authors",
    "description",
    "homepage",
    "license",
    "license-file",
    "name",
    "repository",
    "rust-version",
]
_READMES = ("README.md", "README.txt", "README")

Table = dict[str, Any]


class Package(msgspec.Struct, frozen=True):
    directory: Path
    workspace: Path  # the compiler is started there, and names files as they are seen from there
    manifest: Table
    shared: Table  # what the members of the workspace have in common

    def has_harness(self, kind: str, target: str) -> bool:
        """Whether libtest runs its tests; otherwise the target is a program of its own kind."""
        tables = self.manifest.get(kind)
        for table in [tables] if isinstance(tables, dict) else tables if isinstance(tables, list) else []:
            if isinstance(table, dict) and (kind == "lib" or table.get("name") == target):
                return table.get("harness") is not False
        return True

    def environment(self) -> dict[str, str]:
        """The variables that cargo sets for the package's tests."""
        version = self._text("version") or "0.0.0"
        parts = _VERSION.fullmatch(version)
        numbers = parts.groups("") if parts else ("", "", "", "")
        names = ("VERSION_MAJOR", "VERSION_MINOR", "VERSION_PATCH", "VERSION_PRE")
        facts = {
            "VERSION": version,
            **dict(zip(names, numbers, strict=True)),
            **{field.upper().replace("-", "_"): self._text(field) for field in _FIELDS},
            "README": self._readme(),
        }
        own = {f"CARGO_PKG_{name}": value for name, value in facts.items()}
        path = self.directory / _MANIFEST
        return own | {"CARGO_MANIFEST_DIR": str(self.directory), "CARGO_MANIFEST_PATH": str(path)}

    def _text(self, field: str) -> str:
        value = self._value(field)
        if isinstance(value, list):
            return ":".join(map(str, value))
        return value if isinstance(value, str) else ""

    def _value(self, field: str) -> object:
        """Its own, or the workspace's if it refers to that."""
        value = _table(self.manifest, "package").get(field)
        if isinstance(value, dict) and value.get("workspace") is True:
            return self.shared.get(field)
        return value

    def _readme(self) -> str:
        readme = self._value("readme")
        if isinstance(readme, str) or readme is False:
            return readme or ""
        return next((name for name in _READMES if (self.directory / name).is_file()), "")


def load(directory: Path) -> Package:
    manifest = _read(directory)
    workspace = _workspace(directory, manifest)
    shared = _table(_table(_read(workspace), "workspace"), "package")
    return Package(directory, workspace, manifest, shared)


def crates(root: Path) -> set[str]:
    """Names of the project's packages, as Rust code writes them."""
    names: set[str] = set()
    seen: set[Path] = set()
    waiting = [root]
    while waiting:
        directory = waiting.pop().resolve()
        if directory in seen:
            continue
        seen.add(directory)
        manifest = _read(directory)
        if isinstance(name := _table(manifest, "package").get("name"), str):
            names.add(name.replace("-", "_"))
        waiting += _members(directory, manifest)
    return names


def _members(directory: Path, manifest: Table) -> Iterator[Path]:
    """Those of a workspace, and packages that a package depends on by their paths: they belong to it."""
    members = _table(manifest, "workspace").get("members")
    for pattern in members if isinstance(members, list) else []:
        if isinstance(pattern, str):
            yield from _matching(directory, pattern)
    for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
        for dependency in _table(manifest, kind).values():
            if isinstance(dependency, dict) and isinstance(path := dependency.get("path"), str):
                yield directory / path


def _matching(directory: Path, pattern: str) -> Iterator[Path]:
    top = Path(pattern).anchor
    try:
        yield from (directory / top).glob(pattern.removeprefix(top))
    except ValueError:
        pass  # not a pattern: cargo complains of it


def _workspace(directory: Path, manifest: Table) -> Path:
    if isinstance(named := _table(manifest, "package").get("workspace"), str):
        return (directory / named).resolve()
    for place in (directory, *directory.parents):
        if "workspace" in _read(place):
            return place
    return directory


def _read(directory: Path) -> Table:
    """Nothing if there is no file, or none that can be read: cargo complains of those."""
    try:
        return tomllib.loads(read_text(directory / _MANIFEST))
    except (OSError, ValueError):
        return {}


def _table(table: Table, name: str) -> Table:
    found = table.get(name)
    return found if isinstance(found, dict) else {}
