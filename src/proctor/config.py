"""Settings: `proctor.toml`, or `[tool.proctor]` in pyproject.toml. An unknown key is an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from proctor import durations
from proctor.errors import ConfigError, UsageError
from proctor.regular_files import read_bytes, read_text
from proctor.spec import TestProgram
from proctor.wire.control.ledger import Limits


class TestSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of [[tool.proctor.tests]]."""

    name: str
    command: str | tuple[str, ...]  # a text is split as a shell would; no shell ever sees it
    duration: float | str | None = None
    cwd: str = ""
    environment: dict[str, str] = {}
    tags: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    python: str | None = None
    runner: str | None = None
    timeout: float | str = 0.0
    memory: int | str = 0
    budget: int = 0  # tokens of the text for agents; 0: as many as it takes
    mask_secrets: bool = True
    keep_runs: int = 50
    failure_rows: int | None = None  # of the failure index; None: as many as it usually has
    failure_length: int | None = None  # characters of an error in it
    allow_env: tuple[str, ...] = ()  # names (with * and ?) of variables that a client of the server may set
    hide_environment: tuple[str, ...] = ()  # names (with * and ?) of variables that tests must not see
    limits: Limits = Limits()
    optional_suites: tuple[str, ...] = ()  # runners whose tests a run may do without, also in CI
    tests: tuple[TestSettings, ...] = ()


#: What decides which code runs: no pattern of a project allows a caller to set these.
_NEVER_SET = (
    "LD_*",
    "DYLD_*",
    "PYTHON*",
    "PYTEST_*",
    "PATH",
    "HOME",
    "PROCTOR_*",
    "ATEX_*",
    "NODE_*",
    "GO*",
    "CARGO*",
    "RUST*",
    "BASH_ENV",
    "ENV",
    "IFS",
    "SHELL",
    "GCONV_PATH",
    "PERL*",
    "RUBY*",
    "JAVA_*",
    "GIT_*",
)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "an array",
    "object": "a table",
}
_LEAST = {"keep_runs": 1, "failure_rows": 1, "failure_length": 20}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)i?b?\s*\Z", re.I)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def load(root: Path) -> Settings:
    """proctor.toml wins over pyproject.toml; neither is needed."""
    own = root / "proctor.toml"
    if own.is_file():
        return _check(_parse(own), own)
    project = root / "pyproject.toml"
    try:
        # Most projects have no such section, and the search is faster than the parser.
        mentioned = b"proctor" in read_bytes(project)
    except OSError:
        mentioned = False
    if not mentioned:
        return Settings()
    tool = _parse(project).get("tool", {})
    section = tool.get("proctor", {}) if isinstance(tool, dict) else {}
    return _check(section, project)


def masks_secrets(root: Path) -> bool:
    """Whether secrets of this project are masked: yes, unless its settings can be read and turn that off."""
    try:
        return load(root).mask_secrets
    except ConfigError:
        return True


def _parse(path: Path) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(read_text(path))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None


def _check(section: object, path: Path) -> Settings:
    try:
        settings = msgspec.convert(section, Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {_explained(str(error))}") from None
    for name, least in _LEAST.items():
        value = getattr(settings, name)
        if value is not None and value < least:
            raise ConfigError(f"{path}: invalid {name} {value}: expected {least} or more")
    return settings


def _explained(error: str) -> str:
    """msgspec's message about a section, in the words of the file."""
    what, _, where = error.partition(" - at `$")
    place = re.sub(r"\[\.\.\.\]|`$", "", where).removeprefix(".")  # `limits`, `tests[0]`, `keep_runs`
    unknown = re.search(r"unknown field `(.*)`", what)
    if missing := re.search(r"missing required field `(.*)`", what):
        return f"{place}: {missing[1]} is missing"
    if unknown is None:
        found = re.sub(r"`([^`]*)`", lambda kinds: _kinds(kinds[1]), what[:1].lower() + what[1:])
        return f"{place or 'the settings'}: {found}"
    kinds = {"limits": Limits, "tests": TestSettings}
    kind = kinds.get(place.partition("[")[0], Settings)
    if unknown[1] == "tool" and kind is Settings:
        return "unknown setting 'tool': in proctor.toml, settings stand at the top, without [tool.proctor]"
    from proctor.nearest import or_known  # only on the way out

    named = f"{place}.{unknown[1]}" if place else unknown[1]
    return f"unknown setting {named!r}{or_known(unknown[1], kind.__struct_fields__)}"


def _kinds(names: str) -> str:
    return " or ".join(_KINDS.get(name, name) for name in names.split(" | "))


def visible(environ: Mapping[str, str], hidden: tuple[str, ...]) -> dict[str, str]:
    """The environment that tests may see."""
    return {
        name: value for name, value in environ.items() if not any(fnmatchcase(name, glob) for glob in hidden)
    }


def allowed_environment(given: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """The variables that a caller sets for the tests. Raises a UsageError for one that is not allowed."""
    for name in given:
        if any(fnmatchcase(name.upper(), glob) for glob in _NEVER_SET) or not _VARIABLE.fullmatch(name):
            raise UsageError(f"env: {name[:80]!r} cannot be set by a caller")
        if not any(fnmatchcase(name, glob) for glob in settings.allow_env):
            allowed = ", ".join(settings.allow_env) or "none"
            raise UsageError(f"env: {name[:80]!r} is not in the project's allow_env: {allowed}")
    return dict(given)


def programs(settings: Settings) -> tuple[TestProgram, ...]:
    """The tests that the project lists, ready to be run."""
    found: dict[str, TestProgram] = {}
    for test in settings.tests:
        name = "/" + test.name.strip("/")
        if name in found or name == "/":
            raise ConfigError(
                f"tests: the name {test.name!r} is empty or used twice: expected a different name for each"
            )
        what = f"tests: {name}"
        duration = None if test.duration is None else seconds(test.duration, f"{what}: duration")
        found[name] = TestProgram(
            name, _split(test.command, what), duration, test.cwd, test.environment, test.tags
        )
    return tuple(found.values())


def _split(command: str | tuple[str, ...], what: str) -> tuple[str, ...]:
    if isinstance(command, str):
        import shlex

        try:
            command = tuple(shlex.split(command))
        except ValueError as error:
            raise ConfigError(f"{what}: the command cannot be split into words: {error}") from None
    if not command or not command[0]:
        raise ConfigError(f"{what}: the command is empty: expected a program and its arguments")
    return command


def seconds(value: float | str, name: str) -> float:
    """90, "90", "15m", "1h 30m" as seconds."""
    found = durations.parse(value) if isinstance(value, str) else float(value)
    if found is None:
        raise ConfigError(f"invalid {name} {value!r}: expected e.g. 90, 15m or 1h 30m")
    if found < 0:
        raise ConfigError(f"invalid {name} {value}: expected 0 or more")
    return found


def size(value: int | str, name: str) -> int:
    """1000000, "512M", "2 GiB" as bytes."""
    found = _SIZE.match(str(value))
    if not found:
        raise ConfigError(f"invalid {name} {value!r}: expected a size such as 512M or 2G")
    return int(float(found[1]) * _FACTORS[found[2].lower()])
