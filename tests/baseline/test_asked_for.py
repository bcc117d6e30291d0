"""The ways to ask for a comparison: on the command line, and through the server."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.mcp_client import talk
from support.repositories import git, leftovers, new_repository

from proctor.archive.lookup import find_run
from proctor.archive.read_log import read_log
from proctor.cli.run import parser

FILES = {
    "shop.py": "price = 1\n",
    "test_shop.py": "import shop\n\ndef test_price():\n    assert shop.price == 1\n",
}


@pytest.mark.parametrize(
    ("words", "baseline", "targets"),
    [
        ([], None, []),
        (["--baseline"], "", []),
        (["--baseline", "tests"], "", ["tests"]),
        (["tests", "--baseline", "more"], "", ["tests", "more"]),
        (["--baseline=main", "tests"], "main", ["tests"]),
        (["--basel", "tests"], "", ["tests"]),
        (["--basel=v1"], "v1", []),
        (["-k", "a", "--baseline", "-x", "tests"], "", ["tests"]),
    ],
)
def test_only_what_follows_an_equals_sign_is_the_value(
    words: list[str], baseline: str | None, targets: list[str]
) -> None:
    parsed = parser().parse_args(words)

    assert (parsed.baseline, parsed.targets) == (baseline, targets)


def test_a_client_can_ask_for_it(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "shop", FILES)
    git(root, "switch", "--quiet", "--create", "feature")
    (root / "shop.py").write_text("price = 300\n")
    cache = str(tmp_path / "cache")

    with talk(root, XDG_CACHE_HOME=cache) as server:
        asked = server.document("execute_tests", baseline=True)
        plain = server.document("execute_tests")

    runs = [find_run(run["run_id"], root, {"XDG_CACHE_HOME": cache}) for run in (asked, plain)]
    found = [read_log(run).result.baseline for run in runs]
    assert asked["outcome"] == "failed"
    assert found[0] is not None and found[0].tests == {"test_shop.py::test_price": "passes"}
    assert found[1] is None
    assert leftovers(root) == []
