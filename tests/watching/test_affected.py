"""Which test files a change touches."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import msgspec
import pytest
from support.projects import write_project

from proctor.imported import Imported, asking_for_imports
from proctor.launch import ASKED_VARIABLE, Launch, Session
from proctor.watching.affected import Project, affected
from proctor.watching.import_statements import Import, imports_in

FILES = {
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "from . import prices",
    "src/shop/prices.py": "def price():\n    from .tax.rates import RATE",
    "src/shop/tax/__init__.py": "",
    "src/shop/tax/rates.py": "RATE = 1",
    "src/shop/alone.py": "",
    "src/shop/fixtures.py": "",
    "tests/conftest.py": "pytest_plugins = ['shop.fixtures']\nimport shop.alone",
    "tests/helper.py": "import shop.cart",
    "tests/test_cart.py": "from shop.cart import Cart",
    "tests/test_rates.py": "import shop.tax.rates as rates",
    "tests/test_helped.py": "def test():\n    import helper",
    "tests/deep/conftest.py": "",
    "tests/deep/test_deep.py": "",
    "tests/data.json": "",
}
NEVER_IMPORTED = ("src/shop/prices.py", "src/shop/tax/__init__.py", "tests/helper.py")  # only said to be


def project_of(root: Path) -> Project:
    """After a session that came to all of its files but a few."""
    project = Project(str(root))
    project.learn(record(root))
    return project


def record(root: Path) -> Imported:
    files = [file for file in FILES if file.endswith(".py") and file not in NEVER_IMPORTED]
    tests = [f"{root}/{file}" for file in files if "/test_" in file]
    return Imported({module_name(file): f"{root}/{file}" for file in files}, [], tests)


def module_name(file: str) -> str:
    """With the folders of tests on the path, as pytest has them."""
    inside = file.removeprefix("src/") if file.startswith("src/") else file.rpartition("/")[2]
    return inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("src/shop/cart.py", "cart helped"),
        ("src/shop/prices.py", "cart helped"),
        ("src/shop/tax/rates.py", "cart helped rates"),
        ("src/shop/tax/__init__.py", "cart helped rates"),
        ("src/shop/__init__.py", "cart helped rates"),
        ("tests/helper.py", "helped"),
        ("tests/test_cart.py", "cart"),
        ("tests/conftest.py", "cart deep helped rates"),
        ("tests/deep/conftest.py", "deep"),
        ("src/shop/alone.py", "cart deep helped rates"),  # by a conftest.py only
        ("src/shop/fixtures.py", "cart deep helped rates"),
        ("tests/data.json", ""),
        ("nowhere.py", ""),
        ("src/shop/unknown.py", ""),
    ],
)
def test_a_file_touches_the_tests_that_import_it_directly_or_through_others(
    tmp_path: Path, changed: str, expected: str
) -> None:
    project = project_of(write_project(tmp_path, FILES))
    assert names(project.touched_by(frozenset({changed}))) == expected
    (tmp_path / changed).unlink(missing_ok=True)  # a file that is gone touches those that import it
    gone = [] if "test_" not in changed else ["cart"]
    assert names(project.touched_by(frozenset({changed}))) == " ".join(
        name for name in expected.split() if name not in gone
    )


def names(files: tuple[str, ...]) -> str:
    return " ".join(sorted(Path(file).stem.removeprefix("test_") for file in files))


def test_if_a_package_brings_everything_to_all_tests_the_nearer_ones_are_touched(tmp_path: Path) -> None:
    write_project(tmp_path, FILES)
    write_project(
        tmp_path,
        {
            "src/shop/__init__.py": "from .tax import rates\nfrom .alone import *",
            "tests/deep/test_deep.py": "import shop",
        },
    )
    project = project_of(tmp_path)
    assert names(project.touched_by(frozenset({"src/shop/tax/rates.py"}))) == "cart helped rates"
    assert names(project.touched_by(frozenset({"src/shop/alone.py"}))) == "cart deep helped rates"
    assert names(project.touched_by(frozenset({"src/shop/__init__.py"}))) == "cart deep helped rates"


def test_new_files_are_found(tmp_path: Path) -> None:
    project = project_of(write_project(tmp_path, FILES))
    write_project(
        tmp_path, {"tests/test_new.py": "import shop.fresh", "src/shop/fresh.py": "", "test_x.txt": ""}
    )

    assert project.touched_by(frozenset({"tests/test_new.py", "test_x.txt"})) == ("tests/test_new.py",)
    assert project.touched_by(frozenset({"src/shop/fresh.py", "tests/test_new.py"})) == ("tests/test_new.py",)
    write_project(tmp_path, {"tests/test_cart.py": "import shop.fresh"})
    assert names(project.touched_by(frozenset({"src/shop/fresh.py"}))) == "cart"


def test_a_file_that_is_broken_for_now_imports_what_it_did(tmp_path: Path) -> None:
    project = project_of(write_project(tmp_path, FILES))
    cart = frozenset({"src/shop/cart.py"})
    assert "cart" in names(project.touched_by(cart))
    write_project(tmp_path, {"tests/test_cart.py": "import shop.tax.rates\ndef test("})
    assert "cart" in names(project.touched_by(cart))
    write_project(tmp_path, {"tests/test_cart.py": "import shop.tax.rates"})
    assert "cart" not in names(project.touched_by(cart)).split()


def test_what_the_last_session_wrote_is_read_again_for_each_change(tmp_path: Path) -> None:
    root, environ = write_project(tmp_path / "project", FILES), {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    cart = frozenset({"src/shop/cart.py"})
    assert affected(cart, root, environ) == ()
    launch = asking_for_imports(Launch((), "", speech=Session(continues=True)), root, environ)
    file = msgspec.json.decode(launch.environment[ASKED_VARIABLE])["imports"]["file"]
    Path(file).write_bytes(msgspec.json.encode(record(root)))

    assert affected(cart, root, environ) == ("tests/test_cart.py", "tests/test_helped.py")
    (tmp_path / "link").symlink_to(root)
    assert affected(cart, tmp_path / "link", environ) == ("tests/test_cart.py", "tests/test_helped.py")


def test_a_session_of_few_tests_forgets_nothing(tmp_path: Path) -> None:
    project = project_of(write_project(tmp_path, FILES))
    project.learn(Imported({}, [], [f"{tmp_path}/tests/test_cart.py"]))
    assert names(project.touched_by(frozenset({"src/shop/tax/rates.py"}))) == "cart helped rates"


STATEMENTS = """
import a, b.c as d  # e
import f; import g
if x: import h
from i import j, k as l
from m.n import (
    o,  # p)
    q,
)
from r import \\
    s
from . import t
from ..u import v
from w import *
def y():
    try:
        import z
    except ImportError: from aa import bb
lazy = import_module("cc.dd"), __import__('ee')
important = 1; fromage = imports = 2
"""


def test_every_form_of_an_import_is_found() -> None:
    found = imports_in(STATEMENTS.encode())
    assert imports_in(STATEMENTS.replace("\n", "\r\n").encode()) == found
    assert found == set(by_parsing(STATEMENTS)) | {Import("cc.dd"), Import("ee")}
    assert Import("t", 1) in found and Import("u.v", 2) in found and Import("m.n.q") in found


def by_parsing(text: str) -> Iterator[Import]:
    """The plain way."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield Import(module, node.level)
            for alias in node.names:
                if alias.name != "*":
                    yield Import(f"{module}.{alias.name}".lstrip("."), node.level)


def test_real_files_import_what_parsing_them_says() -> None:
    places = [Path(ast.__file__).parent, Path(__file__).parents[2] / "src"]
    seen = count()
    for file in [file for place in places for file in sorted(place.glob("*.py")) if file.name < "n"]:
        source = file.read_bytes()
        assert set(by_parsing(source.decode())) <= imports_in(source), file
        next(seen)
    assert next(seen) > 50


def test_a_text_that_is_no_python_has_no_imports() -> None:
    assert imports_in(textwrap.dedent("import\nfrom x\n\0 from . import").encode()) == frozenset()
    assert imports_in(b"\xff\xfe import \xff") == frozenset()
