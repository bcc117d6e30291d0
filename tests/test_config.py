"""Settings: what is known is checked, what is unknown is an error that says what was expected."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from proctor import config
from proctor.errors import ConfigError
from proctor.spec import Quarantined


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
        ("test_timeout = -1", "proctor.toml: invalid test_timeout -1: expected 0 or more$"),
        ("test_timeout = nan", "invalid test_timeout nan: expected 0 or more$"),
        ('test_timeout = "soon"', "invalid test_timeout 'soon': expected e.g. 90, 15m or 1h 30m$"),
        ("workers = -2", "invalid workers -2: expected a number of processes or auto$"),
        ('workers = "many"', "invalid workers 'many': expected a number of processes or auto$"),
        ("workers = 1.5", "workers: expected a whole number or a string, got a number$"),
        ("workers = true", "workers: expected a whole number or a string, got true or false$"),
        ("workers = 5000", "invalid workers 5000: expected at most 1000$"),
        (f"workers = 0x1{'0' * 5000}", "invalid workers: expected at most 1000$"),
        (f"workers = {'9' * 5000}", "cannot be read"),
        ("retries = -1", "invalid retries -1: expected 0 or more$"),
        ("retries = 1001", "invalid retries 1001: expected at most 1000$"),
        ('retries = "2"', "retries: expected a whole number, got a string$"),
        ("max_retried = -1", "invalid max_retried -1: expected 0 or more$"),
        ("max_restarts = -1", "invalid max_restarts -1: expected 0 or more$"),
        ('flaky = "maybe"', "invalid flaky 'maybe'; known: pass, fail$"),
        ('flaky = "fial"', r"invalid flaky 'fial'; did you mean fail\?$"),
        ("flaky = true", "flaky: expected a string, got true or false$"),
        ('quarantine = "a"', "quarantine: expected an array, got a string$"),
        ("quarantine = [1]", r"quarantine\[0\]: expected a string or a table, got a whole number$"),
        ('quarantine = [""]', r"quarantine\[0\]: the test is empty: expected the ID of a test or a pattern$"),
        ('quarantine = ["a", {test = ""}]', r"quarantine\[1\]: the test is empty"),
        ('quarantine = [{reason = "x"}]', r"quarantine\[0\]: test is missing$"),
        ('quarantine = [{test = "a", til = "x"}]', r"'quarantine\[0\].til'; did you mean until\?$"),
        (
            'quarantine = [{test = "a", until = "soon"}]',
            r"quarantine\[0\].until 'soon': expected a date such as 20",
        ),
        (
            'quarantine = [{test = "a", until = "2027-02-30"}]',
            "until '2027-02-30': expected a date such as 20",
        ),
        ('quarantine = [{test = "a", until = "20270131"}]', "until '20270131': expected a date such as 20"),
        ('quarantine = [{test = "a", until = 2027}]', "until 2027: expected a date such as 2027-01-31$"),
        (
            'quarantine = [{test = "a", until = 2027-01-31T10:00:00}]',
            "until 2027-01-31 10:00:00: expected a date",
        ),
        ("warm = 1", "warm: expected true or false, got a whole number$"),
        ('preload = "numpy"', "preload: expected an array, got a string$"),
        ("preload = [1]", r"preload\[0\]: expected a string, got a whole number$"),
        ('preload = ["numpy", ""]', "invalid preload '': expected the name of a module, e.g. numpy$"),
        ('preload = ["scikit-learn"]', "invalid preload 'scikit-learn': expected the name of a module, e.g."),
        ('preload = ["numpy==2"]', "invalid preload 'numpy==2': expected"),
        ('preload = ["django..db"]', "invalid preload 'django..db': expected"),
        ('preload = [".shop"]', "invalid preload '.shop': expected"),
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


def test_what_is_known_about_tries_and_processes(tmp_path: Path) -> None:
    (tmp_path / "proctor.toml").write_text(
        'test_timeout = "1m"\nworkers = "auto"\nretries = 2\nmax_retried = 0\nmax_restarts = 0\n'
        'flaky = "fail"\nquarantine = ["a", {test = "b*", reason = "c", until = 2027-01-31}]\n'
    )

    settings = config.load(tmp_path)
    assert (settings.test_timeout, settings.workers, settings.retries) == ("1m", "auto", 2)
    assert (settings.max_retried, settings.max_restarts, settings.flaky) == (0, 0, "fail")
    assert config.quarantined(settings, date(2027, 1, 1))[0] == (Quarantined("a"), Quarantined("b*", "c"))


def test_what_is_preloaded(tmp_path: Path) -> None:
    assert (config.Settings().warm, config.Settings().preload) == (True, ())
    (tmp_path / "proctor.toml").write_text('warm = false\npreload = ["numpy", "django.db"]\n')

    settings = config.load(tmp_path)
    assert (settings.warm, settings.preload) == (False, ("numpy", "django.db"))


@pytest.mark.parametrize("until", ["2027-01-31", date(2027, 1, 31)])
@pytest.mark.parametrize("today, over", [(date(2027, 1, 31), False), (date(2027, 2, 1), True)])
def test_a_quarantine_ends_after_its_last_day(until: object, today: date, over: bool) -> None:
    entries = ("a", config.QuarantineSettings("b", "why", until), config.QuarantineSettings("c"))
    left, notices = config.quarantined(config.Settings(quarantine=entries), today)

    assert [entry.test for entry in left] == (["a", "c"] if over else ["a", "b", "c"])
    assert notices == ["the quarantine of 'b' ended on 2027-01-31: its failures count again"] * over


@pytest.mark.parametrize(
    "value, workers",
    [(0, ""), ("0", ""), (4, "4"), ("4", "4"), ("004", "4"), (1000, "1000"), ("auto", "auto")],
)
def test_numbers_of_workers(value: int | str, workers: str) -> None:
    assert config.workers(value, "workers") == workers


@pytest.mark.parametrize("value", ["", "-1", "+4", "1.5", "٣", "all", "Auto", "1001", "9" * 5000])
def test_what_is_no_number_of_workers(value: str) -> None:
    with pytest.raises(ConfigError, match=r"^invalid -n( \S+)?: expected .{1,40}$"):
        config.workers(value, "-n")


@pytest.mark.parametrize(
    "value, size", [("512M", 512 << 20), ("2 GiB", 2 << 30), (1000, 1000), ("1.5k", 1536)]
)
def test_sizes(value: int | str, size: int) -> None:
    assert config.size(value, "memory") == size


@pytest.mark.parametrize("value", ["", "lots", "-1", "5 apples"])
def test_what_is_not_a_size(value: str) -> None:
    with pytest.raises(ConfigError, match="memory"):
        config.size(value, "memory")
