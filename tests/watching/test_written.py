"""Which changes are the tests' own: moments and files as values."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from proctor.watching.written import Written, left_alone

LONG = 10  # how long a run takes


class Player:
    """Runs that follow each other as long as changes ask for more."""

    def __init__(self, source: bool) -> None:
        self.written, self._source = Written(), source
        self.now = 0
        self.runs: list[bool] = []  # whether each came to its end

    def play(self, writes: Sequence[str], most: int = 50) -> list[str]:
        """One run, and those that follow because of what each of them writes. Returns what was left alone."""
        cause = "outside"
        alone: list[str] = []
        for _ in range(most):
            began = self.now
            self.written.begin(began, cause)  # type: ignore[arg-type]
            self.now += LONG
            names = [name.format(len(self.runs)) for name in writes]
            ended = [self.written.ends_run(name, began + 5, self._source) for name in names]
            self.runs.append(not any(ended))
            self.written.end(self.now, self.runs[-1])
            causes = [self.written.cause(name, began + 5, self._source) for name in names]
            self.now += LONG
            alone = [name for name, found in zip(names, causes, strict=True) if found is None]
            if not any(causes):
                return alone
            cause = "inside"
        raise AssertionError(f"no end after {self.runs}")


def test_data_that_tests_write_ends_one_run_and_then_none() -> None:
    player = Player(source=False)

    assert player.play(["state.txt"]) == ["state.txt"]
    assert player.runs == [False, True, True]
    player.runs.clear()
    assert player.play(["state.txt"]) == ["state.txt"]
    assert player.runs == [True]


def test_a_source_ends_more_runs_and_is_never_left_alone_for_good() -> None:
    player = Player(source=True)

    assert player.play(["version.py"]) == ["version.py"]
    assert player.runs == [False] * 5 + [True] * 2
    player.runs.clear()
    player.play(["version.py"])
    assert player.runs == [True, True]  # not ended, and followed by another


def test_a_source_that_changes_at_the_end_of_a_few_runs_starts_one_after_each() -> None:
    written = Written()
    for began in (0, 100, 200, 300):
        written.begin(began, "inside" if began else "outside")
        written.end(began + LONG, whole=True)
        assert written.cause("cart.py", began + LONG, True) == "inside"


def test_a_change_between_two_runs_always_counts_and_is_no_longer_the_tests_own() -> None:
    player = Player(source=False)
    player.play(["state.txt"])

    assert player.written.cause("state.txt", player.now, False) == "outside"
    player.now += 1
    player.runs.clear()
    player.play(["state.txt"])
    assert player.runs == [False, True, True]


def test_a_change_before_the_run_ends_it_however_often_it_has_changed() -> None:
    player = Player(source=False)
    player.play(["state.txt"])
    edited = player.now
    player.now += 1
    player.written.begin(player.now, "outside")

    assert player.written.ends_run("state.txt", edited, False)


@given(st.booleans(), st.lists(st.sampled_from(["a", "b", "report-{}.txt", "c-{}"]), unique=True, min_size=1))
def test_whatever_the_tests_write_the_runs_come_to_an_end(source: bool, writes: list[str]) -> None:
    player = Player(source)
    for _ in range(3):
        player.play(writes, most=12)
        assert player.runs[-1]  # the last one was complete


@given(st.booleans(), st.integers(1, 20))
def test_after_changes_during_runs_one_without_them_follows(source: bool, edits: int) -> None:
    """As when somebody types and saves: the last state is what was run, or that it was not is said."""
    player = Player(source)
    cause = "outside"
    for number in range(edits + 1):
        began = player.now
        player.written.begin(began, cause)  # type: ignore[arg-type]
        player.now += LONG
        if number == edits:
            return  # a run without a change
        ended = player.written.ends_run("cart.py", began + 5, source)
        player.written.end(player.now, not ended)
        found = player.written.cause("cart.py", began + 5, source)
        player.now += LONG
        if found is None:
            assert number >= 2 and not ended  # two complete runs with a change in each
            return
        cause = found


def test_the_lines_name_a_few_files() -> None:
    assert left_alone(["a.txt"], False).startswith("a.txt changed in each run: the tests write it")
    assert left_alone(list("abcde"), False).startswith("a, b, c and 2 more changed in each run")
    assert "may be of either version" in left_alone(["a.py"], True)
