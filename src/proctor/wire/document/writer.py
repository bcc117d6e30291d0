"""The result document, `proctor.result/1`, in pieces: it can be larger than the result in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from proctor import events as e
from proctor.outcome import BAD, Outcome
from proctor.result import SEVERAL, RunResult, SuiteResult
from proctor.unique_names import UniqueNames
from proctor.wire.document import history, json_report
from proctor.wire.document.json_report import Load
from proctor.wire.document.schema import SCHEMA, Test, TestAttempt
from proctor.wire.literal import encode

_BATCH = 200  # list items encoded at a time


def chunks(result: RunResult, load: Load, output_path: str = "") -> Iterator[bytes]:
    """The document as JSON. `load` gives the text of a file of the run, by its relative path."""
    yield _opened(_head(result))
    yield b',"tests":'
    yield from _list(_tests(result, load))
    yield b',"json_report":'
    yield _opened(json_report.head(result))
    if result.collectors:
        yield b',"collectors":'
        yield from _list(json_report.collectors(result))
    yield b',"tests":'
    yield from _list(json_report.tests(result, load))
    if result.warnings:
        yield b',"warnings":' + encode(json_report.warnings(result))
    yield b"}"
    tail = {
        "collection_errors": list(_collection_errors(result)),
        "warnings": _warnings(result.warnings),
        "not_run": result.not_run,
        "text_output": result.output.text(output_path),
        "stderr": result.stderr.text(output_path),
    }
    yield b"," + encode(tail)[1:] + b"\n"


def _tests(result: RunResult, load: Load) -> Iterator[Test]:
    several, words = result.several, history.Words(result)
    told = bool(words)
    for name, suite in zip(_names(result), result.suites, strict=True):
        quarantined = suite.quarantined
        for entry in suite.tests.values():
            found = test(entry, load)
            if several:
                found.suite = name
            if suite.retold:  # as exact as a stream
                found.duration, found.attempts = round(entry.seconds, 9), _attempts(entry, 9)
            if entry.test in quarantined:
                found.quarantined, found.quarantine_reason = True, quarantined[entry.test]
            if told and entry.outcome in BAD:
                for field, value in words.of(entry.test).items():
                    setattr(found, field, value)
            yield found


def _attempts(entry: e.TestFinished, decimals: int) -> tuple[TestAttempt, ...]:
    return tuple(
        TestAttempt(one.outcome, round(one.seconds, decimals), one.message, one.failure)
        for one in entry.tries
    )


def _names(result: RunResult) -> list[str]:
    """Of the suites, each once: tests name the one that they belong to."""
    names = UniqueNames()
    return [names.unique(suite.name or "suite") for suite in result.suites]


def _suite(name: str, suite: SuiteResult) -> dict[str, Any]:
    return {
        "name": name,
        "runner": suite.entered.runner,
        **_end(suite),
        "counts": _suite_counts(suite),
        "duration": round(suite.seconds, 6),
        "interpreter": suite.entered.interpreter,
        "command": suite.entered.command,
        "root": suite.described.root if suite.described else suite.entered.cwd,
        "source": suite.source,
        "not_run": suite.not_run,
        **_retold(suite, name),
        **_words(suite),
        **({"shard_of": suite.entered.shard_of} if suite.entered.shard_of else {}),
        **({"tries": suite.entered.tries} if suite.entered.tries > 1 else {}),
    }


def _suite_counts(suite: SuiteResult) -> dict[str, int]:
    counts = {str(outcome): count for outcome, count in suite.counts.items()}
    counts |= {"flaky": suite.flaky, "quarantined": suite.excused}
    return {word: count for word, count in counts.items() if count}


def _retold(suite: SuiteResult, name: str) -> dict[str, Any]:
    """The fields of a stream that no other field of the document holds."""
    if not suite.retold:
        return {}
    other: list[tuple[str, Any, Any]] = [
        ("title", suite.title, name),
        ("build", suite.build, suite.run.started),
    ]
    other += [("foreign", suite.foreign, {}), ("foreign_end", suite.foreign_end, {})]
    other.append(("toolchain", suite.described.toolchain if suite.described else {}, {}))
    return {key: value for key, value, usual in other if value != usual}


def _words(suite: SuiteResult) -> dict[str, Any]:
    """What was printed beside the tests; without what there is none of."""
    words = {"printed": suite.printed, "quoted": suite.quoted}
    return {name: value for name, value in words.items() if value}


def _end(ended: RunResult | SuiteResult) -> dict[str, Any]:
    exit_code, signal = (ended.exited.exit_code, ended.exited.signal) if ended.exited else (None, None)
    facts = {"outcome": ended.outcome, "reason": ended.reason, "exit_code": exit_code, "signal": signal}
    restarted = {"restarted": True} if ended.restarted else {}
    return {**facts, "restarts": ended.restarts, **restarted}


def _opened(facts: dict[str, Any]) -> bytes:
    return encode(facts)[:-1]


def _list(items: Iterable[Any]) -> Iterator[bytes]:
    """A JSON array in pieces."""
    rest, before = iter(items), b"["
    while batch := list(islice(rest, _BATCH)):
        yield before + encode(batch)[1:-1]
        before = b","
    yield b"]" if before == b"," else b"[]"


def _head(result: RunResult) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "run_id": result.run.run_id,
        **_end(result),
        "summary": result.summary(),
        "runner": result.run.runner,
        "interpreter": result.run.interpreter,
        "command": () if result.several else result.suites[0].entered.command,
        "source": SEVERAL if result.several else result.suites[0].source,
        "started": result.run.started,
        **({"collect_only": True} if result.run.collect_only else {}),
        **({"invocation": result.run.invocation} if result.run.invocation else {}),
        **({"plan": result.planned} if result.planned else {}),
        **_suites(result),
        **({"missing": list(map(_missing, result.missing))} if result.missing else {}),
        **history.of_run(result),
        "current_test": result.current_test,
        "omitted": {},
        "notices": result.notices,
    }


def _missing(suite: e.SuiteMissing) -> dict[str, Any]:
    return {"runner": suite.runner, "reason": suite.reason, "required": suite.required}


def _suites(result: RunResult) -> dict[str, Any]:
    if not result.several:
        return {**_retold(result.suites[0], result.run.runner), **_words(result.suites[0])}
    return {"suites": list(map(_suite, _names(result), result.suites))}


def test(entry: e.TestFinished, load: Load) -> Test:
    found = _test(entry, load)
    if entry.session > 1:
        found.session = entry.session
    if entry.worker:
        found.worker = entry.worker
    if entry.attempts:
        found.attempts, found.flaky = _attempts(entry, 6), entry.flaky
    return found


def _test(entry: e.TestFinished, load: Load) -> Test:
    if entry.passed_in is not None and not (
        entry.files or entry.properties or entry.subtype or entry.foreign
    ):  # nearly all
        return Test(entry.test, entry.outcome, round(entry.seconds, 6), None, None)
    if (
        entry.part_of
        and entry.outcome is Outcome.PASSED
        and not (entry.files or entry.testout or entry.seconds or entry.foreign or entry.subtype)
    ):
        return Test(  # there may be very many
            entry.test, entry.outcome, 0.0, None, None, properties=entry.properties, part_of=entry.part_of
        )
    seconds = round(entry.seconds, 9 if entry.subtype == "bench" else 6) if entry.seconds else 0.0
    plain = entry.outcome is Outcome.PASSED and len(entry.phases) == 3
    if plain and not (entry.files or entry.properties or entry.subtype or entry.foreign):
        return Test(entry.test, entry.outcome, seconds, None, None)
    return Test(
        entry.test,
        entry.outcome,
        seconds,
        entry.message,
        _traceback(entry, load) if entry.phases else entry.traceback,
        entry.place,
        entry.failure,
        entry.files,
        entry.testout,
        entry.properties,
        _subtests(entry) if entry.phases else (),
        entry.part_of,
        subtype=entry.subtype,
        throughput=entry.throughput,
        foreign=entry.foreign,
    )


def _traceback(entry: e.TestFinished, load: Load) -> str | None:
    paths = {file.name: file.path for file in entry.files}
    moved = [paths[p.files["longrepr"]] for p in entry.phases if p.files and p.files.get("longrepr") in paths]
    return "\n".join(load(path) for path in moved) or entry.traceback


def _subtests(entry: e.TestFinished) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"name": phase.subtest, "outcome": phase.outcome}
        for phase in entry.phases
        if phase.subtest is not None
    )


def _collection_errors(result: RunResult) -> Iterator[dict[str, Any]]:
    words = history.Words(result)
    for label, suite in zip(_names(result), result.suites, strict=True):
        name = {"suite": label} if result.several else {}
        for error in suite.errors:
            texts = {"file": error.file, "message": error.failure.message, "traceback": error.traceback}
            foreign = {"foreign": error.foreign} if error.foreign else {}
            yield {**texts, "failure": error.failure, **name, **foreign, **words.of(error.file)}


def _warnings(warnings: Iterable[e.WarningRecorded]) -> list[dict[str, Any]]:
    counted = Counter((w.category, w.message, w.file, w.line) for w in warnings)
    fields = ("category", "message", "file", "line")
    return [{**dict(zip(fields, key, strict=True)), "count": count} for key, count in counted.items()]
