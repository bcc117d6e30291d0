"""What plugins print after the tests is reported, and what pytest itself prints there is not."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from support.projects import document_of, environment, interpreters, proctor, run_suite, write_project

TESTS = """
    import warnings
    import pytest
    def test_passes(): print("captured")
    def test_warns(): warnings.warn("careful")
    def test_fails(): assert 1 == 2
    def test_errs(nowhere): pass
    @pytest.mark.xfail
    def test_xfails(): assert 0
    @pytest.mark.xfail
    def test_xpasses(): pass
"""
EVERY_WAY = """
    import sys
    import pytest
    {decorator}
    def pytest_terminal_summary(terminalreporter):
        {before}
        terminalreporter.section("mine", sep="~")
        terminalreporter.write_line("by the reporter", red=True)
        terminalreporter._tw.line("by its writer")
        print("by print")
        print("by stderr", file=sys.stderr)
"""
WRITTEN = ["by the reporter", "by its writer", "by print", "by stderr"]
ALL_SECTIONS = ("--", "-rA", "--xfail-tb", "--durations=3", "--durations-min=0", "--color=yes")


@pytest.mark.parametrize(
    ("decorator", "before"),
    [
        ("", "pass"),
        ("@pytest.hookimpl(hookwrapper=True, tryfirst=True)", "yield"),
        ("@pytest.hookimpl(wrapper=True)", "yield"),
    ],
    ids=["plain", "hookwrapper", "wrapper"],
)
def test_all_that_a_plugin_writes_and_no_section_of_pytest(
    tmp_path: Path, decorator: str, before: str
) -> None:
    conftest = EVERY_WAY.format(decorator=decorator, before=before)
    document = document_of(
        write_project(tmp_path, {"conftest.py": conftest, "test_a.py": TESTS}), *ALL_SECTIONS
    )
    title, *lines = document["printed"].splitlines()

    assert title.strip("~") == " mine "
    assert lines == WRITTEN
    for own in ("FAILURES", "ERRORS", "warnings summary", "XFAILURES", "XPASSES", "PASSES", "slowest"):
        assert f" {own} " in document["text_output"]
    assert "short test summary info" in document["text_output"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("-n", "2"), WRITTEN),
        (("--", "-q"), WRITTEN),
        (("--", "--no-summary"), WRITTEN),
        (("--", "-s"), WRITTEN),
        (("--", "-p", "no:terminal"), []),
    ],
    ids=" ".join,
)
def test_what_is_printed_under_other_options(
    tmp_path: Path, options: tuple[str, ...], expected: list[str]
) -> None:
    root = write_project(
        tmp_path,
        {
            "tests/conftest.py": EVERY_WAY.format(decorator="", before="pass"),
            "tests/test_a.py": "def test_a(): pass\n",
        },
    )
    document = document_of(root, *options)

    assert document["outcome"] == "passed"
    lines = [line for line in document.get("printed", "").splitlines() if line]  # pytest may end a line first
    assert lines[1:] == expected


def test_the_text_reads_the_same_from_log_document_and_terminal(tmp_path: Path) -> None:
    conftest = EVERY_WAY.format(decorator="", before="pass")
    root = write_project(tmp_path, {"conftest.py": conftest, "test_a.py": "def test_a(): pass\n"})
    live = run_suite(root, "--format", "human", "-o", "json=d.json")
    shown = proctor("show", "last", "--format", "human", cwd=root)
    from_document = proctor("show", "d.json", "--format", "human", cwd=root)
    agent = proctor("show", "last", "--format", "agent", cwd=root)

    block = "\n".join(WRITTEN)
    assert f"{block}\n\n1 passed in " in live.out
    assert live.out.partition("\n")[2] == shown.out == from_document.out  # without who ran the tests
    assert agent.out == "1 passed\n"


def test_a_long_text_loses_its_middle_and_no_output_is_lost(tmp_path: Path) -> None:
    conftest = """
        def pytest_terminal_summary(terminalreporter):
            terminalreporter.write_line("the first line")
            for number in range(60_000):
                terminalreporter.write_line(f"line {number} \\u2588")
            terminalreporter.write_line("the last line")
    """
    root = write_project(tmp_path, {"conftest.py": conftest, "test_a.py": "def test_a(): pass\n"})
    document = document_of(root)
    printed = document["printed"]
    kept = root / ".proctor" / "runs" / document["run_id"] / "output.txt"

    assert printed.startswith("the first line\nline 0 \u2588\n")
    assert printed.endswith("line 59999 \u2588\nthe last line\n")
    assert " characters left out ...]\n" in printed
    assert len(printed) < 257 * 1024
    assert kept.read_text().count("\nline ") == 60_000


@pytest.mark.parametrize(
    "conftest",
    [
        # A stream that hands on what it gets is heard once.
        """
        import sys
        class Doubled:
            def __init__(self, stream): self.stream = stream
            def write(self, text): return self.stream.write(text)
            def flush(self): self.stream.flush()
        def pytest_terminal_summary():
            before, sys.stdout = sys.stdout, Doubled(sys.stdout)
            print("once")
            sys.stdout = before
        """,
        # The methods of the reporter and the stream are their own again afterwards.
        """
        import sys
        def pytest_terminal_summary(): print("once")
        def pytest_unconfigure(config):
            reporter = config.pluginmanager.get_plugin("terminalreporter")
            left = [name for name in vars(reporter) if name.startswith(("summary_", "short_"))]
            assert not left and "write" not in vars(sys.stdout), left
        """,
        # What one plugin has printed is kept if the next one raises.
        """
        import pytest
        def pytest_terminal_summary(): print("once")
        class Broken:
            @pytest.hookimpl(trylast=True)
            def pytest_terminal_summary(self): raise RuntimeError("broken")
        def pytest_configure(config): config.pluginmanager.register(Broken())
        """,
    ],
    ids=["wrapped stream", "put back", "broken hook"],
)
def test_nothing_is_noted_twice_left_behind_or_lost(tmp_path: Path, conftest: str) -> None:
    root = write_project(tmp_path, {"conftest.py": conftest, "test_a.py": "def test_a(): pass\n"})
    document = document_of(root)

    assert document["printed"] == "once\n"
    assert document["outcome"] == ("internal_error" if "RuntimeError" in conftest else "passed")


def test_a_session_without_such_plugins_has_no_text(tmp_path: Path) -> None:
    document = document_of(write_project(tmp_path, {"test_a.py": TESTS}), *ALL_SECTIONS)

    assert "printed" not in document


TABLES = {
    "test_a.py": """
        import product
        from hypothesis import given, strategies as st
        def test_speed(benchmark): benchmark(product.used)
        def test_snapshot(snapshot): assert product.used() == snapshot
        @given(st.integers())
        def test_property(number): pass
    """,
    "product.py": "def used(): return 1\ndef unused():\n    a = 1\n    return a\n",
    "__snapshots__/test_a.ambr": "# serializer version: 1\n# name: test_snapshot\n  1\n# ---\n",
}


def test_the_tables_of_real_plugins(tmp_path: Path) -> None:
    needed = [f"{name}=={version(name)}" for name in ("pytest", "pytest-xdist")]
    python = environment(
        sys.executable,
        [*needed, "pytest-cov==7.1.0", "pytest-benchmark==5.3.1", "syrupy==5.1.0", "hypothesis==6.140.0"],
    )
    options = ("--cov=product", "--cov-report=term-missing", "--hypothesis-show-statistics")
    short = ("--benchmark-max-time=0.01", "--benchmark-warmup=off")
    document = document_of(
        write_project(tmp_path, TABLES), "--", *options, *short, python=python, PYTEST_XDIST_WORKER=""
    )
    printed = document["printed"]

    assert document["outcome"] == "passed"
    assert "product.py       4      2    50%   3-4\n" in printed
    assert "Name (time in" in printed and "test_speed" in printed
    assert "1 snapshot passed." in printed
    assert " Hypothesis Statistics " in printed
    assert "3 passed" not in printed


@pytest.mark.parametrize(
    ("python", "requirements"),
    [
        ("3.7", ("pytest==6.2.5", "pytest-cov==4.1.0")),
        ("3.10", ("pytest==7.4.4", "pytest-cov==5.0.0")),
        ("3.12", ("pytest==8.4.2", "pytest-cov==6.3.0")),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_the_table_of_coverage_in_each_version(
    tmp_path: Path, python: str, requirements: tuple[str, ...]
) -> None:
    if python not in interpreters():
        pytest.skip(f"no interpreter for Python {python}")
    files = {"product.py": TABLES["product.py"], "test_a.py": "import product\n" + _plain(TESTS)}
    root = write_project(tmp_path, files)
    chosen = environment(interpreters()[python], requirements)
    document: dict[str, Any] = document_of(
        root, "--", "--cov=product", "--cov-fail-under=99", "-rA", "--durations=2", python=chosen
    )
    printed = document["printed"]

    assert document["outcome"] == "failed"
    assert "product.py" in printed
    assert "Required test coverage of 99% not reached" in printed
    for own in ("FAILURES", "ERRORS", "warnings summary", "short test summary", "slowest", "PASSED"):
        assert own not in printed


def _plain(text: str) -> str:
    from textwrap import dedent

    return dedent(text)
