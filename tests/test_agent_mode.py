"""Who reads: one table, first match wins."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.projects import clean_environment, proctor

from proctor.agent_mode import FALSE, STRONG, VALUES, WEAK, agent_mode


def value_of(name: str) -> str:
    return next(iter(VALUES[name])) if name in VALUES else "anything"


@pytest.mark.parametrize("name", STRONG)
def test_a_strong_variable_counts_on_a_terminal_too(name: str) -> None:
    assert agent_mode({name: value_of(name)}, is_terminal=True).on
    assert agent_mode({name: value_of(name)}, is_terminal=False).on
    assert not agent_mode({name: ""}, is_terminal=False).on


@pytest.mark.parametrize("name", WEAK)
def test_a_weak_variable_counts_only_where_no_human_reads_along(name: str) -> None:
    assert not agent_mode({name: value_of(name)}, is_terminal=True).on
    assert agent_mode({name: value_of(name)}, is_terminal=False).on


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "OFF", " No "])
@pytest.mark.parametrize("name", ["CLAUDECODE", "AI_AGENT", "AGENT", "ZED_TERM", "PROCTOR_AGENT"])
def test_a_falsy_word_is_off(name: str, word: str) -> None:
    assert not agent_mode({name: word}, is_terminal=False).on


@pytest.mark.parametrize("name", ["AI_AGENT", "AGENT"])
def test_a_general_no_beats_what_an_agent_sets(name: str) -> None:
    assert not agent_mode({name: "0", "CLAUDECODE": "1"}, is_terminal=False).on


def test_our_own_variable_beats_all() -> None:
    assert not agent_mode({"PROCTOR_AGENT": "0", "CLAUDECODE": "1"}, is_terminal=False).on
    assert agent_mode({"PROCTOR_AGENT": "yes", "AGENT": "0"}, is_terminal=True).on


def test_ci_alone_never_turns_it_on() -> None:
    mode = agent_mode({"CI": "true", "TERM_PROGRAM": "vscode", "AGENT": "smith"}, is_terminal=False)

    assert not mode.on


def test_the_reason_names_the_variable_and_never_its_value() -> None:
    mode = agent_mode({"CLAUDECODE": "\x1b[31mevil"}, is_terminal=True)

    assert mode.why == "CLAUDECODE is set"


@pytest.mark.parametrize(("asked", "on"), [("on", True), ("off", False)])
def test_an_explicit_wish_beats_every_variable(asked: str, on: bool) -> None:
    environ = {"PROCTOR_AGENT": "0" if on else "1"}

    assert agent_mode(environ, is_terminal=False, asked=asked) == (on, f"--failure-summary {asked}")
    assert agent_mode(environ, is_terminal=False, asked="auto").on is not on


@pytest.mark.parametrize("word", ["1", "true", "yes", "on", "ON", " Yes "])
def test_our_own_variable_turns_it_on_on_a_terminal_too(word: str) -> None:
    assert agent_mode({"PROCTOR_AGENT": word}, is_terminal=True).on


def test_our_own_variable_with_another_word_decides_nothing() -> None:
    assert not agent_mode({"PROCTOR_AGENT": "maybe"}, is_terminal=False).on
    assert agent_mode({"PROCTOR_AGENT": "maybe", "CLAUDECODE": "1"}, is_terminal=False).on


@pytest.mark.parametrize("word", sorted(FALSE))
@pytest.mark.parametrize("name", [*STRONG, *WEAK])
def test_a_falsy_word_never_turns_it_on(name: str, word: str) -> None:
    assert not agent_mode({name: word}, is_terminal=False).on


@pytest.mark.parametrize("name", sorted(VALUES))
def test_some_variables_mean_an_agent_only_with_its_name(name: str) -> None:
    for value in VALUES[name]:
        assert agent_mode({name: value.upper()}, is_terminal=False).on
    assert not agent_mode({name: "something else"}, is_terminal=False).on


def test_doctor_names_the_rule_and_never_the_value(tmp_path: Path) -> None:
    ran = proctor("doctor", cwd=tmp_path, environ=clean_environment(GEMINI_CLI="\x1b[31mevil"))

    assert "agent mode: on (GEMINI_CLI is set)" in ran.out.splitlines()
    assert "evil" not in ran.out + ran.err
    assert "\x1b" not in ran.out + ran.err
