"""A run may change what the import of a package depends on before it imports the package. Then a package that
was preloaded is imported anew, and the run says what it would say without preloading."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from support.fresh_runs import Warm, warm_project
from support.projects import write_project

LOGS = "import logging\nlogger = logging.getLogger(__name__)\nlogger.addHandler(logging.NullHandler())"
#: In site-packages.
PACKAGES = {
    "reads": "import os\ntold = os.environ.get('TOLD')",
    "reads_bytes": "import os\ntold = os.environb.get(b'TOLD')",
    "reads_all": "import os\ntold = dict(os.environ).get('TOLD')",
    "knows_pytest": "import os\ntold = 'PYTEST_VERSION' in os.environ",
    "imports_by_name": "import sys\nfrom time import sleep\ntold = sleep.__name__"
    "\nsys.imports = getattr(sys, 'imports', 0) + 1",
    "looks": "try:\n    import optional\n    told = 'found'\nexcept ImportError:\n    told = 'missing'",
    "logs": LOGS,
    "logs_at_once": LOGS + "\nlogger.setLevel('INFO')",
    "knows_a_function": "def told():\n    return 'as it was'",
    "imports_that": "from knows_a_function import told",
    "says_goodbye": "import atexit\n@atexit.register\ndef bye():\n    print('goodbye')",
    "is_not_used": "import atexit\n@atexit.register\ndef bye():\n    print('never')",
    "needs": "import reads\ntold = reads.told",
    #: It pretends to have a part that cannot be imported twice.
    "logs_in_c": LOGS
    + "\nimport sys, types\npart = sys.modules[__name__ + '.part'] = types.ModuleType('part')"
    "\npart.__file__ = __file__ + '.so'",
    "logs_in_c_at_once": LOGS + "\nimport logs_in_c",
}
CONFTEST = """
import logging.config, os, sys, types
os.environ["TOLD"] = "by conftest"
sys.modules["optional"] = types.ModuleType("optional")
levels = {"logs_at_once": {"level": "ERROR"}, "logs_in_c_at_once": {"level": "ERROR"}}
logging.config.dictConfig({"version": 1, "loggers": levels})
"""
TESTS = """
import logging
import pytest

@pytest.mark.parametrize("name", ["reads", "reads_bytes", "reads_all", "knows_pytest", "looks", "needs"])
def test_told(name):
    raise AssertionError(__import__(name).told)

@pytest.mark.parametrize("name", ["logs", "logs_at_once", "logs_in_c", "logs_in_c_at_once"])
def test_logs(name, caplog):
    logger, found = __import__(name).logger, logging.getLogger(name)
    logger.info("info")
    logger.error("error")
    state = logger.level, logger.disabled, logger.parent.name, found.level, found.handlers == logger.handlers
    raise AssertionError([record.message for record in caplog.records], len(logger.handlers), state)

def test_goodbye():
    import atexit, says_goodbye
    atexit.register(print, "before that")

def test_times_of_a_log_begin_with_the_run():
    record = logging.LogRecord("name", 1, "file", 1, "message", (), None)
    assert record.created - record.relativeCreated / 1000 >= float(open("asked").read()) - 0.1
"""
REPLACES = "import time\ndef replaced(seconds): ...\ntime.sleep = replaced"
TOLD = """
import sys
import imports_by_name

def test_it():
    raise AssertionError(imports_by_name.told)
"""
ONCE = """
def test_it_was_imported_once():
    assert sys.imports == 1
"""


@pytest.fixture
def warm(tmp_path: Path) -> Iterator[Warm]:
    with warm_project(tmp_path, {}) as warm:
        write_project(warm.site, {f"{name}.py": text for name, text in PACKAGES.items()})
        warm.settings = msgspec.structs.replace(warm.settings, preload=tuple(PACKAGES))
        yield warm


def ends(warm: Warm) -> dict[str, str]:
    """Of tests, in a run whose process has preloaded all packages; a cold run has the same document."""
    warm.get_ready()
    write_project(warm.root, {"asked": str(time.time())})
    assert warm.disagreements() == []
    assert (warm.used, warm.log) == (1, [])
    tests = warm.cold().tests.values()
    found = {test.test: test.message or str(test.outcome) for test in tests}
    return {test.rpartition("::")[2]: end.partition("\n")[0] for test, end in found.items()}


def test_what_an_import_reads_is_read_when_the_run_imports_it(warm: Warm) -> None:
    write_project(warm.root, {"conftest.py": CONFTEST, "test_it.py": TESTS})

    found = ends(warm)

    for name in ("reads", "reads_all", "needs"):
        assert found[f"test_told[{name}]"] == "AssertionError: by conftest"
    assert found["test_told[looks]"] == "AssertionError: found"
    assert "['info', 'error'], 1, (20, False, 'root', 20, True)" in found["test_logs[logs_at_once]"]
    assert "['error'], 1, (40, False, 'root', 40, True)" in found["test_logs[logs_in_c_at_once]"]
    assert found["test_times_of_a_log_begin_with_the_run"] == "passed"


def test_a_function_that_was_replaced_is_imported_as_it_is_then(warm: Warm) -> None:
    write_project(warm.root, {"conftest.py": REPLACES, "test_it.py": TOLD})

    assert ends(warm)["test_it"] == "AssertionError: replaced"


def test_a_function_of_another_package_is_imported_as_it_is_then(warm: Warm) -> None:
    replaces = "import knows_a_function\nknows_a_function.told = lambda: 'replaced'"
    told = "import imports_that\ndef test_it():\n    raise AssertionError(imports_that.told())"
    write_project(warm.root, {"conftest.py": replaces, "test_it.py": told})

    assert ends(warm)["test_it"] == "AssertionError: replaced"


def test_what_finds_everything_as_it_was_is_not_imported_anew(warm: Warm) -> None:
    write_project(warm.root, {"test_it.py": TOLD + ONCE})

    assert ends(warm)["test_it_was_imported_once"] == "passed"
