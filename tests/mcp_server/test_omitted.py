"""What an answer leaves out it counts, and the calls that it names return it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.made_runs import RUN_ID, failed, passed, run_of
from support.mcp_client import Talk, talk
from support.projects import write_project

from proctor import events as e
from proctor.archive.inside import Folder
from proctor.config import Settings
from proctor.mcp_server import replies, run_data, schemas
from proctor.mcp_server.pages import page
from proctor.mcp_server.reply import Reply
from proctor.mcp_server.run_data import RunData
from proctor.mcp_server.runs import Progress
from proctor.mcp_server.size import weight
from proctor.outcome import Outcome, RunOutcome
from proctor.render.tokens import estimate

LONG = "a line that is not short at all\n" * 20
SELECTS = ("failures", "ids", "tests", "json_report", "files", "output")
BUDGETS = (200, 300, 500, 1000, 6000, 100_000)
CALL = re.compile(r'get_run\(run_id="([^"]+)", (?:detail="(full)"|select="(\w+)"(?:, offset=(\d+))?)\)')
LISTS = ("ids", "tests", "not_run", "collection_errors", "warnings", "notices", "files", "collectors")

Document = dict[str, Any]
_ANSWERS: dict[tuple[str, int | None], Document] = {}  # to calls about the one run of this module


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    """One of which no part is small."""
    directory = tmp_path_factory.mktemp("run")
    output = "".join(f"line {number} ünd\n" for number in range(2000))
    (directory / "output.txt").write_text(output)
    names = [f"tests/test_a.py::test_{number}" for number in range(60)]
    left = tuple(f"tests/test_z.py::test_{number}" for number in range(70))
    facts: list[e.Event] = [
        e.SuiteEntered("pytest", "pytest", ("pytest",), "/project"),
        e.SuiteDescribed(
            "/project", {"python": "3.11"}, {"Plugins": {f"plugin{n}": "1.0" for n in range(40)}}
        ),
        *(e.CollectorFinished(f"tests/test_{n}.py", "passed") for n in range(50)),
        *(
            e.CollectionFailed(
                f"tests/broken_{n}.py", e.Failure("ImportError", f"no module {n}: {LONG}"), LONG
            )
            for n in range(10)
        ),
        e.TestsSelected((*names, *left)),
        *passed(*names[:30]),
        *(e.TestFinished(name, Outcome.SKIPPED, message="not now") for name in names[30:40]),
        *(failed(name, f"{name}: {LONG}", ("tests/test_a.py", 7)) for name in names[40:]),
        *(e.WarningRecorded("UserWarning", f"warning {n}: {LONG}", "a.py", n) for n in range(30)),
        *(e.Noticed(f"notice {n}: {LONG}") for n in range(30)),
        e.OutputReceived("stdout", output),
        e.SummaryPrinted(LONG * 20),
        e.OutputQuoted((LONG.replace("\n", " "),) * 20),
        e.SuiteFinished(RunOutcome.FAILED, not_run=left),
    ]
    result = run_of(*facts)
    return run_data.from_result(result, Folder(directory), Settings())


def asked(
    data: RunData, select: str, offset: int | None = None, budget: int = schemas.USUAL_BUDGET
) -> Document:
    """As `get_run` does: without an offset, `failures` is the answer of the run."""
    if select == "full":
        return replies.finished(data, "full", budget).document or {}
    if select == "failures" and offset is None:
        return within(replies.finished(data, "failures", budget), budget)
    return within(page(data, select, offset or 0, schemas.NO_LIMIT, budget), budget)


def within(reply: Reply, budget: int) -> Document:
    assert reply.document is not None
    assert weight(reply.document) <= budget
    assert estimate(reply.text) <= budget
    return reply.document


def calls(document: Document) -> list[tuple[str, int | None]]:
    """The calls that an answer names: what they select, or `full`, and the offset."""
    named = document["omitted"].get("call", "")
    found = CALL.findall(named)
    assert "; ".join(match.group() for match in CALL.finditer(named)) == named
    assert all(run_id == RUN_ID for run_id, *_ in found)
    return [(full or select, int(offset) if offset else None) for _, full, select, offset in found]


def everything(data: RunData, document: Document) -> Iterator[Document]:
    """The answers to all calls that an answer names, and to those that these name, to the end."""
    for call in calls(document):
        seen = {call}
        while True:
            if call not in _ANSWERS:
                _ANSWERS[call] = asked(data, *call)
            answer = _ANSWERS[call]
            yield answer
            following = [(select, offset) for select, offset in calls(answer) if select == call[0]]
            if not following:
                break
            (call,) = following
            assert call not in seen, "it would never end"
            seen.add(call)


def items(document: Document, name: str) -> list[Any]:
    report = document.get("json_report", {})
    found = report.get(name) if name in report else document.get(name)
    return found if isinstance(found, list) else []


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("select", SELECTS)
def test_pages_and_the_calls_that_they_name_have_everything(run: RunData, select: str, budget: int) -> None:
    """In their order, each item once."""
    first = asked(run, select, None if select != "failures" else 0, budget)
    pages = [first, *everything(run, first)]
    whole = run.whole()
    report = whole["json_report"]

    def ids(name: str, key: str) -> list[Any]:
        return [item[key] if isinstance(item, dict) else item for part in pages for item in items(part, name)]

    if select == "json_report":
        assert ids("tests", "nodeid") == [test["nodeid"] for test in report["tests"]]
        assert ids("collectors", "nodeid") == [collector["nodeid"] for collector in report["collectors"]]
        assert len(ids("warnings", "message")) == len(report["warnings"])
    elif select == "output":
        assert (
            "".join(part["text_output"] for part in pages) == (run.directory.path / "output.txt").read_text()
        )
    elif select == "ids":
        assert ids("ids", "") == run.result.failing
    elif select == "tests":
        assert ids("tests", "node_id") == [test["node_id"] for test in whole["tests"]]
        assert ids("not_run", "") == whole["not_run"]
        assert ids("collection_errors", "file") == [error["file"] for error in whole["collection_errors"]]
        assert len(ids("warnings", "message")) == len(whole["warnings"])
        assert len(ids("notices", "")) == len(whole["notices"])
    elif select == "failures":
        bad = [test["node_id"] for test in whole["tests"] if test["outcome"] in ("failed", "error")]
        skipped = [test["node_id"] for test in whole["tests"] if test["outcome"] == "skipped"]
        assert ids("tests", "node_id") == [*bad, *skipped]
        assert ids("collection_errors", "file") == [error["file"] for error in whole["collection_errors"]]
        for part in pages:
            failed_tests = [test for test in part.get("tests", ()) if test["outcome"] == "failed"]
            assert all(test["message"] and test["place"] for test in failed_tests) or budget < 500
    for part in pages:
        told_of_what_is_cut(part, whole)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("detail", ["summary", "failures", "full"])
def test_the_calls_of_an_answer_return_what_it_counts(run: RunData, detail: str, budget: int) -> None:
    first = within(replies.finished(run, detail, budget, limited=True), budget)
    answers = list(everything(run, first))
    whole = run.whole()

    counted = {name: count for name, count in first["omitted"].items() if isinstance(count, int)}
    assert bool(answers) == ("call" in first["omitted"])
    for name in first["omitted"].get("fields", ()):
        if name == "all others":
            assert any(whole.keys() <= answer.keys() for answer in answers)
        else:
            assert any(answer.get(name) or name in (answer.get("tests") or [{}])[0] for answer in answers)
    for name in counted:
        if name == "failing":
            found = [test for answer in answers for test in items(answer, "ids")]
            assert [*first["failing"], *found] == run.result.failing
        elif name == "passed":
            (full,) = (answer for answer in answers if "schema" in answer)
            assert sum(test["outcome"] == "passed" for test in full["tests"]) == counted[name]
        elif name in ("json_report", "suites"):
            assert any(answer.get(name) for answer in answers)
        elif name in LISTS:
            found_items = sum(len(items(answer, name)) for answer in answers)
            assert found_items >= counted[name]
        elif name in ("text_output", "stderr", "printed"):
            output = "".join(answer.get("text_output", "") for answer in answers)
            assert (run.directory.path / "output.txt").read_text() in output
        else:
            assert name == "characters"
    told_of_what_is_cut(first, whole)


def told_of_what_is_cut(page: Document, whole: Document) -> None:
    """Where a text is cut, or a field left out, the address of the whole is there."""
    if "characters …]" in json.dumps(
        {name: page[name] for name in page if name in LISTS}, ensure_ascii=False
    ):
        assert page["omitted"]["characters"] > 0
    fields = {name for name, value in whole["json_report"].items() if not isinstance(value, list)}
    if "collectors" in page.get("json_report", {}) and not fields <= page["json_report"].keys():
        assert page["omitted"]["json_report"] == len(fields)
    if page["omitted"].keys() & {"characters", "json_report"}:
        assert page["omitted"]["whole"] == f"proctor://runs/{RUN_ID}/result.json"


def test_a_small_json_report_is_whole_on_one_page(tmp_path: Path) -> None:
    result = run_of(
        e.SuiteEntered("pytest", "pytest", ("pytest",), "/project"),
        e.CollectorFinished("test_a.py", "passed"),
        *passed("test_a.py::test_a"),
        e.WarningRecorded("UserWarning", "careful", "a.py", 3),
        outcome=RunOutcome.PASSED,
    )
    data = run_data.from_result(result, Folder(tmp_path), Settings())

    answer = asked(data, "json_report")

    assert answer["json_report"] == msgspec.json.decode(data.raw)["json_report"]
    assert answer["json_report"]["collectors"]
    assert answer["json_report"]["warnings"]
    assert answer["omitted"] == {}


@pytest.mark.parametrize("budget", [200, 400, 6000])
def test_a_list_of_tests_is_whole_after_all_its_calls(budget: int) -> None:
    selected = tuple(f"test_a.py::test_{number}" for number in range(100))
    result = run_of(
        e.TestsSelected(selected),
        *(e.CollectionFailed(f"broken_{n}.py", e.Failure("ImportError", LONG), LONG) for n in range(30)),
        outcome=RunOutcome.COLLECTION_ERROR,
    )
    tests, errors, offset = [], [], 0
    while True:
        document = within(replies.discovered(result, True, offset, schemas.NO_LIMIT, budget), budget)
        tests += [test["node_id"] for test in document["tests"]]
        errors += [error["file"] for error in document["collection_errors"]]
        if not document["omitted"]:
            break
        before, offset = (
            offset,
            int(re.findall(r"the same call with offset=(\d+)", document["omitted"]["call"])[0]),
        )
        assert offset > before

    assert tests == [*selected]
    assert set(errors) == {f"broken_{n}.py" for n in range(30)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Talk]:
    body = """
        import pytest, warnings

        @pytest.mark.parametrize("number", range(40))
        def test_many(number):
            warnings.warn(f"careful with {number}")
            print("printed", number)
            assert number % 4, "x" * 500
    """
    root = write_project(tmp_path_factory.mktemp("project"), {"test_a.py": body})
    with talk(root) as talking:
        yield talking


@pytest.mark.parametrize("budget", [200, 600, 6000])
def test_a_client_can_make_every_call_that_an_answer_names(server: Talk, budget: int) -> None:
    asks: list[Callable[[], Document]] = [
        lambda: server.document("execute_tests", budget=budget),
        lambda: server.document("execute_tests", budget=budget, detail="summary"),
        *(
            lambda select=select: server.document("get_run", run_id="last", select=select)
            for select in SELECTS
        ),
    ]
    for ask in asks:
        document = ask()
        for run_id, full, select, offset in CALL.findall(document["omitted"].get("call", "")):
            arguments = {"detail": full} if full else {"select": select}
            if offset:
                arguments["offset"] = int(offset)
            answer = server.document("get_run", run_id=run_id, **arguments)
            assert any(items(answer, name) for name in LISTS) or answer["text_output"]
        if whole := document["omitted"].get("whole"):
            assert server.do(server.client.read_resource(whole)).contents
    failing = server.document("get_test", run_id="last", node_id="test_a.py::test_many[0]", budget=200)
    assert server.do(server.client.read_resource(failing["omitted"]["whole"])).contents


def test_progress_keeps_its_total_to_the_end_and_stays_below_it() -> None:
    sent: list[tuple[float, float | None, str]] = []

    async def note(done: float, total: float | None, what: str) -> None:
        sent.append((done, total, what))

    async def follow() -> None:
        progress = Progress(note)
        for done, total in [
            (0, None),
            (0, 3),
            (1, 3),
            (2, 3),
            (2, 3),
            (3, 3),
            (3, 3),
            (3, 6),
            (6, 6),
            (7, 6),
            (7, None),
        ]:
            await progress.report(done, total, "now")

    asyncio.run(follow())

    numbers = [number for number, _, _ in sent]
    assert numbers == sorted(set(numbers))
    assert [total for _, total, _ in sent] == [None, 3, 3, 3, 3, 3, 3, 6, 6, 7, 7]
    assert all(total is None or number < total for number, total, _ in sent)
    assert sent[6][2] == "3/3 now"
