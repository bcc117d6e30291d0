"""The words for tests: what the store says is what a plain reading of the rule says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from history.made_history import World

HISTORIES = 1200
TOGETHER = 40


def check(seed: int, folder: Path) -> Counter[str]:
    """Makes a history, and compares what is said of each run. Returns how often each word was said."""
    world = World(seed, folder / str(seed))
    said_so_far: Counter[str] = Counter()
    for number in range(30 if seed % 10 == 0 else 12):  # more than decide whether a test is flaky, and fewer
        for _ in range(world.random.randint(0, 3)):
            world.happen()
        said, expected = world.run()
        assert said == expected, f"run {number} of history {seed}"
        said_so_far.update(word.word for word in said.words.values())
        said_so_far["fixed"] += len(said.fixed)
    return said_so_far


@pytest.mark.parametrize("first", range(0, HISTORIES, TOGETHER))
def test_every_word_of_a_made_history_is_that_of_the_plain_rule(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + TOGETHER):
        check(seed, tmp_path)


def test_a_few_histories_have_all_words(tmp_path: Path) -> None:
    words: Counter[str] = Counter()
    for seed in range(5000, 5010):
        words += check(seed, tmp_path)

    assert min(words[word] for word in ("new", "still", "flaky", "unknown", "fixed")) > 10, words
