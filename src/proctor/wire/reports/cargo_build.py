"""The output of cargo while it builds tests (`--message-format=json`): what was built, and its errors.

Plain lines before it describe the compiler (`rustc -vV`, `sysroot: DIR`).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from proctor import decoding
from proctor import events as e
from proctor.launch import Artifact
from proctor.wire.reports.report import JsonLines, place_of

# Kinds of artifacts
TEST = "test"  # a test binary
PROGRAM = "program"  # a program of the package, which its integration tests may start
LIBRARY = "library"  # with documentation that may have tests
SCRIPT = "script"  # a build script that was run: what it set is in the facts
COMPILER = "compiler"  # with its directory
BROKEN = "broken"  # nothing: not all could be built

PATHS = ""  # among the facts of a script, whose others are variables: where its libraries are

_ALONE = ("bin", "test", "example", "bench", "custom-build")  # kinds of targets beside the library
_SYSROOT = "sysroot: "
_HOST = "host: "


class _Span(msgspec.Struct):
    file_name: str
    line_start: int
    is_primary: bool = False
    label: str | None = None


class _Code(msgspec.Struct):
    code: str


class _Diagnostic(msgspec.Struct):
    message: str
    level: str
    rendered: str | None = None
    spans: list[_Span] = []
    code: _Code | None = None


class _Target(msgspec.Struct):
    name: str
    kind: list[str] = []
    src_path: str = ""
    doctest: bool = False


class _Profile(msgspec.Struct):
    test: bool = False


class _Line(msgspec.Struct):
    reason: str
    package_id: str = ""
    manifest_path: str = ""
    target: _Target | None = None
    profile: _Profile = msgspec.field(default_factory=_Profile)
    executable: str | None = None
    filenames: list[str] = []
    message: _Diagnostic | None = None
    out_dir: str = ""
    env: list[tuple[str, str]] = []
    linked_paths: list[str] = []
    success: bool = False


def target_id(package: str, kind: str, name: str) -> str:
    """What the names of a target's tests begin with: `crate`, or `crate::test/name` beside the library."""
    crate = package.replace("-", "_")
    return f"{crate}::{kind}/{name}" if kind in _ALONE else crate


class CargoBuildReader(JsonLines):
    format = "cargo-build"
    decoder = decoding.decoder(_Line)

    def __init__(self) -> None:
        super().__init__()
        self.artifacts: list[Artifact] = []
        self._compiler = Artifact("", kind=COMPILER)
        self._errors: dict[str, list[_Diagnostic]] = {}  # by the file of the target
        self._reported: set[str] = set()
        self._finished = self._whole = False

    def _output(self, text: str) -> Iterator[e.Event]:
        if text.startswith("rustc ") and not self._compiler.name:
            self._compiler = replace(self._compiler, name=text)
            yield e.SuiteDescribed("", {"rustc": text})
        elif text.startswith(_HOST):
            self._compiler = replace(self._compiler, facts={"host": text.removeprefix(_HOST)})
        elif text.startswith(_SYSROOT):
            self.artifacts.append(replace(self._compiler, path=text.removeprefix(_SYSROOT)))
        elif text.startswith("{"):
            yield from super()._output(text)

    def _object(self, line: _Line) -> Iterator[e.Event]:
        match line.reason:
            case "compiler-message" if line.message is not None and line.target is not None:
                yield from self._diagnostic(line, line.message, line.target)
            case "compiler-artifact" if line.target is not None:
                self._built(line, line.target)
            case "build-script-executed":
                facts = {**dict(line.env), "OUT_DIR": line.out_dir}
                facts[PATHS] = ":".join(path.rpartition("=")[2] for path in line.linked_paths)
                self.artifacts.append(Artifact(line.out_dir, _package(line.package_id), SCRIPT, facts=facts))
            case "build-finished":
                self._finished, self._whole = True, line.success

    def _diagnostic(self, line: _Line, found: _Diagnostic, target: _Target) -> Iterator[e.Event]:
        """Cargo compiles a library twice, with and without its tests, and reports its errors each time."""
        text = found.rendered or found.message
        if text in self._reported:
            return
        self._reported.add(text)
        yield e.OutputReceived("stdout", text)
        if found.level == "warning":
            place = _place(found) or e.Place("")
            yield e.WarningRecorded(_code(found), found.message, place.file, place.line, "build")
        elif found.level.startswith("error"):  # or `error: internal compiler error`
            self._errors.setdefault(target.src_path, []).append(found)

    def _built(self, line: _Line, target: _Target) -> None:
        package, kind = _package(line.package_id), _kind(target)
        directory = line.manifest_path.rpartition("/")[0]
        facts = {"package": package, "id": line.package_id, "target": kind, "source": target.src_path}
        if line.executable and (line.profile.test or kind == "bin"):
            made = TEST if line.profile.test else PROGRAM
            self.artifacts.append(Artifact(line.executable, target.name, made, directory, facts))
        if kind == "lib" and target.doctest and line.filenames:
            self.artifacts.append(Artifact(line.filenames[0], target.name, LIBRARY, directory, facts))

    def _last(self) -> Iterator[e.Event]:
        if self._errors:
            yield e.SuiteStarted(self.format, "", len(self._errors))
        for file, errors in self._errors.items():
            yield _not_built(file, errors)
        if not self._whole:
            self.artifacts.append(Artifact("", kind=BROKEN))
        if not self._finished:
            self._gaps.append("the build has no end")
        yield self._ending()


def _kind(target: _Target) -> str:
    return next((kind for kind in target.kind if kind in _ALONE), "lib")


def _package(identity: str) -> str:
    """The name in `path+file:///x/a#name@1.0`, `path+file:///x/name#1.0` and, formerly, `name 1.0 (…)`."""
    place, mark, rest = identity.partition("#")
    if not mark:
        return identity.partition(" ")[0]
    return rest.partition("@")[0] if "@" in rest else place.partition("?")[0].rpartition("/")[2]


def _place(found: _Diagnostic) -> e.Place | None:
    span = next((span for span in found.spans if span.is_primary), None)
    return place_of(span.file_name, span.line_start) if span else None


def _code(found: _Diagnostic) -> str:
    return found.code.code if found.code else ""


def _not_built(file: str, errors: list[_Diagnostic]) -> e.CollectionFailed:
    """The first error that has a place gives the message; the texts of all are joined."""
    first = next((one for one in errors if _place(one)), errors[0])
    label = next((span.label for span in first.spans if span.is_primary and span.label), "")
    message = f"{first.message}: {label}" if label else first.message
    text = "\n".join((one.rendered or one.message).rstrip("\n") for one in errors)
    return e.CollectionFailed(file, e.Failure(_code(first), message, _place(first)), text)
