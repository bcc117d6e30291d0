"""Who reads: one table, first match wins."""

from __future__ import annotations

import pytest

from proctor.agent_mode import STRONG, VALUES, WEAK, agent_mode


def value_of(name):
    return next(iter(VALUES[name])) if name in VALUES else "anything"


@pytest.mark.parametrize("name", STRONG)
def test_a_strong_variable_counts_on_a_terminal_too(name):
    assert agent_mode({name: value_of(name)}, is_terminal=True).on
    assert agent_mode({name: value_of(name)}, is_terminal=False).on
    assert not agent_mode({name: ""}, is_terminal=False).on


@pytest.mark.parametrize("name", WEAK)
def test_a_weak_variable_counts_only_where_no_human_reads_along(name):
    assert not agent_mode({name: value_of(name)}, is_terminal=True).on
    assert agent_mode({name: value_of(name)}, is_terminal=False).on


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "OFF", " No "])
@pytest.mark.parametrize("name", ["CLAUDECODE", "AI_AGENT", "AGENT", "ZED_TERM", "PROCTOR_AGENT"])
def test_a_falsy_word_is_off(name, word):
    assert not agent_mode({name: word}, is_terminal=False).on


@pytest.mark.parametrize("name", ["AI_AGENT", "AGENT"])
def test_a_general_no_beats_what_an_agent_sets(name):
    assert not agent_mode({name: "0", "CLAUDECODE": "1"}, is_terminal=False).on


def test_our_own_variable_beats_all():
    assert not agent_mode({"PROCTOR_AGENT": "0", "CLAUDECODE": "1"}, is_terminal=False).on
    assert agent_mode({"PROCTOR_AGENT": "yes", "AGENT": "0"}, is_terminal=True).on


def test_ci_alone_never_turns_it_on():
    mode = agent_mode({"CI": "true", "TERM_PROGRAM": "vscode", "AGENT": "smith"}, is_terminal=False)

    assert not mode.on


def test_the_reason_names_the_variable_and_never_its_value():
    mode = agent_mode({"CLAUDECODE": "\x1b[31mevil"}, is_terminal=True)

    assert mode.why == "CLAUDECODE is set"
