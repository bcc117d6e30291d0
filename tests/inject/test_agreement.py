"""The injected files repeat our few words instead of importing them: the copies must agree."""

from __future__ import annotations

import ast
import json
import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import proctor
import proctor_pytest
from proctor import agent_mode, client, config, events, failure_row, outcome, phases
from proctor.errors import ConfigError
from proctor.events import Phase
from proctor.phases import failed_phases
from proctor.process import deadline, supervise, supervisor
from proctor.render.neutral import neutral
from proctor.runners import matching, pytest_suite
from proctor.text import literal
from proctor.unique_names import UniqueNames
from proctor.wire import exit_status
from proctor.wire.control import ledger, session
from proctor.wire.control.decoder import LINE, ControlDecoder
from proctor.wire.literal import carried

INJECT = Path(proctor.__file__).parent / "inject"
PLUGIN = INJECT / "proctor_pytest.py"
SHARED = INJECT / "proctor_channel.py"
INSTALLED = INJECT.parent.parent / "proctor_pytest.py"
# What runs in other people's interpreters; the last two are ours as well.
ELSEWHERE = [*INJECT.rglob("*.py"), INSTALLED, Path(agent_mode.__file__), Path(failure_row.__file__)]


def constants(path: Path) -> dict[str, Any]:
    """Module-level names with a literal value; those made of others are left out."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found


def test_the_plugin_and_proctor_use_the_same_words() -> None:
    environment = supervise._with_channel({})
    assert constants(SHARED)["FD_VARIABLE"] in environment
    assert constants(PLUGIN)["PATH_VARIABLE"] == pytest_suite.PATH_VARIABLE
    assert constants(SHARED)["LONGEST"] == events.LONGEST
    for file in (SHARED, PLUGIN):
        assert f'"{session.KEY}"' in file.read_text()
    assert (INJECT / "path" / f"{pytest_suite.PLUGIN}.py").is_file()
    assert str(INJECT / "path") == pytest_suite.PLUGIN_PATH


def injected(name: str) -> Any:
    """The file as a module of this interpreter."""
    return proctor_pytest._load(name)


TEXTS = ["", "plain", "grün", "\U0001f600", "a\udcffb", "\ud800\udc00", "\x1b[31mred\x1b[0m", "x\ny"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_that_has_no_utf_8_is_written_in_one_way(text: str) -> None:
    channel = injected("proctor_channel")

    assert channel.literal(text) == client._literal(text) == literal(text)
    assert json.loads(channel.quote(text)) == literal(text)
    assert channel.clean({text: [text, (text,)]}) == carried({text: [text, [text]]})


@pytest.mark.parametrize(
    "text", ["plain", "\x1b[31mred\x1b[0m", "\x1b]8;;http://x\x07link\x1b]8;;\x1b\\\\", "\x1bMup"]
)
def test_a_row_and_a_text_for_people_have_the_same_escapes_taken_out(text: str) -> None:
    assert failure_row.error(text) == neutral(text)


def test_every_status_and_every_reserved_key_is_known_on_both_sides() -> None:
    fixture = injected("proctor_fixture")

    assert set(fixture.STATUSES) == set(client.STATUSES) == ledger.STATUSES
    assert set(fixture.TAKEN) == {*ledger._RESERVED, *session._KNOWN}


DURATIONS = [
    "90",
    "15m",
    "1h 30m",
    "1h30m",
    "+60",
    "-1d 5",
    "",
    "m",
    "1.5",
    "1h  5m",
    "+",
    "1 h",
    "soon",
]


@pytest.mark.parametrize("change", DURATIONS)
def test_the_client_sends_the_durations_that_proctor_takes(change: str) -> None:
    decoder = ControlDecoder(ledger.Ledger())
    decoder.feed(b"duration %b\n" % change.encode())

    assert bool(client._DURATION.match(change)) is (decoder.error is None)


NAMES = ["a", "a/b", "", "/a", "a//b", ".", "../a", "a\0b", "x" * 255, "x" * 256, "ü" * 127, "ü" * 128]


@pytest.mark.parametrize("name", NAMES)
def test_the_client_sends_the_file_names_that_proctor_takes(name: str) -> None:
    def refuses(check: Any, error: type[Exception]) -> bool:
        try:
            check()
        except error:
            return True
        return False

    ours = refuses(lambda: ledger._check_file_name(name, "file", "F3"), ledger.Refused)
    assert refuses(lambda: client._check_file_name(name, "file"), client.BadMessage) is ours


def test_no_message_has_a_limit_of_its_own() -> None:
    assert client.LINE == LINE == constants(SHARED)["ATOMIC"]


def test_the_exit_statuses_of_unittest_are_those_of_pytest() -> None:
    words = constants_of_tuple(INJECT / "proctor_unittest.py", "STOPPED")

    assert words == (exit_status.STOPPED, exit_status.USAGE, exit_status.NOTHING)
    assert words == (
        pytest.ExitCode.INTERRUPTED,
        pytest.ExitCode.USAGE_ERROR,
        pytest.ExitCode.NO_TESTS_COLLECTED,
    )


def constants_of_tuple(path: Path, first: str) -> tuple[int, ...]:
    """The values that are assigned together with this name."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
            names = [name.id for name in node.targets[0].elts if isinstance(name, ast.Name)]
            if first in names:
                return tuple(ast.literal_eval(node.value))
    raise AssertionError(first)


def test_what_fails_for_its_subtests_is_known_by_the_same_words() -> None:
    assert injected("failure_index").COUNT == phases._COUNT


@pytest.mark.parametrize(
    "expression", ["", "a", "not a", "a and b", "a or not (b and C)", "(a)", "A and (b or c)"]
)
@pytest.mark.parametrize("name", ["", "a", "b", "ab", "abc", "xC"])
def test_unittest_tests_are_selected_by_the_same_expressions(expression: str, name: str) -> None:
    chosen = matching.parse(expression)(lambda word: word.lower() in name.lower()) if expression else True

    assert injected("unittest_loading").matches(expression, name) is chosen


def test_the_second_test_of_a_name_is_called_the_same_everywhere() -> None:
    names = ["x", "x", "x#2", "x", "x#2", "y"]
    loaded = object.__new__(injected("unittest_loading").Loaded)
    loaded.tests = {}
    loaded._label = lambda test: test.label
    for name in names:
        loaded._name(type("Test", (), {"label": name})())
    labels = UniqueNames()

    assert list(loaded.tests) == [labels.unique(name) for name in names]


def test_the_limits_of_python_and_javascript_are_the_same() -> None:
    words = dict(
        re.findall(r"^const ([A-Z_]+) = ([0-9* ]+);", (INJECT / "proctor_session.cjs").read_text(), re.M)
    )
    python = injected("proctor_channel"), injected("proctor_exceptions")

    assert eval(words["LONG_TEXT"]) == python[0].LONG_TEXT
    assert int(words["TAIL"]) == python[0].TAIL
    assert int(words["MOST_CALLS"]) == python[1].MOST_CALLS
    assert int(words["MOST_CAUSES"]) == python[1].MOST_CAUSES


def test_javascript_knows_the_channel_and_the_words_for_how_a_session_or_a_worker_ends() -> None:
    source = (INJECT / "proctor_session.cjs").read_text()
    (listed,) = re.findall(r"^const VARIABLES = (\[.*\]);", source, re.M)

    assert set(json.loads(listed)) == set(client.VARIABLES) == supervise._with_channel({}).keys()
    assert f'"{outcome.MAXFAIL}"' in source and f'"{session._DIED}"' in source


OURS = {"PROCTOR_NODE_NOTES", "PROCTOR_VITEST_NOTES"}  # set and read by injected files alone


def test_every_variable_that_injected_files_read_is_set_by_proctor() -> None:
    known = "".join(path.read_text() for path in INJECT.parent.rglob("*.py") if INJECT not in path.parents)
    for path in [INSTALLED, *INJECT.rglob("*.?js"), *INJECT.rglob("*.py")]:
        words = set(re.findall(r"\bPROCTOR_[A-Z_]+\b", path.read_text())) - OURS
        assert [word for word in words if word not in known] == [], path


def test_every_fact_of_a_session_has_a_reader() -> None:
    known = set(session._SessionFacts.__struct_fields__)
    for path in INJECT.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("channel.session"):
                keys = [
                    ast.literal_eval(key)
                    for a in node.args
                    if isinstance(a, ast.Dict)
                    for key in a.keys
                    if key
                ]
                assert set(keys) <= known, path


def test_every_fact_of_a_phase_has_a_reader() -> None:
    report = pytest.TestReport(
        "a",
        ("a", 1, "a"),
        {},
        "failed",
        "why",
        "call",
        [("Captured stdout call", "o")],
        wasxfail="x",
        context="c",
        proctor_facts={"log": [], "reported": []},
    )
    facts = injected("pytest_phases").phase_facts(report, "/project", "/project")

    assert set(facts) <= set(events.Phase.__struct_fields__)
    assert msgspec.convert(facts, events.Phase).subtest == "c"


def test_the_supervisor_knows_every_push_and_the_variable_of_the_channel() -> None:
    source = Path(supervisor.__file__).read_text()

    for push in deadline.Push:
        assert f"    {push.value.decode()}  " in source or f"      {push.value.decode()}  " in source
    assert 'b"PROCTOR_CONTROL"' in source and "PROCTOR_CONTROL" in supervise._with_channel({})


def test_the_installed_plugin_stands_down_for_the_injected_one_and_has_the_usual_settings() -> None:
    words = constants(INSTALLED)

    assert words["INJECTED"] == constants(PLUGIN)["INJECTED"] == pytest_suite.PLUGIN
    assert words["SETTINGS"] == {
        "failure_rows": (failure_row.ROWS, 1),
        "failure_length": (failure_row.LENGTH, failure_row.LEAST_LENGTH),
    }


def test_proctor_and_the_plugin_accept_the_same_settings(tmp_path: Path) -> None:
    for name, (_, least) in constants(INSTALLED)["SETTINGS"].items():
        (tmp_path / "proctor.toml").write_text(f"{name} = {least}\n")
        config.load(tmp_path)
        (tmp_path / "proctor.toml").write_text(f"{name} = {least - 1}\n")
        with pytest.raises(ConfigError, match=f"expected {least} or more"):
            config.load(tmp_path)


def test_every_variable_of_the_channel_is_taken_out_by_the_reporters() -> None:
    source = SHARED.read_text()

    for variable in supervise._with_channel({}):
        assert f'"{variable}"' in source


def test_the_supervisor_places_the_channel_where_proctor_says_it_is() -> None:
    words = constants(Path(supervise.__file__).with_name("supervisor.py"))

    assert words["CONTROL_FD"] == supervise.CONTROL_FD
    assert supervise.CONTROL_FD in range(3, 10)


def test_the_injected_files_import_only_the_standard_library_and_pytest() -> None:
    allowed = {
        "atexit",
        "types",
        "fcntl",
        "fnmatch",
        "functools",
        "heapq",
        "importlib",
        "io",
        "json",
        "os",
        "pytest",
        "re",
        "signal",
        "sys",
    }
    allowed |= {"__future__", "collections", "difflib", "_thread", "threading", "time", "traceback", "typing"}
    allowed |= {
        "argparse",
        "copy",
        "faulthandler",
        "shlex",
        "site",
        "tempfile",
        "unittest",
        "warnings",
        "weakref",
    }
    allowed |= {
        "errno",
        "gc",
        "logging",
        "marshal",
        "mmap",
        "operator",
        "_thread",
        "select",
        "socket",
        "struct",
        "sysconfig",
        "uuid",
    }
    allowed |= {path.stem for path in (INJECT / "path").glob("*.py")}
    for path in ELSEWHERE:
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            assert {name.partition(".")[0] for name in names} <= allowed, path


def test_the_injected_files_are_python_3_7() -> None:
    for path in ELSEWHERE:
        ast.parse(path.read_text(), feature_version=(3, 7))


COUNTS = (
    "",
    "contains 1 failed subtest",
    "contains 12 failed subtests",
    "it contains 1 failed subtest",
    "no",
)


def test_the_index_of_a_plain_session_has_a_row_for_each_phase_that_proctor_takes_for_a_failure(
    pytestconfig: pytest.Config,
) -> None:
    subtests = [Phase("call", outcome, subtest="[n=1]") for outcome in ("failed", "passed")]
    own = [Phase(when, "failed", longrepr=text) for text in COUNTS for when in ("call", "teardown")]
    for steps in [
        *product(subtests, own),
        *product(subtests, subtests, own),
        *product(own),
        *product(own, own),
    ]:
        assert rows_of_a_plain_session(pytestconfig, steps) == [[phase] for phase in failed_phases(steps)]


def rows_of_a_plain_session(config: pytest.Config, steps: tuple[Phase, ...]) -> list[list[Phase]]:
    """The phases that have rows in the index of a plain pytest session with these reports."""
    first = SimpleNamespace(  # of the first process, whichever this is
        rootpath=config.rootpath, invocation_params=config.invocation_params, getini=config.getini
    )
    index = injected("failure_index").FailureIndex(first, 100, 200)
    index._line = lambda report, *_: [report.phase]
    for phase in steps:
        context = None if phase.subtest is None else object()
        index.pytest_runtest_logreport(
            SimpleNamespace(
                nodeid="t.py::test",
                when=phase.when,
                outcome=phase.outcome,
                longrepr=phase.longrepr,
                context=context,
                phase=phase,
            )
        )
    assert index.fault is None
    return index.first.lines()
