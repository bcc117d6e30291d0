"""Settings: `proctor.toml`, or `[tool.proctor]` in pyproject.toml. An unknown key is an error."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from proctor import decoding, durations
from proctor.errors import ConfigError, UsageError
from proctor.regular_files import read_bytes, read_text
from proctor.spec import Quarantined, TestProgram
from proctor.wire.control.ledger import Limits

if TYPE_CHECKING:
    from datetime import date


class TestSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of [[tool.proctor.tests]]."""

    name: str
    command: str | tuple[str, ...]  # a text is split as a shell would; no shell ever sees it
    duration: float | str | None = None
    cwd: str = ""
    environment: dict[str, str] = {}
    tags: tuple[str, ...] = ()


class QuarantineSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table in `quarantine`."""

    test: str
    reason: str = ""
    until: Any = None  # a date of TOML or a text such as 2027-01-31: the last day


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    python: str | None = None
    runner: str | None = None
    timeout: float | str = 0.0
    test_timeout: float | str = 0.0
    workers: int | str = 0  # or "auto"
    retries: int = 0
    max_retried: int = 50  # if more tests than these end badly, none runs again
    flaky: str = "pass"  # what a flaky test makes of the run: "pass" or "fail"
    quarantine: tuple[str | QuarantineSettings, ...] = ()
    max_restarts: int = 20  # sessions after one that died; 0: none
    memory: int | str = 0
    budget: int = 0  # tokens of the text for agents; 0: as many as it takes
    mask_secrets: bool = True
    keep_runs: int = 50
    warm: bool = True  # the server and `watch` keep a process ready for the next run
    preload: tuple[str, ...] = ()  # packages that it imports while it waits
    history: bool = True  # compare with earlier runs, and remember this one
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
_VARIABLE = r"[A-Za-z_][A-Za-z0-9_]{0,200}"
_KINDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "array": "an array",
    "object": "a table",
}
_LEAST = {"keep_runs": 1, "failure_rows": 1, "failure_length": 20, "max_retried": 0, "max_restarts": 0}
_MOST_RETRIES = 1000
_MOST_WORKERS = 1000
_DIGITS = 18  # of a number that is read; what has more is too large for anything
_FLAKY = ("pass", "fail")
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_SIZE = r"(?i)\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)i?b?\s*\Z"
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
    except (OSError, ValueError, RecursionError) as error:  # too many digits are a plain ValueError
        raise ConfigError(f"{path} cannot be read: {error}") from None


def _check(section: object, path: Path) -> Settings:
    try:
        settings = decoding.convert(section, Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {_explained(str(error))}") from None
    for name, least in _LEAST.items():
        value = getattr(settings, name)
        if value is not None and value < least:
            raise ConfigError(f"{path}: invalid {name} {value}: expected {least} or more")
    try:
        _check_values(settings)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None
    return settings


def _check_values(settings: Settings) -> None:
    """Those that a type alone does not describe."""
    seconds(settings.test_timeout, "test_timeout")
    workers(settings.workers, "workers")
    retries(settings.retries, "retries")
    if settings.flaky not in _FLAKY:
        from proctor.nearest import or_known  # only on the way out

        raise ConfigError(f"invalid flaky {settings.flaky!r}{or_known(settings.flaky, _FLAKY)}")
    for name in settings.preload:
        if not all(part.isidentifier() for part in name.split(".")):
            raise ConfigError(f"invalid preload {name!r}: expected the name of a module, e.g. numpy")
    for number, entry in enumerate(settings.quarantine):
        test = entry if isinstance(entry, str) else entry.test
        if not test:
            raise ConfigError(
                f"quarantine[{number}]: the test is empty: expected the ID of a test or a pattern"
            )
        if isinstance(entry, QuarantineSettings):
            _day(entry.until, f"quarantine[{number}].until")


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
    kinds = {"limits": Limits, "tests": TestSettings, "quarantine": QuarantineSettings}
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
        if any(fnmatchcase(name.upper(), glob) for glob in _NEVER_SET) or not re.fullmatch(_VARIABLE, name):
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


def quarantined(settings: Settings, today: date) -> tuple[tuple[Quarantined, ...], list[str]]:
    """The entries that still count on this day, and a notice about each that has ended."""
    entries, ended = [], []
    for entry in settings.quarantine:
        if isinstance(entry, str):
            entries.append(Quarantined(entry))
            continue
        until = _day(entry.until, "until")
        if until is None or today <= until:
            entries.append(Quarantined(entry.test, entry.reason))
        else:
            ended.append(f"the quarantine of {entry.test!r} ended on {until}: its failures count again")
    return tuple(entries), ended


def _day(value: Any, name: str) -> date | None:
    if value is None:
        return None
    from datetime import date  # few projects have one

    if type(value) is date:  # and no time of a day
        return value
    try:
        if isinstance(value, str) and re.fullmatch(_DAY, value):
            return date.fromisoformat(value)
    except ValueError:  # February 30th
        pass
    found = repr(value) if isinstance(value, str) else value
    raise ConfigError(f"invalid {name} {found}: expected a date such as 2027-01-31")


def workers(value: int | str, name: str) -> str:
    """4, "4" and "auto" as a RunSpec has them; none and 0 are empty."""
    if value == "auto":
        return "auto"
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value) if len(value) <= _DIGITS else sys.maxsize
    if isinstance(value, str) or value < 0:
        raise ConfigError(f"invalid {name} {value!r}: expected a number of processes or auto")
    return str(_at_most(value, name, _MOST_WORKERS) or "")


def retries(value: int, name: str) -> int:
    if value < 0:
        raise ConfigError(f"invalid {name} {value}: expected 0 or more")
    return _at_most(value, name, _MOST_RETRIES)


def _at_most(value: int, name: str, most: int) -> int:
    if value > most:
        found = f" {value}" if value < sys.maxsize else ""  # Python does not write the longest ones
        raise ConfigError(f"invalid {name}{found}: expected at most {most}")
    return value


def seconds(value: float | str, name: str) -> float:
    """90, "90", "15m", "1h 30m" as seconds."""
    found = durations.parse(value) if isinstance(value, str) else float(value)
    if found is None:
        raise ConfigError(f"invalid {name} {value!r}: expected e.g. 90, 15m or 1h 30m")
    if not found >= 0:  # TOML has a `nan`, too
        raise ConfigError(f"invalid {name} {found:g}: expected 0 or more")
    return min(found, float(durations.ENDLESS))


def size(value: int | str, name: str) -> int:
    """1000000, "512M", "2 GiB" as bytes."""
    found = re.match(_SIZE, str(value))
    if not found:
        raise ConfigError(f"invalid {name} {value!r}: expected a size such as 512M or 2G")
    return int(float(found[1]) * _FACTORS[found[2].lower()])
