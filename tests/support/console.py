"""The ```console blocks of a page: what they say, and what a real shell prints for the same commands.

A comment before a block says how it is run. Without `in` it continues where the block before it was;
the first one of a page runs in a copy of examples/shop.

    <!-- in: shop; exit: 1 0 -->

    in: NAME        in a copy of examples/NAME, which the blocks of a page share; `in: .`: an empty directory
    fresh           in a new copy
    exit: N …       the exit status of each command; 0 where the list is shorter
    without: NAME … as if these programs were not installed
    needs: NAME …   the page is skipped where these programs are missing
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path

from support.projects import GUARD, clean_environment, environment

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
SHOWN_HOME = "/home/me"  # what a page has in place of the directory that its blocks run in

_BLOCK = re.compile(
    r"(?:^<!--(?P<how>[^\n]*)-->\n)?^```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_KEYS = {"in", "fresh", "exit", "without", "needs"}
_MARK = "\x1e"  # between the outputs of two commands
_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".proctor", ".pytest_cache", "node_modules", "target")
_SLOWEST = re.compile(r"^slowest \d+\.\d+s .*\n(?: {8}\d+\.\d+s .*\n)*", re.MULTILINE)

# What differs between two runs of the same command, in this order.
_VARIES = (
    (r"\b\d{8}-\d{6}-[0-9a-z]{6}\b", "RUN"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", "DATE"),
    (r"(?<= since )\d{1,2} [A-Z][a-z]{2}\b", "DAY"),
    (r"\bv?\d+\.\d+\.\d+[\w.+-]*", "VERSION"),
    (r"(?<![\w.-])(\d+[hm] )?\d+(\.\d+)?( ?(µs|ms|s|seconds?|minutes?)|[dhm])(?![\w.-])", "TIME"),
    (r"\b\d+ frames\b", "N frames"),
    (r"\b[0-9a-f]{7}\b", "COMMIT"),
    (r"TIME ago|just now|(?<=  )now(?=  )", "TIME"),
    (r"\"(duration|seconds|at|start|stop|started)\": ?[\d.e+-]+", r'"\1": TIME'),
    (r"\b(time|duration)=\"[\d.e+-]+\"", r'\1="TIME"'),
    (r"\b0x[0-9a-f]{6,}", "ADDRESS"),
    (r"([=_─-])\1{3,}", r"\1\1\1"),  # rules fill the line, whatever else is in it
    (r"(?<=\S) {2,}", "  "),  # columns are as wide as what is in them
)


@dataclass(frozen=True)
class Command:
    text: str
    output: str


@dataclass(frozen=True)
class Block:
    commands: list[Command]
    line: int  # of its fence, from 1
    start: int  # of the text between the fences
    end: int
    example: str = ""
    fresh: bool = False
    statuses: tuple[int, ...] = ()
    without: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    def status(self, number: int) -> int:
        return self.statuses[number] if number < len(self.statuses) else 0


def blocks(page: str) -> list[Block]:
    return [_block(page, match) for match in _BLOCK.finditer(page)]


def _block(page: str, match: re.Match[str]) -> Block:
    parts = (part.partition(":") for part in (match["how"] or "").split(";") if part.strip())
    how = {name.strip(): value.strip() for name, _, value in parts}
    line = page.count("\n", 0, match.start("text"))
    assert how.keys() <= _KEYS, f"line {line}: unknown key in {match['how']}; expected {sorted(_KEYS)}"
    return Block(
        list(_commands(match["text"], line)),
        line,
        match.start("text"),
        match.end("text"),
        how.get("in", ""),
        "fresh" in how,
        tuple(map(int, how.get("exit", "").split())),
        tuple(how.get("without", "").split()),
        tuple(how.get("needs", "").split()),
    )


def _commands(text: str, line: int) -> Iterator[Command]:
    command, output = "", ""
    for each in text.splitlines():
        if each.startswith("$ "):
            if command:
                yield Command(command, output)
            command, output = each[2:], ""
        elif command and not output and each.startswith("> ") and _goes_on(command):
            command += "\n" + each[2:]
        else:
            assert command, f"line {line}: a console block begins with `$ command`, not {each!r}"
            output += each + "\n"
    assert command, f"line {line}: a console block without a command"
    yield Command(command, output)


def _goes_on(command: str) -> bool:
    """Whether a shell would ask for another line."""
    here = re.search(r"<<-?'?(\w+)'?", command)
    return command.endswith("\\") or (here is not None and here[1] not in command.split("\n")[1:])


def written(commands: list[Command]) -> str:
    """The text of a block."""
    text = ""
    for command in commands:
        assert not re.search(r"^(\$ |```)", command.output, re.MULTILINE), command.output
        text += "$ " + command.text.replace("\n", "\n> ") + "\n" + command.output
    return text


def rewritten(page: str, printed: list[list[Command]]) -> str:
    """The page with what each of its blocks printed, in place of what it says."""
    for block, commands in reversed(list(zip(blocks(page), printed, strict=True))):
        page = page[: block.start] + written(commands) + page[block.end :]
    return page


def without_what_varies(text: str) -> str:
    for pattern, word in _VARIES:
        text = re.sub(pattern, word, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


@dataclass
class Shell:
    """Runs the blocks of one page below `home`, which must be empty."""

    home: Path
    _place: Path = field(init=False)
    _example: str = "shop"
    _farms: int = 0

    def __post_init__(self) -> None:
        (tools := self.home / ".local" / "bin").mkdir(parents=True)
        script = tools / "proctor"
        script.write_text(f"#!{sys.executable}\nfrom proctor.cli.main import entry\nentry()\n")
        script.chmod(0o755)

    def run(self, block: Block) -> list[tuple[int, Command]]:
        """What each command prints, with its exit status."""
        self._enter(block)
        ended = f"code=$?; printf '{_MARK}%d{_MARK}' $code; (exit $code)"
        script = "".join(f"{command.text}\n{ended}\n" for command in block.commands)
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self._place,
            env=self._environment(block),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=GUARD,
            check=False,
        )
        parts = self._for_every_machine(done.stdout.decode()).split(_MARK)
        outputs, statuses = parts[0::2], parts[1::2]
        return [
            (int(status), Command(command.text, _ended(_without_slowest(command.text, output))))
            for command, output, status in zip(block.commands, outputs, statuses, strict=False)
        ]

    def _enter(self, block: Block) -> None:
        self._example = block.example or self._example
        self._place = self.home / self._example
        if block.fresh:
            shutil.rmtree(self._place, ignore_errors=True)
        if not self._place.exists():
            shutil.copytree(EXAMPLES / self._example, self._place, ignore=_LEFT_OUT)

    def _environment(self, block: Block) -> dict[str, str]:
        home = Path.home()
        more = {
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            **{
                f"GIT_{who}_{what}": "me@example.com"
                for who in ("AUTHOR", "COMMITTER")
                for what in ("NAME", "EMAIL")
            },
            "CARGO_HOME": os.environ.get("CARGO_HOME", str(home / ".cargo")),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(home / ".rustup")),
            "PATH": self._path(block.without),
            "PYTHONDONTWRITEBYTECODE": "1",  # a file changes twice in a second: its bytecode would seem fresh
            "COLUMNS": "100",
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
        }
        return clean_environment(**more)

    def _path(self, without: tuple[str, ...]) -> str:
        own = [str(self.home / ".local" / "bin"), os.path.dirname(python())]
        usual = os.environ.get("PATH", os.defpath).split(os.pathsep)
        if without:
            self._farms += 1
            usual = [str(_links(self.home / f".programs{self._farms}", usual, without))]
        return os.pathsep.join([*own, *usual])

    def _for_every_machine(self, text: str) -> str:
        venv = str(Path(python()).parent.parent)
        for path, shown in (
            (venv, f"{SHOWN_HOME}/venv"),
            (str(self.home), SHOWN_HOME),
            *([(sys.prefix, f"{SHOWN_HOME}/.local/share/proctor")] if sys.prefix != sys.base_prefix else []),
            (str(ROOT), f"{SHOWN_HOME}/proctor"),
            (sys.base_prefix, "/usr"),
        ):
            text = text.replace(path, shown)
        return text


def _without_slowest(command: str, output: str) -> str:
    """Without the slowest tests, unless the command asks for them: here only a busy machine has any."""
    return output if "--durations" in command else _SLOWEST.sub("", output)


def _ended(output: str) -> str:
    lines = [line.rstrip() for line in output.splitlines()]
    return "".join(f"{line}\n" for line in lines).rstrip("\n") + "\n" if any(lines) else ""


def _links(place: Path, directories: list[str], without: tuple[str, ...]) -> Path:
    """A directory with links to all programs but these."""
    place.mkdir()
    for directory in filter(os.path.isdir, directories):
        for name in os.listdir(directory):
            if name not in without and not os.path.lexists(place / name):
                os.symlink(os.path.join(directory, name), place / name)
    return place


@cache
def python() -> str:
    """The interpreter of the examples."""
    pinned = [f"{name}=={version(name)}" for name in ("pytest", "pytest-xdist")]
    return environment(sys.executable, [*pinned, "pytest-cov==7.0.0"])
