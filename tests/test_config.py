"""Settings: what is known is checked, what is unknown is an error that says what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor import config
from proctor.errors import ConfigError


def test_no_file_means_the_defaults(tmp_path: Path) -> None:
    assert config.load(tmp_path) == config.Settings()


def test_a_section_of_pyproject(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.proctor]\nkeep_runs = 3\ntimeout = "15m"\n')

    assert config.load(tmp_path) == config.Settings(keep_runs=3, timeout="15m")


def test_our_own_file_wins(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.proctor]\nkeep_runs = 3\n")
    (tmp_path / "proctor.toml").write_text("keep_runs = 4\n")

    assert config.load(tmp_path).keep_runs == 4


def test_a_project_that_only_mentions_us_has_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\ndependencies = ["proctor"]\n')

    assert config.load(tmp_path) == config.Settings()


@pytest.mark.parametrize(
    "text, word",
    [
        ("keep_rusn = 3", r"unknown setting 'keep_rusn'; did you mean keep_runs\?$"),
        ("colour = true", "unknown setting 'colour'; known: python, runner, timeout"),
        ("[limits]\nfile_byte = 1", r"unknown setting 'limits.file_byte'; did you mean file_bytes\?$"),
        ('[[tests]]\nname = "a"\ncomand = "x"', r"'tests\[0\].comand'; did you mean command\?$"),
        ('[[tests]]\nname = "a"', r"tests\[0\]: command is missing$"),
        ("[tool.proctor]\nkeep_runs = 3", r"at the top, without \[tool.proctor\]$"),
        ("timeout = [1]", "timeout: expected a number or a string, got an array$"),
        ("runner = 3", "runner: expected a string or null, got a whole number$"),
        ('keep_runs = "many"', "keep_runs: expected a whole number, got a string"),
        ("keep_runs = 0", "invalid keep_runs 0: expected 1 or more"),
        ("keep_runs = [", "cannot be read"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "proctor.toml").write_text(text)

    with pytest.raises(ConfigError, match=word):
        config.load(tmp_path)


@pytest.mark.parametrize(
    "value, seconds",
    [(90, 90), ("90", 90), ("15m", 900), ("1h 30m", 5400), ("1h30m", 5400), ("1.5s", 1.5), (0, 0)],
)
def test_times(value: int | str, seconds: float) -> None:
    assert config.seconds(value, "timeout") == seconds


@pytest.mark.parametrize("value", ["", "soon", "15min", "-3", -3, "1 hour"])
def test_what_is_not_a_time(value: int | str) -> None:
    with pytest.raises(ConfigError, match="timeout"):
        config.seconds(value, "timeout")


@pytest.mark.parametrize(
    "value, size", [("512M", 512 << 20), ("2 GiB", 2 << 30), (1000, 1000), ("1.5k", 1536)]
)
def test_sizes(value: int | str, size: int) -> None:
    assert config.size(value, "memory") == size


@pytest.mark.parametrize("value", ["", "lots", "-1", "5 apples"])
def test_what_is_not_a_size(value: str) -> None:
    with pytest.raises(ConfigError, match="memory"):
        config.size(value, "memory")
