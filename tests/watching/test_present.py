"""What runs a test that failed earlier, by the files as they are now."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.projects import write_project

from proctor.watching.present import present

FILES = {
    "test_a.py": """
        class TestCart:
            def test_add(self): ...
        async def test_get(): ...
    """,
    "a.test.js": "",
}


@pytest.mark.parametrize(
    ("target", "unchanged", "changed"),
    [
        ("test_a.py::test_get[1-x]", "test_a.py::test_get[1-x]", "test_a.py::test_get"),
        ("test_a.py::TestCart::test_add", "test_a.py::TestCart::test_add", "test_a.py::TestCart::test_add"),
        ("test_a.py::TestCart::test_ad", "test_a.py::TestCart::test_ad", "test_a.py"),
        ("test_a.py::TestOld::test_add[x::y]", "test_a.py::TestOld::test_add[x::y]", "test_a.py"),
        ("test_a.py", "test_a.py", "test_a.py"),
        ("test_b.py::test_get", "", ""),
        ("a.test.js::adds", "a.test.js::adds", "a.test.js::adds"),
        ("b.test.ts::adds", "", ""),
        ("/bin/check", "/bin/check", "/bin/check"),
        ("crate::module::adds", "crate::module::adds", "crate::module::adds"),
    ],
)
def test_a_test_that_may_be_gone_is_run_by_what_is_there(
    tmp_path: Path, target: str, unchanged: str, changed: str
) -> None:
    root = write_project(tmp_path, FILES)
    assert (present(target, root, False), present(target, root, True)) == (unchanged, changed)
