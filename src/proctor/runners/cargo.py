"""Plan a run of Rust tests: cargo builds them, each test binary lists what it has and is then run by itself,
and the tests in documentation come last.

One stage follows another: what the build made decides what is listed, and what is listed what is run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from shlex import join

import msgspec

from proctor.errors import UsageError
from proctor.launch import Artifact, KnownTest, Launch, Voice
from proctor.runners import cargo_config, cargo_package, matching
from proctor.runners.cargo_selection import TARGETS, Wanted, doc_filters, package_free, wanted
from proctor.runners.finding import on_path
from proctor.runners.plan import Plan
from proctor.spec import RunSpec
from proctor.wire import cargo_build
from proctor.wire.cargo_build import target_id
from proctor.wire.libtest_list import LIST, LISTED

DOC_TESTS = "doc-tests"  # in ids, where others have their target

# libtest reports in JSON, and with times, on a stable toolchain if this variable has any value; with this one
# a compiler that a test may start stays as stable as it was.
_BOOTSTRAP = "RUSTC_BOOTSTRAP"
_UNSTABLE = ("-Zunstable-options",)
_BUILD = """\
"$1" -vV && printf 'sysroot: %s\\n' "$("$1" --print sysroot)"
shift
exec "$@"
"""
_LIST = """\
while [ "$#" -gt 0 ]; do
  printf '\\036%s\\n' "$1"
  (cd -- "$2" && eval "exec $3")
  printf '\\n\\036=%s\\n' "$?"
  shift 3
done
"""
_ORDER = ("lib", "bin", "test", "bench", "example")  # in which cargo runs the targets of a package


class _Suite(msgspec.Struct, frozen=True):
    """A test binary, or the documentation of a library."""

    id: str
    name: str
    command: tuple[str, ...]
    cwd: str
    source: str  # the file of the target
    package: cargo_package.Package
    environment: dict[str, str]
    build: str
    documentation: bool = False
    harness: bool = True


class _Wish(msgspec.Struct, frozen=True):
    """The request, with what every stage needs of it."""

    spec: RunSpec
    cargo: str
    own: tuple[str, ...]  # arguments for cargo
    passed: tuple[str, ...]  # arguments for the test binaries
    wanted: Wanted
    environ: dict[str, str]

    @property
    def root(self) -> Path:
        return Path(self.spec.root)

    @property
    def allowed(self) -> dict[str, str]:
        return {} if _BOOTSTRAP in self.environ else {_BOOTSTRAP: "proctor"}


def detect(root: Path) -> bool:
    return (root / "Cargo.toml").is_file()


def owns(target: str, root: Path) -> bool:
    """A Rust file, a directory with a package, or an id: its first part is the name of a crate."""
    first, more, _ = target.partition("::")
    path = root / target
    if path.is_dir():
        return (path / "Cargo.toml").is_file() or any(path.glob("*.rs"))
    return path.suffix == ".rs" or (
        first.isidentifier() and (bool(more) or first in cargo_package.crates(root))
    )


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    """The build; the rest follows from it."""
    cargo, rustc = on_path("cargo", environ), environ.get("RUSTC") or on_path("rustc", environ) or "rustc"
    if not cargo:
        raise UsageError(f"no cargo on PATH to test {spec.root}; install Rust, or name another runner")
    if spec.selection.markers:
        raise UsageError("cargo knows no markers; leave out -m, or name another runner with --runner")
    if spec.selection.keywords:
        matching.parse(spec.selection.keywords)
    at = spec.arguments.index("--") if "--" in spec.arguments else len(spec.arguments)
    own, passed = spec.arguments[:at], spec.arguments[at + 1 :]
    if "--doc" in own:
        raise UsageError(f"--doc cannot be passed on; `crate::{DOC_TESTS}` as a target would do")
    chosen = wanted(spec.selection.targets, Path(spec.root))
    wish = _Wish(spec, cargo, own, passed, chosen, dict(environ))
    narrowed = () if any(argument.startswith(TARGETS) for argument in own) else chosen.narrowed()
    build = ("test", "--no-run", "--no-fail-fast", "--message-format=json", *narrowed, *own)
    launch = Launch(
        ("/bin/sh", "-c", _BUILD, "sh", rustc, cargo, *build),
        spec.root,
        "cargo test --no-run",
        Voice.BUILD,
        reader="cargo-build",
        base=str(cargo_package.load(Path(spec.root)).workspace),
    )
    return Plan((launch,), then=partial(_after_build, wish))


def _after_build(wish: _Wish, built: tuple[Artifact, ...]) -> Plan:
    found = [*_binaries(wish, built), *_documentation(wish, built)]
    asked = _to_list(wish, found)
    commands = []
    for suite in asked:
        command = join((*suite.command, "--list", *_UNSTABLE, "--format=json", *wish.passed))
        commands += [suite.id, suite.cwd, command]
    paths = next((s.environment["LD_LIBRARY_PATH"] for s in found if "LD_LIBRARY_PATH" in s.environment), "")
    environment = wish.allowed | ({"LD_LIBRARY_PATH": paths} if paths else {})
    launch = Launch(
        ("/bin/sh", "-c", _LIST, "sh", *commands),
        wish.spec.root,
        "cargo test -- --list",
        Voice.BUILD,
        environment,
        reader="libtest-list",
        toolchain=_toolchain(built),
    )
    broken = any(artifact.kind == cargo_build.BROKEN for artifact in built)
    then = partial(_after_lists, wish, found, _toolchain(built), broken)
    return Plan((launch,), then=then) if asked else then(())


def _to_list(wish: _Wish, found: list[_Suite]) -> list[_Suite]:
    return [suite for suite in found if suite.harness and wish.wanted.may_have(suite.id)]


def _after_lists(
    wish: _Wish, found: list[_Suite], toolchain: dict[str, str], broken: bool, listed: tuple[Artifact, ...]
) -> Plan:
    lists: dict[str, list[Artifact]] = {artifact.name: [] for artifact in listed if artifact.kind == LIST}
    for test in listed:
        if test.kind == LISTED:
            lists[test.root].append(test)
    known = {suite.id: _known(suite, lists[suite.id], wish.root) for suite in found if suite.id in lists}
    files: dict[str, tuple[Path, ...]] = {}
    for suite in found:
        target = () if suite.documentation else (Path(suite.source),)
        files |= {test.name: (wish.root / test.file, *target) for test in known.get(suite.id, ())}
    programs = {suite.id: (Path(suite.source),) for suite in found if not suite.harness}
    whole = not broken and len(lists) == len(_to_list(wish, found))
    chosen = wish.wanted.among(files | programs, wish.spec.selection.keywords, strict=whole)
    launches: list[Launch] = []
    deselected: list[str] = [name for name in programs if name not in chosen]
    for suite in found:
        if not suite.harness:
            if suite.id in chosen:
                launches.append(_program(suite, toolchain, wish))
            continue
        if suite.id not in known:
            continue  # it could not be listed, which is told, or nobody asked for it
        tests = known[suite.id]
        kept = [test for test in tests if test.name in chosen]
        if not kept and (tests or not wish.spec.selection.everything):
            deselected += [test.name for test in tests]
        else:
            launches.append(_launch(suite, tests, kept, toolchain, wish))
    return Plan(tuple(launches), tuple(deselected))


def _launch(
    suite: _Suite, tests: list[KnownTest], kept: list[KnownTest], toolchain: dict[str, str], wish: _Wish
) -> Launch:
    prefix = f"{suite.id}::"
    threads = (f"--test-threads={wish.spec.workers}",) if wish.spec.workers not in ("", "auto") else ()
    filters: tuple[str, ...] = ()
    if len(kept) < len(tests) and suite.documentation:
        every, asked = ([test.name.removeprefix(prefix) for test in some] for some in (tests, kept))
        filters, running = doc_filters(asked, every)
        kept = [test for test in tests if test.name.removeprefix(prefix) in running]
    elif len(kept) < len(tests):
        filters = ("--exact", *(test.name.removeprefix(prefix) for test in kept))
    form = ("--format=pretty",) if suite.documentation else ("--format=json", "--show-output")
    argv = (*suite.command, *_UNSTABLE, *form, "--report-time", *threads, *wish.passed, *filters)
    names = {test.name for test in kept}
    return Launch(
        () if wish.spec.collect_only else argv,
        suite.cwd,
        suite.name,
        Voice.LINES,
        wish.allowed | suite.environment,
        wish.spec.memory,
        reader="libtest" if suite.documentation else "libtest-json",
        prefix=prefix,
        known=tuple(kept),
        listed=True,
        deselected=tuple(test.name for test in tests if test.name not in names),
        root=wish.spec.root,
        base=str(suite.package.workspace),
        build=suite.build,
        toolchain=toolchain,
    )


def _program(suite: _Suite, toolchain: dict[str, str], wish: _Wish) -> Launch:
    """A target without a harness passes or fails as a whole."""
    return Launch(
        (*suite.command, *wish.passed),
        suite.cwd,
        suite.id,
        Voice.PROGRAM,
        suite.environment,
        wish.spec.memory,
        build=suite.build,
        toolchain=toolchain,
    )


# What the build has made


def _binaries(wish: _Wish, built: tuple[Artifact, ...]) -> Iterator[_Suite]:
    """In the order in which cargo runs them."""

    def order(artifact: Artifact) -> tuple[str, int, str]:
        return artifact.facts["package"], _ORDER.index(artifact.facts["target"]), artifact.name

    for artifact in sorted((one for one in built if one.kind == cargo_build.TEST), key=order):
        package, kind = cargo_package.load(Path(artifact.root)), artifact.facts["target"]
        source = _relative(artifact.facts["source"], package.directory)
        name = f"{artifact.facts['package']} {'' if kind == 'test' else 'unittests '}{source}"
        yield _Suite(
            target_id(artifact.facts["package"], kind, artifact.name),
            name,
            (artifact.path,),
            artifact.root,
            artifact.facts["source"],
            package,
            _environment(artifact, package, built, wish),
            _built_at(artifact.path),
            harness=package.has_harness(kind, artifact.name),
        )


def _documentation(wish: _Wish, built: tuple[Artifact, ...]) -> Iterator[_Suite]:
    """Of the libraries that cargo would take: those of the packages whose tests it built."""
    if any(argument.startswith(TARGETS) for argument in wish.own):
        return
    tested = {artifact.root for artifact in built if artifact.kind == cargo_build.TEST} | {wish.spec.root}
    libraries = {one.root: one for one in built if one.kind == cargo_build.LIBRARY and one.root in tested}
    for library in sorted(libraries.values(), key=lambda library: library.facts["package"]):
        crate = target_id(library.facts["package"], "lib", library.name)
        own = ("-p", library.facts["id"], *package_free(wish.own))
        yield _Suite(
            f"{crate}::{DOC_TESTS}",
            f"Doc-tests {library.name}",
            (wish.cargo, "test", "--doc", *own, "--"),
            wish.spec.root,
            library.facts["source"],
            cargo_package.load(Path(library.root)),
            {},
            _built_at(library.path),
            documentation=True,
        )


def _environment(
    artifact: Artifact, package: cargo_package.Package, built: tuple[Artifact, ...], wish: _Wish
) -> dict[str, str]:
    """As cargo would have set it."""
    environment = cargo_config.environment(wish.root, wish.environ) | package.environment()
    scripts = [one for one in built if one.kind == cargo_build.SCRIPT]
    own = [script for script in scripts if script.name == artifact.facts["package"]]
    for script in own:
        environment |= {name: value for name, value in script.facts.items() if name != cargo_build.PATHS}
    if artifact.facts["target"] in ("test", "bench"):
        programs = [one for one in built if one.kind == cargo_build.PROGRAM and one.root == artifact.root]
        environment |= {f"CARGO_BIN_EXE_{program.name}": program.path for program in programs}
    native = [path for one in scripts for path in one.facts[cargo_build.PATHS].split(":") if path]
    beside = Path(artifact.path).parent
    paths = [*native, str(beside.parent), str(beside)]
    compiler = next((one for one in built if one.kind == cargo_build.COMPILER), None)
    if compiler is not None:
        host = compiler.facts.get("host", "")
        paths += [f"{compiler.path}/lib/rustlib/{host}/lib", f"{compiler.path}/lib"]
        cargo = Path(compiler.path) / "bin" / "cargo"
        environment["CARGO"] = str(cargo) if cargo.is_file() else wish.cargo
    if before := wish.environ.get("LD_LIBRARY_PATH"):
        paths.append(before)
    return environment | {"LD_LIBRARY_PATH": ":".join(dict.fromkeys(paths))}


def _toolchain(built: Iterable[Artifact]) -> dict[str, str]:
    names = [one.name for one in built if one.kind == cargo_build.COMPILER]
    return {"rustc": names[0]} if names else {}


def _built_at(path: str) -> str:
    try:
        return datetime.fromtimestamp(Path(path).stat().st_mtime, UTC).isoformat(timespec="milliseconds")
    except OSError:
        return ""


# What the binaries have listed


def _known(suite: _Suite, listed: list[Artifact], root: Path) -> list[KnownTest]:
    sources: dict[Path, list[str]] = {}
    found = []
    for test in listed:
        file, line = suite.package.workspace / test.path, int(test.facts["line"])
        panics = not suite.documentation and bool(test.path) and _should_panic(file, line, sources)
        place = _relative(str(file), root) if test.path else ""
        found.append(KnownTest(f"{suite.id}::{test.name}", place, line, "should_panic" if panics else ""))
    return found


def _should_panic(file: Path, line: int, sources: dict[Path, list[str]]) -> bool:
    """libtest does not say it in JSON, but the attributes of a test stand right above its name."""
    if file not in sources:
        try:
            sources[file] = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            sources[file] = []
    above = sources[file][: line - 1]
    while above:
        text = above.pop().strip()
        if text.startswith("#[should_panic"):
            return True
        if not text or text.endswith(("{", "}", ";")):
            return False
    return False


def _relative(path: str, root: Path) -> str:
    return path.removeprefix(f"{root}/")
