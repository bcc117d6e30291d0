"""The same suite, `projects/matrix`, gives the same document in every Python with every pytest.

Each Python is tried, and each major pytest; with `PROCTOR_VERSIONS=all`, every pair of them that fits.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from support.projects import (
    document_of,
    environment,
    interpreters,
    outcomes,
    run_suite,
    with_enough_time,
    write_project,
)

MATRIX = Path(__file__).parent / "projects" / "matrix"
SELECTED = ("-k", "not unwanted", "checks", "guide.txt", "product.py", "--", "--doctest-modules")


@dataclass(frozen=True)
class Version:
    """A Python and what is installed in it."""

    python: str
    pytest: str
    xdist: str = ""

    def __str__(self) -> str:
        return f"{self.python}-pytest-{self.pytest}"

    def interpreter(self) -> str:
        """Of an environment with just that; skips where this machine does not have the Python."""
        if self.python not in interpreters():
            pytest.skip(f"no interpreter for Python {self.python}")
        needed = [f"pytest=={self.pytest}"] + ([f"pytest-xdist=={self.xdist}"] if self.xdist else [])
        return environment(interpreters()[self.python], needed)


PLUGIN = [
    Version("3.7", "6.2.5", "2.5.0"),
    Version("3.7", "7.4.4"),
    Version("3.8", "8.3.5"),
    Version("3.9", "8.4.2", "3.6.1"),
    Version("3.10", "7.4.4"),
    Version("3.11", "9.0.3"),
    Version("3.12", "8.4.2"),
    Version("3.13", "9.2.0", "3.8.0"),
]
REST = [
    *(Version("3.8", release) for release in ("6.2.5", "7.4.4")),
    Version("3.9", "7.4.4"),
    *(Version("3.10", release) for release in ("6.2.5", "8.4.2", "9.2.0")),
    *(Version("3.11", release) for release in ("7.4.4", "8.4.2")),
    *(Version("3.12", release) for release in ("7.4.4", "9.2.0")),
    *(Version("3.13", release) for release in ("7.4.4", "8.4.2")),
]
if os.environ.get("PROCTOR_VERSIONS") == "all":
    PLUGIN += REST
WITH_XDIST = [version for version in PLUGIN if version.xdist]
TEXT = [Version("2.7", "4.6.11", "1.34.0"), Version("3.6", "7.0.1")]

each_with_plugin = pytest.mark.parametrize("version", PLUGIN, ids=str)
each_with_text = pytest.mark.parametrize("version", TEXT, ids=str)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return copy_of_the_suite(tmp_path)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the Python and the pytest that run this test say."""
    return selected_run(copy_of_the_suite(tmp_path_factory.mktemp("reference")))


@pytest.fixture(scope="module")
def broken_reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return broken_run(copy_of_the_suite(tmp_path_factory.mktemp("broken")))


def copy_of_the_suite(directory: Path) -> Path:
    """Always of the same name: pytest makes it a keyword."""
    return Path(shutil.copytree(MATRIX, directory / "project"))


def selected_run(root: Path, *arguments: str, **more: str) -> dict[str, Any]:
    return comparable(document_of(root, *arguments, *SELECTED, **more), root)


def broken_run(root: Path, **more: str) -> dict[str, Any]:
    return comparable(document_of(root, **more), root)


# One document for all versions -----------------------------------------------------------------------


def comparable(document: dict[str, Any], root: Path) -> dict[str, Any]:
    """The document without what no two runs or no two versions can have in common.

    Gone altogether: times, ids of runs, the interpreter, the command and `text_output`, which is pytest's
    own text from first to last. Paths are made relative to the project. Of long representations the
    exceptions and the places stay: layout, carets, memory addresses and excerpts of source differ from
    release to release.
    Lists are sorted: pytest 8 collects in another order than 7, and workers of xdist finish in any.
    """
    text = json.dumps(document).replace(f"{root}/", "")
    facts: dict[str, Any] = _without(
        json.loads(text),
        {"duration", "created", "run_id", "started", "interpreter", "text_output", "invocation"},
    )
    facts["command"] = facts["command"][1:]
    facts["tests"] = sorted(map(_test, facts["tests"]), key=lambda test: test["node_id"])
    facts["not_run"] = sorted(facts["not_run"])
    for error in facts["collection_errors"]:
        error["traceback"] = _essence(error["traceback"])
        error["message"] = _words(error["message"])
    facts["json_report"] = _json_report(facts["json_report"])
    return facts


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _without(item, names) for name, item in value.items() if name not in names}
    return [_without(item, names) for item in value] if isinstance(value, list) else value


def _test(test: dict[str, Any]) -> dict[str, Any]:
    test = {**test, "message": _words(test["message"]), "traceback": _essence(test["traceback"])}
    if "failure" in test:
        test["failure"] = {**test["failure"], "message": _words(test["failure"]["message"])}
    if "files" in test:  # their numbers on disk are in the order in which tests end
        test["files"] = [file["name"] for file in test["files"]]
    return test


def _words(message: str | None) -> str | None:
    """Without how pytest explains a comparison: indented lines below what was compared."""
    if message is None:
        return None
    return "\n".join(line for line in message.splitlines() if not line.startswith("  "))


def _essence(longrepr: str | None) -> list[str] | None:
    """The first line of every exception and every place in the project."""
    if longrepr is None:
        return None
    kept = []
    inside = False
    for line in longrepr.splitlines():
        marked = line.startswith("E  ")
        if marked and not inside:
            kept.append(line[1:].strip())
        inside = marked
        if place := re.match(r"((?:checks|broken)/\w+\.py|product\.py):[0-9]+", line):
            kept.append(place[0])
    return kept


def _json_report(report: dict[str, Any]) -> dict[str, Any]:
    tests = sorted(map(_reported, report["tests"]), key=lambda test: test["nodeid"])
    kept = {name: value for name, value in report.items() if name not in ("root", "environment")}
    return {**kept, "collectors": _collectors(report.get("collectors", [])), "tests": tests}


def _reported(test: dict[str, Any]) -> dict[str, Any]:
    # Each pytest has its own tree above a module, and every node of the tree is a keyword.
    file = test["nodeid"].partition("::")[0]
    tree = {"", "()", "project", *file.split("/"), file}
    test = {**test, "keywords": sorted(set(test.get("keywords", ())) - tree)}
    for phase in ("setup", "call", "teardown"):
        if phase in test:
            test[phase] = _phase(test[phase])
    return test


def _phase(phase: dict[str, Any]) -> dict[str, Any]:
    phase = dict(phase)
    if "longrepr" in phase:
        text = re.sub(r"^\[gw[0-9]\] .+\n?", "", phase.pop("longrepr"))  # xdist: the worker, in every phase
        phase.update({"longrepr": _essence(text)} if text else {})
    if "crash" in phase:
        # Its place can be a line of unittest, since pytest 8; the user's own is in `failure`.
        phase["crash"] = _words(phase["crash"]["message"])
    if "traceback" in phase:
        phase["traceback"] = [_site(site) for site in phase["traceback"]]
    if "log" in phase:
        # The rest is about threads, processes and times; Python 3.12 has added to it.
        phase["log"] = [
            {name: record[name] for name in ("name", "msg", "levelname", "filename", "lineno", "funcName")}
            for record in phase["log"]
        ]
    return phase


def _site(site: dict[str, Any]) -> dict[str, Any]:
    """A line of a library is another line in its next release."""
    site = {**site, "message": _words(site["message"])}
    return {**site, "path": Path(site["path"]).name, "lineno": 0} if site["path"].startswith("/") else site


def _collectors(collectors: list[dict[str, Any]]) -> dict[str, Any]:
    """Above a module pytest 8 has a collector for each directory, where older ones have just the session;
    below it pytest 6 has an `Instance` in every class."""
    found: defaultdict[str, dict[str, Any]] = defaultdict(lambda: {"outcomes": set(), "children": []})
    for collector in collectors:
        owner = found[collector["nodeid"] if Path(collector["nodeid"]).suffix else ""]
        owner["outcomes"].add(collector["outcome"])
        own = [child for child in collector["result"] if child["type"] not in ("Dir", "Package", "Instance")]
        owner["children"] = sorted(
            owner["children"] + own, key=lambda child: (child["nodeid"], child["type"])
        )
        if "longrepr" in collector:
            owner["longrepr"] = _essence(collector["longrepr"])
    return dict(found)


def differences(ours: Any, theirs: Any, at: str = "") -> Iterator[str]:
    """Each place where two values differ: a diff of two whole documents is beyond reading."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted({*ours, *theirs}):
            yield from differences(ours.get(name, "nothing"), theirs.get(name, "nothing"), f"{at}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(*pair, f"{at}[{index}]")
    elif ours != theirs:
        yield f"{at}: {ours!r} is not {theirs!r}"


def assert_same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    found = list(differences(ours, theirs))
    assert not found, "\n".join(found)


# With the plugin ---------------------------------------------------------------------------------------


def test_the_suite_ends_in_every_way_there_is(reference: dict[str, Any]) -> None:
    assert reference["summary"] == {
        "total": 45,
        "passed": 19,
        "failed": 17,
        "skipped": 4,
        "errors": 2,
        "xfailed": 2,
        "xpassed": 1,
        "flaky": 0,
        "quarantined": 0,
        "info": 0,
        "warn": 0,
        "deselected": 1,
        "not_run": 0,
    }
    assert [warning["message"] for warning in reference["warnings"]] == ["an old way"]
    [talks] = [
        test for test in reference["json_report"]["tests"] if test["nodeid"].endswith("prints_and_logs")
    ]
    assert talks["call"]["stdout"] == "words on stdout\n"
    assert talks["call"]["stderr"] == "words on stderr\n"
    assert [record["msg"] for record in talks["call"]["log"]] == ["words in the log"]


@each_with_plugin
def test_the_same_suite_gives_the_same_document(
    version: Version, project: Path, reference: dict[str, Any]
) -> None:
    document = selected_run(project, python=version.interpreter())

    assert_same(document, reference)


@each_with_plugin
def test_a_module_that_cannot_be_imported_is_the_same_collection_error(
    version: Version, project: Path, broken_reference: dict[str, Any]
) -> None:
    document = broken_run(project, python=version.interpreter())

    assert_same(document, broken_reference)


@each_with_plugin
def test_workers_give_the_same_document_as_one_process(
    version: Version, project: Path, reference: dict[str, Any]
) -> None:
    document = selected_run(project, "-n", "2", python=version.interpreter())

    for test in document["tests"]:
        test.pop("worker", None)
    assert_same(document, reference)


@pytest.mark.parametrize("version", WITH_XDIST, ids=str)
def test_workers_of_xdist_give_the_same_document_as_one_process(
    version: Version, project: Path, reference: dict[str, Any]
) -> None:
    """A project that turns them on in its own options keeps them."""
    document = document_of(project, *SELECTED, "--numprocesses=2", python=version.interpreter())

    assert_same(comparable(document, project), as_from_workers(reference))


def as_from_workers(reference: dict[str, Any]) -> dict[str, Any]:
    """Workers of xdist keep to themselves how they collected and what they left out."""
    expected: dict[str, Any] = json.loads(json.dumps(reference, default=list))
    expected["command"].insert(expected["command"].index("--doctest-modules") + 1, "--numprocesses=2")
    expected["summary"]["deselected"] = 0
    report = expected["json_report"]
    report["collectors"] = {}
    report["summary"]["collected"] -= report["summary"].pop("deselected")
    return expected


SUBTESTS = """
    import unittest

    class TestNumbers(unittest.TestCase):
        def test_even(self):
            for number in (2, 3, 4):
                with self.subTest(number=number):
                    self.assertEqual(number % 2, 0)
"""


@each_with_plugin
def test_a_subtest_that_fails_fails_its_test_whether_pytest_knows_subtests_or_not(
    version: Version, tmp_path: Path
) -> None:
    root = write_project(tmp_path, {"test_numbers.py": SUBTESTS})

    document = document_of(root, python=version.interpreter())

    assert document["outcome"] == "failed"
    assert outcomes(document) == {"test_numbers.py::TestNumbers::test_even": "failed"}
    assert "AssertionError: 1 != 0" in document["tests"][0]["message"]


# By the words on the terminal --------------------------------------------------------------------------


def told(document: dict[str, Any]) -> dict[str, Any]:
    """What text can tell of each test: how it ended, why, and of what went wrong also where."""
    bad = ("failed", "error")
    return {
        test["node_id"]: (test["outcome"], test["message"])
        + ((test.get("failure", {}).get("place"),) if test["outcome"] in bad else ())
        for test in document["tests"]
    }


@each_with_text
def test_a_version_too_old_for_the_plugin_is_read_by_its_words(
    version: Version, project: Path, reference: dict[str, Any]
) -> None:
    document = selected_run(project, python=version.interpreter())

    assert (document["source"], reference["source"]) == ("text", "control")
    assert told(document) == told(reference)
    for name in ("outcome", "reason", "exit_code", "signal", "collection_errors", "not_run", "current_test"):
        assert document[name] == reference[name]
    assert document["warnings"] == reference["warnings"]
    # Text has the number of deselected tests but not their ids.
    assert document["summary"] == reference["summary"] | {"deselected": 0}


@each_with_text
def test_a_collection_error_is_read_from_text(
    version: Version, project: Path, broken_reference: dict[str, Any]
) -> None:
    document = broken_run(project, python=version.interpreter())

    assert document["source"] == "text"
    assert document["outcome"] == "collection_error"
    assert document["exit_code"] == broken_reference["exit_code"]
    [error], [expected] = document["collection_errors"], broken_reference["collection_errors"]
    assert error["file"] == expected["file"]
    assert error["failure"]["place"] == expected["failure"]["place"]
    assert "product_that_is_not_there" in error["message"]  # Python has quoted it since 3
    assert document["tests"] == []


SKIPS = {
    "test_a.py": "def test_fails():\n    assert 0\ndef test_passes():\n    pass\n",
    "test_b.py": "import pytest\n\npytest.importorskip('no_such_module')\n",
    "test_c.py": "import pytest\npytest.skip('two\\nlines', allow_module_level=True)\n",
}


@each_with_text
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["one process", "workers"])
def test_a_module_that_skips_itself_counts_in_text_too(
    version: Version, workers: tuple[str, ...], tmp_path: Path
) -> None:
    if workers and not version.xdist:
        version = replace(version, xdist="2.5.0" if version.python == "3.6" else "")
    document = document_of(write_project(tmp_path, SKIPS), *workers, python=version.interpreter())

    assert outcomes(document) == {
        "test_b.py": "skipped",
        "test_c.py": "skipped",
        "test_a.py::test_fails": "failed",
        "test_a.py::test_passes": "passed",
    }
    skipped = {test["node_id"]: test for test in document["tests"] if test["outcome"] == "skipped"}
    assert skipped["test_c.py"]["message"] == "two\nlines"
    assert skipped["test_b.py"]["place"] == {"file": "test_b.py", "line": 3}
    if not workers:
        assert list(outcomes(document)) == [*skipped, "test_a.py::test_fails", "test_a.py::test_passes"]


@each_with_text
def test_the_users_own_path_is_put_back_for_the_tests(version: Version, tmp_path: Path) -> None:
    source = """
        import os
        def test_path():
            assert os.environ.get("PYTHONPATH") == "/nowhere"
            assert not [name for name in os.environ if name.startswith("PROCTOR_PYTHON")]
    """
    root = write_project(tmp_path, {"test_path.py": source})
    python = version.interpreter()
    for workers in ((), ("-n", "2")) if version.xdist else ((),):
        document = document_of(root, *workers, python=python, PYTHONPATH="/nowhere")
        assert outcomes(document) == {"test_path.py::test_path": "passed"}


def test_workers_are_read_from_text_as_well(project: Path, reference: dict[str, Any]) -> None:
    python = TEXT[0].interpreter()

    document = selected_run(project, "-n", "2", python=python)

    assert document["source"] == "text"
    assert told(document) == told(reference)
    assert document["outcome"] == "failed"


CULPRIT = "test_culprit.py::TestIt::test_culprit"
ENDINGS = {
    "ctypes.string_at(0)": ("crashed", "crash"),
    "os._exit(0)": ("crashed", "crash"),
    "raise KeyboardInterrupt": ("interrupted", "error"),
    "pytest.exit('enough')": ("interrupted", "error"),
    "os.kill(os.getpid(), 9)": ("crashed", "crash"),
}


def project_with_a_culprit(root: Path, line: str) -> Path:
    text = f"""
        import ctypes
        import os

        import pytest

        def test_before():
            pass

        def test_fails():
            assert 1 == 2

        class TestIt(object):
            def test_culprit(self):
                {line}

        def test_after():
            pass
    """
    return write_project(root, {"test_culprit.py": text})


@each_with_text
@pytest.mark.parametrize("line", ENDINGS)
def test_a_test_that_ends_the_process_is_named_by_text_too(
    version: Version, line: str, tmp_path: Path
) -> None:
    expected, culprit = ENDINGS[line]

    document = document_of(project_with_a_culprit(tmp_path, line), python=version.interpreter())

    assert document["source"] == "text"
    assert document["outcome"] == expected
    assert outcomes(document) == {
        "test_culprit.py::test_before": "passed",
        "test_culprit.py::test_fails": "failed",
        CULPRIT: culprit,
    }


@each_with_text
def test_a_keyboard_interrupt_is_placed_by_text(version: Version, tmp_path: Path) -> None:
    document = document_of(
        project_with_a_culprit(tmp_path, "raise KeyboardInterrupt"), python=version.interpreter()
    )

    assert document["reason"] == "KeyboardInterrupt at test_culprit.py:14"


@each_with_text
def test_a_loop_without_end_is_a_timeout_and_named_by_text(version: Version, tmp_path: Path) -> None:
    python = version.interpreter()
    root = project_with_a_culprit(tmp_path, "open('reached', 'w').close()\n                while True: pass")

    document = with_enough_time(
        lambda limit: document_of(root, "--timeout", limit, python=python), root / "reached"
    )

    assert document["outcome"] == "timeout"
    assert document["current_test"] == CULPRIT
    assert outcomes(document)[CULPRIT] == "timeout"


@each_with_text
@pytest.mark.parametrize(
    ("arguments", "outcome"),
    [
        (["-k", "nothing_like_it"], "no_tests"),
        (["no_such_directory"], "usage_error"),
        (["--", "--no-such-option"], "usage_error"),
    ],
    ids=["no tests", "no such directory", "no such option"],
)
def test_a_run_without_tests_is_not_a_pass_in_text_either(
    version: Version, arguments: list[str], outcome: str, tmp_path: Path
) -> None:
    root = project_with_a_culprit(tmp_path, "pass")

    ran = run_suite(root, "--format", "json", *arguments, python=version.interpreter())

    assert ran.document["outcome"] == outcome
    assert ran.code == {"no_tests": 5, "usage_error": 4}[outcome]


@each_with_text
def test_text_can_earn_a_pass(version: Version, tmp_path: Path) -> None:
    root = project_with_a_culprit(tmp_path, "pass")

    document = document_of(root, "-k", "not fails", python=version.interpreter())

    assert (document["outcome"], document["reason"]) == ("passed", "")
    assert document["summary"]["passed"] == 3


@each_with_text
def test_a_version_too_old_for_the_plugin_runs_without_what_needs_it_unless_it_was_named(
    version: Version, tmp_path: Path
) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    asked = ("--retries", "1", "--test-timeout", "9", "--isolate", "--repeat", "2")
    old = f"pytest {version.pytest} is too old for the plugin, which it needs"

    document = document_of(root, *asked, python=version.interpreter())
    refused = run_suite(root, "--runner", "pytest", *asked, python=version.interpreter())
    (root / "proctor.toml").write_text("retries = 1\n")
    by_settings = document_of(root, "--runner", "pytest", python=version.interpreter())

    assert outcomes(document) == {"test_a.py::test_a": "passed"}
    assert document["notices"] == [
        f"{option}: {old}; its tests run without it"
        for option in ("--repeat", "--retries", "--isolate", "--test-timeout")
    ]
    assert (refused.code, refused.err) == (4, f"proctor: --repeat: {old} [usage]\n")
    assert by_settings["notices"] == [f"retries: {old}; its tests run without it"]
