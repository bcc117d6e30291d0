"""Plan a run of Rust tests: cargo builds them, each test binary lists what it has and is then run by itself,
and the tests in documentation come last.

One stage follows another: what the build made decides what is listed, and what is listed what is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from shlex import join

import msgspec

from proctor.errors import UsageError
from proctor.launch import Artifact, Build, KnownTest, Launch, Lines, Program
from proctor.places import program
from proctor.runners import cargo_package, matching
from proctor.runners.cargo_selection import TARGETS, Wanted, doc_filters, wanted
from proctor.runners.cargo_suites import DOC_TESTS, Around, Suite, binaries, documentation, toolchain
from proctor.runners.plan import Plan
from proctor.spec import RunSpec
from proctor.wire.reports import cargo_build
from proctor.wire.reports.libtest_list import LIST, LISTED

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
_CALM = " without should_panic"  # name of a second list: no other option shows which tests those are


class _Request(msgspec.Struct, frozen=True):
    """The request, with what every stage needs of it."""

    spec: RunSpec
    around: Around
    wanted: Wanted
    passed: tuple[str, ...]  # arguments for the test binaries

    @property
    def allowed(self) -> dict[str, str]:
        return {} if _BOOTSTRAP in self.around.environ else {_BOOTSTRAP: "proctor"}


def detect(root: Path) -> bool:
    return (root / "Cargo.toml").is_file()


def owns(target: str, root: Path) -> bool:
    """A Rust file, a directory with a package, or an id: its first part is the name of a crate."""
    path = root / target
    if path.is_dir():
        return (path / "Cargo.toml").is_file() or any(path.glob("*.rs"))
    return path.suffix == ".rs" or target.partition("::")[0] in cargo_package.crates(root)


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    """The build; the rest follows from it."""
    cargo, rustc = program("cargo", environ), environ.get("RUSTC") or program("rustc", environ) or "rustc"
    if not cargo:
        raise UsageError(f"no cargo on PATH to test {spec.root}; install Rust, or name another runner")
    if spec.selection.markers:
        raise UsageError("cargo has no markers; leave out -m, or name another runner with --runner")
    if spec.selection.keywords:
        matching.parse(spec.selection.keywords)
    at = spec.arguments.index("--") if "--" in spec.arguments else len(spec.arguments)
    own, passed = spec.arguments[:at], spec.arguments[at + 1 :]
    if "--doc" in own:
        raise UsageError(f"--doc cannot be passed on: name `crate::{DOC_TESTS}` as a target instead")
    root = Path(spec.root)
    chosen = wanted(spec.selection.targets, root)
    request = _Request(spec, Around(root, cargo, own, dict(environ)), chosen, passed)
    narrowed = () if any(argument.startswith(TARGETS) for argument in own) else chosen.narrowed()
    build = ("test", "--no-run", "--no-fail-fast", "--message-format=json", *narrowed, *own)
    launch = Launch(
        ("/bin/sh", "-c", _BUILD, "sh", rustc, cargo, *build),
        spec.root,
        "cargo test --no-run",
        Build("cargo-build", base=str(cargo_package.load(root).workspace)),
    )
    return Plan((launch,), then=partial(_after_build, request))


def _after_build(request: _Request, built: tuple[Artifact, ...]) -> Plan:
    found = [*binaries(request.around, built), *documentation(request.around, built)]
    asked = _to_list(request, found)
    commands = []
    for suite in asked:
        command = (*suite.command, "--list", *_UNSTABLE, "--format=json", *request.passed)
        commands += [suite.id, suite.cwd, join(command)]
        if not suite.documentation:
            commands += [suite.id + _CALM, suite.cwd, join((*command, "--exclude-should-panic"))]
    libraries = next((suite.libraries for suite in found if suite.libraries), {})
    launch = Launch(
        ("/bin/sh", "-c", _LIST, "sh", *commands),
        request.spec.root,
        "cargo test -- --list",
        Build("libtest-list", toolchain=toolchain(built)),
        request.allowed | libraries,
    )
    broken = any(artifact.kind == cargo_build.BROKEN for artifact in built)
    then = partial(_after_lists, request, found, toolchain(built), broken)
    return Plan((launch,), then=then) if asked else then(())


def _to_list(request: _Request, found: list[Suite]) -> list[Suite]:
    return [suite for suite in found if suite.harness and request.wanted.may_have(suite.id)]


def _after_lists(
    request: _Request,
    found: list[Suite],
    compiler: dict[str, str],
    broken: bool,
    listed: tuple[Artifact, ...],
) -> Plan:
    known = _known(found, listed, request.around.root)
    whole = not broken and all(suite.id in known for suite in _to_list(request, found))
    tests = _files(found, known, request.around.root)
    chosen = request.wanted.among(tests, request.spec.selection.keywords, strict=whole)
    launches: list[Launch] = []
    deselected = [suite.id for suite in found if not suite.harness and suite.id not in chosen]
    for suite in found:
        own = known.get(suite.id, [])
        kept = [test for test in own if test.name in chosen]
        if suite.id in chosen:
            launches.append(_program(suite, compiler, request))
        elif kept or (suite.id in known and request.spec.selection.everything):
            launches.append(_launch(suite, own, kept, compiler, request))
        else:
            deselected += [test.name for test in own]
    return Plan(tuple(launches), tuple(deselected))


def _launch(
    suite: Suite, tests: list[KnownTest], kept: list[KnownTest], compiler: dict[str, str], request: _Request
) -> Launch:
    prefix = f"{suite.id}::"
    threads = (f"--test-threads={request.spec.workers}",) if request.spec.workers not in ("", "auto") else ()
    filters: tuple[str, ...] = ()
    if len(kept) < len(tests) and suite.documentation:
        every, asked = ([test.name.removeprefix(prefix) for test in some] for some in (tests, kept))
        filters, running = doc_filters(asked, every)
        kept = [test for test in tests if test.name.removeprefix(prefix) in running]
    elif len(kept) < len(tests):
        filters = ("--exact", *(test.name.removeprefix(prefix) for test in kept))
    form = ("--format=pretty",) if suite.documentation else ("--format=json", "--show-output")
    argv = (*suite.command, *_UNSTABLE, *form, "--report-time", *threads, *request.passed, *filters)
    names = {test.name for test in kept}
    return Launch(
        () if request.spec.collect_only else argv,
        suite.cwd,
        suite.name,
        Lines(
            "libtest" if suite.documentation else "libtest-json",
            prefix=prefix,
            known=tuple(kept),
            listed=True,
            deselected=tuple(test.name for test in tests if test.name not in names),
            root=request.spec.root,
            base=str(suite.package.workspace),
            build=suite.build,
            toolchain=compiler,
        ),
        request.allowed | suite.environment,
        request.spec.memory,
    )


def _program(suite: Suite, compiler: dict[str, str], request: _Request) -> Launch:
    """A target without a harness passes or fails as a whole."""
    return Launch(
        (*suite.command, *request.passed),
        suite.cwd,
        suite.id,
        Program(toolchain=compiler),
        suite.environment,
        request.spec.memory,
    )


def _known(found: list[Suite], listed: tuple[Artifact, ...], root: Path) -> dict[str, list[KnownTest]]:
    """The tests of each suite whose list was read to its end."""
    lists: dict[str, list[Artifact]] = {artifact.name: [] for artifact in listed if artifact.kind == LIST}
    for test in listed:
        if test.kind == LISTED:
            lists[test.root].append(test)
    known: dict[str, list[KnownTest]] = {}
    for suite in found:
        if suite.id in lists:
            calm = {test.name for test in lists.get(suite.id + _CALM, lists[suite.id])}
            known[suite.id] = [_test(suite, test, test.name in calm, root) for test in lists[suite.id]]
    return known


def _test(suite: Suite, test: Artifact, calm: bool, root: Path) -> KnownTest:
    file = str(suite.package.workspace / test.path).removeprefix(f"{root}/") if test.path else ""
    name, line = f"{suite.id}::{test.name}", int(test.facts["line"])
    return KnownTest(name, file, line, "" if calm else "should_panic")


def _files(found: list[Suite], known: dict[str, list[KnownTest]], root: Path) -> dict[str, tuple[Path, ...]]:
    """All tests, with the files by which they can be chosen."""
    files: dict[str, tuple[Path, ...]] = {}
    for suite in found:
        target = () if suite.documentation else (Path(suite.source),)
        if not suite.harness:
            files[suite.id] = target
        files |= {test.name: (root / test.file, *target) for test in known.get(suite.id, ())}
    return files
