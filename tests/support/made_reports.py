"""Small reports that have what the recorded ones do not have: by the format's name, and a title."""

from __future__ import annotations

import json
from typing import Any

from proctor.failure_row import Row, block, encode

MANY = "9" * 5000


def text(*lines: str) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def objects(*lines: dict[str, Any]) -> bytes:
    return text(*map(json.dumps, lines))


def go(action: str, test: str = "", output: str = "", **more: Any) -> dict[str, Any]:
    said = {"Action": action, "Package": "p", "Test": test, "Output": output}
    return {key: value for key, value in said.items() if value} | more


def libtest(*lines: str, tally: tuple[int, int, int, int] = (1, 0, 0, 0)) -> bytes:
    passed, failed, ignored, measured = tally
    counted = f"{passed} passed; {failed} failed; {ignored} ignored; {measured} measured; 0 filtered out"
    word, total = "FAILED" if failed else "ok", sum(tally)
    running = f"running {total} {'test' if total == 1 else 'tests'}"
    return text(running, *lines, "", f"test result: {word}. {counted}; finished in 0.25s")


def panic(*lines: str) -> bytes:
    printed = ("failures:", "", "---- a stdout ----", *lines, "", "", "failures:", "    a")
    return libtest("test a ... FAILED", "", *printed, tally=(0, 1, 0, 0))


def rust(kind: str, event: str, **more: Any) -> dict[str, Any]:
    return {"type": kind, "event": event, **more}


def built(**more: Any) -> dict[str, Any]:
    target = {"kind": ["lib"], "name": "a", "src_path": "/p/src/lib.rs", "doctest": True}
    artifact = {"reason": "compiler-artifact", "package_id": "path+file:///p/a#1.0", "target": target}
    return {**artifact, "manifest_path": "/p/Cargo.toml", **more}


def said(level: str, **more: Any) -> dict[str, Any]:
    span = {"file_name": "src/lib.rs", "line_start": 3, "is_primary": True, "label": "here"}
    message = {"level": level, "message": "no", "rendered": f"{level}: no\n", "spans": [span], **more}
    return built(reason="compiler-message", message=message)


def ctrf(*tests: dict[str, Any], **more: Any) -> bytes:
    words = ("passed", "failed", "skipped", "pending", "other")
    counts = {word: sum(test.get("status") == word for test in tests) for word in words}
    summary = {"tests": len(tests), **counts, "start": 1000, "stop": 3500}
    timed = [{"duration": 0, **test} for test in tests]
    results = {"tests": timed, "summary": summary, "tool": {"name": "x"}} | more
    return json.dumps({"reportFormat": "CTRF", "specVersion": "0.0.0", "results": results}).encode()


def tap_j(*lines: dict[str, Any], final: dict[str, Any] | None = None) -> bytes:
    suite = {"type": "suite", "count": sum(line["type"] == "test" for line in lines)}
    return objects(suite, *lines, {"type": "final", "time": 2.5, "counts": {}, **(final or {})})


def jest(*files: dict[str, Any], **more: Any) -> bytes:
    total = sum(len(file.get("assertionResults", ())) for file in files)
    head = {"success": True, "numTotalTests": total, "startTime": 1000, "testResults": files}
    return json.dumps(head | more).encode()


def js(title: str, status: str = "passed", *failures: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "status": status, "failureMessages": failures, **more}


SUBTESTS: list[dict[str, Any]] = [
    {"msg": "m", "kwargs": {"n": 1}},
    {"kwargs": "odd"},
    {"msg": None, "kwargs": {}},
]


def pytest_log(*lines: dict[str, Any], status: int | None = 0) -> bytes:
    end = [] if status is None else [{"$report_type": "SessionFinish", "exitstatus": status}]
    return objects({"$report_type": "SessionStart", "pytest_version": "9"}, *lines, *end)


def phase(when: str, outcome: str = "passed", **more: Any) -> dict[str, Any]:
    facts = {"nodeid": "t.py::a", "when": when, "outcome": outcome, "location": ["t.py", 2, "a"]}
    return {"$report_type": "TestReport", "duration": 0.25, "keywords": {}, "sections": [], **facts, **more}


def junit(*cases: str, suite: str = 'name="s"', inside: str = "") -> bytes:
    return f"<testsuites><testsuite {suite}>{''.join(cases)}{inside}</testsuite></testsuites>".encode()


DONE = {"reason": "build-finished", "success": True}
MADE: dict[str, dict[str, bytes]] = {
    "libtest": {
        "nothing": b"",
        "times, reasons and modes": libtest(
            "test a ... ok <0.125s>",
            "test b ... ignored, not today",
            "test c - should panic ... ok",
            "test src/lib.rs - d (line 3) - compile ... ok",
            "test e ... bench:       1,250.5 ns/iter (+/- 3) = 8 MB/s",
            tally=(3, 0, 1, 1),
        ),
        "a result on the next line": libtest("test a ... hello", "ok <0.5s>"),
        "a result behind what was printed": libtest("test a ... hello ok"),
        "a result before nothing": libtest("printed: test x test b - should panic ... ok", "... ok"),
        "a panic": panic("out", "thread 'a' panicked at src/lib.rs:3:5:", "oh no", "note: run with"),
        "values that differ": panic(
            "thread 'a' (7) panicked at src/lib.rs:3:5:",
            "assertion `left == right` failed: why",
            "  left: 1,",
            " right: 2",
            "stack backtrace:",
        ),
        "an old panic": panic("thread 'a' panicked at 'oh, no', src/lib.rs:3:5", "note: x"),
        "an error that was returned": panic("out", "Error: one", "Error: two", "more"),
        "an error and nothing else": panic("Error: one"),
        "words": panic("first", "", "note: last"),
        "no words": panic(),
        "a failure in documentation": libtest(
            "test src/lib.rs - a (line 3) ... FAILED",
            "failures:",
            "",
            "---- x stdout ----",
            tally=(0, 1, 0, 0),
        ),
        "two suites, one without an end": libtest("test a ... ok")
        + text("running 2 tests", "test a ... ok", "test b ... "),
        "not built": text(
            "   Compiling x",
            "error[E1]: first",
            " --> src/lib.rs:3:4",
            "error: could not compile `x` (lib test) due",
        )
        + text("error: could not compile `y`"),
        "counts without end": text(
            "running 1 test", f"test result: ok. {MANY} passed; 0 failed; 0 ignored; 0 measured;"
        ),
    },
    "libtest-json": {
        "nothing": b"",
        "everything": objects(
            rust("suite", "started", test_count=5),
            rust("test", "started", name="a"),
            rust("test", "timeout", name="a"),
            rust("test", "ok", name="a", exec_time=0.5, stdout="out"),
            rust("test", "failed", name="b", reason="time limit exceeded"),
            rust("test", "failed", name="c", stdout="thread 'c' panicked at a.rs:1:2:\nno\n"),
            rust("test", "ignored", name="d", message="not today"),
            rust("bench", "", name="e", median=1250.0, deviation=3.0, mib_per_second=8.0),
            rust("suite", "failed", passed=1, failed=2, ignored=1, measured=1, exec_time=0.75),
        ),
        "between other lines": text(
            "noise", '  {"x', "", 'printed{ "type": "suite", "event": "started", "test_count": 0 }'
        )
        + text('{"type": 1}', '{"type":"suite","event":"ok"}'),
        "two suites without an end": objects(*[rust("suite", "started", test_count=1)] * 2),
    },
    "go-json": {
        "nothing": b"",
        "noise": text("noise", "", "{not json"),
        "a benchmark": objects(
            go("run", "BenchmarkA"),
            go("output", "BenchmarkA", "BenchmarkA-8 \t 10\t 125.5 ns/op\t 2.50 MB/s\n"),
            go("bench", "BenchmarkA"),
            go("pass"),
        ),
        "a benchmark without figures": objects(go("bench", "BenchmarkA", Elapsed=0.5), go("pass")),
        "skips": objects(
            *(go("output", "TestA", "    a_test.go:3: not today\n"), go("skip", "TestA", Elapsed=0.5)),
            *(go("output", "TestB", "never\n"), go("skip", "TestB"), go("pass")),
        ),
        "marked lines": objects(
            go("output", "TestA", "=== RUN TestA\n", OutputType="frame"),
            go("output", "TestA", "    a_test.go:3: got 1, want 2\n", OutputType="error"),
            go("output", "TestA", "more\n", OutputType="error-continue"),
            go("output", "TestA", "hello\n"),
            *(go("fail", "TestA", Elapsed=0.5), go("fail")),
        ),
        "a package that is killed": objects(
            *(go("run", "TestA"), go("output", "TestA", "hello\n"), go("run", "TestB")),
            *(go("output", "", "signal: killed\n"), go("output", "", "FAIL\tp\t0.1s\n"), go("fail")),
        ),
        "a package that fails by itself": objects(
            go("output", "", "# p\n"), go("output", "", "bad\n"), go("fail")
        ),
        "a package that says nothing": objects(go("fail")),
        "not built": objects(
            {"Action": "build-output", "ImportPath": "p", "Output": "# p\n"},
            {"Action": "build-output", "ImportPath": "p", "Output": "./a.go:3:4: undefined: x\n"},
            go("fail", FailedBuild="p"),
        ),
        "times": objects(
            go("pass", "TestA", Time="2026-01-01T00:00:00Z"), go("pass", Time="2026-01-01T00:00:02.5Z")
        ),
        "no end": objects(go("run", "TestA"), go("run", "TestA", Package="q")),
    },
    "bats": {
        "everything": text(
            *("1..5", "suite /p/a.bats", "begin 1 a", "ok 1 a in 12ms", "begin 2 b", "not ok 2 b in 3ms"),
            *(
                "# (in test file a.bats, line 3)",
                "#   `false' failed",
                "# expected : 1",
                "# actual   : 2",
                "# out",
            ),
            *("begin 3 dies", "begin 4 c", "ok 4 c # skip not today", "not ok 5 d", "begin 6 last"),
            "# bats warning: Executed 4 instead of expected 5 tests",
        ),
        "not gathered": text("1..1", "not ok 1 bats-gather-tests", "# x", "# a.bats: line 3: syntax error"),
        "not gathered, and no place": text("1..1", "not ok 1 bats-gather-tests", "# first", "# second"),
        "no end": text("1..2", "begin 1 a"),
    },
    "libtest-list": {
        "everything": text(
            *("before", "\x1e/p/a", "a: test", "b: benchmark", "", "c: other", "noise", "\x1e=0", "between"),
            "\x1e/p/b",
            '{"type":"suite","event":"discovery"}',
            '{"type":"test","event":"discovered","name":"d","source_path":"src/lib.rs","start_line":3}',
            "{noise",
            *("src/lib.rs - e (line 7): test", "\x1e=0", "\x1e=0", "\x1e/p/c", "why", "\x1e=101", "\x1e/p/d"),
        ),
    },
    "cargo-build": {
        "nothing": b"",
        "everything": text("rustc 1.9 (x)", "rustc 2.0", "host: x86", "sysroot: /r", "noise", "{noise")
        + objects(
            built(filenames=["/p/liba.rlib"], profile={"test": False}),
            built(executable="/p/a-1", profile={"test": True}),
            built(
                executable="/p/b",
                target={"kind": ["bin"], "name": "b", "src_path": "/p/b.rs"},
                package_id="b 1.0 (x)",
            ),
            built(
                target={"kind": ["bin"], "name": "c", "src_path": "/p/c.rs"},
                package_id="path+file:///p#c@1.0",
            ),
            {
                "reason": "build-script-executed",
                "package_id": "registry+x/y?z#1.0",
                "out_dir": "/o",
                "env": [["K", "v"]],
                "linked_paths": ["native=/l", "/m"],
            },
            *(
                said("warning", code={"code": "W1"}),
                said("warning"),
                said("warning", rendered="w\n", spans=[]),
            ),
            *(
                said("error: internal", code={"code": "E1"}),
                said("error", rendered="", spans=[], message="late"),
            ),
            *({"reason": "compiler-message"}, {"reason": "compiler-artifact"}, {"reason": "other"}),
            {**DONE, "success": False},
        ),
        "well": objects(DONE),
    },
    "ctrf": {
        "empty": b" ",
        "no report": b"{}",
        "everything": ctrf(
            {"name": "a", "status": "passed", "duration": 1500, "stdout": ["x", "y"], "stderr": ["z"]},
            {
                "name": "b",
                "status": "failed",
                "suite": ["s", "t"],
                "message": "no",
                "trace": "long",
                "filePath": "f",
            },
            {"name": "c", "status": "other", "suite": "s", "line": -3, "filePath": "f"},
            {"name": "d", "status": "pending", "rawStatus": "todo", "duration": -5},
            {
                "name": "e",
                "status": "failed",
                "rawStatus": "collection_error",
                "message": "no",
                "trace": "long",
            },
            {"name": "f", "status": "failed", "rawStatus": "crash", "flaky": True},
            {"name": "f", "status": "passed", "retries": 2, "extra": {"properties": {"k": 1}}, "line": 4},
            {"name": "g", "status": "other", "rawStatus": "skipped", "extra": {"properties": 7}},
        ),
        "sums": ctrf(
            summary={"tests": 2, "failed": 1, "start": 5, "stop": 1}, tool={"name": "x", "version": "1"}
        ),
    },
    "json-report": {
        "no report": b"[]",
        "everything": json.dumps(
            {
                "exitcode": 1,
                "created": 5.5,
                "duration": 2.5,
                "summary": {"collected": 9, "deselected": 2, "total": 8},
                "collectors": [
                    {"nodeid": "a.py", "outcome": "failed"},
                    {"nodeid": "b.py", "outcome": "passed"},
                ],
                "tests": [
                    {"nodeid": "t.py::a", "outcome": "strange", "keywords": ["k"]},
                    {"nodeid": "t.py::b", "outcome": "passed", "lineno": 0},
                    {
                        "nodeid": "t.py::c",
                        "outcome": "failed",
                        "call": {
                            "outcome": "failed",
                            "duration": 1.5,
                            "crash": {"path": "t.py", "lineno": -3, "message": "no"},
                            "longrepr": "('t.py', 3, 'Skipped: x')",
                        },
                    },
                    {
                        "nodeid": "t.py::d",
                        "outcome": "skipped",
                        "setup": {"outcome": "skipped", "longrepr": "x"},
                    },
                ],
            }
        ).encode(),
    },
    "junit": {
        "nothing": b"",
        "counts": junit(
            '<testcase name="a"/>', suite='name="s" tests="3" failures="1" errors="2" time="1.5"'
        ),
        "all kinds": junit(
            '<testcase name="a" classname="c" time="1,000.5" file="f.py" line="3"/>',
            '<testcase name="b"><failure message="no" type="E">trace</failure>'
            "<system-out>o</system-out></testcase>",
            '<testcase name="b"><error>first\nE  last</error><system-err>e</system-err></testcase>',
            '<testcase name="d"><skipped type="pytest.xfail" message="known"/></testcase>',
            '<testcase name="e" status="disabled"/><testcase name="f" result="suppressed"/><testcase/>',
            '<testcase name="g"><properties><property name="k" value="v"/></properties></testcase>',
            inside="<system-out>of the suite</system-out>"
            "<properties><property name='k' value='v'/></properties>",
        ),
        "suites in suites": junit(
            inside='<testsuite name="t" time="2"><testcase name="a"/></testsuite><testsuite name="u"/>'
        ),
        "counts that do not add up": junit(
            '<testcase name="a"><failure/></testcase><testcase name="b"/>',
            suite='name="s" tests="4" failures="2" errors="1"',
        ),
        "counts of suites in suites": junit(
            inside='<testsuite name="t" tests="2" failures="1"><testcase name="a"/><testcase name="b">'
            "<error/></testcase></testsuite>"
            '<testsuite name="u" tests="1"><testcase name="c"><failure/></testcase></testsuite>',
            suite='name="s" tests="4" failures="2" errors="1"',
        ),
        "times of suites beside each other": b"".join(
            (b"<testsuites>", b'<testsuite time="1.5"/>', b'<testsuite time="2"/>', b"</testsuites>")
        ),
        "the time of the whole": b'<testsuites time="9"><testsuite time="1.5"/></testsuites>',
        "a suite that failed": junit("<failure/>", '<error message="no" type="E"/>', "<skipped/>"),
        "a test that is told again": junit(
            '<testcase name="a" time="1" file="f.py" line="3"><failure>first</failure>'
            '<properties><property name="k"/><property value="v"/></properties></testcase>'
            '<testcase name="a" time="2"><error>\n</error></testcase>',
            suite='name="pytest"',
        ),
        "names of pytest": junit(
            '<testcase classname="t" name="a"><skipped type="pytest.skip"/></testcase>'
            '<testcase name=""/><testcase classname="c"/>',
            '<testcase name="t"><error message="collection failure">E   no</error></testcase>',
            suite='name="pytest tests" tests="9"',
        ),
        "a prefix of names": (b'<x:testsuite xmlns:x="u"><x:testcase name="a"/></x:testsuite>'),
        "not xml": b"<testsuites><testsuite></x>",
        "another root": b"<html/>",
        "cut": b"<testsuites><testsuite name='s'><testcase name='a'>",
    },
    "tap-j": {
        "nothing": b"",
        "no count": objects({"type": "suite"}, {"type": "test", "label": "a", "status": "pass"}),
        "noise": b"warming up\n\n" + tap_j({"type": "note", "text": "a note"}),
        "not json": objects({"type": "suite"}) + b"{once\n",
        "a status that is none": tap_j({"type": "test", "label": "a", "status": "fine"}),
        "all kinds": tap_j(
            {"type": "case", "label": "A", "level": 0},
            {"type": "test", "label": "a", "status": "pass", "time": 0.5, "file": "a.rb", "line": -1},
            {"type": "case", "label": "B", "level": 1},
            {"type": "test", "label": "b", "status": "todo", "time": 0.25, "stdout": "o", "stderr": "e"},
            {"type": "case", "label": "C", "level": -1},
            {"type": "test", "label": "c", "status": "error", "time": 1.5}
            | {
                "exception": {
                    "message": "no",
                    "class": "E",
                    "file": "a.rb",
                    "line": -3,
                    "backtrace": ["x", "y"],
                }
            },
            {
                "type": "test",
                "label": "c",
                "status": "fail",
                "exception": {"message": "no", "backtrace": "whole"},
            },
            {"type": "something new"},
            final={"counts": {"omit": 0, "error": 1}},
        ),
        "omitted ones need not be listed": objects(
            {"type": "suite", "count": 3},
            {"type": "test", "label": "a", "status": "omit"},
            {"type": "tally", "counts": {"omit": 3}},
        ),
        "counts that do not add up": tap_j(
            {"type": "test", "label": "a", "status": "omit"}, final={"counts": {"omit": 0, "todo": 1}}
        ),
    },
    "jest": {
        "not json": b"once",
        "nothing": jest(),
        "all kinds": jest(
            {"name": "/p/a.js", "endTime": 3500, "status": "failed"}
            | {
                "assertionResults": [
                    js("a", location={"line": -1}, duration=250, ancestorTitles=["of", "this"]),
                    js("b", "failed", "TypeError: no\n    at f (/p/lib.js:3:4)\n    at /p/a.js:7:1", "more"),
                    js("c", "failed", "no\n    at x (/p/node_modules/y/z.js:1:2)\n    at file:///p/u.js:9:1"),
                    js("d", "failed"),
                    js("e", "failed", "Weird.Error: "),
                    js("f", "todo"),
                    js("g", "lost"),
                    js("g", "pending"),
                ]
            },
            success=False,
        ),
        "files that failed": jest(
            {"name": "/p/a.js", "status": "failed", "message": "  ● suite\n\n   cannot find it\n"},
            {"name": "/p/b.js", "status": "failed", "message": "● only a mark\n"},
            {"name": "/p/c.js", "status": "failed", "assertionResults": [js("a"), js("b", "failed", "no")]},
            numTotalTests=3,
            numFailedTests=2,
            wasInterrupted=True,
        ),
    },
    "reportlog": {
        "nothing": b"",
        "noise": b"collecting\n\n" + pytest_log(),
        "not json": pytest_log(status=None) + b"{once\n",
        "no end": pytest_log(phase("setup"), status=None),
        "files that cannot be collected, told by each worker": pytest_log(
            *[{"$report_type": "CollectReport", "nodeid": "t.py", "outcome": "failed", "longrepr": "E  no"}]
            * 2,
            {"$report_type": "CollectReport", "nodeid": "u.py", "outcome": "passed"},
            {
                "$report_type": "CollectReport",
                "nodeid": "v.py",
                "outcome": "failed",
                "longrepr": ["v.py", 1, "no"],
            },
            status=2,
        ),
        "attempts": pytest_log(
            phase("setup"), phase("call", "rerun"), phase("setup"), phase("call"), phase("teardown")
        ),
        "output": pytest_log(
            phase("setup", sections=[["Captured stdout setup", "s"]]),
            phase("", sections=[["Captured stdout call", "o"], ["Captured stdout call", "p"]])
            | {"user_properties": [["k", 1]]},
            phase("teardown", location=["t.py", None, "a"], keywords={"a": 1, "": 1}),
        ),
        "a line that can be none": pytest_log(
            *(phase(when, location=["t.py", 10**20, "a"]) for when in ("setup", "call", "teardown"))
        ),
        "a failure and what it says": pytest_log(
            phase("setup"),
            phase("call", "failed")
            | {
                "longrepr": {
                    "reprcrash": {"path": "/p/t.py", "lineno": 4, "message": "no"},
                    "reprtraceback": {
                        "reprentries": [
                            {
                                "data": {
                                    "lines": ["a", 1],
                                    "reprfileloc": {"path": "t.py", "lineno": 3, "message": ""},
                                }
                            },
                            {
                                "data": {
                                    "lines": None,
                                    "reprfileloc": {"path": "t.py", "lineno": 4, "message": "E"},
                                }
                            },
                            {"data": None},
                            "entry",
                        ]
                    },
                }
            },
            phase("teardown"),
            status=1,
        ),
        "failures that say little": pytest_log(
            phase("setup"),
            phase("call", "failed", longrepr={"reprcrash": {"path": "t.py", "lineno": 4, "message": "no"}}),
            phase("call", "failed")
            | {"longrepr": {"reprcrash": {"path": "t", "lineno": 4, "message": "no"}}}
            | {"longrepr": {"reprtraceback": {"reprentries": [{"data": {"reprfileloc": {"message": 7}}}]}}},
            phase("call", "failed", longrepr={}),
            phase("call", "skipped", longrepr=["t.py", 3, "Skipped: why"]),
            phase("teardown", location=[]),
            status=1,
        ),
        "subtests": pytest_log(
            phase("setup"),
            *(
                phase("call", "failed") | {"$report_type": "SubTestReport", "_subtest.context": context}
                for context in SUBTESTS
            ),
            phase("call"),
            phase("teardown"),
            status=1,
        ),
        "a warning": pytest_log(
            {
                "$report_type": "WarningMessage",
                "category": "W",
                "message": "m",
                "filename": "t.py",
                "lineno": 3,
            }
        ),
    },
    "failures": {
        "nothing": b"x\n",
        "more than rows": block(
            map(encode, [Row("t.py::a", "[setup] no", "t.py:3"), Row("t.py::a", "no")]), 7
        ).encode(),
        "places": block(
            map(encode, [Row("a", "no", place) for place in ("t.py", "t.py:0", "C:x:4", f"t.py:{MANY}")])
        ).encode(),
        "a test that fails, and its teardown": block(
            map(
                encode,
                [Row("a", "no", "t.py:1"), Row("a", "[teardown] oh", "t.py:2"), Row("b", "[teardown] oh")],
            )
        ).encode(),
    },
    "tap": {
        "a mark of the order of bytes and other ends of lines": b"\xef\xbb\xbf1..1\r\nok 1 - a\r\n",
        "many gaps": b"".join(text("TAP version 14", "1..2", f"ok 1 - {n}") for n in range(8)),
        "not UTF-8": b"1..1\nok 1 - \xff\n",
        "subtests in braces": text(
            *(
                "1..3",
                "ok 1 - a {",
                "    1..2",
                "    ok 1 - x",
                "    ok 2 - y {",
                "        1..1",
                "        ok 1 - z",
            ),
            *("    }", "}", "not ok 2 - b {", "    not ok 1 - x", "    1..1", "ok 3 - c {", "}", "}"),
        ),
        "a brace that is part of a name": text("1..2", "ok 1 - a {", "ok 2 - b {"),
        "depths": text(
            *(
                "1..2",
                "  ok 9 - odd",
                "        ok 9 - too deep",
                "\t ok 9 - tab",
                "# Subtest: a",
                "    # Subtest: b",
            ),
            *(
                "        ok 1 - deep",
                "        1..1",
                "    ok 1 - b",
                "    1..1",
                "ok 1 - a",
                "            1..1",
            ),
        ),
        "subtests without a point": text("1..1", "    ok 1 - x", "        not ok 1 - y"),
        "a suite that is short of tests": text(
            *("1..1", "    1..2", "    ok 1 - x", "      ---", "      type: test", "      ..."),
            *("ok 1 - s", "  ---", "  type: suite", "  ..."),
        ),
        "not collected": text(
            *(
                "1..2",
                "not ok 1 - a.py",
                "  ---",
                "  outcome: collection_error",
                "  type: E",
                "  message: no",
            ),
            *(
                "  traceback: long",
                "  ...",
                "not ok 2 - b.py",
                "  ---",
                "  outcome: collection_error",
                "  ...",
            ),
        ),
        "diagnostics": text(
            *(
                "1..3",
                "not ok 1 - a",
                "---",
                "  ---  ",
                "  message: no",
                "  name: E",
                "  at:",
                "    file: a.js",
            ),
            *("    line: 7", "  location: b.js:3:4", "  duration_ms: 12.5", "  ...  ", "# why", "not ok 2"),
            *(
                "# first",
                "#  second",
                "ok 3 - c # time=12ms",
                "  ---",
                "  message: fine",
                "  stderr: err",
                "  ...",
            ),
        ),
        "directives": text(
            *(
                "1..6",
                "not ok 1 - a # TODO later",
                "ok 2 - b # todo",
                "ok 3 # SKIP: not today",
                "ok 4 - c \\# skip",
            ),
            *("ok 5 - d # time=1.5s # SKIP x", "not ok 6 - e # skip"),
        ),
        "all skipped": text("1..0 # not here"),
        "nothing to do": text("1..0"),
        "a plan for what is not skipped": text("1..1 # for a reason", "ok 1"),
        "bails": text("1..2", "ok 1", "Bail out!  the disk is full"),
        "bails without a word": text("Bail out!"),
        "timed out": text("1..1", "not ok 1 - a", "  ---", "  failureType: testTimeoutFailure", "  ..."),
        "a silent file": text("1..1", "ok 1 - /p/a.cts", "  ---", "  duration_ms: 1", "  ..."),
        "two streams": text(
            "TAP version 14", "1..1", "ok 1 - a", "TAP version 14", "ok 1 - a", "1..1", "pragma +strict"
        ),
    },
}
