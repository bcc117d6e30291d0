"""One answer about a run, whoever asks and whenever, that is enough in either half."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.full_runs import AGAIN
from support.made_runs import failed, passed
from support.mcp_client import Talk, talk, text_of
from support.projects import GUARD, write_project

from proctor import events as e
from proctor.archive import store
from proctor.archive.inside import Folder
from proctor.archive.recording import Recording
from proctor.config import Settings
from proctor.mcp_server import replies, run_data, schemas
from proctor.mcp_server.access import Access
from proctor.mcp_server.pages import page
from proctor.mcp_server.reply import Reply
from proctor.mcp_server.runs import Progress, ServerRuns, SoFar
from proctor.mcp_server.size import weight
from proctor.mcp_server.tools import Tools
from proctor.outcome import Outcome
from proctor.relay import Relay

RUN_ID = "20260101-120000-abcdef"
STARTED = e.RunStarted(RUN_ID, "pytest", ("pytest",), "/project", "/python", "2026-01-01T12:00:00Z")


def kept(root: Path, *facts: e.Event) -> tuple[run_data.RunData, Folder]:
    """A run that never ran: as the server has it in memory, and the directory in which it is kept."""
    directory = store.open_run(root, RUN_ID, {})
    assert directory is not None
    recording = Recording(directory)
    relay = Relay(STARTED, [recording])
    relay.publish(e.SuiteEntered("pytest", "pytest", ("pytest",), "/project"), 0.0)
    for fact in facts:
        relay.publish(fact, 0.0)
    result = relay.close(1.0)
    data = run_data.from_result(result, directory.folder, Settings())
    recording.close()
    return data, directory.folder


def failures(count: int) -> list[e.Event]:
    """Half of them of one cause, each of the others for itself."""
    return [
        failed(f"tests/test_{number % 7}.py::test_{number}", "KeyError: 'price'", ("src/cart.py", 41))
        if number % 2
        else failed(
            f"tests/test_{number % 7}.py::test_{number}",
            f"assert {number} == 0",
            (f"tests/test_{number % 7}.py", 3),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(
    "count, detail",
    [
        *((count, "failures") for count in (1, 24, 60, 225, 500, 5000)),
        *((count, detail) for count in (1, 60) for detail in ("summary", "full")),
    ],
)
def test_a_run_is_told_in_the_same_words_from_memory_and_from_the_archive(
    tmp_path: Path, count: int, detail: str
) -> None:
    data, folder = kept(tmp_path, *failures(count))
    tools = Tools(Access([tmp_path], [], {}), ServerRuns(1))

    async def silent(done: float, total: float | None, what: str) -> None:
        pass

    async def get_run() -> Any:
        return await tools.call("get_run", {"run_id": RUN_ID, "detail": detail}, Progress(silent))

    first = replies.finished(data, detail, schemas.USUAL_BUDGET)
    from_archive = replies.finished(run_data.from_archive(folder), detail, schemas.USUAL_BUDGET)
    later = asyncio.run(get_run())

    assert (later.text, later.document) == (first.text, first.document)
    assert (from_archive.text, from_archive.document) == (first.text, first.document)
    assert f"{count} failed" in first.text.splitlines()[0]


@pytest.mark.parametrize("count", [1, 60, 500])
def test_a_page_of_rows_has_the_message_and_the_place_of_each(tmp_path: Path, count: int) -> None:
    data, _ = kept(tmp_path, *failures(count))
    reply = page(data, "failures", 0, schemas.NO_LIMIT, schemas.USUAL_BUDGET)

    assert reply.document is not None
    rows = reply.document["tests"]
    assert len(rows) == count - reply.document["omitted"].get("tests", 0)
    assert all(row["message"] and re.fullmatch(r"\S+:\d+", row["place"]) for row in rows)
    assert all(f"{row['node_id']} > {row['place']} {row['message']}" in reply.text for row in rows)


def test_failing_ids_are_in_a_file_of_the_run_and_in_pages(tmp_path: Path) -> None:
    odd = "tests/test_b.py::test_odd[a\nb]"
    data, folder = kept(
        tmp_path,
        *failures(60),
        e.CollectionFailed("tests/broken.py", e.Failure("ImportError", "no module")),
        failed(odd, "assert 0"),
        failed("tests/test_b.py::test_plain[a|b\\n]", "assert 0"),
        e.TestFinished("tests/test_c.py::test_crash", Outcome.CRASH, message="gone"),
        e.TestFinished("tests/test_c.py::test_good", Outcome.PASSED),
    )

    lines = (folder.path / "failures.txt").read_text().splitlines()
    assert lines[:2] == ["tests/broken.py", "tests/test_c.py::test_crash"]
    assert lines[-2:] == [r"tests/test_b.py::test_odd[a\nb]", "tests/test_b.py::test_plain[a|b\\n]"]
    assert len(lines) == 64
    ids: list[str] = []
    while True:
        document = page(data, "ids", len(ids), schemas.NO_LIMIT, 300).document
        assert document is not None
        ids += document["ids"]
        if not document["omitted"]:
            break
        assert document["omitted"]["call"] == f'get_run(run_id="{RUN_ID}", select="ids", offset={len(ids)})'
    assert [test for test in ids if test != odd] == [line for line in lines if "test_odd" not in line]


@pytest.mark.parametrize(
    "test", ['a::test[it\'s "so"]', "a::test[x\ny\x1b]", "a::test[{run}]", "ä::test[é\\]"]
)
def test_a_call_names_a_test_so_that_it_can_be_pasted(tmp_path: Path, test: str) -> None:
    lines = "".join(f"\nline {number} of the message" for number in range(200))
    data, _ = kept(tmp_path, failed(test, f"ValueError: no{lines}", ("a", 3)))
    text = replies.finished(data, "failures", schemas.USUAL_BUDGET).text

    (named,) = re.findall(r'^more: get_test\(run_id="[^"]+", node_id=(".*")\)$', text, re.M)
    assert json.loads(named) == test
    assert f"whole: proctor://runs/{RUN_ID}/result.json\n" in text
    assert "proctor show" not in text


def test_files_that_no_test_attached_are_listed_only_where_files_are_asked_for(tmp_path: Path) -> None:
    files = tuple(e.File(name, f"files/{name}", 3) for name in ("1-call-difference.txt", "shot.png"))
    test = msgspec.structs.replace(failed("a.py::test_a", "assert 0"), files=files)
    data, _ = kept(tmp_path, test)
    rows = page(data, "failures", 0, schemas.NO_LIMIT, schemas.USUAL_BUDGET).document
    listed = page(data, "files", 0, schemas.NO_LIMIT, schemas.USUAL_BUDGET).document

    assert rows is not None
    assert listed is not None
    assert [file["name"] for file in rows["tests"][0]["files"]] == ["shot.png"]
    assert rows["omitted"] == {}
    assert [file["name"] for file in listed["files"]] == ["1-call-difference.txt", "shot.png"]


def test_a_run_without_failures_has_no_file_of_them(tmp_path: Path) -> None:
    _, folder = kept(tmp_path, e.TestFinished("test_a.py::test_a", Outcome.PASSED))

    assert not (folder.path / "failures.txt").exists()


@pytest.mark.parametrize("select", ["failures", "tests", "json_report", "ids", "files", "output"])
def test_an_item_that_is_larger_than_the_budget_is_cut(tmp_path: Path, select: str) -> None:
    huge = f"tests/test_a.py::test_a[{'x y ' * 5000}]"
    test = failed(huge, "ValueError: " + "y " * 20_000, ("tests/test_a.py", 3))
    broken = e.CollectionFailed(f"tests/{'z ' * 3000}.py", e.Failure("ImportError", "no " * 9000))
    data, _ = kept(tmp_path, test, broken, e.OutputReceived("stdout", "w " * 90_000))
    asked = 0
    while True:
        reply = page(data, select, asked, schemas.NO_LIMIT, schemas.LEAST_BUDGET)
        assert reply.document is not None
        assert len(json.dumps(reply.document)) < 2000
        found = re.search(r"offset=(\d+)", reply.document["omitted"].get("call", ""))
        if found is None:
            break
        assert int(found[1]) > asked
        asked = int(found[1]) if select != "output" else max(int(found[1]), 179_000)


def test_a_huge_id_is_cut_in_a_list_of_tests(tmp_path: Path) -> None:
    huge = f"tests/test_a.py::test_a[{'x y ' * 5000}]"
    data, _ = kept(tmp_path, e.TestsSelected(("test_a.py::test_small", huge)))
    document = replies.discovered(data.result, True, 1, schemas.NO_LIMIT, 200).document

    assert document is not None
    (test,) = document["tests"]
    assert len(test["node_id"]) <= 60
    assert document["omitted"] == {}


def test_a_run_that_collects_says_how_many_tests_it_has_found() -> None:
    sent: list[tuple[float | None, str]] = []

    async def note(done: float, total: float | None, what: str) -> None:
        sent.append((total, what))

    relay = Relay(STARTED, [])
    relay.publish(e.SuiteEntered("pytest", "pytest", ("pytest",), "/project"), 0.0)
    assert relay.result.collecting == "collecting"
    children = (*(e.Child(f"a.py::test_{n}", "Function", tested=True) for n in range(1200)),)
    relay.publish(e.CollectorFinished("a.py", "passed", (*children, e.Child("a.py::A", "Class"))), 0.0)

    assert relay.result.collecting == "collecting (1,200 so far)"
    so_far = SoFar(RUN_ID, 0, None, None, relay.result.summary(), False, relay.result.collecting)
    asyncio.run(Progress(note).report(so_far.done, so_far.total, so_far.doing))
    assert sent == [(None, "collecting (1,200 so far)")]


FILES = {
    "test_a.py": """
        import os, pathlib, pytest, time

        @pytest.mark.parametrize("number", range(60))
        def test_many(number):
            assert number < 0, f"{number} is too large" * 20

        def test_long():
            left = [f"line {n}" for n in range(1000)]
            right = [f"line {n}" for n in range(1000, 2000)]
            assert left == right

        def test_last():
            while not pathlib.Path(os.environ["GO"]).exists():
                time.sleep(0.02)
    """,
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "project", FILES)


def test_an_answer_is_the_same_at_once_later_and_from_another_server(project: Path, tmp_path: Path) -> None:
    environ: dict[str, Any] = {"GO": str(tmp_path / "go")}
    with talk(project, **environ) as server:
        outlived = server.call("execute_tests", wait=0)
        run_id = outlived.structured_content["run_id"]
        (tmp_path / "go").touch()
        waited = server.call("get_run", run_id=run_id, wait=GUARD)
        again = server.call("get_run", run_id=run_id)
        at_once = server.call("execute_tests", wait=GUARD)
        last = server.call("get_run", run_id="last")
        short = text_of(server.call("get_run", run_id=run_id, budget=300))
        calls_return_what_they_are_named_for(server, text_of(last) + short)
        difference_is_there_page_by_page(server, run_id)
    with talk(project, **environ) as server:
        elsewhere = server.call("get_run", run_id=run_id)

    assert next(iter(outlived.structured_content)) == "text"
    assert outlived.structured_content["text"] == text_of(outlived)
    assert same(waited) == same(again) == same(elsewhere)
    assert same(at_once) == same(last)
    assert "61 failed 1 passed" in text_of(waited)
    assert text_of(waited) == waited.structured_content["text"]


def same(result: Any) -> tuple[str, Any]:
    return text_of(result), result.structured_content


def calls_return_what_they_are_named_for(server: Talk, text: str) -> None:
    """Every call and every address that a text names."""
    calls = {*re.findall(r"(get_run|get_test)\((.*?)\)", text)}
    assert {name for name, _ in calls} == {"get_run", "get_test"}
    for name, arguments in calls:
        given = dict(re.findall(r'(\w+)="?(.*?)"?(?:, |$)', arguments))
        if given.get("node_id") == "ID":
            given["node_id"] = "test_a.py::test_long"
        answer = server.document(name, **given)
        assert answer["run_id"] == given["run_id"]
        if given.get("select") == "ids":
            assert len(answer["ids"]) == 61
        if given.get("part") == "difference":
            assert "+line 999" in answer["difference"] or answer["omitted"]
    addresses = {*re.findall(r"proctor://\S+", text)}
    assert addresses
    for uri in addresses:
        assert server.do(server.client.read_resource(uri)).contents


def difference_is_there_page_by_page(server: Talk, run_id: str) -> None:
    whole = ""
    asked: dict[str, Any] = {"run_id": run_id, "node_id": "test_a.py::test_long", "part": "difference"}
    while True:
        result = server.call("get_test", **asked, offset=len(whole), budget=2000)
        document = result.structured_content
        whole += document["difference"]
        assert text_of(result).startswith(document["difference"])
        if not document["omitted"]:
            break
        assert document["omitted"]["call"] == f"the same call with offset={len(whole)}"
    assert all(f"line {number}" in whole for number in range(2000))
    assert "no difference" in server.refusal(
        "get_test", run_id=run_id, node_id="test_a.py::test_last", part="difference"
    )


def document_of(answer: Reply) -> dict[str, Any]:
    assert answer.document is not None
    return answer.document


def test_flaky_and_quarantined_tests_have_rows_behind_the_failures(tmp_path: Path) -> None:
    data, _ = kept(tmp_path, *AGAIN)

    answer = replies.finished(data, "failures", schemas.USUAL_BUDGET)

    found = document_of(answer)
    assert (found["restarts"], found["summary"]["flaky"], found["summary"]["quarantined"]) == (2, 2, 1)
    always, flaky, *_ = found["tests"]
    assert (always["node_id"], "flaky" in always) == ("t.py::always", False)
    assert (flaky["node_id"], flaky["outcome"], flaky["flaky"]) == ("t.py::flaky", "passed", True)
    assert (flaky["message"], flaky["place"]) == ("E: once", "t.py:3")
    assert "flaky: t.py::flaky :3 E: x" in answer.text


@pytest.mark.parametrize("budget", [200, 1000, schemas.USUAL_BUDGET])
@pytest.mark.parametrize("detail", ["summary", "failures", "full"])
def test_long_attempts_keep_to_the_budget(tmp_path: Path, detail: str, budget: int) -> None:
    why = e.Failure("E", "x" * 5000)
    tries = tuple(e.Attempt(Outcome.FAILED, 0.1, why.message, why) for _ in range(3))
    tests = [e.TestFinished(f"t.py::{n}", Outcome.PASSED, attempts=tries) for n in range(4)]
    data, _ = kept(tmp_path, *tests)

    found = document_of(replies.finished(data, detail, budget, limited=True))

    assert weight(found) <= budget
    assert found["summary"]["flaky"] == 4


def test_a_run_without_them_is_told_without_a_word_of_them(tmp_path: Path) -> None:
    data, _ = kept(tmp_path, *passed("t.py::a"))

    found = document_of(replies.finished(data, "failures", schemas.USUAL_BUDGET))

    assert not {"flaky", "quarantined", "restarts"} & {*found, *found["summary"]}


def test_a_page_of_tests_marks_them(tmp_path: Path) -> None:
    data, _ = kept(tmp_path, *AGAIN)

    answer = page(data, "failures", 0, schemas.NO_LIMIT, schemas.USUAL_BUDGET)

    lines = answer.text.splitlines()
    assert "flaky t.py::flaky > t.py:3 E: once" in lines
    assert "error (quarantined) t.py::known > t.py:3 E: still" in lines
    tests = {test["node_id"]: test for test in document_of(answer)["tests"]}
    assert [one["message"] for one in tests["t.py::always"]["attempts"]] == ["E: first", "E: again"]
