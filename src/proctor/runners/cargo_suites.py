"""The suites that a cargo build produced: test binaries and documentation tests, in cargo's environment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from proctor.launch import Artifact
from proctor.runners import cargo_config, cargo_package
from proctor.runners.cargo_selection import TARGETS, package_free
from proctor.wire.reports import cargo_build
from proctor.wire.reports.cargo_build import target_id

DOC_TESTS = "doc-tests"  # in ids, where others have their target

_ORDER = ("lib", "bin", "test", "bench", "example")  # in which cargo runs the targets of a package


class Suite(msgspec.Struct, frozen=True):
    """A test binary, or the documentation of a library."""

    id: str
    name: str
    command: tuple[str, ...]
    cwd: str
    source: str  # the file of the target
    package: cargo_package.Package
    environment: dict[str, str]
    libraries: dict[str, str]  # the part of it that a program needs to start at all
    build: str
    documentation: bool = False
    harness: bool = True


class Around(msgspec.Struct, frozen=True):
    """Where and with what cargo is started."""

    root: Path
    cargo: str
    arguments: tuple[str, ...]
    environ: dict[str, str]


def binaries(around: Around, built: tuple[Artifact, ...]) -> Iterator[Suite]:
    """In the order in which cargo runs them."""

    def order(artifact: Artifact) -> tuple[str, int, str]:
        return artifact.facts["package"], _ORDER.index(artifact.facts["target"]), artifact.name

    for artifact in sorted((one for one in built if one.kind == cargo_build.TEST), key=order):
        package, kind = cargo_package.load(Path(artifact.root)), artifact.facts["target"]
        source = artifact.facts["source"].removeprefix(f"{package.directory}/")
        name = f"{artifact.facts['package']} {'' if kind == 'test' else 'unittests '}{source}"
        libraries = _libraries(artifact, built, around)
        yield Suite(
            target_id(artifact.facts["package"], kind, artifact.name),
            name,
            (artifact.path,),
            artifact.root,
            artifact.facts["source"],
            package,
            _environment(artifact, package, built, around) | libraries,
            libraries,
            _built_at(artifact.path),
            harness=package.has_harness(kind, artifact.name),
        )


def documentation(around: Around, built: tuple[Artifact, ...]) -> Iterator[Suite]:
    """Of the libraries that cargo would take: those of the packages whose tests it built."""
    if any(argument.startswith(TARGETS) for argument in around.arguments):
        return
    tested = {artifact.root for artifact in built if artifact.kind == cargo_build.TEST} | {str(around.root)}
    libraries = {one.root: one for one in built if one.kind == cargo_build.LIBRARY and one.root in tested}
    for library in sorted(libraries.values(), key=lambda library: library.facts["package"]):
        crate = target_id(library.facts["package"], "lib", library.name)
        own = ("-p", library.facts["id"], *package_free(around.arguments))
        yield Suite(
            f"{crate}::{DOC_TESTS}",
            f"Doc-tests {library.name}",
            (around.cargo, "test", "--doc", *own, "--"),
            str(around.root),
            library.facts["source"],
            cargo_package.load(Path(library.root)),
            {},
            {},
            _built_at(library.path),
            documentation=True,
        )


def toolchain(built: Iterable[Artifact]) -> dict[str, str]:
    compiler = _compiler(built)
    return {"rustc": compiler.name} if compiler.name else {}


def _environment(
    artifact: Artifact, package: cargo_package.Package, built: tuple[Artifact, ...], around: Around
) -> dict[str, str]:
    found = cargo_config.environment(around.root, around.environ) | package.environment()
    for script in _scripts(built):
        if script.name == artifact.facts["package"]:
            found |= {name: value for name, value in script.facts.items() if name != cargo_build.PATHS}
    if artifact.facts["target"] in ("test", "bench"):
        programs = [one for one in built if one.kind == cargo_build.PROGRAM and one.root == artifact.root]
        found |= {f"CARGO_BIN_EXE_{program.name}": program.path for program in programs}
    own = Path(_compiler(built).path, "bin", "cargo")
    return found | {"CARGO": str(own) if own.is_file() else around.cargo}


def _libraries(artifact: Artifact, built: tuple[Artifact, ...], around: Around) -> dict[str, str]:
    """Where shared libraries are: those of build scripts, our own, the compiler's."""
    compiler, beside = _compiler(built), Path(artifact.path).parent
    host = compiler.facts.get("host", "")
    variable = "DYLD_FALLBACK_LIBRARY_PATH" if "-apple-" in host else "LD_LIBRARY_PATH"
    paths = [path for one in _scripts(built) for path in one.facts[cargo_build.PATHS].split(":")]
    paths += [str(beside.parent), str(beside)]
    if compiler.path:
        paths += [f"{compiler.path}/lib/rustlib/{host}/lib", f"{compiler.path}/lib"]
    paths.append(around.environ.get(variable, ""))
    return {variable: ":".join(path for path in dict.fromkeys(paths) if path)}


def _scripts(built: Iterable[Artifact]) -> list[Artifact]:
    return [artifact for artifact in built if artifact.kind == cargo_build.SCRIPT]


def _compiler(built: Iterable[Artifact]) -> Artifact:
    return next((one for one in built if one.kind == cargo_build.COMPILER), Artifact(""))


def _built_at(path: str) -> str:
    try:
        return datetime.fromtimestamp(Path(path).stat().st_mtime, UTC).isoformat(timespec="milliseconds")
    except OSError:
        return ""
