"""Each worker has databases of its own, which pytest-django makes and removes."""

from __future__ import annotations

import sys
from pathlib import Path

from support.projects import environment, write_project
from support.sessions import session_of

PACKAGES = ("pytest==9.2.0", "pytest-django==4.11.1", "django==5.2.7")
SETTINGS = """
    from pathlib import Path
    HERE = Path(__file__).parent
    DATABASES = {
        name: {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": HERE / f"{name}.sqlite3",
            "TEST": {"NAME": HERE / f"test_{name}.sqlite3"},
        }
        for name in ("default", "other")
    }
    INSTALLED_APPS = ["library"]
    SECRET_KEY = "none"
    USE_TZ = True
"""
MODELS = """
    from django.db import models
    class Author(models.Model):
        name = models.CharField(max_length=50, unique=True)
        class Meta: app_label = "library"
"""
TESTS = """
    import pathlib, pytest
    from django.db import IntegrityError, connections, transaction
    from django.test import TestCase, TransactionTestCase
    from library.models import Author

    @pytest.fixture(scope="session", autouse=True)
    def database(django_db_setup):
        for connection in connections.all():
            with open("databases.txt", "a") as file:
                print(pathlib.Path(connection.settings_dict["NAME"]).name, file=file)

    @pytest.mark.django_db(databases=["default", "other"])
    @pytest.mark.parametrize("number", range(5))
    def test_a_test_sees_what_it_writes_alone(number):
        for name in ("default", "other"):
            Author.objects.using(name).create(name="same in all tests")
            assert Author.objects.using(name).count() == 1

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("number", range(5))
    def test_commits_are_undone(number):
        with pytest.raises(IntegrityError), transaction.atomic():
            Author.objects.create(name="twice")
            Author.objects.create(name="twice")
        Author.objects.create(name="committed")
        assert [author.name for author in Author.objects.all()] == ["committed"]

    class TestData(TestCase):
        @classmethod
        def setUpTestData(cls): cls.author = Author.objects.create(name="of the class")
        def test_deleted(self): self.author.delete()
        def test_there(self): assert Author.objects.get().name == "of the class"

    class TestCommits(TransactionTestCase):
        def test_first(self): Author.objects.create(name="left behind")
        def test_second(self): assert Author.objects.count() == 0

    def test_no_database_unless_it_is_asked_for(): Author.objects.count()
"""
PROJECT = {
    "pytest.ini": "[pytest]\nDJANGO_SETTINGS_MODULE = settings\npythonpath = .\n",
    "settings.py": SETTINGS,
    "library/__init__.py": "",
    "library/models.py": MODELS,
    **{f"test_{name}.py": TESTS for name in "abcd"},
}


def test_tests_of_django_run_in_a_database_of_their_worker(tmp_path: Path) -> None:
    python = environment(sys.executable, PACKAGES)
    roots = [write_project(tmp_path / name, PROJECT) for name in ("alone", "spread")]
    alone, spread = (
        session_of(root, asked, python=python)
        for root, asked in zip(roots, ({}, {"workers": 2}), strict=True)
    )

    assert spread.outcomes == alone.outcomes
    assert spread.workers == {"gw0", "gw1"}
    assert sorted(spread.outcomes.values()) == ["failed"] * 4 + ["passed"] * 56
    used = {f"test_{name}.sqlite3_gw{number}" for name in ("default", "other") for number in (0, 1)}
    assert set((roots[1] / "databases.txt").read_text().split()) == used
    assert not list(roots[1].glob("*.sqlite3*"))
