"""Settings: `proctor.toml`, or `[tool.proctor]` in pyproject.toml. An unknown key is an error."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from proctor.errors import ConfigError


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    python: str | None = None
    runner: str | None = None
    timeout: float | str = 0.0
    memory: int | str = 0
    keep_runs: int = 50
    hide_environment: tuple[str, ...] = ()  # names (with * and ?) of variables that tests must not see


_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)i?b?\s*\Z", re.I)
_SPAN = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([smhd]?)\s*")
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def load(root: Path) -> Settings:
    """proctor.toml wins over pyproject.toml; neither is needed."""
    own = root / "proctor.toml"
    if own.is_file():
        return _check(_parse(own), own)
    project = root / "pyproject.toml"
    try:
        # Most projects have no section of ours, and the parser costs more than the look.
        mentioned = b"proctor" in project.read_bytes()
    except OSError:
        mentioned = False
    if not mentioned:
        return Settings()
    tool = _parse(project).get("tool", {})
    section = tool.get("proctor", {}) if isinstance(tool, dict) else {}
    return _check(section, project)


def _parse(path: Path) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None


def _check(section: object, path: Path) -> Settings:
    try:
        settings = msgspec.convert(section, Settings)
    except msgspec.ValidationError as error:
        known = ", ".join(Settings.__struct_fields__)
        raise ConfigError(f"{path}: {error}; known keys: {known}") from None
    if settings.keep_runs < 1:
        raise ConfigError(f"{path}: keep_runs is {settings.keep_runs}; it must be at least 1")
    return settings


def seconds(value: float | str, name: str) -> float:
    """90, "90", "15m", "1h 30m" as seconds."""
    if isinstance(value, str):
        text = value.strip()
        if not text or _SPAN.sub("", text):
            raise ConfigError(f"{name} is {value!r}; a time such as 90, 15m or 1h 30m would do")
        value = sum(float(count) * _UNITS[unit] for count, unit in _SPAN.findall(text))
    if value < 0:
        raise ConfigError(f"{name} is {value}; it must not be negative")
    return float(value)


def size(value: int | str, name: str) -> int:
    """1000000, "512M", "2 GiB" as bytes."""
    found = _SIZE.match(str(value))
    if not found:
        raise ConfigError(f"{name} is {value!r}; a size such as 512M or 2G would do")
    return int(float(found[1]) * _FACTORS[found[2].lower()])
