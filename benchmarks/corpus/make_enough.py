#!/usr/bin/env python3
"""Write the suites e1 to e10: is one answer enough to fix the bug?  Usage: make_enough.py [outdir=./enough]

Each is a small project in <outdir>/<name>/ with a bug whose diagnosis stands where reporters like to cut.
What an answer must say is in facts.json, beside this file; score_enough.py asks for it.
"""
import pathlib
import shutil
import sys
import textwrap

INI = "[pytest]\npythonpath = .\ntestpaths = tests\n"


def write(root, files, ini=INI):
    """A project, fresh, at root; texts are dedented."""
    shutil.rmtree(root, ignore_errors=True)
    for path, text in {"pytest.ini": ini, **files}.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")


def passing(n):
    return "".join(f"def test_ok_{i:02d}():\n    assert {i} + 1 == {i + 1}\n\n\n" for i in range(n))


SUITES = {}

# the line after the first is the diagnosis ---------------------------------------------------------
SUITES["e1_after_the_first_line"] = {
    "shop/__init__.py": "",
    "shop/web.py": '''
        class Response:
            def __init__(self, status_code, body):
                self.status_code, self.body = status_code, body

            @property
            def ok(self):
                return self.status_code < 400

            def __repr__(self):
                return f"<Response {self.status_code} {self.body}>"


        def get(path):
            if path == "/users":
                return Response(500, '{"error": "column users.emial does not exist"}')
            return Response(503, "licence expired on 2026-03-01")
        ''',
    "shop/jobs.py": '''
        class Job:
            def __init__(self, number, state):
                self.number, self.state = number, state

            def __repr__(self):
                return f"<Job {self.number} {self.state}>"


        class Queue:
            def __init__(self):
                self.jobs = [Job(7, "stuck: no worker for 'pdf'")]

            def pending(self):
                return self.jobs

            def size(self):
                return len(self.jobs)
        ''',
    "tests/test_web.py": '''
        from shop.jobs import Queue
        from shop.web import get


        def test_users_page():
            assert get("/users").status_code == 200


        def test_home_is_up():
            assert get("/").ok


        def test_queue_drains():
            assert len(Queue().pending()) == 0


        def test_queue_size():
            assert Queue().size() == 2
        ''',
    "tests/test_invoices.py": '''
        def check(invoice):
            try:
                assert sum(invoice["lines"]) == invoice["total"]
            except AssertionError as error:
                error.add_note(f"invoice {invoice['id']} comes from exports/2026-03.csv, line 118")
                raise


        def test_invoice_adds_up():
            check({"id": "R-2207", "lines": [40, 2], "total": 45})


        def test_schema():
            problems = ["users.email: NOT NULL is missing", "orders.currency: VARCHAR(2), should be CHAR(3)"]
            assert not problems, "the schema is out of date:\\n  " + "\\n  ".join(problems)
        ''',
    "tests/test_ok.py": passing(6),
}

# what a process said before it failed ---------------------------------------------------------------
SUITES["e2_processes"] = {
    "shop/__init__.py": "",
    "shop/worker.py": '''
        import json
        import sys

        print("worker 3 started, pid file written")
        event = json.loads(sys.argv[1])
        for name in ("kind", "user_id"):
            print(f"checking {name}")
            event[name]
        ''',
    "shop/migrate.sh": "echo 'applying 0041_ledger'\necho 'config missing: db.url' >&2\nexit 3\n",
    "shop/backup.sh": "echo 'waiting for the lock held by pid 4711'\nexec sleep 30\n",
    "shop/shell.py": '''
        import subprocess
        import sys


        def worker(event):
            return subprocess.run([sys.executable, "-m", "shop.worker", event], capture_output=True, text=True)


        def migrate():
            subprocess.run(["sh", "shop/migrate.sh"], check=True, capture_output=True, text=True)


        def backup():
            subprocess.run(["sh", "shop/backup.sh"], timeout=1, capture_output=True)
        ''',
    "tests/test_shell.py": '''
        from shop.shell import backup, migrate, worker


        def test_worker():
            result = worker('{"kind": "signup", "userid": 5}')
            assert result.returncode == 0


        def test_migrate():
            migrate()


        def test_backup():
            backup()
        ''',
}

# the smallest example that Hypothesis found ----------------------------------------------------------
SUITES["e3_hypothesis"] = {
    "shop/__init__.py": "",
    "shop/codec.py": '''
        def encode(items):
            runs = []
            for item in items:
                if runs and runs[-1][0] == item:
                    runs[-1][1] += 1
                else:
                    runs.append([item, 1])
            return runs


        def decode(runs):
            return [item for item, count in runs]


        def accepts(amount, currency):
            return amount <= 100 or currency == "EUR"
        ''',
    "tests/test_codec.py": '''
        from hypothesis import given, settings, strategies as st

        from shop.codec import accepts, decode, encode

        repeatable = settings(derandomize=True, database=None, deadline=None)


        @repeatable
        @given(st.lists(st.integers(0, 3)))
        def test_round_trip(items):
            same = decode(encode(items)) == items
            assert same


        @repeatable
        @given(amount=st.integers(0, 10_000), currency=st.sampled_from(["EUR", "CHF"]))
        def test_accepts(amount, currency):
            allowed = accepts(amount, currency)
            assert allowed
        ''',
}

# 200 tests of one cause over six files ------------------------------------------------------------------
SUITES["e4_one_cause"] = {
    "shop/__init__.py": "",
    "shop/fields.py": '''
        class Field:
            def __init__(self, name):
                self.name = name

            def key(self):
                return self.nmae.lower()
        ''',
    "tests/test_schema.py": '''
        import pytest

        from shop.fields import Field


        @pytest.mark.parametrize("number", range(150))
        def test_key_of_column(number):
            assert Field(f"Column{number}").key() == f"column{number}"
        ''',
    **{
        f"tests/test_{module}.py": f"from shop.fields import Field\n\n\n" + "\n\n\n".join(
            f'def test_{module}_{verb}():\n    assert Field("{verb.title()}").key() == "{verb}"'
            for verb in ("create", "read", "update", "delete", "list", "filter", "sort", "page", "export", "audit")) + "\n"
        for module in ("orders", "users", "stock", "billing", "search")
    },
    "tests/test_ok.py": passing(10),
}

# which of several callers -------------------------------------------------------------------------------
SUITES["e5_callers"] = {
    "shop/__init__.py": "",
    "shop/check.py": '''
        def required(value):
            if not value:
                raise ValueError("a value is required")
            return value
        ''',
    "shop/orders.py": '''
        from shop.check import required


        def address(order):
            lines = order["address"]
            street = required(lines.get("street"))
            city = required(lines.get("city"))
            return f"{street}, {city}"


        def label(order):
            name = required(order.get("name"))
            return f"{name}, {address(order)}"


        def ship(order):
            return {"label": label(order), "state": "sent"}
        ''',
    "shop/api.py": '''
        from shop.orders import ship


        def post(order):
            return ship(dict(order))
        ''',
    "tests/test_api.py": '''
        from shop.api import post

        ORDER = {"name": "Ada", "address": {"street": "Main 1", "city": "Bern"}}


        def test_from_the_form():
            post({**ORDER, "nmae": "Ada", "name": ""})


        def test_from_the_file():
            post({**ORDER, "address": {"street": "Main 1", "town": "Bern"}})


        def test_ships():
            assert post(ORDER)["state"] == "sent"
        ''',
}

# the session itself breaks --------------------------------------------------------------------------------
SUITES["e6_configure"] = {
    "conftest.py": '''
        from shop.settings import load


        def pytest_configure(config):
            config.shop = load({"region": "eu-west"})
        ''',
    "shop/__init__.py": "",
    "shop/settings.py": '''
        NEEDED = ("region", "ledger_url")


        def load(values):
            for name in NEEDED:
                if name not in values:
                    raise LookupError(f"setting {name!r} is not set for region {values['region']}")
            return values
        ''',
    "tests/test_ok.py": passing(5),
}
SUITES["e7_sessionfinish"] = {
    "conftest.py": '''
        from shop.summary import slowest


        def pytest_sessionfinish(session, exitstatus):
            session.config.slowest = slowest([])
        ''',
    "shop/__init__.py": "",
    "shop/summary.py": '''
        def slowest(durations):
            ordered = sorted(durations)
            return ordered[-1]
        ''',
    "tests/test_ok.py": passing(5),
}
SUITES["e8_plugin"] = {
    "conftest.py": 'pytest_plugins = ["shop.testing"]\n',
    "shop/__init__.py": "",
    "shop/testing.py": '''
        """Fixtures for whoever tests against the shop."""
        import pytest

        from shop.factories import make_order


        @pytest.fixture
        def order():
            return make_order()
        ''',
    "shop/factory.py": "def make_order():\n    return {}\n",
    "tests/test_ok.py": passing(5),
}

# 120 failures; the one in product code explains most -------------------------------------------------------
SUITES["e9_order"] = {
    "shop/__init__.py": "",
    "shop/report.py": '''
        class Report:
            def __init__(self, width=80):
                self.width = width

            def line(self, text):
                return text[: self.widht]

            def render(self, rows):
                return "\\n".join(self.line(row) for row in rows)
        ''',
    "shop/runner.py": '''
        """Runs a command as the shell would: whatever it raises becomes an exit code."""
        from shop.report import Report


        class Result:
            def __init__(self, exit_code, output, exception):
                self.exit_code, self.output, self.exception = exit_code, output, exception

            def __repr__(self):
                return f"<Result {self.exception!r}>" if self.exception else "<Result okay>"


        def invoke(*arguments):
            try:
                return Result(0, Report().render(arguments), None)
            except Exception as error:
                return Result(1, "", error)
        ''',
    "tests/test_round.py": '''
        import pytest


        @pytest.mark.parametrize("cents", [5, 25, 45, 65])
        def test_half_goes_up(cents):
            assert round(cents / 10) * 10 == cents + 5
        ''',
    **{
        f"tests/test_cli_{name}.py": "from shop.runner import invoke\n\n\n" + "\n\n\n".join(
            f'def test_{name}_{i:02d}():\n    result = invoke("{name}", "--level", "{i}")\n    assert result.exit_code == 0\n    assert "{name}" in result.output'
            for i in range(27)) + "\n"
        for name in ("add", "list", "move", "sync")
    },
    "tests/test_report.py": "from shop.report import Report\n\n\n" + "\n\n\n".join(
        f'def test_render_{i}():\n    assert Report().render(["row {i}"]) == "row {i}"' for i in range(8)) + "\n",
}

# differences ---------------------------------------------------------------------------------------------------
SUITES["e10_differences"] = {
    "shop/__init__.py": "",
    "shop/export.py": '''
        from dataclasses import dataclass, field


        def prices():
            return "".join(f"item-{i:04d};{i * 7},50\\n" for i in range(2500))


        def table():
            return "name  | qty\\nalpha | 11\\nbeta  | 2\\ngamma | 33"


        @dataclass
        class Address:
            street: str
            city: str


        @dataclass
        class Customer:
            name: str
            tags: list = field(default_factory=list)
            address: Address | None = None


        def customer():
            return Customer("Ada", ["vip"], Address("Main 1", "Bruxelles"))
        ''',
    "tests/test_export.py": '''
        from shop.export import Address, Customer, customer, prices, table


        def test_prices():
            expected = "".join(f"item-{i:04d};{i * 7}.50\\n" for i in range(2500))
            assert prices() == expected


        def test_table():
            assert table() == "name  | qty\\nalpha | 11\\nbeta  | 22\\ngamma | 33\\n"


        def test_customer():
            assert customer() == Customer("Ada", ["vip", "eu"], Address("Main 1", "Brussels"))
        ''',
}


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "enough")
    for name, files in SUITES.items():
        write(out / name, files)
    print("suites in", out)


if __name__ == "__main__":
    main()
