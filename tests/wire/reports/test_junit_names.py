"""Names in JUnit XML: those of pytest, for tests of any runner."""

from __future__ import annotations

import pytest
from support.full_runs import STARTED

from proctor import events as e
from proctor.launch import Voice
from proctor.outcome import Outcome
from proctor.result import SuiteResult
from proctor.wire.reports import junit_names


def name_of(test: str, part_of: str = "", source: str = Voice.CONTROL) -> tuple[str, str]:
    suite = SuiteResult(STARTED, e.SuiteEntered("suite", "runner", (), "/p", source=source))
    return junit_names.test_name(e.TestFinished(test, Outcome.PASSED, part_of=part_of), suite)


@pytest.mark.parametrize(
    "test, classname, name",
    [
        ("tests/test_shop.py::test_a", "tests.test_shop", "test_a"),
        ("tests/test_shop.py::TestX::TestY::test_a", "tests.test_shop.TestX.TestY", "test_a"),
        ("tests/test_shop.py::test_a[x::y/z.py]", "tests.test_shop", "test_a[x::y/z.py]"),
        ("tests/te[st]/test_a.py::test_a[b]", "tests.te[st].test_a", "test_a[b]"),
        ("../other/test_a.py::test_a", "...other.test_a", "test_a"),
        ("docs/use.md::use.md", "docs.use.md", "use.md"),
        ("src/shop.py::shop.price", "src.shop", "shop.price"),
        ("test/a.test.js::group > adds up", "test.a.test.js", "group > adds up"),
        ("example.com/shop/stock::TestPrice/tea", "example.com.shop.stock", "TestPrice/tea"),
        ("shop_core::bin/till::adds", "shop_core.bin/till", "adds"),
        (
            "shop_core::doc-tests::src/lib.rs - add (line 3)",
            "shop_core.doc-tests",
            "src/lib.rs - add (line 3)",
        ),
        ("adds 1/2", "suite", "adds 1/2"),
        ("t.py::a\x07b", "t", "a#x07b"),
        ("t.py::\udc80", "t", "#xDC80"),
        ("t.py::\x80\x7f", "t", "#x80#x7F"),
        ("", "suite", "?"),
        ("t.py::", "t", "?"),
    ],
)
def test_a_test_has_this_name(test: str, classname: str, name: str) -> None:
    assert name_of(test) == (classname, name)


@pytest.mark.parametrize(
    "test, part_of, classname, name",
    [
        ("/checks/net", "", "checks", "net"),
        ("/checks/net/dns/v6.sh", "", "checks.net.dns", "v6.sh"),
        ("/net", "", "suite", "net"),
        ("/checks/net/a/b::c", "/checks/net", "checks.net", "a/b::c"),
    ],
)
def test_a_program_is_under_its_directory(test: str, part_of: str, classname: str, name: str) -> None:
    assert name_of(test, part_of, Voice.PROGRAM) == (classname, name)


def test_a_test_of_a_report_is_no_program() -> None:
    assert name_of("/api/users works", source=Voice.REPORT) == ("suite", "/api/users works")


@pytest.mark.parametrize(
    "file, classname, name",
    [
        ("tests/test_bad.py", "", "tests.test_bad"),
        ("tests/test_bad.py::TestX", "tests.test_bad", "TestX"),
        ("tests/te[st].py", "", "tests.te[st]"),
        ("", "", "?"),
    ],
)
def test_a_file_that_cannot_be_collected_has_this_name(file: str, classname: str, name: str) -> None:
    assert junit_names.collector_name(file) == (classname, name)


def test_a_number_is_left_out_only_where_another_suite_is_the_reason_for_it() -> None:
    suite = SuiteResult(STARTED, e.SuiteEntered("s", "r", (), "/p"))
    test = e.TestFinished("t.py::a#2", Outcome.PASSED)

    assert junit_names.test_name(test, suite, {"t.py::a"}) == ("t", "a")
    assert junit_names.test_name(test, suite, {"t.py::b"}) == ("t", "a#2")
