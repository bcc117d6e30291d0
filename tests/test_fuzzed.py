"""What the fuzzers promise, without a fuzzer: their seeds, what they once found, and a few random bytes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

FUZZ = Path(__file__).parent.parent / "fuzz"
sys.path.append(str(FUZZ))

from seeds import seeds  # noqa: E402
from targets import TARGETS  # noqa: E402

FOUND = sorted((FUZZ / "found").iterdir())


@pytest.mark.parametrize("name", TARGETS)
def test_every_seed_keeps_the_promise(name: str) -> None:
    found = list(seeds(name))

    assert found or name in ("json", "results", "failures")  # what only proctor writes has tests of its own
    for data in found:
        TARGETS[name](data)


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.name)
def test_what_was_once_found_stays_mended(path: Path) -> None:
    name = max((name for name in TARGETS if path.name.startswith(f"{name}-")), key=len)

    TARGETS[name](path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
@given(data=st.binary(max_size=200))
def test_any_bytes_keep_the_promise(name: str, data: bytes) -> None:
    TARGETS[name](data)
