"""Completion scripts in real shells, the man page, and that the files in `share` are what proctor writes."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.projects import GUARD

from proctor.cli.completion import arguments_of, script
from proctor.cli.help_text import parser_of
from proctor.cli.main import VERBS
from proctor.cli.man_page import man_page

ROOT = Path(__file__).parents[2]
SHARED: dict[str, Callable[[], str]] = {
    "share/man/man1/proctor.1": man_page,
    "share/bash-completion/completions/proctor": lambda: script("bash"),
    "share/zsh/site-functions/_proctor": lambda: script("zsh"),
    "share/fish/vendor_completions.d/proctor.fish": lambda: script("fish"),
}


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not shutil.which(program), reason=f"{program} is not installed")


@pytest.mark.parametrize("path", SHARED)
def test_the_shared_files_are_what_the_parsers_make(path: str) -> None:
    assert (ROOT / path).read_text() == SHARED[path](), "`make share` writes them anew"


def test_the_wheel_has_the_man_page_and_the_completion_scripts(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])

    with zipfile.ZipFile(built) as archive:
        names = archive.namelist()
    for path in SHARED:
        assert any(name.endswith(f".data/data/{path}") for name in names), path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for run in ("20260101-120000-aaaaaa", "20260202-120000-bbbbbb"):
        (tmp_path / ".proctor" / "runs" / run).mkdir(parents=True)
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "test_shop.py").touch()
    (tmp_path / "other" / ".proctor" / "runs" / "20270303-120000-cccccc").mkdir(parents=True)
    (tmp_path / "a name.xml").touch()
    return tmp_path


def shell(arguments: list[str], project: Path, text: str = "") -> str:
    done = subprocess.run(
        arguments, cwd=project, input=text, capture_output=True, text=True, timeout=GUARD, check=False
    )
    assert done.stderr == ""
    return done.stdout


def bash(project: Path, *words: str) -> list[str]:
    listed = " ".join(f"'{word}'" for word in words)
    commands = f"""
        {script("bash")}
        COMP_WORDS=(proctor {listed}); COMP_CWORD={len(words)}
        _proctor
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return shell(["bash", "--norc", "-s"], project, commands).split("\n")[:-1]


def fish(project: Path, *words: str) -> list[str]:
    line = " ".join(["proctor", *words])
    shown = shell(["fish", "--no-config"], project, f"{script('fish')}\ncomplete -C '{line}'\n")
    return [found.partition("\t")[0] for found in shown.splitlines()]


@needs("bash")
@pytest.mark.parametrize(
    "words, expected",
    [
        (["disc"], ["discover"]),
        (["--v"], ["--version"]),
        (["run", "--maxf"], ["--maxfail"]),
        (["run", "--format", "js"], ["json"]),
        (["run", "--format", "=", "js"], ["json"]),
        (["run", "tests/t"], ["tests/test_shop.py"]),
        (["run", "-C", "te"], ["tests"]),
        (["run", "-C", "tests", "--format", "hu"], ["human"]),
        (["run", "--runner", "py"], ["pytest"]),
        (["run", "-o", "ct"], ["ctrf="]),
        (["run", "-o", "junit", "=", "te"], ["tests"]),
        (["run", "--timeout", ""], [""]),
        (["run", "--", "te"], ["tests"]),
        (["show", "2026010"], ["20260101-120000-aaaaaa"]),
        (["show", "la"], ["last"]),
        (["show", "a"], ["a name.xml"]),
        (["show", "-C", "other", "2027"], ["20270303-120000-cccccc"]),
        (["show", "--test", "", "--fol"], ["--follow"]),
        (["help", "comple"], ["completion"]),
        (["history", "ex"], ["export"]),
        (["compare", "last", "20260101"], ["20260101-120000-aaaaaa"]),
        (["completion", "z"], ["zsh"]),
        (["convert", "x", "--to", "agen"], ["agent"]),
        (["mcp", "--print-config", "cur"], ["cursor"]),
    ],
)
def test_bash_completes(project: Path, words: list[str], expected: list[str]) -> None:
    assert bash(project, *words) == expected


@needs("bash")
def test_bash_completes_every_verb_and_every_option(project: Path) -> None:
    assert bash(project, "") == [*VERBS, "--help", "--version"]
    for verb in ("run", "show", "mcp", "noop"):
        assert set(bash(project, verb, "-")) == set(parser_of(verb).options)


@needs("fish")
@pytest.mark.parametrize(
    "words, expected",
    [
        (["disc"], ["discover"]),
        (["run", "--maxf"], ["--maxfail"]),
        (["run", "--format", "js"], ["json"]),
        (["run", "--format=js"], ["--format=json"]),
        (["run", "tests/t"], ["tests/test_shop.py"]),
        (["run", "-C", "te"], ["tests/"]),
        (["run", "-o", "ct"], ["ctrf="]),
        (["run", "-o", "junit=te"], ["junit=tests/"]),
        (["show", "2026010"], ["20260101-120000-aaaaaa"]),
        (["show", "-C", "other", "2027"], ["20270303-120000-cccccc"]),
        (["help", "comple"], ["completion"]),
        (["history", "ex"], ["export"]),
        (["compare", "last", "20260101"], ["20260101-120000-aaaaaa"]),
        (["completion", "z"], ["zsh"]),
        (["show", "run", "--fol"], ["--follow"]),
    ],
)
def test_fish_completes(project: Path, words: list[str], expected: list[str]) -> None:
    assert fish(project, *words) == expected


@needs("fish")
def test_fish_completes_every_verb(project: Path) -> None:
    assert set(VERBS) == set(fish(project, ""))


READY = "READY-"
#: Ctrl-X prints the line as it is.
STARTS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        'source ./_proctor; bind -x \'"\\C-x": printf "LINE<%s>\\n" "$READLINE_LINE"\'',
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        "autoload -Uz compinit; compinit -u -D; source ./_proctor; "
        "show-line() { print -r -- \"LINE<$BUFFER>\" }; zle -N show-line; bindkey '^X' show-line",
    ),
}


@contextmanager
def terminal(name: str, project: Path) -> Iterator[int]:
    """A shell at a terminal, after it has loaded the script."""
    (project / "_proctor").write_text(script(name))
    command, setup = STARTS[name]
    child, descriptor = pty.fork()
    if child == 0:
        os.chdir(project)
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(project),
            "TERM": "xterm",
            "PS1": "",
            "LC_ALL": "C.UTF-8",
        }
        os.execvpe(command[0], command, environ)
    try:
        os.write(descriptor, f"{setup}; echo {READY}'DONE'\n".encode())
        read_until(descriptor, f"{READY}DONE")
        yield descriptor
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(descriptor)


def read_until(descriptor: int, pattern: str) -> str:
    seen = b""
    while not (found := re.search(pattern, seen.decode(errors="replace"))):
        assert select.select([descriptor], [], [], GUARD)[0], f"no {pattern} in {seen!r}"
        seen += os.read(descriptor, 4096)
    return found[0]


def completed(descriptor: int, text: str) -> str:
    """The line after TAB; then it is deleted."""
    os.write(descriptor, f"{text}\t\x18".encode())
    line = read_until(descriptor, r"LINE<[^>]*>")
    os.write(descriptor, b"\x01\x0b")
    return line[5:-1]


@pytest.mark.parametrize(
    "name", [pytest.param("bash", marks=needs("bash")), pytest.param("zsh", marks=needs("zsh"))]
)
def test_a_person_presses_tab(project: Path, name: str) -> None:
    with terminal(name, project) as descriptor:
        assert completed(descriptor, "proctor disc") == "proctor discover "
        assert completed(descriptor, "proctor run --maxf").rstrip(" =") == "proctor run --maxfail"
        assert completed(descriptor, "proctor run --format js") == "proctor run --format json "
        assert completed(descriptor, "proctor run --format=js") == "proctor run --format=json "
        assert completed(descriptor, "proctor run tests/te") == "proctor run tests/test_shop.py "
        assert completed(descriptor, "proctor run -C te") == "proctor run -C tests/"
        assert completed(descriptor, "proctor run -o ct") == "proctor run -o ctrf="
        assert completed(descriptor, "proctor run -o junit=te") == "proctor run -o junit=tests/"
        assert completed(descriptor, "proctor show 2026010") == "proctor show 20260101-120000-aaaaaa "
        assert (
            completed(descriptor, "proctor show -C other 2027")
            == "proctor show -C other 20270303-120000-cccccc "
        )
        assert completed(descriptor, "proctor convert x --to agen") == "proctor convert x --to agent "
        assert completed(descriptor, "proctor help comple") == "proctor help completion "


@needs("man")
def test_the_man_page_has_every_verb_and_option(tmp_path: Path) -> None:
    page = tmp_path / "proctor.1"
    page.write_text(man_page())

    done = subprocess.run(
        ["man", "--warnings", "-l", str(page)],
        env={**os.environ, "MANWIDTH": "300", "LC_ALL": "C.UTF-8", "MANPAGER": "cat"},
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=True,
    )

    shown = re.sub(r".\x08", "", done.stdout)
    assert done.stderr == ""
    for verb in VERBS:
        assert f"proctor {verb}" in shown
        for argument in arguments_of(verb):
            assert argument.help in shown or "--help" in argument.names
            assert all(name in shown for name in argument.names if name not in ("-h", "--help"))


@needs("mandoc")
def test_the_man_page_is_sound(tmp_path: Path) -> None:
    page = tmp_path / "proctor.1"
    page.write_text(man_page())

    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", str(page)], capture_output=True, text=True, timeout=GUARD
    )

    assert [line for line in done.stdout.splitlines() if "missing date" not in line] == []
