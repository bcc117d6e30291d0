"""The settings of a text: what a run and a replay mask, how long they may be, and where colours go."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.made_runs import RUN_ID, failed, passed, run_of

from proctor.cli.text_settings import TextSettings, of_replay, of_run, wants_colours
from proctor.config import Settings
from proctor.errors import UsageError
from proctor.outcome import RunOutcome
from proctor.render.shown import Shown

LEAK = run_of(failed("t.py::test_login", "ValueError: password='hunter2'"))


@pytest.mark.parametrize("mask", [True, False])
def test_both_texts_about_failures_are_masked_unless_the_settings_say_no(mask: bool) -> None:
    settings = TextSettings(mask=mask)

    for text in (settings.agent_text(LEAK), settings.failure_index(LEAK)):
        assert "t.py::test_login" in text
        assert ("hunter2" in text) != mask


def test_the_command_line_wins_over_the_project_and_0_is_no_limit() -> None:
    settings = Settings(budget=500, mask_secrets=False, failure_rows=3)

    assert of_run(settings, None, True, {}) == TextSettings(mask=False, budget=500, index_rows=3)
    assert of_run(settings, 200, False, {}).budget == 200
    assert of_run(settings, 0, True, {}).budget == 0
    with pytest.raises(UsageError, match="invalid budget 7: expected 100 tokens or more"):
        of_run(settings, 7, True, {})


@pytest.mark.parametrize(
    ("content", "mask"),
    [("", True), ("mask_secrets = false", False), ("mask_secrets = 1", True), ("{", True)],
)
def test_a_replay_masks_unless_settings_that_can_be_read_say_no(
    tmp_path: Path, content: str, mask: bool
) -> None:
    (tmp_path / "proctor.toml").write_text(content)

    assert of_replay(tmp_path, {}) == TextSettings(mask=mask, whole=True, shown=Shown(introduced=False))


def test_a_replay_names_every_test_and_a_run_points_to_the_replay() -> None:
    result = run_of(*(failed(f"t{n}.py::test_{n}", "ValueError: x", ("a.py", 1)) for n in range(3000)))

    assert f" more: proctor show {RUN_ID}\n" in TextSettings().agent_text(result)
    assert f"proctor show {RUN_ID}" not in TextSettings(whole=True).agent_text(result)


def test_a_green_run_is_one_line() -> None:
    result = run_of(*passed("a", "b"), outcome=RunOutcome.PASSED)

    assert TextSettings().agent_text(result) == "2 passed\n"


@pytest.mark.parametrize("count", ["flaky", "excused"])
def test_a_green_run_with_a_failure_that_does_not_count_has_more_than_that_line(
    monkeypatch: pytest.MonkeyPatch, count: str
) -> None:
    monkeypatch.setattr("proctor.render.agent.agent_text", lambda *_: "with its rows\n")
    result = run_of(*passed("a", "b"), outcome=RunOutcome.PASSED)
    setattr(result.suites[0], count, 1)

    assert TextSettings().agent_text(result) == "with its rows\n"


def test_no_color_wins_over_force_color() -> None:
    assert wants_colours({"FORCE_COLOR": "1"})
    assert not wants_colours({"FORCE_COLOR": "0"})
    assert not wants_colours({"FORCE_COLOR": "1", "NO_COLOR": "1"})
