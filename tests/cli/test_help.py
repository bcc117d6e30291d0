"""`--help`, `proctor help` and what a wrong verb or option is answered with."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.cli.help_text import overview, parser_of
from proctor.cli.main import GROUPS, VERBS, main
from proctor.cli.parser import HOW, LIMITS, SHOW, WHAT, WHERE, Parser

ROOT = Path(__file__).parents[2]


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(list(arguments))
    except SystemExit as stopped:  # argparse, after a help text
        code = int(stopped.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["help"]])
def test_the_help_has_the_everyday_verbs_first(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code, out, err = asked(capsys, *arguments)

    assert (code, out, err) == (0, overview(), "")
    places = [out.index(f"\n  {verb} ") for verb in VERBS]
    assert places == sorted(places)
    assert list(VERBS)[:3] == ["run", "watch", "show"]
    assert (
        out.index("for every day:") < out.index("for agents, CI and shells:") < out.index("for test authors:")
    )


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_is_its_own_help(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    code, out, err = asked(capsys, "help", verb)

    assert (code, err) == (0, "")
    assert out.startswith(f"usage: proctor {verb}")
    assert asked(capsys, verb, "--help") == (0, out, "")


@pytest.mark.parametrize("verb", VERBS)
def test_every_argument_is_explained_in_a_group_and_the_page_exists(verb: str) -> None:
    parser = parser_of(verb)
    grouped = [action for _, actions in parser.sections for action in actions]

    assert grouped
    assert all(action.help for action in grouped)
    assert set(map(id, grouped)) == set(map(id, [*parser.positionals, *parser.options.values()]))
    assert parser.examples
    assert all(verb in command for command, _ in parser.examples)
    assert (ROOT / parser.page).is_file()


def test_the_help_of_run_has_groups_defaults_examples_and_a_page() -> None:
    text = parser_of("run").format_help()

    titles = [f"\n{title}:\n" for title in (WHAT, LIMITS, HOW, SHOW, WHERE, "help", "examples")]
    assert [text.index(title) for title in titles] == sorted(text.index(title) for title in titles)
    assert len(parser_of("run").examples) == 3
    assert "(default: auto)" in " ".join(text.split())
    assert "documentation: docs/reference/command-line.md" in text
    without_default = [
        action.option_strings[-1]
        for action in parser_of("run").options.values()
        if action.nargs is None and "default" not in (action.help or "")
    ]
    assert without_default == ["-k", "-m", "-o"]  # nothing is selected or written unless it is asked for


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_help_fits_the_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    options, _, _ = parser_of("run").format_help().partition("\nexamples:")

    assert max(map(len, options.splitlines())) <= min(columns, 100)


@pytest.mark.parametrize(
    "arguments, meant",
    [
        (["tests/test_a.py"], "`proctor run tests/test_a.py`"),
        (["tests/test_a.py::test_x[a b]", "-x"], "`proctor run 'tests/test_a.py::test_x[a b]' -x`"),
        (["test"], "`proctor run`"),
        (["test", "tests/unit", "-k", "a and b"], "`proctor run tests/unit -k 'a and b'`"),
        (["-k", "foo"], "`proctor run -k foo`"),
        (["-x"], "`proctor run -x`"),
        (["-n4"], "`proctor run -n4`"),
        (["--lf"], "`proctor run --lf`"),
        (["--maxfail=2", "tests"], "`proctor run --maxfail=2 tests`"),
        (["-k", "run"], "`proctor run -k run`"),
        (["-C", "shop", "run", "-x"], "`proctor run -C shop -x`"),
        (["-C", "shop", "runs"], "`proctor runs -C shop`"),
        (["rnu", "-x"], "`proctor run -x`"),
        (["RUN"], "`proctor run`"),
        (["shwo", "last"], "`proctor show last`"),
        (["disc"], "`proctor discover`"),
        (["collect"], "`proctor discover`"),
        (["last"], "`proctor show last`"),
        (["--verison"], "--version"),
        (["--hepl"], "--help"),
        (["help", "rnu"], "run"),
        (["run", "--maxfial", "3"], "--maxfail"),
        (["run", "--formt=json"], "--format"),
        (["run", "--format", "humna"], "human"),
        (["run", "--format", "JSON"], "json"),
        (["show", "--foramt", "json"], "--format"),
        (["convert", "a", "--to", "jnuit"], "junit"),
        (["convert", "a", "--ot", "junit"], "--to"),
        (["control", "chekc"], "check"),
        (["runs", "--limt", "3"], "--limit"),
    ],
)
def test_a_mistake_is_answered_in_one_line_with_what_was_probably_meant(
    capsys: pytest.CaptureFixture[str], arguments: list[str], meant: str
) -> None:
    code, out, err = asked(capsys, *arguments)

    assert (code, out) == (4, "")
    assert err.endswith(f"did you mean {meant}? [usage]\n")
    assert err.count("\n") == 1


def test_a_directory_of_tests_is_taken_for_a_target(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "unit").mkdir()
    monkeypatch.chdir(tmp_path)

    assert "`proctor run tests`?" in asked(capsys, "tests")[2]
    assert "`proctor run unit -x`?" in asked(capsys, "unit", "-x")[2]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["xyzzy"], "no verb 'xyzzy'; known: run, watch, show, open, runs"),
        (["--xyzzy"], "unknown option --xyzzy; `proctor help` lists the verbs"),
        (["run", "--cov=shop"], "unknown option --cov; options of the test runner go after --: "),
        (["runs", "--xyzzy"], "unknown option --xyzzy; `proctor runs --help` lists the options"),
        (["runs", "extra"], "unexpected argument 'extra'"),
        (["run", "--maxfail", "many"], "invalid --maxfail 'many': expected a whole number"),
        (["run", "--maxfail"], "--maxfail needs a value"),
        (["convert", "a"], "--to is missing"),
        (["run", "--format", "hologram"], "invalid --format 'hologram'; known: auto, human"),
    ],
)
def test_a_word_like_no_other_is_answered_with_what_there_is(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    code, out, err = asked(capsys, *arguments)

    assert (code, out) == (4, "")
    assert err.startswith(f"proctor: {said}")
    assert err.count("\n") == 1


def test_options_may_stand_between_targets() -> None:
    parsed = parser_of("run").parse_args(["a.py", "-x", "b.py", "--maxfail", "3", "c.py"])

    assert parsed.targets == ["a.py", "b.py", "c.py"]
    assert (parsed.failfast, parsed.maxfail) == (True, 3)


def test_a_group_of_a_verbs_own_comes_first() -> None:
    parser = Parser("proctor example", "An example.")
    parser.group(SHOW).add_argument("--all", action="store_true", help="all of it")
    parser.group("which one").add_argument("name", help="its name")

    assert [title for title, _ in parser.sections] == ["which one", SHOW, "help"]
    assert len(GROUPS) == 3


@pytest.mark.parametrize("verb", ["run", "convert"])
def test_the_reference_page_names_every_option(verb: str) -> None:
    page = (ROOT / "docs/reference/command-line.md").read_text()

    absent = [option for option in parser_of(verb).options if f"`{option}" not in page]
    assert [option for option in absent if option not in ("-h", "--help")] == []
    assert all(f"`proctor {name}" in page or f"`{name}`" in page for name in VERBS)
