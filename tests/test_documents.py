"""The result document of every kind of suite, through the real proctor and the real pytest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.projects import document_of, outcomes, project_python, run_suite, write_project

SEED_FIELDS = {
    "exit_code": int,
    "summary": dict,
    "tests": list,
    "json_report": dict,
    "text_output": str,
    "collection_errors": list,
}
OUR_FIELDS = {
    "stderr": str,
    "warnings": list,
    "schema": str,
    "run_id": str,
    "outcome": str,
    "source": str,
    "interpreter": str,
    "command": list,
    "runner": str,
    "not_run": list,
    "omitted": dict,
}


def entry(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(test for test in document["tests"] if test["node_id"].endswith(name))


def check_shape(document: dict[str, Any]) -> None:
    """What holds for every document, whatever happened."""
    for field, kind in (SEED_FIELDS | OUR_FIELDS).items():
        assert isinstance(document[field], kind), field
    assert {"current_test", "signal"} <= document.keys()
    summary = document["summary"]
    words = ("passed", "flaky", "failed", "skipped", "xfailed", "xpassed", "errors", "quarantined")
    counted = [summary[word] for word in words]
    assert sum(counted) - len(document["collection_errors"]) == summary["total"] == len(document["tests"])
    assert summary["not_run"] == len(document["not_run"])
    for test in document["tests"]:
        assert {"node_id", "outcome", "duration", "message", "traceback"} <= test.keys()
        if test["outcome"] == "passed":
            assert test["message"] is None
            assert test["traceback"] is None


def test_all_pass(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_one(): pass\ndef test_two(): pass\n"})

    document = document_of(root)

    check_shape(document)
    assert document["outcome"] == "passed"
    assert document["exit_code"] == 0
    assert document["summary"]["passed"] == 2
    assert outcomes(document) == {"test_a.py::test_one": "passed", "test_a.py::test_two": "passed"}
    assert "2 passed" in document["text_output"]
    assert document["schema"] == "proctor.result/1"
    assert document["source"] == "control"


def test_the_document_in_the_archive_is_the_one_on_stdout(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_one(): assert 1 == 2\n"})

    document = document_of(root)

    kept = root / ".proctor" / "runs" / document["run_id"]
    assert json.loads((kept / "result.json").read_text()) == document
    assert (kept / "output.txt").read_text() == document["text_output"]
    assert (root / ".proctor" / ".gitignore").read_text() == "*\n"


def test_a_failure_has_its_message_its_traceback_and_its_place(tmp_path: Path) -> None:
    source = """
        def divide(a, b):
            return a / b

        def test_half():
            assert divide(1, 2) == 0.6

        def test_zero():
            divide(1, 0)
    """
    document = document_of(write_project(tmp_path, {"test_a.py": source}))

    check_shape(document)
    assert document["outcome"] == "failed"
    assert document["exit_code"] == 1
    half, zero = entry(document, "test_half"), entry(document, "test_zero")
    assert half["outcome"] == "failed"
    assert half["message"].startswith("assert 0.5 == 0.6\n +  where 0.5 = divide(1, 2)")
    assert "E        +  where 0.5 = divide(1, 2)" in half["traceback"]
    assert half["failure"]["place"] == {"file": "test_a.py", "line": 5}
    assert zero["message"] == "ZeroDivisionError: division by zero"
    assert zero["failure"]["place"] == {"file": "test_a.py", "line": 2}


def test_skips_say_why(tmp_path: Path) -> None:
    source = """
        import pytest, unittest

        @pytest.mark.skip(reason="no GPU")
        def test_mark(): pass

        def test_body():
            pytest.skip("no network")

        class TestOld(unittest.TestCase):
            @unittest.skip("too old")
            def test_unit(self): pass
    """
    document = document_of(write_project(tmp_path, {"test_a.py": source}))

    check_shape(document)
    assert document["outcome"] == "passed"
    assert document["summary"]["skipped"] == 3
    assert [test["message"] for test in document["tests"]] == ["no GPU", "no network", "too old"]


def test_expected_failures_strict_and_not(tmp_path: Path) -> None:
    source = """
        import pytest

        @pytest.mark.xfail(reason="bug 1")
        def test_xfail(): assert 0

        @pytest.mark.xfail(reason="bug 2")
        def test_xpass(): pass

        @pytest.mark.xfail(reason="bug 3", strict=True)
        def test_strict(): pass

        @pytest.mark.xfail(run=False, reason="hangs")
        def test_never(): raise SystemExit
    """
    document = document_of(write_project(tmp_path, {"test_a.py": source}))

    check_shape(document)
    assert list(outcomes(document).values()) == ["xfailed", "xpassed", "failed", "xfailed"]
    assert document["outcome"] == "failed"
    assert "[XPASS(strict)] bug 3" in entry(document, "test_strict")["message"]


def test_an_xpass_alone_is_a_pass(tmp_path: Path) -> None:
    source = "import pytest\n@pytest.mark.xfail\ndef test_x(): pass\n"

    document = document_of(write_project(tmp_path, {"test_a.py": source}))

    assert document["outcome"] == "passed"
    assert document["summary"]["xpassed"] == 1


def test_setup_and_teardown_errors_count_each_test_once(tmp_path: Path) -> None:
    source = """
        import pytest

        @pytest.fixture
        def broken():
            raise LookupError("no account")

        @pytest.fixture
        def late():
            yield
            raise OSError("port in use")

        def test_setup(broken): pass
        def test_teardown(late): pass
        def test_both(late): assert "a" == "b"
    """
    document = document_of(write_project(tmp_path, {"test_a.py": source}))

    check_shape(document)
    assert list(outcomes(document).values()) == ["error", "error", "failed"]
    assert document["summary"]["errors"] == 2
    both = entry(document, "test_both")
    assert "assert 'a' == 'b'" in both["message"]
    assert "OSError: port in use" in both["message"]
    assert "OSError: port in use" in both["traceback"]


@pytest.mark.parametrize(
    "source, message, place",
    [
        ("import nowhere_to_be_found\n", "ModuleNotFoundError: No module named 'nowhere_to_be_found'", 1),
        ("def test_x()\n    pass\n", "SyntaxError: ", 1),
        ("x = 1\nraise RuntimeError('at import')\n", "RuntimeError: at import", 2),
    ],
)
def test_a_file_that_cannot_be_collected_does_not_hide_the_others(
    tmp_path: Path, source: str, message: str, place: int
) -> None:
    root = write_project(tmp_path, {"test_bad.py": source, "test_good.py": "def test_ok(): pass\n"})

    document = document_of(root)

    check_shape(document)
    assert document["outcome"] == "collection_error"
    assert document["exit_code"] == 2
    assert document["summary"]["errors"] == 1
    assert document["not_run"] == ["test_good.py::test_ok"]
    (error,) = document["collection_errors"]
    assert error["file"] == "test_bad.py"
    assert error["message"].startswith(message)
    assert error["failure"]["place"] == {"file": "test_bad.py", "line": place}


def test_collection_errors_beside_tests_that_ran(tmp_path: Path) -> None:
    root = write_project(
        tmp_path, {"test_bad.py": "import nowhere\n", "test_good.py": "def test_ok(): pass\n"}
    )

    document = document_of(root, "--", "--continue-on-collection-errors")

    check_shape(document)
    assert document["outcome"] == "collection_error"
    assert outcomes(document) == {"test_good.py::test_ok": "passed"}
    assert document["not_run"] == []


def test_a_broken_conftest_is_a_collection_error(tmp_path: Path) -> None:
    files = {"tests/conftest.py": "import nowhere_at_all\n", "tests/test_a.py": "def test_x(): pass\n"}
    ran = run_suite(write_project(tmp_path, files), "--format", "json", "tests")

    assert ran.code == 1
    check_shape(ran.document)
    assert ran.document["outcome"] == "collection_error"
    assert ran.document["collection_errors"][0]["file"] == "tests/conftest.py"
    assert "nowhere_at_all" in ran.document["collection_errors"][0]["message"]


def test_no_tests(tmp_path: Path) -> None:
    ran = run_suite(write_project(tmp_path, {"test_a.py": "x = 1\n"}), "--format", "json")

    assert ran.code == 5
    check_shape(ran.document)
    assert ran.document["outcome"] == "no_tests"


@pytest.mark.parametrize("arguments", [["nowhere"], ["test_a.py::test_no"], ["--", "--no-such-option"]])
def test_a_usage_error_says_what_pytest_said(tmp_path: Path, arguments: list[str]) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_x(): pass\n"})

    ran = run_suite(root, "--format", "json", *arguments)

    assert ran.code == 4
    assert ran.document["outcome"] == "usage_error"
    assert arguments[-1].rpartition("::")[2] in ran.document["reason"]


def test_a_plugin_that_refuses_to_begin_says_why(tmp_path: Path) -> None:
    refuses = "import pytest\ndef pytest_sessionstart(): raise pytest.UsageError('no database')\n"
    root = write_project(tmp_path, {"conftest.py": refuses, "test_a.py": "def test_x(): pass\n"})

    ran = run_suite(root, "--format", "json")

    assert ran.code == 4
    assert (ran.document["outcome"], ran.document["reason"]) == ("usage_error", "no database")


def test_subtests_fold_into_their_test(tmp_path: Path) -> None:
    source = """
        import unittest

        class TestNumbers(unittest.TestCase):
            def test_even(self):
                for number in (2, 3, 4, 5):
                    with self.subTest(number=number):
                        assert number % 2 == 0

        def test_new_style(subtests):
            for number in (0, 1):
                with subtests.test("half", number=number):
                    assert number == 0
    """
    document = document_of(write_project(tmp_path, {"test_a.py": source}))

    check_shape(document)
    assert document["outcome"] == "failed"
    even = entry(document, "test_even")
    assert even["outcome"] == "failed"
    assert [sub["outcome"] for sub in even["subtests"]].count("failed") == 2
    assert "number=3" in even["message"]
    assert "number=5" in even["message"]
    assert entry(document, "test_new_style")["outcome"] == "failed"


def test_unittest_classes(tmp_path: Path) -> None:
    source = """
        import unittest

        class TestOld(unittest.TestCase):
            @classmethod
            def setUpClass(cls): cls.x = 1
            def test_pass(self): self.assertEqual(self.x, 1)
            def test_fail(self): self.assertEqual(self.x, 2)
            @unittest.expectedFailure
            def test_expected(self): self.fail("known")
            @unittest.expectedFailure
            def test_unexpected(self): pass

        class TestBroken(unittest.TestCase):
            @classmethod
            def setUpClass(cls): raise OSError("no class today")
            def test_never(self): pass
    """
    document = document_of(write_project(tmp_path, {"test_a.py": source}))

    check_shape(document)
    found = {node.rpartition("::")[2]: outcome for node, outcome in outcomes(document).items()}
    assert found == {
        "test_pass": "passed",
        "test_fail": "failed",
        "test_expected": "xfailed",
        "test_unexpected": "failed",
        "test_never": "error",
    }
    failed = entry(document, "test_fail")
    assert failed["failure"]["place"] == {"file": "test_a.py", "line": 7}
    assert "1 != 2" in failed["message"]


def test_doctests_name_the_line_of_the_example(tmp_path: Path) -> None:
    source = '''
        def double(x):
            """Twice.

            >>> double(2)
            4
            >>> double(3)
            7
            """
            return 2 * x
    '''
    document = document_of(write_project(tmp_path, {"double.py": source}), "--", "--doctest-modules")

    check_shape(document)
    (test,) = document["tests"]
    assert test["outcome"] == "failed"
    assert "expected 7, got 6" in test["message"]
    assert test["failure"]["place"] == {"file": "double.py", "line": 6}


IDS = [
    "a::b",
    "x|y",
    "one\ntwo",
    "naïve-ü",
    "🎉",
    " PASSED]",
    "] FAILED [",
    "tab\there",
    "[x]",
    "back\\slash",
    "-k",
]


def test_ids_round_trip(tmp_path: Path) -> None:
    source = f"""
        import pytest

        @pytest.mark.parametrize("text", {IDS!r}, ids=[{", ".join(map(repr, IDS))}])
        def test_it(text):
            assert text == ""
    """
    root = write_project(tmp_path, {"test_a.py": source})
    document = document_of(root)
    assert len(document["tests"]) == len(IDS)

    for test in document["tests"]:
        again = document_of(root, test["node_id"])
        assert outcomes(again) == {test["node_id"]: "failed"}


def test_discovery_and_run_agree_on_ids(tmp_path: Path) -> None:
    source = "import pytest\n@pytest.mark.parametrize('x', ['a b', '::', '[', 'é'])\ndef test_x(x): pass\n"
    root = write_project(tmp_path, {"sub dir/test_ü.py": source})

    ran = outcomes(document_of(root))

    found = document_of_discovery(root)
    assert [test["node_id"] for test in found["tests"]] == list(ran)


def document_of_discovery(root: Path, *arguments: str) -> dict[str, Any]:

    from support.projects import proctor

    ran = proctor("discover", "--python", project_python(), "--format", "json", *arguments, cwd=root)
    return ran.document


def test_warnings_are_counted(tmp_path: Path) -> None:
    source = """
        import warnings, pytest

        def old(): warnings.warn("old() is deprecated", DeprecationWarning)

        @pytest.mark.parametrize("n", range(3))
        def test_old(n): old()
    """
    document = document_of(write_project(tmp_path, {"test_a.py": source}))

    (warning,) = document["warnings"]
    assert warning["category"] == "DeprecationWarning"
    assert warning["message"] == "old() is deprecated"
    assert warning["count"] == 3
    assert warning["file"].endswith("test_a.py")
    assert warning["line"] == 3


def test_stderr_is_there_apart_and_in_its_place(tmp_path: Path) -> None:
    source = "import os\ndef test_x():\n    os.write(2, b'to stderr\\n')\n    os.write(1, b'to stdout\\n')\n"

    document = document_of(write_project(tmp_path, {"test_a.py": source}), "--", "-s")

    assert document["stderr"] == "to stderr\n"
    assert "to stderr\n" in document["text_output"]
    assert "to stdout\n" in document["text_output"]


def test_deselected_tests_are_counted_and_not_listed(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_one(): pass\ndef test_two(): pass\n"})

    document = document_of(root, "-k", "one")

    check_shape(document)
    assert document["outcome"] == "passed"
    assert document["summary"]["deselected"] == 1
    assert outcomes(document) == {"test_a.py::test_one": "passed"}


def test_reruns_keep_the_last_attempt(tmp_path: Path) -> None:
    """A plugin that runs a test again, in the way of pytest-rerunfailures."""
    conftest = """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            for attempt in range(2):
                reports = runtestprotocol(item, nextitem=nextitem, log=False)
                if attempt == 0:
                    for report in reports:
                        if report.failed:
                            report.outcome = "rerun"
                for report in reports:
                    item.ihook.pytest_runtest_logreport(report=report)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            return True

        def pytest_report_teststatus(report):
            if report.outcome == "rerun":
                return "rerun", "R", "RERUN"
    """
    source = "calls = []\ndef test_flaky():\n    calls.append(1)\n    assert len(calls) == 2\n"

    document = document_of(write_project(tmp_path, {"conftest.py": conftest, "test_a.py": source}))

    check_shape(document)
    assert outcomes(document) == {"test_a.py::test_flaky": "passed"}
    assert document["outcome"] == "passed"
