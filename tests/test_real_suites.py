"""The own tests of other people's libraries end, under proctor, as pytest's own JUnit file says they end."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.projects import CACHE, GUARD, clean_environment, document_of, environment

SOURCES = CACHE / "sources"
LIBRARIES = {  # what is to run: a part, where the whole takes long
    "attrs==25.3.0": [
        "tests",
        *(f"--ignore=tests/test_{part}.py" for part in ("make", "funcs", "functional")),
    ],
    "blinker==1.9.0": [],
    "click==8.2.1": ["--deselect=tests/test_utils.py::test_echo_via_pager"],  # a race of two processes
    "itsdangerous==2.2.0": [],
    "markupsafe==3.0.2": [],
    "packaging==25.0": [f"tests/test_{part}.py" for part in ("utils", "metadata")],
    "pluggy==1.6.0": [],
    "structlog==25.4.0": [],  # modules of it skip themselves, for want of what they would test with
}
NEEDED_BY_TESTS = ["hypothesis==6.138.0", "pretend==1.0.9", "freezegun==1.5.5", "pytest-asyncio==1.1.0"]
BUILD_BACKENDS = [  # without them pip installs one for each library that it downloads
    "flit-core==3.12.0",
    "hatchling==1.27.0",
    "hatch-vcs==0.5.0",
    "hatch-fancy-pypi-readme==25.1.0",
    "setuptools==80.9.0",
    "setuptools-scm==8.3.1",
]


@pytest.fixture(scope="module")
def python() -> str:
    try:
        return environment(sys.executable, ["pytest==8.4.2", *LIBRARIES, *NEEDED_BY_TESTS, *BUILD_BACKENDS])
    except subprocess.CalledProcessError:
        pytest.skip("the package index does not give what these suites need")


def unpacked(python: str, requirement: str, target: Path) -> Path:
    """A fresh copy of what the library's authors published, in `target`."""
    name, _, version = requirement.partition("==")
    archive = SOURCES / f"{name}-{version}.tar.gz"
    if not archive.exists():
        options = ["-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation"]
        download = [python, "-m", "pip", "download", *options, "--no-binary=:all:", f"--dest={target}"]
        done = subprocess.run([*download, requirement], capture_output=True, timeout=GUARD, check=False)
        if done.returncode != 0:
            pytest.skip(f"the package index does not give {requirement}")
        SOURCES.mkdir(parents=True, exist_ok=True)
        shutil.move(target / archive.name, archive)
    with tarfile.open(archive) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 has it
        tar.extractall(target)
    return target / f"{name}-{version}"


def address(node_id: str) -> tuple[str, str]:
    """The `classname` and `name` by which a JUnit file of pytest knows a test."""
    path, bracket, parameters = node_id.partition("[")
    file, *inner = path.split("::")
    *classes, name = [file.removesuffix(".py").replace("/", "."), *inner]
    return ".".join(classes), name + bracket + parameters


def ending(case: ElementTree.Element) -> str:
    for kind, outcome in (("failure", "failed"), ("error", "error")):
        if case.find(kind) is not None:
            return outcome
    skipped = case.find("skipped")
    if skipped is None:
        return "passed"
    return "xfailed" if skipped.get("type") == "pytest.xfail" else "skipped"


@pytest.mark.parametrize("requirement", LIBRARIES)
def test_the_tests_of_a_library_end_as_its_junit_file_says(
    tmp_path: Path, python: str, requirement: str
) -> None:
    arguments = ["-p", "no:cacheprovider", *LIBRARIES[requirement]]
    plain = unpacked(python, requirement, tmp_path / "plain")
    watched = unpacked(python, requirement, tmp_path / "watched")
    divided = unpacked(python, requirement, tmp_path / "divided")
    xml = tmp_path / "junit.xml"
    alone = subprocess.Popen(
        [python, "-m", "pytest", f"--junitxml={xml}", *arguments],
        cwd=plain,
        env=clean_environment(TMPDIR=str(plain.parent)),  # some write to a file there that has a fixed name
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ours_xml = tmp_path / "ours.xml"
    options = ("-o", f"junit={ours_xml}", "--", *arguments)
    more = {"PYTHONHASHSEED": "0"}  # some have a test for each element of a set
    document = document_of(watched, *options, python=python, TMPDIR=str(watched.parent), **more)
    options = ("-n", "2", "--", *arguments)
    spread = document_of(divided, *options, python=python, TMPDIR=str(divided.parent), **more)
    exit_code = alone.wait(GUARD)

    assert document["exit_code"] == exit_code
    assert document["outcome"] == ("failed" if exit_code else "passed")
    suite = ElementTree.parse(xml).getroot()[0]
    theirs = Counter(
        (case.attrib["classname"], case.attrib["name"], ending(case)) for case in suite.iter("testcase")
    )
    ours = Counter(endings(document))
    assert (ours - theirs, theirs - ours) == (Counter(), Counter())
    assert totals(document) == {name: int(suite.get(name, 0)) for name in TOTALS}
    again = ElementTree.parse(ours_xml).getroot()[0]
    assert Counter(map(named, again.iter("testcase"))) == Counter(map(named, suite.iter("testcase")))
    assert {name: int(again.get(name, 0)) for name in TOTALS} == totals(document)
    assert last_line(document["text_output"]) == counted(document)
    assert list(endings(spread)) == list(endings(document))
    assert {test["worker"] for test in spread["tests"] if "worker" in test} == {"gw0", "gw1"}
    assert (spread["exit_code"], spread["notices"]) == (exit_code, [])
    assert last_line(spread["text_output"]) == counted(spread) == counted(document)


def named(case: ElementTree.Element) -> tuple[str, str]:
    return case.attrib["classname"], case.attrib["name"]


TOTALS = ("tests", "failures", "errors", "skipped")


def endings(document: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for test in document["tests"]:
        # JUnit has no word for a test that was expected to fail and did not.
        yield *address(test["node_id"]), test["outcome"].replace("xpassed", "passed")


def totals(document: dict[str, Any]) -> dict[str, int]:
    summary = document["summary"]
    skipped = summary["skipped"] + summary["xfailed"]
    numbers = (summary["total"], summary["failed"], summary["errors"], skipped)
    return dict(zip(TOTALS, numbers, strict=True))


def counted(document: dict[str, Any]) -> dict[str, int]:
    """Our counts, in the words of pytest's last line."""
    summary = document["summary"]
    names = ("passed", "failed", "skipped", "errors", "xfailed", "xpassed", "deselected")
    return {name: summary[name] for name in names if summary[name]}


def last_line(text: str) -> dict[str, int]:
    """`1 failed, 2 passed, 1 error in 0.10s`"""
    line = next(line for line in reversed(text.splitlines()) if re.search(r"[a-z] in \d+\.\d+s", line))
    found = re.findall(r"(\d+) (passed|failed|skipped|error|xfailed|xpassed|deselected)", line)
    return {"errors" if word == "error" else word: int(count) for count, word in found}
