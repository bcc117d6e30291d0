"""Real environments and real interpreters; only the tools of rule 4 are stand-ins, small shell scripts."""

from __future__ import annotations

import glob
import json
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from support.projects import GUARD

from proctor.errors import InterpreterError
from proctor.process.interpreter import (
    CACHE_NAME,
    Candidate,
    Interpreter,
    better_place,
    candidates,
    choose,
    probe,
    require,
)

ELSEWHERE = "/nowhere/proctor"  # the environment of a proctor that is not part of the project


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pristine") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", path], check=True)
    return path


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    path = tmp_path / "an environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", path], check=True)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "repository" / "packages" / "project"
    path.mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    return path


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools"
    path.mkdir()
    return path


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def fake_environment(path: Path) -> str:
    """Good enough to be chosen, not to be probed."""
    (path / "bin").mkdir(parents=True)
    (path / "pyvenv.cfg").touch()
    return str(script(path / "bin" / "python", "exit 1"))


def chosen(project: Path, explicit: str | None = None, own: str = ELSEWHERE, **environ: str) -> Candidate:
    return choose(project, explicit, {"PATH": "", **environ}, own)


def exact(path: str | Path) -> Candidate:
    return Candidate(str(path), "explicit", "was asked for", usable=True)


def install(environment: Path, name: str, version: str, entry_points: str = "") -> Path:
    [site_packages] = environment.glob("lib/python*/site-packages")
    info = site_packages / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(f"{head}\nName: not this\n")
    if entry_points:
        (info / "entry_points.txt").write_text(entry_points)
    return info


def count_starts(environment: Path, tmp_path: Path) -> Path:
    """A file that grows by one byte whenever the environment's interpreter starts."""
    marker = tmp_path / "starts"
    marker.touch()
    [site_packages] = environment.glob("lib/python*/site-packages")
    # Not in a sitecustomize, of which Debian has one of its own; it also reads such files twice.
    once = f"hasattr(sys, 'counted') or (setattr(sys, 'counted', 1), open({str(marker)!r}, 'a').write('x'))"
    (site_packages / "starts.pth").write_text(f"import sys; {once}\n")
    return marker


def installed(version: str) -> str:
    found = sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python")))
    if not found:
        pytest.skip(f"no Python {version} under ~/.pyenv/versions")
    return found[-1]


# Rule 1: the explicit one


def test_an_explicit_interpreter_wins_over_everything(project: Path, tmp_path: Path) -> None:
    wanted = fake_environment(tmp_path / "wanted")
    fake_environment(project / ".venv")

    candidate = chosen(project, wanted, VIRTUAL_ENV=str(project / ".venv"))

    assert (candidate.path, candidate.rule) == (wanted, "explicit")


def test_an_explicit_environment_directory_means_its_interpreter(project: Path) -> None:
    wanted = fake_environment(project / "environments" / "a")

    assert chosen(project, "environments/a").path == wanted
    assert chosen(project, f"{project}/environments/a/").path == wanted


def test_an_explicit_directory_in_the_root_needs_no_slash(project: Path) -> None:
    wanted = fake_environment(project / "env")

    assert chosen(project, "env").path == wanted


def test_an_explicit_bare_name_is_looked_up_on_path(project: Path, tools: Path) -> None:
    wanted = script(tools / "python9.9", "")

    assert chosen(project, "python9.9", PATH=f":/nowhere:{tools}").path == str(wanted)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("python9.9", "is not a command on PATH"),
        ("bin/python", "does not exist"),
        ("./empty", "has no usable bin/python"),
        ("empty", "has no usable bin/python"),
        ("./plain", "is not executable"),
        ("", "has no usable bin/python"),
    ],
)
def test_an_explicit_interpreter_that_is_not_there_is_an_error_and_never_another_one(
    project: Path, wanted: str, found: str
) -> None:
    fake_environment(project / ".venv")
    (project / "empty").mkdir()
    (project / "plain").touch()

    with pytest.raises(InterpreterError, match=f"'{wanted}' {found}; expected an interpreter's path, .*"):
        chosen(project, wanted)


# Rule 2: the active environment


def test_the_active_environment_comes_before_the_projects(project: Path, tmp_path: Path) -> None:
    active = fake_environment(tmp_path / "active")
    fake_environment(project / ".venv")

    assert chosen(project, VIRTUAL_ENV=str(tmp_path / "active")) == Candidate(
        active, "VIRTUAL_ENV", "the active environment", usable=True
    )


def test_the_environment_of_proctor_itself_does_not_count_as_active(project: Path, tmp_path: Path) -> None:
    fake_environment(tmp_path / "own")
    (tmp_path / "link").symlink_to("own")
    expected = fake_environment(project / ".venv")
    environ = {"VIRTUAL_ENV": str(tmp_path / "link"), "PATH": ""}

    first, second, *_ = candidates(project, None, environ, str(tmp_path / "own"))

    assert (first.usable, first.why) == (False, "is the environment proctor itself runs in")
    assert (second.usable, second.path) == (True, expected)


def test_an_active_environment_that_is_gone_is_passed_over_with_a_reason(project: Path) -> None:
    expected = fake_environment(project / "venv")
    gone = str(project / "gone")

    first, *_ = candidates(project, None, {"VIRTUAL_ENV": gone, "PATH": ""}, ELSEWHERE)

    assert first == Candidate(gone, "VIRTUAL_ENV", "the active environment does not exist", usable=False)
    assert chosen(project, VIRTUAL_ENV=gone).path == expected


# Rule 3: the project's environment


def test_project_environments_are_tried_by_name_then_upwards_to_the_repository(project: Path) -> None:
    repository = project.parent.parent
    names = (".venv", "venv", ".virtualenv")
    places = [*(project / name for name in names), project.parent / ".venv", repository / "venv"]
    for place in reversed(places):
        fake_environment(place)
    fake_environment(repository.parent / ".venv")  # outside

    found = [c for c in candidates(project, None, {"PATH": ""}, ELSEWHERE) if c.rule == "project environment"]

    assert [c.path for c in found] == [str(place / "bin" / "python") for place in places]
    assert found[0].why == "`.venv` in the project root"
    assert found[-1].why == f"`venv` in {repository}"


def test_without_a_repository_only_the_root_is_searched(tmp_path: Path) -> None:
    project = tmp_path / "a" / "b"
    project.mkdir(parents=True)
    fake_environment(tmp_path / "a" / ".venv")

    with pytest.raises(InterpreterError, match="no Python interpreter"):
        chosen(project)


def test_a_broken_environment_gives_way_to_the_next_and_says_why(project: Path, pristine: Path) -> None:
    (project / ".venv" / "bin").mkdir(parents=True)
    (project / ".venv" / "bin" / "python").symlink_to("/nowhere/python3")
    (project / "venv").symlink_to(pristine)

    broken, good, *_ = candidates(project, None, {"PATH": ""}, ELSEWHERE)

    assert (broken.usable, broken.why) == (False, "`.venv` in the project root has no usable bin/python")
    assert (good.usable, good.path) == (True, str(project / "venv" / "bin" / "python"))


# Rule 4: the tools


def lock(project: Path, tool: str) -> None:
    names = {"uv": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock", "pipenv": "Pipfile.lock"}
    (project / {**names, "hatch": "hatch.toml", "conda": "environment.yml"}[tool]).touch()


@pytest.mark.parametrize(
    ("tool", "question", "answer"),
    [
        ("uv", "python find", "bin/python"),
        ("poetry", "env info --executable", "bin/python"),
        ("pipenv", "--py", "bin/python"),
        ("hatch", "env find", ""),
    ],
)
def test_a_tool_is_asked_in_the_directory_of_its_lock_file(
    project: Path, tools: Path, tmp_path: Path, tool: str, question: str, answer: str
) -> None:
    expected = fake_environment(tmp_path / "kept")
    lock(project.parent, tool)
    script(
        tools / tool,
        f'[ "$*" = "{question}" ] && [ "$PWD" = "{project.parent}" ] && [ -z "$VIRTUAL_ENV" ] || exit 1\n'
        f'read -r nothing; echo "talk" >&2; echo; echo "{tmp_path}/kept/{answer}"',
    )

    candidate = chosen(project, own="/own", VIRTUAL_ENV="/own", PATH=str(tools))

    assert (candidate.path, candidate.rule) == (expected, "managed environment")
    assert f"{tool} {question}" in candidate.why


def test_hatch_is_also_known_by_its_table_in_pyproject(project: Path, tools: Path, tmp_path: Path) -> None:
    expected = fake_environment(tmp_path / "kept")
    script(tools / "hatch", f'echo "{tmp_path}/kept"')

    (project / "pyproject.toml").write_text("# [tool.hatch.envs.default]\n[tool.hatch.version]\n")
    with pytest.raises(InterpreterError):
        chosen(project, PATH=str(tools))
    (project / "pyproject.toml").write_text("[tool.hatch.envs.default]\n")

    assert chosen(project, PATH=str(tools)).path == expected


def test_uv_is_not_asked_when_the_project_environment_is_set(
    project: Path, tools: Path, tmp_path: Path
) -> None:
    expected = fake_environment(project / "environments" / "uv")
    lock(project, "uv")
    script(tools / "uv", f"touch {tmp_path}/asked")

    assert chosen(project, PATH=str(tools), UV_PROJECT_ENVIRONMENT="environments/uv").path == expected
    assert not (tmp_path / "asked").exists()


def test_an_interpreter_that_uv_names_for_want_of_an_environment_is_not_taken(
    project: Path, tools: Path, tmp_path: Path
) -> None:
    lock(project, "uv")
    script(tmp_path / "system" / "bin" / "python3", "")
    script(tools / "uv", f'echo "{tmp_path}/system/bin/python3"')

    with pytest.raises(InterpreterError, match=r"uv has no environment for `uv\.lock` yet"):
        chosen(project, PATH=str(tools))


def test_the_environment_in_which_uv_is_installed_is_not_the_projects(project: Path, tmp_path: Path) -> None:
    home = fake_environment(tmp_path / "home of uv")
    script(tmp_path / "home of uv" / "bin" / "uv", f'echo "{home}"')
    lock(project, "uv")

    refused, *_ = candidates(project, None, {"PATH": f"{tmp_path}/home of uv/bin"}, ELSEWHERE)

    assert (refused.usable, refused.path) == (False, "")
    assert refused.why == "uv has no environment for `uv.lock` yet (`uv sync` makes one)"


def test_pdm_is_read_and_not_run_because_asking_it_would_make_an_environment(
    project: Path, tools: Path, tmp_path: Path
) -> None:
    expected = fake_environment(tmp_path / "kept")
    lock(project, "pdm")
    script(tools / "pdm", f"touch {tmp_path}/asked")

    with pytest.raises(InterpreterError, match="no environment of pdm: `pdm install` makes one"):
        chosen(project, PATH=str(tools))
    (project / ".pdm-python").write_text(f"{expected}\n")

    assert chosen(project, PATH=str(tools)).path == expected
    assert not (tmp_path / "asked").exists()


def test_conda_means_the_active_environment_unless_it_is_base(project: Path, tmp_path: Path) -> None:
    expected = fake_environment(tmp_path / "science")
    lock(project, "conda")
    active = {"CONDA_PREFIX": str(tmp_path / "science")}

    assert chosen(project, **active, CONDA_DEFAULT_ENV="science").path == expected
    with pytest.raises(InterpreterError, match="`conda activate NAME` chooses one"):
        chosen(project, **active, CONDA_DEFAULT_ENV="base")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo 'no such environment' >&2; exit 3", "ended with 3: no such environment"),
        ("exit 1", "ended with 1: no output"),
        ("echo /nowhere/bin/python", "poetry has no environment for `poetry.lock` yet"),
        ("", "poetry has no environment for `poetry.lock` yet"),
    ],
)
def test_a_tool_that_fails_is_a_reason_and_the_next_rule_goes_on(
    project: Path, tools: Path, text: str, reason: str
) -> None:
    lock(project, "poetry")
    script(tools / "poetry", text)
    python = script(tools / "python3", "")

    refused, accepted, *_ = candidates(project, None, {"PATH": str(tools)}, ELSEWHERE)

    assert (refused.usable, refused.path, refused.rule) == (False, "", "managed environment")
    assert reason in refused.why
    assert (accepted.path, accepted.rule, accepted.usable) == (str(python), "PATH", True)


def test_a_tool_that_hangs_is_given_up_with_all_it_started(
    project: Path, tools: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("proctor.process.managed.PATIENCE", 0.2)
    lock(project, "poetry")
    os.mkfifo(tmp_path / "never")
    os.mkfifo(tmp_path / "alive")
    alive = os.open(tmp_path / "alive", os.O_RDONLY | os.O_NONBLOCK)
    busy = os.open(tmp_path / "alive", os.O_WRONLY)  # in case the tool is given up before it opens its end
    wait = f"read -r nothing < {tmp_path}/never"
    script(tools / "poetry", f"exec 3> {tmp_path}/alive; ({wait}) & {wait}")

    with pytest.raises(InterpreterError, match=r"did not answer within 0\.2 s"):
        chosen(project, PATH=str(tools))

    # The end of the file comes when the last of them is dead.
    os.close(busy)
    assert select.select([alive], [], [], GUARD)[0] == [alive]
    assert os.read(alive, 1) == b""
    os.close(alive)


def test_a_lock_file_without_its_tool_says_so(project: Path) -> None:
    lock(project, "poetry")

    with pytest.raises(InterpreterError, match=r"`poetry\.lock` exists, but poetry is not on PATH"):
        chosen(project)


def test_no_tool_is_run_when_an_earlier_rule_or_tool_was_enough(
    project: Path, tools: Path, tmp_path: Path
) -> None:
    for tool in ("uv", "poetry", "pipenv", "hatch"):
        lock(project, tool)
        script(tools / tool, f"touch {tmp_path}/asked-{tool}; echo {tmp_path}/kept/bin/python")
    fake_environment(tmp_path / "kept")

    assert chosen(project, PATH=f"{tools}:/bin:/usr/bin").rule == "managed environment"
    assert [path.name for path in tmp_path.glob("asked-*")] == ["asked-uv"]

    (tmp_path / "asked-uv").unlink()
    fake_environment(project / ".venv")
    assert chosen(project, PATH=f"{tools}:/bin:/usr/bin").rule == "project environment"
    assert list(tmp_path.glob("asked-*")) == []


# Rule 5: PATH


def test_python3_on_path_comes_before_python(project: Path, tools: Path) -> None:
    python = script(tools / "python", "")
    assert chosen(project, PATH=str(tools)).path == str(python)

    python3 = script(tools / "python3", "")
    assert chosen(project, PATH=str(tools)).why == "`python3` on PATH"
    assert chosen(project, PATH=str(tools)).path == str(python3)


def test_every_rule_appears_in_order_when_all_are_wanted(project: Path, tools: Path, tmp_path: Path) -> None:
    fake_environment(tmp_path / "active")
    fake_environment(project / ".venv")
    lock(project, "poetry")
    for name in ("poetry", "python3"):
        script(tools / name, "exit 1")
    environ = {"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": str(tools)}

    rules = [c.rule for c in candidates(project, "python3", environ, ELSEWHERE)]

    assert rules == ["explicit", "VIRTUAL_ENV", "project environment", "managed environment", "PATH", "PATH"]


def test_no_interpreter_at_all_lists_what_was_looked_for(project: Path) -> None:
    with pytest.raises(InterpreterError) as caught:
        chosen(project, VIRTUAL_ENV="/nowhere/env")

    message = str(caught.value)
    assert "looked at VIRTUAL_ENV, .venv, venv, .virtualenv up to the repository's root" in message
    assert "/nowhere/env: the active environment does not exist; PATH: no `python3` on PATH" in message
    assert message.endswith("`--python PATH` names one")


# Probing


def test_a_probe_reports_the_interpreter_and_its_pytest_packages(environment: Path, tmp_path: Path) -> None:
    install(environment, "pytest", "8.0.1")
    install(environment, "Pytest_XDist", "3.5")
    install(environment, "some.plugin", "1.0", "[console_scripts]\na=b\n\n[pytest11]\nsome = some.plugin\n")
    install(environment, "unrelated", "1.0", "[console_scripts]\na=b\n")
    python = environment / "bin" / "python"

    interpreter = probe(exact(python), tmp_path, {}, None)

    assert (
        interpreter
        == Interpreter(
            path=str(python),  # the environment's own, not what its symlink points to
            why="was asked for",
            version=sys.version_info[:3],
            implementation=sys.implementation.name,
            prefix=str(environment),
            packages={"pytest": "8.0.1", "pytest-xdist": "3.5", "some-plugin": "1.0"},
            installed=("pytest 8.0.1", "pytest-xdist 3.5", "some-plugin 1.0", "unrelated 1.0"),
        )
    )


def test_what_is_installed_is_named_alike_whoever_installed_it_and_without_the_project_itself(
    environment: Path, tmp_path: Path
) -> None:
    install(environment, "Some.Tool", "1.0")
    install(environment, "project", "0.1")
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "project-0.1.dist-info" / "direct_url.json").write_text('{"dir_info": {}, "url": "file:///p"}')
    (site / "From_Conda-2.0-py3.11.egg-info").write_text("Name: From-Conda\nVersion: 2.0\n")
    (site / "~alf-removed-1.0.dist-info").mkdir()
    sources, first = tmp_path / "sources", tmp_path / "first"
    (sources / "developed.egg-info").mkdir(parents=True)  # as `setup.py develop` leaves it
    (site / "easy-install.pth").write_text(f"{sources}\n")
    (first / "some_tool-2.0.dist-info").mkdir(parents=True)  # found before the other one

    interpreter = probe(exact(environment / "bin" / "python"), tmp_path, {"PYTHONPATH": str(first)}, None)

    assert interpreter.installed == ("from-conda 2.0", "some-tool 2.0")


def test_packages_agree_with_what_the_interpreter_itself_would_load(tmp_path: Path) -> None:
    from importlib.metadata import distributions

    plugins = {d.name for d in distributions() if any(e.group == "pytest11" for e in d.entry_points)}
    interpreter = probe(exact(sys.executable), tmp_path, dict(os.environ), None)

    assert {name.lower().replace("_", "-") for name in plugins} <= set(interpreter.packages)
    assert interpreter.packages["pytest"] == pytest.__version__


def test_packages_on_pythonpath_count_and_a_change_of_it_is_noticed(pristine: Path, tmp_path: Path) -> None:
    extra = tmp_path / "extra" / "lib" / "python3" / "site-packages"
    extra.mkdir(parents=True)
    install(tmp_path / "extra", "pytest", "7.7")
    python = exact(pristine / "bin" / "python")
    cache = tmp_path / "cache"
    relative = {"PYTHONPATH": "lib/python3/site-packages"}

    assert probe(python, tmp_path, {}, cache).packages == {}
    assert probe(python, tmp_path, {"PYTHONPATH": str(extra)}, cache).packages == {"pytest": "7.7"}
    assert probe(python, tmp_path / "extra", relative, cache).packages == {"pytest": "7.7"}
    assert probe(python, tmp_path, relative, cache).packages == {}


def test_modules_of_a_project_named_like_the_standard_librarys_do_not_confuse_the_probe(
    pristine: Path, tmp_path: Path
) -> None:
    for name in ("json", "io", "re", "site"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('hostile')\n")
    python = exact(pristine / "bin" / "python")

    assert probe(python, tmp_path, {}, None).version == sys.version_info[:3]
    for name in ("io", "re", "site"):  # with these no interpreter of that PYTHONPATH would start
        (tmp_path / f"{name}.py").unlink()
    assert probe(python, tmp_path, {"PYTHONPATH": str(tmp_path)}, None).version == sys.version_info[:3]


def test_an_environment_that_prints_at_startup_is_understood(environment: Path, tmp_path: Path) -> None:
    [site_packages] = environment.glob("lib/python*/site-packages")
    (site_packages / "loud.pth").write_text("import sys; sys.stdout.write('good morning')\n")

    assert probe(exact(environment / "bin" / "python"), tmp_path, {}, None).prefix == str(environment)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo 'no Python here' >&2; exit 4", "ended with 4: no Python here"),
        ("echo hello", "it answered 'hello"),
        ('echo "$@"', "is not a Python interpreter"),
    ],
)
def test_what_is_no_python_is_an_error_in_its_own_words(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InterpreterError, match=words):
        probe(exact(script(tmp_path / "python", text)), tmp_path, {}, None)


def test_a_path_that_is_not_utf_8_can_be_probed_and_is_just_not_cached(
    pristine: Path, tmp_path: Path
) -> None:
    place = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    os.symlink(pristine, place)

    found = probe(exact(f"{place}/bin/python"), tmp_path, {}, tmp_path / "cache")

    assert found.path == f"{place}/bin/python"
    assert not (tmp_path / "cache" / CACHE_NAME).exists()


def test_an_interpreter_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "python").write_bytes(b"\x7fELF but not really")
    (tmp_path / "python").chmod(0o755)

    with pytest.raises(InterpreterError, match="cannot be started"):
        probe(exact(tmp_path / "python"), tmp_path, {}, None)


@pytest.mark.parametrize("version", ["2.7", *(f"3.{minor}" for minor in range(6, 15))])
def test_old_and_new_interpreters_can_be_probed_with_a_hostile_project_around(
    version: str, tmp_path: Path
) -> None:
    python = installed(version)
    (tmp_path / "json.py").write_text("raise SystemExit('hostile')\n")
    egg = tmp_path / "path" / "old_plugin.egg-info"
    egg.mkdir(parents=True)
    (egg / "PKG-INFO").write_text("Name: old-plugin\nVersion: 0.1\n")
    (egg / "entry_points.txt").write_text("[pytest11]\nold = old\n")
    (tmp_path / "path" / "execnet-1.0-py2.7.egg-info").write_text("Name: execnet\nVersion: 1.0\n")

    interpreter = probe(exact(python), tmp_path, {"PYTHONPATH": str(tmp_path / "path")}, tmp_path / "cache")

    assert ".".join(map(str, interpreter.version)).startswith(version)
    assert (interpreter.path, interpreter.implementation) == (python, "cpython")
    assert interpreter.packages["old-plugin"] == "0.1"
    assert interpreter.packages["execnet"] == "1.0"
    assert (tmp_path / "cache" / CACHE_NAME).exists()


# The cache


def test_a_second_probe_starts_no_process(environment: Path, tmp_path: Path) -> None:
    starts = count_starts(environment, tmp_path)
    install(environment, "pytest", "8.0.1")
    python, cache = exact(environment / "bin" / "python"), tmp_path / "deep" / "cache"

    first = probe(python, tmp_path, {}, cache)
    second = probe(python, tmp_path, {}, cache)

    assert second == first
    assert starts.read_text() == "x"
    assert [path.name for path in cache.iterdir()] == [CACHE_NAME]


def test_a_recalled_answer_has_the_reason_of_this_choice(pristine: Path, tmp_path: Path) -> None:
    python = exact(pristine / "bin" / "python")
    probe(python, tmp_path, {}, tmp_path)

    again = Candidate(python.path, "PATH", "another reason", usable=True)

    assert probe(again, tmp_path, {}, tmp_path).why == "another reason"


def test_installing_a_package_is_noticed(environment: Path, tmp_path: Path) -> None:
    python, cache = exact(environment / "bin" / "python"), tmp_path / "cache"
    before = probe(python, tmp_path, {}, cache)
    install(environment, "pytest", "8.0.1")

    assert "pytest" not in before.packages
    assert probe(python, tmp_path, {}, cache).packages["pytest"] == "8.0.1"


def test_a_first_package_of_the_user_is_noticed(tmp_path: Path) -> None:
    python = exact(os.path.realpath(sys.executable))  # an environment has no packages of the user
    environ, cache = {"HOME": str(tmp_path), "PYTHONUSERBASE": str(tmp_path / "user")}, tmp_path / "cache"
    before = probe(python, tmp_path, environ, cache)
    directory = f"python{before.version[0]}.{before.version[1]}"
    (tmp_path / "user" / "lib" / directory / "site-packages").mkdir(parents=True)
    install(tmp_path / "user", "some-plugin", "1.0", "[pytest11]\nsome = some\n")

    assert "some-plugin" not in before.packages
    assert probe(python, tmp_path, environ, cache).packages["some-plugin"] == "1.0"


def test_what_was_installed_while_the_probe_ran_is_not_taken_for_known(
    environment: Path, tmp_path: Path
) -> None:
    starts = count_starts(environment, tmp_path)
    [site_packages] = environment.glob("lib/python*/site-packages")
    future = 1 << 62
    os.utime(site_packages, ns=(future, future))
    python = exact(environment / "bin" / "python")

    for _ in range(2):
        probe(python, tmp_path, {}, tmp_path / "cache")

    assert starts.read_text() == "xx"


def test_a_newer_executable_is_probed_again(environment: Path, tmp_path: Path) -> None:
    starts = count_starts(environment, tmp_path)
    python, cache = environment / "bin" / "python", tmp_path / "cache"
    real = os.path.realpath(python)
    python.unlink()
    shutil.copy(real, python)  # its date is ours to change
    probe(exact(python), tmp_path, {}, cache)
    os.utime(python, ns=(1, 1))
    probe(exact(python), tmp_path, {}, cache)

    assert starts.read_text() == "xx"


def test_a_script_is_never_cached_and_the_interpreter_behind_it_is_named(
    environment: Path, tmp_path: Path
) -> None:
    starts = count_starts(environment, tmp_path)
    shim = script(tmp_path / "shims" / "python3", f'exec "{environment}/bin/python" "$@"')

    found = [probe(exact(shim), tmp_path, {}, tmp_path / "cache") for _ in range(2)]

    assert {interpreter.path for interpreter in found} == {str(environment / "bin" / "python")}
    assert starts.read_text() == "xx"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"PYTHON": {"interpreter": 1}}'])
def test_a_corrupt_cache_is_no_cache_and_is_replaced(pristine: Path, tmp_path: Path, content: bytes) -> None:
    python = exact(pristine / "bin" / "python")
    file = tmp_path / CACHE_NAME
    file.write_bytes(content.replace(b"PYTHON", python.path.encode()))

    assert probe(python, tmp_path, {}, tmp_path).prefix == str(pristine)
    assert python.path in json.loads(file.read_bytes())


def test_a_cache_that_cannot_be_written_is_no_cache(pristine: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    found = probe(exact(pristine / "bin" / "python"), tmp_path, {}, tmp_path / "file" / "cache")

    assert found.prefix == str(pristine)


def test_interpreters_that_are_gone_leave_the_cache(
    pristine: Path, environment: Path, tmp_path: Path
) -> None:
    gone, stays = exact(environment / "bin" / "python"), exact(pristine / "bin" / "python")
    probe(gone, tmp_path, {}, tmp_path)
    assert list(json.loads((tmp_path / CACHE_NAME).read_bytes())) == [gone.path]
    shutil.rmtree(environment)
    probe(stays, tmp_path, {}, tmp_path)

    assert list(json.loads((tmp_path / CACHE_NAME).read_bytes())) == [stays.path]


# pytest


def having(**packages: str) -> Interpreter:
    why = "`.venv` in the project root"
    return Interpreter("/a b/bin/python", why, (3, 12, 1), "cpython", "/a b", packages)


def test_the_version_of_pytest_is_what_is_installed() -> None:
    assert require(having(pytest="8.0.1"), "pytest") == "8.0.1"


def test_without_pytest_the_error_names_the_interpreter_and_the_command_to_install_it() -> None:
    with pytest.raises(InterpreterError) as caught:
        require(having(pip="24.0"), "pytest")

    assert str(caught.value) == (
        "no pytest in /a b/bin/python (`.venv` in the project root);"
        " install it: '/a b/bin/python' -m pip install pytest"
    )


def test_without_pip_uv_is_the_one_to_install_pytest() -> None:
    with pytest.raises(InterpreterError, match=r"uv pip install --python '/a b/bin/python' pytest$"):
        require(having(), "pytest")


def executable(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("form", ["plain", "env", "long"])
def test_a_console_script_stands_for_the_interpreter_behind_it(
    tmp_path: Path, project: Path, form: str
) -> None:
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    heads = {
        "plain": f"#!{python}\n",
        "env": "#!/usr/bin/env -S python3 -I\n",
        "long": f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
    }
    console = executable(tmp_path / "bin" / "pytest", heads[form] + "import pytest\n")
    found = choose(project, str(console), {"PATH": str(python.parent)}, "/own")

    assert found.path == str(python)


def test_a_console_script_without_its_interpreter_is_refused_in_one_line(
    tmp_path: Path, project: Path
) -> None:
    console = executable(tmp_path / "pytest", "#!/gone/bin/python3\nimport pytest\n")
    with pytest.raises(InterpreterError) as refused:
        choose(project, str(console), {}, "/own")

    assert (
        str(refused.value)
        == f"'{console}' is a script for the interpreter /gone/bin/python3, which does not exist"
    )


def test_a_program_that_repeats_our_question_is_refused_without_it(tmp_path: Path, project: Path) -> None:
    echo = script(tmp_path / "echo", '#!/bin/sh\necho "$@" >&2\nexit 3\n')
    with pytest.raises(InterpreterError) as refused:
        probe(choose(project, str(echo), {}, "/own"), project, {"PATH": "/usr/bin:/bin"}, None)

    assert str(refused.value) == (
        f"{echo} does not run Python code; expected a Python interpreter, 2.7 or newer"
    )


@pytest.mark.parametrize(
    "tool, sign, text",
    [
        ("poetry", "pyproject.toml", "[tool.poetry]\n"),
        ("pdm", "pyproject.toml", "[tool.pdm.dev-dependencies]\n"),
        ("uv", "pyproject.toml", "[tool.uv]\n"),
        ("hatch", "pyproject.toml", "[tool.hatch.version]\n"),
        ("pipenv", "Pipfile", "[packages]\n"),
        ("poetry", "poetry.lock", ""),
    ],
)
def test_where_the_tool_of_a_project_is_missing_the_advice_is_about_the_tool(
    project: Path, tool: str, sign: str, text: str
) -> None:
    (project / sign).write_text(text)
    chosen = Candidate("/usr/bin/python3", "PATH", "`python3` on PATH", usable=True)

    assert better_place(project, chosen, {"PATH": ""}) == (
        f"the project uses {tool} (`{sign}`), which is not on PATH: `--python PATH` names its environment"
    )
    assert better_place(project, msgspec.structs.replace(chosen, rule="explicit"), {"PATH": ""}) == ""


def test_an_environment_without_a_lock_is_named(project: Path, tools: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.poetry]\n")
    script(tools / "poetry", f"#!/bin/sh\necho {sys.executable}\n")
    chosen = Candidate("/usr/bin/python3", "PATH", "`python3` on PATH", usable=True)

    found = better_place(project, chosen, {"PATH": f"{tools}:/usr/bin:/bin"})
    assert found.endswith(f"whose environment is {sys.executable}: `--python {sys.executable}` uses it")
