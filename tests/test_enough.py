"""Is one answer enough to fix the bug? Small projects with a bug each, and the facts that an answer needs."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from support.projects import environment, run_suite

from proctor.render.tokens import estimate

CORPUS = Path(__file__).parents[1] / "benchmarks" / "corpus"
FACTS = json.loads((CORPUS / "facts.json").read_text())
MOST_TOKENS = 300  # of an answer


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_corpus_{name}", CORPUS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAKE, SCORE = _module("make_enough"), _module("score_enough")


@pytest.mark.parametrize("suite", FACTS)
def test_an_answer_has_every_fact_that_is_needed_in_few_tokens(tmp_path: Path, suite: str) -> None:
    root = tmp_path / "project"
    MAKE.write(root, MAKE.SUITES[suite])
    python = environment(sys.executable, ["pytest", "hypothesis"])

    told = run_suite(root, "--format", "agent", python=python)

    text = (told.out + told.err).replace(f"{root}/", "")
    assert SCORE.score(FACTS[suite]["facts"], text)[1] == [], text
    assert estimate(text) <= MOST_TOKENS
