"""The `json_report` of our document is what pytest-json-report writes for the same suite, field by field."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.projects import GUARD, clean_environment, document_of, environment, project_python, write_project

pytest.importorskip("pytest_jsonreport")

ADDRESS = re.compile(r"0x[0-9a-f]+")
OF_PLUGGY = re.compile(r'^([ |+]*)File "[^"]*/pluggy/.*\n(?:\1  .*\n)+', re.MULTILINE)
WORKER = re.compile(r"\bgw\d+")  # which of xdist's workers takes a test is chance
CLOCK = {"created", "duration", "asctime", "msecs", "relativeCreated"}
IDENTITY = {"process", "thread"}  # of a log record: two runs are two processes


def masked(value: Any, key: str = "") -> Any:
    """What two runs of one suite have in common: no times, no addresses, no process ids."""
    if isinstance(value, dict):
        return {name: masked(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [masked(item, key) for item in value]
    if isinstance(value, str):
        # A lone surrogate and a NaN are in no JSON that we write: the first is escaped, the second a string.
        text = value.encode("utf-8", "backslashreplace").decode()
        # A whole stack shows the hook calls of every plugin: the real one stands in it itself.
        text = OF_PLUGGY.sub("", text)
        text = WORKER.sub("gw(n)", text)
        # A fixture that cannot be found is answered with a list of those that can, ours and the plugin's own.
        text = text.replace("proctor_report, ", "")
        return "(time)" if key in CLOCK else ADDRESS.sub("0x(address)", text)
    if isinstance(value, float) and value != value:
        return "nan"
    if key in CLOCK | IDENTITY and isinstance(value, int | float):
        return f"({key})"
    return value


def both(root: Path, *arguments: str, python: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """What proctor says and what the real plugin wrote, of two runs side by side in one project."""
    arguments, python = ("-p", "no:cacheprovider", *arguments), python or project_python()
    fixed = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}  # pytest 6 keeps keywords in a set
    written = root.parent / f"{root.name}.real.json"
    real = subprocess.Popen(
        [python, "-m", "pytest", "--json-report", f"--json-report-file={written}", *arguments],
        cwd=root,
        env=clean_environment(**fixed),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    document = document_of(root, "--", *arguments, python=python, **fixed)
    said, _ = real.communicate(timeout=GUARD)
    assert written.exists(), said.decode()
    theirs = json.loads(written.read_text(encoding="utf-8"))
    return masked(document["json_report"]), masked(theirs)


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two documents part, one line each."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        path = f"{path}.{theirs['nodeid']}" if "nodeid" in theirs else path
        names = [*theirs, *(name for name in ours if name not in theirs)]
        pairs = [(name, ours.get(name, "(absent)"), theirs.get(name, "(absent)")) for name in names]
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = [(index, *pair) for index, pair in enumerate(zip(ours, theirs, strict=True))]
    else:
        return [] if ours == theirs else [f"{path}: {ours!r} is not {theirs!r}"]
    return [line for name, ours, theirs in pairs for line in differences(ours, theirs, f"{path}.{name}")]


SUITES: dict[str, dict[str, str]] = {
    "passing": {
        "test_passing.py": """
            import pytest

            def test_one(): pass

            class TestGroup:
                class TestInner:
                    def test_deep(self): pass

            @pytest.mark.slow
            @pytest.mark.filterwarnings("ignore")
            def test_marked(tmp_path): pass
        """,
        "pkg/__init__.py": "",
        "pkg/test_packaged.py": "def test_in_a_package(): pass",
        "deep/er/test_folders.py": "async def helper(): pass\n\n\ndef test_in_folders(): pass",
    },
    "failures": {
        "deep_helper.py": """
            def depth(n):
                if n == 0:
                    raise ValueError("deep é \\u2028 \\x1b[31m")
                depth(n - 1)
        """,
        "test_failures.py": """
            import deep_helper
            import pytest

            class Unprintable(Exception):
                def __str__(self): raise RuntimeError("no")

            @pytest.fixture
            def broken(): raise RuntimeError("setup")

            @pytest.fixture
            def leaking():
                yield
                raise RuntimeError("teardown")

            def test_call(): assert [1, 2, 3] == [1, 2, 4], "they differ"
            def test_setup(broken): pass
            def test_teardown(leaking): pass
            def test_call_and_teardown(leaking): assert 0
            def test_setup_and_teardown(leaking, broken): pass
            def test_elsewhere(): deep_helper.depth(3)
            def test_recursion():
                def f(): return f()
                f()
            def test_no_message(): raise KeyError
            def test_unprintable(): raise Unprintable()
            def test_fail(): pytest.fail("said so")
            def test_fail_without_trace(): pytest.fail("said so\\ntwice", pytrace=False)
            def test_system_exit(): raise SystemExit(3)
            def test_surrogate(): assert "\\udc80" == ""
            def test_object(): assert object() is None
            def test_missing_fixture(nowhere): pass
            def test_generated():
                exec(compile("def f():\\n    raise OSError(2, 'gone')", "<made>", "exec"), globals())
                f()
            def test_long_text(): assert "a" * 900 == "b" * 900
        """,
    },
    "chains": {
        "test_chains.py": """
            import pytest

            def low(): raise KeyError("low")
            def test_cause():
                try: low()
                except KeyError as error: raise ValueError("high") from error
            def test_context():
                try: low()
                except KeyError: assert 1 == 2
            def test_suppressed():
                try: low()
                except KeyError: raise ValueError("high") from None
            def test_group():
                raise ExceptionGroup("many", [ValueError(1), ExceptionGroup("in", [KeyError(2)])])
        """,
    },
    "skips": {
        "test_skips.py": """
            import unittest
            import pytest

            @pytest.mark.skip(reason="never")
            def test_mark(): pass
            @pytest.mark.skip
            def test_bare_mark(): pass
            @pytest.mark.skipif("1 == 1", reason="if")
            def test_condition(): pass
            def test_body(): pytest.skip("inside")
            @pytest.fixture
            def absent(): pytest.skip("in a fixture")
            def test_fixture(absent): pass
            @pytest.fixture
            def late():
                yield
                pytest.skip("in teardown")
            def test_late(late): pass
            def test_import(): pytest.importorskip("no_such_module")
            def test_unittest_skip(): raise unittest.SkipTest("their way")
        """,
        "test_importorskip.py": "import pytest\npytest.importorskip('no_such_module')\ndef test_b(): pass",
        "test_skip_all.py": "import pytest\npytest.skip('all', allow_module_level=True)\ndef test_c(): pass",
        "test_mark_all.py": "import pytest\npytestmark = pytest.mark.skip('marked')\ndef test_d(): pass",
    },
    "xfails": {
        "test_xfails.py": """
            import pytest

            @pytest.fixture
            def broken(): raise RuntimeError("setup")
            @pytest.fixture
            def leaking():
                yield
                raise RuntimeError("teardown")

            @pytest.mark.xfail(reason="known")
            def test_xfail(): assert 0
            @pytest.mark.xfail
            def test_xpass(): pass
            @pytest.mark.xfail(strict=True, reason="must fail")
            def test_strict(): pass
            @pytest.mark.xfail(run=False)
            def test_not_run(): assert 0
            @pytest.mark.xfail(raises=KeyError)
            def test_other_exception(): raise ValueError("other")
            @pytest.mark.xfail(reason="known")
            def test_setup(broken): pass
            @pytest.mark.xfail(reason="known")
            def test_teardown(leaking): pass
            @pytest.mark.xfail(reason="known")
            def test_fails_and_teardown(leaking): assert 0
            def test_imperative(): pytest.xfail("here")
            @pytest.mark.xfail("False", reason="no")
            def test_condition(): assert 0
        """,
    },
    "parameters": {
        "test_parameters.py": """
            import pytest

            WEIRD = ["", " ", "a b", "é", "日本", "\\n", "\\x00", "::", "[x]", "a/b", "\\\\", "\\udc80"]

            @pytest.mark.parametrize("value", [*WEIRD, b"\\xff", None, 1.5, object(), "x" * 300])
            def test_value(value): pass
            @pytest.mark.parametrize("value", [1, 1, 2], ids=["same", "same", "é b"])
            @pytest.mark.parametrize("other", [pytest.param(1, marks=pytest.mark.xfail), 2])
            def test_ids(value, other): assert other == 2
            @pytest.mark.parametrize("value", [])
            def test_none(value): pass
        """,
    },
    "captured": {
        "test_captured.py": r"""
            import os
            import sys
            import pytest

            @pytest.fixture
            def loud():
                print("out setup"); print("err setup", file=sys.stderr)
                yield
                print("out teardown"); print("err teardown", file=sys.stderr)

            def test_loud(loud): print("out call"); print("err call", file=sys.stderr)
            def test_loud_failure(loud): print("out call"); assert 0
            def test_descriptor(): os.write(1, b"raw \xff\x00\r\n"); os.system("echo child")
            def test_colours(): print("\x1b[31mred\x1b[0m \x07 \u2028 é")
            def test_nothing(capsys): print("kept")
            def test_kept(capsys): print("kept"); assert 0
            @pytest.mark.skip
            def test_skipped(loud): pass
            @pytest.mark.xfail
            def test_xfail(loud): print("before"); assert 0
        """,
    },
    "logs": {
        "test_logs.py": r"""
            import logging
            import threading
            import unittest
            import pytest

            log = logging.getLogger("app.deep")

            class Strange:
                def __str__(self): return "strange é"

            @pytest.fixture
            def loud():
                log.warning("setup %s", 1)
                yield
                log.error("teardown %(name)s", {"name": "x"})

            def test_phases(loud): log.critical("call %r %5.1f", Strange, 2.25)
            def test_silent_levels(): log.info("below"); log.debug("below"); log.warning("above")
            def test_caplog(caplog):
                caplog.set_level(logging.DEBUG)
                log.debug("seen")
                caplog.clear()
                log.info("seen after clear")
                with caplog.at_level(logging.ERROR, logger="app"):
                    log.warning("not seen")
                    logging.getLogger("other").warning("seen by others")
            def test_exception():
                try: 1 / 0
                except ZeroDivisionError: log.exception("went wrong")
                log.warning("with stack", stack_info=True)
            def test_extra():
                log.warning("extra", extra={
                    "text": "é", "number": 3, "big": 10 ** 30, "real": 1.5, "nan": float("nan"),
                    "odd": Strange(), "nested": {"a": [1, (2, 3)], 4: None, True: 1, None: 2},
                    "bytes": b"\xff", "surrogate": "\udc80", "none": None, "yes": True, "set": {1},
                })
            def test_changed_later():
                things = [1]
                log.warning("things %s", things)
                things.append(2)
            def test_own_logger():
                own = logging.getLogger("own"); own.propagate = False
                own.warning("not for the root")
            def test_own_level():
                logging.getLogger("fine").setLevel(logging.DEBUG)
                logging.getLogger("fine").debug("fine")
            def test_failing(loud): log.warning("before"); assert 0
            def test_thread():
                thread = threading.Thread(target=lambda: log.warning("in a thread"), name="worker")
                thread.start(); thread.join()
            class TestUnit(unittest.TestCase):
                def setUp(self): log.warning("unit set up")
                def test_unit(self): log.warning("unit"); assert 0
        """,
    },
    "warnings": {
        "test_warnings.py": """
            import warnings
            import pytest

            warnings.warn("while importing", DeprecationWarning)

            class Own(UserWarning): pass

            @pytest.fixture
            def noisy():
                warnings.warn("in setup")
                yield
                warnings.warn(Own("in teardown é"))

            def test_warns(noisy): warnings.warn("in the call", FutureWarning)
            def test_again():
                for _ in range(3): warnings.warn("thrice")
            @pytest.mark.unknown_mark
            def test_unknown(): pass
            def test_returns(): return 1
            class TestInit:
                def __init__(self): pass
            def test_expected():
                with pytest.warns(UserWarning): warnings.warn("asked for")
        """,
    },
    "properties": {
        "test_properties.py": """
            import pytest

            def test_property(record_property):
                record_property("key", "value")
                record_property("key", 2)
                record_property(3, [1.5, None, {"a": True}])
            def test_big(record_property): record_property("big", 10 ** 30)
            def test_failing(record_property): record_property("é", "\\u2028"); assert 0
            @pytest.fixture
            def late(record_property):
                yield
                record_property("late", 1)
            def test_late(late): pass
        """,
    },
    "doctests": {
        "documented.py": '''
            """
            >>> 1 + 1
            3
            """
            def good():
                """
                >>> good()
                """
            def bad():
                """
                >>> bad()
                >>> 1 / 0
                """
            def skipped():
                """
                >>> 1  # doctest: +SKIP
                2
                """
        ''',
        "notes.txt": "hello\n\n>>> print('a\\nb')\na\nc\n",
    },
    "unittests": {
        "test_unittests.py": """
            import unittest

            class TestThings(unittest.TestCase):
                @classmethod
                def setUpClass(cls): print("class")
                def setUp(self): self.addCleanup(print, "cleaned")
                def test_passes(self): pass
                def test_fails(self): self.assertEqual([1], [2], "differ")
                def test_error(self): raise KeyError("x")
                @unittest.skip("no")
                def test_skip(self): pass
                @unittest.expectedFailure
                def test_expected(self): self.fail()
                @unittest.expectedFailure
                def test_unexpected(self): pass
            class TestBrokenClass(unittest.TestCase):
                @classmethod
                def setUpClass(cls): raise RuntimeError("class")
                def test_a(self): pass
                def test_b(self): pass
            class TestBrokenTeardown(unittest.TestCase):
                def tearDown(self): raise RuntimeError("down")
                def test_a(self): pass
        """,
    },
    "subtests": {
        "test_subtests.py": """
            import logging
            import unittest
            import pytest

            class TestSubs(unittest.TestCase):
                def test_some_fail(self):
                    for i in range(3):
                        with self.subTest("number", i=i):
                            print("sub", i)
                            self.assertEqual(i % 2, 0)
                def test_all_pass(self):
                    for i in range(3):
                        with self.subTest(i=i): pass
                def test_sub_skips(self):
                    with self.subTest(i=1): self.skipTest("sub")
                def test_fails_after(self):
                    with self.subTest(i=1): self.fail("sub")
                    self.fail("after")

            def test_fixture(subtests):
                print("before")
                for i in range(3):
                    with subtests.test("n", i=i):
                        print("sub", i)
                        logging.warning("sub %d", i)
                        assert i != 1
                print("after")
            def test_passing(subtests):
                with subtests.test(): print("sub")
            def test_skipping(subtests):
                with subtests.test(): pytest.skip("sub")
            def test_xfailing(subtests):
                with subtests.test(): pytest.xfail("sub")
            def test_failing_itself(subtests):
                with subtests.test(): assert 0
                with subtests.test(): assert 0
                assert 1 == 2
            @pytest.mark.xfail
            def test_expected(subtests):
                with subtests.test(): assert 0
        """,
    },
    "wide fixtures": {
        "test_wide_fixtures.py": """
            import pytest

            @pytest.fixture(scope="class")
            def of_class(): print("class"); raise RuntimeError("class")
            @pytest.fixture(scope="module")
            def of_module():
                print("module")
                yield
                raise RuntimeError("module")
            class TestOne:
                def test_a(self, of_class): pass
                def test_b(self, of_class): pass
            def test_c(of_module): pass
            def test_d(of_module): pass
            def setup_module(): print("set up")
            def teardown_module(): raise ValueError("down")
        """,
    },
    "collection errors": {
        "test_import.py": "import no_such_module\ndef test_a(): pass",
        "test_syntax.py": "def test_a(:\n    pass",
        "test_raises.py": "import helper\ndef test_a(): pass",
        "helper.py": "print('importing')\nraise ValueError('broken é \\x1b[1m')",
        "test_parameters.py": """
            import pytest
            @pytest.mark.parametrize("a,b", [(1,)])
            def test_a(a, b): pass
        """,
        "test_good.py": "def test_good(): pass",
    },
    "internal error": {
        "conftest.py": "def pytest_collection_modifyitems(): raise RuntimeError('hook')",
        "test_internal_error.py": "def test_a(): pass",
    },
    "changed metadata": {
        "conftest.py": """
            import pytest

            def pytest_configure(config): config._metadata = {"first": 1}
            @pytest.fixture(autouse=True, scope="session")
            def more(request): request.config._metadata["later"] = {"a": [1, 2]}
        """,
        "test_changed_metadata.py": "def test_a(): pass",
    },
    "no tests": {"test_no_tests.py": "def helper(): pass"},
}


INI = """
    [pytest]
    markers = slow
    no_such_option = 1
"""
OUTCOMES = ("passing", "failures", "chains", "skips", "xfails", "wide fixtures")
TEXTS = ("parameters", "captured", "logs", "warnings", "properties")
KINDS = ("doctests", "unittests", "subtests")


def project(root: Path, *names: str) -> Path:
    files = {name: text for suite in names for name, text in SUITES[suite].items()}
    return write_project(root / "project", {"pytest.ini": INI, **files})


RUNS: list[tuple[tuple[str, ...], list[str]]] = [
    (OUTCOMES, []),
    (TEXTS, []),
    (KINDS, ["--doctest-modules", "--doctest-glob=*.txt"]),
    (("collection errors",), []),
    (("internal error",), []),
    (("changed metadata",), []),
    (("no tests",), []),
    (OUTCOMES, ["-k", "deep or setup or package"]),
    (OUTCOMES, ["-m", "slow"]),
    (OUTCOMES, ["-m", "slow and not slow"]),
    (
        ("passing", "parameters"),
        ["test_passing.py::TestGroup", "pkg", "--deselect=test_passing.py::test_one"],
    ),
    (("passing",), ["no_such_file.py"]),
    (("passing",), ["test_passing.py::test_none"]),
    ((*OUTCOMES, *TEXTS), ["--collect-only"]),
    (OUTCOMES, ["--setup-only"]),
    (OUTCOMES, ["-x"]),
    (OUTCOMES, ["--maxfail=3", "--verbose", "--showlocals", "--color=yes", "--capture=sys"]),
    (TEXTS, ["--runxfail", "-W", "error::FutureWarning", "--show-capture=no", "--capture=tee-sys"]),
    (TEXTS, ["--log-level=DEBUG", "--log-format=%(asctime)s %(message)s", "-s"]),
    (TEXTS, ["--log-cli-level=INFO", "-p", "no:warnings"]),
    (KINDS, ["--verbose", "--doctest-modules", "--doctest-continue-on-failure", "--doctest-report=ndiff"]),
    (("subtests",), ["-x"]),
    (("collection errors",), ["--continue-on-collection-errors"]),
    ((*OUTCOMES, *KINDS), ["--tb=long"]),
    ((*OUTCOMES, *KINDS), ["--tb=short"]),
    ((*OUTCOMES, *KINDS), ["--tb=line"]),
    ((*OUTCOMES, *KINDS), ["--tb=native"]),
    ((*OUTCOMES, *KINDS), ["--tb=no"]),
]


@pytest.mark.parametrize(("names", "arguments"), RUNS, ids=lambda value: " ".join(value) or "no options")
def test_every_field_is_what_the_real_plugin_writes(
    tmp_path: Path, names: tuple[str, ...], arguments: list[str]
) -> None:
    ours, theirs = both(project(tmp_path, *names), *arguments)

    assert differences(ours, theirs) == []


@pytest.mark.parametrize("version", ["6.2.5", "7.4.4", "8.4.2"])
def test_older_versions_of_pytest_are_told_alike(tmp_path: Path, version: str) -> None:
    try:
        python = environment(sys.executable, [f"pytest=={version}", "pytest-json-report==1.5.0"])
    except subprocess.CalledProcessError:
        pytest.skip(f"the package index does not give pytest {version}")
    root = project(tmp_path, *OUTCOMES, *TEXTS, "doctests", "unittests")
    # That test fails inside pytest: its traceback leads through the real plugin.
    ours, theirs = both(root, "--doctest-modules", "-k", "not test_not_run", python=python)

    assert differences(ours, theirs) == []


def test_without_tracebacks_there_are_none_even_where_pytest_has_them(tmp_path: Path) -> None:
    text = "def test_a(): assert 0"
    ours, theirs = both(write_project(tmp_path / "project", {"test_a.py": text}), "--tb=no", "--full-trace")

    assert ours["tests"][0]["call"].keys() == theirs["tests"][0]["call"].keys()
    assert "traceback" not in ours["tests"][0]["call"]


CRASHING = """
    import os

    def test_before(): pass
    def test_crash(): os._exit(3)
    def test_after(): pass
"""


# Left out: what the real plugin, or xdist itself, cannot carry from a worker, and then ends with status 3.
@pytest.mark.parametrize("more", [["-k", "not surrogate and not extra"], ["-k", "setup", "--tb=short"]])
def test_under_xdist_all_but_the_order_is_what_the_real_plugin_writes(
    tmp_path: Path, more: list[str]
) -> None:
    pytest.importorskip("xdist")
    root = project(tmp_path, *OUTCOMES, *TEXTS, *KINDS, "collection errors")
    ours, theirs = both(root, "-n", "2", "--dist=loadfile", *more)  # fixtures of a module run once

    assert differences(in_order(ours), in_order(theirs)) == []


def test_a_worker_of_xdist_that_died_is_told_as_the_real_plugin_tells_it(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    ours, theirs = both(write_project(tmp_path / "project", {"test_a.py": CRASHING}), "-n", "2")

    assert differences(in_order(ours), in_order(theirs)) == []


def in_order(report: dict[str, Any]) -> dict[str, Any]:
    """Tests come when they end, and warnings with them."""
    lists = {name: value for name, value in report.items() if isinstance(value, list)}
    return report | {name: sorted(value, key=json.dumps) for name, value in lists.items()}


LONG = """
    import logging
    import pytest

    def test_out(): print("x" * 200_000)
    def test_log():
        for number in range(1000): logging.warning("line %d \u2028 %s", number, "y" * 50)
    @pytest.fixture
    def loud():
        yield
        print("z" * 100_000)
    def test_late(loud): print("z"); assert "é" * 100_000 == ""
"""


def test_long_texts_travel_as_files_and_come_back_whole(tmp_path: Path) -> None:
    ours, theirs = both(write_project(tmp_path / "project", {"test_a.py": LONG}), "-k", "not late")

    assert differences(ours, theirs) == []
    assert len(ours["tests"][0]["call"]["stdout"]) == 200_001
    assert len(ours["tests"][1]["call"]["log"]) == 1000


def test_a_long_message_loses_its_middle_and_says_so(tmp_path: Path) -> None:
    ours, theirs = both(write_project(tmp_path / "project", {"test_a.py": LONG}), "-k", "late", "-vv")

    crash = ours["tests"][0]["call"]["crash"]
    assert "characters left out ...]" in crash["message"]
    assert len(crash["message"]) < 66_000 < len(theirs["tests"][0]["call"]["crash"]["message"])
    crash["message"] = theirs["tests"][0]["call"]["crash"]["message"]
    assert differences(ours, theirs) == []


VERY_LONG = """
    import logging

    def test_out(): print("head", "x" * 5_000_000, "tail")
    def test_log():
        for number in range(5000): logging.warning("line %d", number, extra={"more": "y" * 500})
"""


def test_a_text_of_megabytes_keeps_head_and_tail_and_names_the_file_of_the_whole(tmp_path: Path) -> None:
    document = document_of(write_project(tmp_path, {"test_a.py": VERY_LONG}))
    out, log = document["json_report"]["tests"]

    text = out["call"]["stdout"]
    assert text.startswith("head xxx") and text.endswith("xxx tail\n") and len(text) < 1_100_000
    assert whole(text) == "head " + "x" * 5_000_000 + " tail\n"
    records = log["call"]["log"]
    assert (records[0]["msg"], records[-1]["msg"]) == ("line 0", "line 4999")
    marker = next(record["msg"] for record in records if "the whole is in" in record["msg"])
    assert len(whole(marker).splitlines()) == 5000


def whole(text: str) -> str:
    found = re.search(r"bytes left out; the whole is in (\S+) \.\.\.\]", text)
    assert found is not None
    return Path(found[1]).read_text(encoding="utf-8")


ODD_LOGS = """
    import logging

    class Mute:
        def __str__(self): raise RuntimeError("no")

    def test_odd():
        loop = {}
        loop["self"] = loop
        logging.warning("odd", extra={"loop": loop, "mute": Mute()})
"""


def test_a_log_record_that_cannot_be_written_down_costs_only_that_value(tmp_path: Path) -> None:
    document = document_of(write_project(tmp_path, {"test_a.py": ODD_LOGS}))

    record = document["json_report"]["tests"][0]["call"]["log"][0]
    assert document["outcome"] == "passed"
    assert (record["loop"], record["mute"]) == ("<unprintable: dict>", "<unprintable: Mute>")


def test_properties_that_are_not_json_are_left_out(tmp_path: Path) -> None:
    text = "def test_a(record_property): record_property('key', object())"
    ours, theirs = both(write_project(tmp_path / "project", {"test_a.py": text}))

    assert theirs.pop("warnings")[0]["message"].endswith("not JSON-serializable.")  # its own, not ours to say
    assert differences(ours, theirs) == []


def test_a_test_that_was_interrupted_is_an_error_though_the_real_plugin_calls_it_passed(
    tmp_path: Path,
) -> None:
    text = "def test_a(): raise KeyboardInterrupt"
    ours, theirs = both(write_project(tmp_path / "project", {"test_a.py": text}))

    assert (ours["tests"][0]["outcome"], theirs["tests"][0]["outcome"]) == ("error", "passed")
    assert ours["exitcode"] == theirs["exitcode"] == 2
