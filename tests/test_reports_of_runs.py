"""JUnit of real runs: valid for every runner and every end, with the names that pytest gives its tests.
CTRF of one, by its own validator."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from lxml import etree
from support.ctrf import faults_by_ctrf
from support.junit import assert_valid
from support.junit import junit_schema as junit_schema
from support.projects import (
    GUARD,
    cargo_works,
    clean_environment,
    command,
    environment,
    interpreters,
    project_python,
    run_suite,
    with_enough_time,
    write_project,
)

STRANGE = ("a::b", "a/b.py", "[", "]", "x[1]", "é", "\a", "a b", "", "\n", "#2", "test_x.py::t", "<&>")
FILES = {
    "conftest.py": "",
    "pytest.ini": """
        [pytest]
        addopts = --doctest-modules --doctest-glob=*.md
        testpaths = tests src docs
    """,
    "docs/use.md": ">>> 1 + 1\n2\n",
    "src/shop/__init__.py": "",
    "src/shop/core.py": 'def price():\n    """\n    >>> price()\n    1\n    """\n    return 1\n',
    "tests/conftest.py": """
        import pytest
        @pytest.fixture
        def torn():
            yield
            raise ValueError("torn")
        @pytest.fixture
        def broken():
            raise ValueError("setup")
    """,
    "tests/test_shop.py": f"""
        import logging, unittest, pytest
        class TestX:
            def test_a(self): pass
            class TestInner:
                def test_b(self): assert 0
        @pytest.mark.parametrize("x", {STRANGE!r})
        def test_p(x): pass
        def test_torn(torn): pass
        def test_both(torn): assert 0
        def test_skipped_and_torn(torn): pytest.skip("no")
        @pytest.mark.xfail
        def test_xfailed_and_torn(torn): assert 0
        def test_setup(broken): pass
        def test_setup_and_torn(torn, broken): pass
        @pytest.mark.skip(reason="r")
        def test_skipped(): pass
        @pytest.mark.xfail
        def test_xfailed(): assert 0
        @pytest.mark.xfail
        def test_xpassed(): pass
        @pytest.mark.xfail(strict=True)
        def test_xpassed_strictly(): pass
        def test_says():
            logging.getLogger("a").warning("hello")
            print("out")
        class Old(unittest.TestCase):
            def test_u(self): pass
    """,
    "tests/pkg/__init__.py": "",
    "tests/pkg/sub/__init__.py": "",
    "tests/pkg/sub/test_deep.py": "def test_deep(): pass\n",
    "tests/test_bad.py": "import nothing_here\n",
    "tests/test_syntax.py": "def x(:\n",
    "tests/test_no_argument.py": """
        import pytest
        class TestC:
            @pytest.mark.parametrize("y", [1])
            def test_q(self, x): pass
    """,
    "tests/test_skips_itself.py": "import pytest\npytest.skip('not here', allow_module_level=True)\n",
    "tests/test_needs.py": "import pytest\npytest.importorskip('nothing_here')\n",
    "tests/skipped/__init__.py": "import pytest\npytest.skip('package', allow_module_level=True)\n",
    "tests/skipped/test_y.py": "def test_y(): pass\n",
}
SUBTESTS = {
    "tests/test_subtests.py": """
        import unittest
        def test_subtests(subtests):
            for i in range(3):
                with subtests.test(i=i): assert i == 0
        def test_subtests_and_torn(subtests, torn):
            for i in range(3):
                with subtests.test(i=i): assert i == 0
        class Old(unittest.TestCase):
            def test_sub(self):
                for i in range(3):
                    with self.subTest(i=i): assert i != 1
    """,
    "tests/te[st]/test_brackets.py": """
        import pytest
        @pytest.mark.parametrize("x", ["a::b"])
        def test_z(x): pass
    """,
}


def cases(root: etree._Element) -> Counter[tuple[str | None, str | None]]:
    return Counter((case.get("classname"), case.get("name")) for case in root.iter("testcase"))


def compared(root: Path, schema: etree.XMLSchema, *arguments: str, python: str = "") -> int:
    """Runs the project once, with both reports; the number of cases, which have the same names in both."""
    xml = root / "reports"
    ran = run_suite(
        root, "-o", f"junit={xml}-ours", "--", f"--junitxml={xml}-theirs", *arguments, python=python
    )
    assert ran.code in (0, 1, 2), ran.err
    ours = assert_valid(schema, Path(f"{xml}-ours").read_bytes())
    theirs = etree.parse(f"{xml}-theirs").getroot()
    found, expected = cases(ours), cases(theirs)
    assert (found - expected, expected - found) == (Counter(), Counter())
    return found.total()


ON = "--continue-on-collection-errors"


@pytest.mark.parametrize(
    "arguments, least",
    [((ON,), 40), ((), 7), ((ON, "--import-mode=importlib"), 40), ((ON, "-n2"), 38), ((ON, "-x"), 1)],
)
def test_the_names_are_those_of_pytest(
    tmp_path: Path, junit_schema: etree.XMLSchema, arguments: tuple[str, ...], least: int
) -> None:
    write_project(tmp_path, FILES | SUBTESTS)

    assert compared(tmp_path, junit_schema, *arguments) >= least


@pytest.mark.parametrize("python, release", [("3.7", "6.2.5"), ("3.8", "7.4.4"), ("3.12", "8.4.2")])
def test_the_names_are_those_of_older_pytests(
    tmp_path: Path, junit_schema: etree.XMLSchema, python: str, release: str
) -> None:
    if python not in interpreters():
        pytest.skip(f"no interpreter for Python {python}")
    write_project(tmp_path, FILES)

    chosen = environment(interpreters()[python], [f"pytest=={release}"])

    assert compared(tmp_path, junit_schema, ON, python=chosen) >= 36


def test_a_run_from_a_directory_below_has_the_names_of_pytest(
    tmp_path: Path, junit_schema: etree.XMLSchema
) -> None:
    write_project(tmp_path, {"pytest.ini": "[pytest]\n", "a/b/test_c.py": "def test_d(): pass\n"})

    assert compared(tmp_path / "a", junit_schema) == 1


def written(root: Path, *arguments: str, python: str = "") -> bytes:
    run_suite(root, "-o", f"junit={root}/out.xml", *arguments, python=python)
    return (root / "out.xml").read_bytes()


PYTEST = {
    "passes": "def test_a(): pass\n",
    "fails": "def test_a(): assert 0\ndef test_b(): pass\n",
    "has no tests": "x = 1\n",
    "crashes": "import os\ndef test_a(): os.abort()\ndef test_b(): pass\n",
    "exits": "import os\ndef test_a(): os._exit(0)\ndef test_b(): pass\n",
    "stops": "import pytest\ndef test_a(): pytest.exit('enough')\ndef test_b(): pass\n",
    "interrupts itself": "def test_a(): raise KeyboardInterrupt\ndef test_b(): pass\n",
    "prints": "def test_a():\n    print('\\x00\\x1b[31m ]]> <&> é \\x85')\n    assert 0, '\\ufffe\\udc80'\n",
}


@pytest.mark.parametrize("text", PYTEST.values(), ids=list(PYTEST))
def test_every_end_of_a_pytest_run_is_valid(tmp_path: Path, junit_schema: etree.XMLSchema, text: str) -> None:
    write_project(tmp_path, {"test_a.py": text})

    assert_valid(junit_schema, written(tmp_path))


def test_an_internal_error_has_the_names_of_pytest(tmp_path: Path, junit_schema: etree.XMLSchema) -> None:
    hook = "def pytest_runtest_logfinish(nodeid): raise ValueError(nodeid)\n"
    write_project(tmp_path, {"conftest.py": hook, "test_a.py": PYTEST["passes"]})

    root = assert_valid(junit_schema, written(tmp_path))

    assert cases(root)["pytest", "internal"] == 1


HANGS = """
    import time
    def test_a():
        open("reached", "w").close()
        time.sleep(600)
    def test_b(): pass
"""


def test_a_run_that_reaches_its_time_limit_is_valid(tmp_path: Path, junit_schema: etree.XMLSchema) -> None:
    write_project(tmp_path, {"test_a.py": HANGS})

    data = with_enough_time(lambda limit: written(tmp_path, "--timeout", limit), tmp_path / "reached")

    root = assert_valid(junit_schema, data)
    assert [(case.get("name"), case[0].get("type")) for case in root.iter("testcase")] == [
        ("test_a", "timeout"),
        ("test_b", "not_run"),
    ]


def test_a_run_that_is_interrupted_is_valid(tmp_path: Path, junit_schema: etree.XMLSchema) -> None:
    write_project(tmp_path, {"test_a.py": HANGS})
    os.mkfifo(tmp_path / "reached")
    arguments = ("run", "--python", project_python(), "-o", "junit=out.xml")
    run = subprocess.Popen(
        command(*arguments), cwd=tmp_path, env=clean_environment(), stdout=subprocess.DEVNULL
    )
    reached = os.open(tmp_path / "reached", os.O_RDONLY | os.O_NONBLOCK)
    assert select.select([reached], [], [], GUARD)[0]  # the test has opened it and closed it again
    os.close(reached)
    run.send_signal(signal.SIGINT)
    run.wait(GUARD)

    root = assert_valid(junit_schema, (tmp_path / "out.xml").read_bytes())
    assert {"test_a", "test_b"} <= {case.get("name") for case in root.iter("testcase")}
    assert int(root.get("errors", 0)) >= 1


def test_programs_with_parts_and_files_are_valid(tmp_path: Path, junit_schema: etree.XMLSchema) -> None:
    script = """
        #!/bin/sh
        echo said
        echo seen >log.txt
        python=$1
        $python -m proctor report --name dns/v6 --status fail --file log.txt --note "see log.txt"
        $python -m proctor report --status pass
    """
    write_project(tmp_path, {"checks/net.sh": script, "checks/disk.sh": "#!/bin/sh\nkill -9 $$\n"})
    for name in ("net", "disk"):
        (tmp_path / f"checks/{name}.sh").chmod(0o755)

    data = written(tmp_path, "--runner", "command", "checks", "--", sys.executable)

    expected = [("checks", "disk.sh"), ("checks", "net.sh"), ("checks.net.sh", "dns/v6")]
    assert sorted(cases(assert_valid(junit_schema, data))) == expected


TAP = "#!/bin/sh\nprintf '1..3\\nok 1 - one\\nnot ok 2 - two\\nok 3 - three # SKIP no\\n'\n"
NODE = """
    const test = require("node:test");
    const assert = require("node:assert");
    test.describe("group", () => {
        test("adds up", () => {});
        test("fails", () => assert.equal(1, 2));
        test.skip("later", () => {});
    });
"""


def test_several_suites_are_valid(tmp_path: Path, junit_schema: etree.XMLSchema) -> None:
    files = {"tests/test_a.py": PYTEST["fails"], "t/shell.t": TAP}
    expected = {("tests.test_a", "test_a"), ("t.shell.t", "two")}
    if shutil.which("node"):
        files |= {"test/a.test.js": NODE, "package.json": '{"scripts": {"test": "node --test"}}'}
        expected |= {("test.a.test.js", "group > adds up")}
    write_project(tmp_path, files)

    root = assert_valid(junit_schema, written(tmp_path))

    assert expected <= set(cases(root))
    assert len(root) == len({suite.get("timestamp") for suite in root})


@pytest.mark.skipif(not cargo_works(), reason="needs cargo")
def test_tests_of_cargo_are_valid(tmp_path: Path, junit_schema: etree.XMLSchema) -> None:
    crate = Path(__file__).parent / "data" / "crate"
    shutil.copytree(crate, tmp_path / "crate")

    root = assert_valid(junit_schema, written(tmp_path / "crate"))

    assert cases(root).total() > 1


@pytest.mark.skipif(shutil.which("go") is None, reason="needs go")
def test_tests_of_go_are_valid(tmp_path: Path, junit_schema: etree.XMLSchema) -> None:
    text = (
        'package shop\nimport "testing"\nfunc TestA(t *testing.T) { t.Run("sub", func(t *testing.T) {}) }\n'
    )
    write_project(tmp_path, {"go.mod": "module example.com/shop\n\ngo 1.20\n", "shop_test.go": text})

    root = assert_valid(junit_schema, written(tmp_path))

    assert ("example.com.shop", "TestA/sub") in cases(root)


MARKED = """
    import pytest
    from unittest import mock
    pytestmark = pytest.mark.db
    @pytest.mark.slow
    @mock.patch("os.getcwd")
    def test_a(getcwd): pass
    @pytest.mark.cart
    class TestCart:
        @pytest.mark.parametrize("tea", ["green"])
        def test_b(self, tea): pass
    def test_c(): pass
"""


def test_tags_of_ctrf_are_the_markers_and_its_validator_takes_the_report(tmp_path: Path) -> None:
    ini = "[pytest]\nmarkers =\n    db\n    slow\n    cart\n"
    write_project(tmp_path, {"pytest.ini": ini, "tests/unit/test_a.py": MARKED})

    run_suite(tmp_path, "-o", "ctrf=out.json")

    report = json.loads((tmp_path / "out.json").read_bytes())
    assert {test["name"]: set(test["tags"]) for test in report["results"]["tests"]} == {
        "test_a": {"slow", "db"},
        "test_b[green]": {"parametrize", "cart", "db"},
        "test_c": {"db"},
    }
    assert faults_by_ctrf([report]) == [""]


def test_what_a_test_prints_and_logs_is_in_its_case(tmp_path: Path, junit_schema: etree.XMLSchema) -> None:
    text = """
        import logging, sys
        def test_a():
            print("out")
            print("err", file=sys.stderr)
            logging.getLogger("shop").warning("stock is %s", "low")
    """
    write_project(tmp_path, {"test_a.py": text})

    (case,) = assert_valid(junit_schema, written(tmp_path)).iter("testcase")

    assert case.findtext("system-out") == "out\n--- log ---\nWARNING  shop:test_a.py:5 stock is low\n"
    assert "err" in (case.findtext("system-err") or "")
