"""Where the search begins: what real tools wrote, and the vectors of the control channel."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

DATA = Path(__file__).parent.parent / "tests" / "data"
SIZE = b"\x06"  # of pieces; see `targets._split`


def seeds(name: str) -> Iterator[bytes]:
    if name in _OTHERS:
        yield from (text.encode() for text in _OTHERS[name])
    elif name in _LIVE:
        yield from (SIZE + path.read_bytes() for path in sorted(DATA.glob(_LIVE[name])))
    elif name == "control":
        yield from (SIZE + data for data in _vectors())
    elif name == "detect":
        yield from (SIZE + path.read_bytes()[:4096] for path in sorted(DATA.glob("foreign/*/reports/*")))
    elif name == "pytest-text":
        yield SIZE + _TERMINAL.encode()
    elif name in ("events", "stream"):
        yield from (SIZE + path.read_bytes() for path in sorted(DATA.glob("streams/**/*.jsonl")))
    else:
        from proctor.wire.reports.detect import detect

        for path in sorted(DATA.glob("foreign/*/reports/*")):
            data = path.read_bytes()
            if len(data) < 60_000 and detect(data, path.name) == name.removesuffix("-full"):
                yield SIZE + data


def _vectors() -> Iterator[bytes]:
    for vector in json.loads((DATA / "control_vectors.json").read_text())["vectors"]:
        if "stream_base64" in vector:  # the others are long, and made of parts
            yield base64.b64decode(vector["stream_base64"])


_LIVE = {"bats": "foreign/bats/reports/*.tap", "go-list": "foreign/go/reports/*.jsonl"}
_OTHERS = {
    "row": ["t.py::test_a | AssertionError: 1 == 2 | t.py:3", r"t.py::test\|b | a\nb | ", r"\#x | \u2028 | "],
    "settings": [
        'timeout = "15m"\nmemory = "2G"\nhide_environment = ["AWS_*"]\n',
        '[[tests]]\nname = "a"\ncommand = "sh -c true"\nduration = "1h 30m"\n[limits]\npartials = 3\n',
    ],
    "mcp": [
        '\6{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_run","arguments":{"run_id":"last"}}}\n'
        '{"jsonrpc":"2.0","method":"notifications/initialized"}\r\n\n[{"id":2,"method":"ping"}]\n{"id":"x","a":NaN}',
        '\6{"jsonrpc":"2.0","method":"ping","params":{"a":["\\ud83d",1e9]},"id":"7"}\n{"jsonrpc":"2.0","result":{},"id":1}',
    ],
    "expression": [
        "db and not (slow or net)",
        "a or b and c",
        "(" * 900 + "a" + ")" * 900,
        "not " * 2000 + "a",
    ],
    "script": [
        "cross-env A=1 c8 --100 node --import ./a.js --test 'test/**/*.js' $(ls x) && npm run unit -- -i",
        "jest -c x a; node test.js",
        'NODE_OPTIONS="$A --b" npx vitest run --project x >out 2>&1 || true | tee y',
        "run-s unit test:* && pnpm exec jest && (cd a; make) && npm test -- \\",
    ],
    "masking": [
        "password = 'a1b2c3d4'\nexport DB_PASS=x1y2z3 --token abc123 Authorization: Basic YTpi",
        "E   AKIA0123456789ABCDEF -----BEGIN PRIVATE KEY-----\nMIIabcdefgh\n-----END PRIVATE KEY-----\n",
        "t.py::test_a[password=x1] postgres://u:p1@h/d?sig=0123456789 Cookie: a=b; c=d\r\nSet-Cookie: e=f1",
        "kind: Secret\ndata:\n  a: YWJj\n---\nINSERT INTO t (password) VALUES ('a1'), ('b2')",
        '<a password="x1"/> <key>token</key><string>a1b2c3d4</string> set_password("a1b2")',
        "\\x1b[31mpassword\\x1b[0m=\x1b[32ma1b2\x1b[0m ghp_0123456789... $6$a$bbbbbbbbbb",
    ],
    "libtest-list": ["\6a::b: test\nc: benchmark\n\n1 test, 1 benchmark\n"],
    "cargo-build": [
        "\6rustc 1.95.0 (5 2026-04-14)\nhost: x86_64\nsysroot: /rust\n"
        '{"reason":"compiler-artifact","package_id":"path+file:///p/a#1.0","manifest_path":"/p/Cargo.toml",'
        '"target":{"kind":["lib"],"name":"a","src_path":"/p/src/lib.rs","doctest":true},'
        '"filenames":["/t/liba.rlib"],"executable":"/t/a","profile":{"test":true}}\n'
        '{"reason":"compiler-message","package_id":"path+file:///p/a#1.0","target":{"kind":["lib"],"name":"a",'
        '"src_path":"/p/src/lib.rs"},"message":{"level":"error","message":"no","rendered":"error: no\\n",'
        '"code":{"code":"E0425"},"spans":[{"file_name":"src/lib.rs","line_start":3,"is_primary":true}]}}\n'
        '{"reason":"build-script-executed","package_id":"a 1.0 (x)","out_dir":"/t","env":[["A","1"]],'
        '"linked_paths":["native=/t"]}\n{"reason":"build-finished","success":false}\n'
    ],
    "session": [
        '{"status":"error","partial":true,"proctor":{"python":"3.11.7","pytest":"9.2.0"}}\n'
        '{"status":"error","partial":true,"proctor":{"suite":{"root":"/p","environment":{},"cwd":"/p"}}}\n'
        '{"status":"error","partial":true,"proctor":{"collectors":[{"id":"t.py","outcome":"passed","children":'
        '[{"id":"t.py::a","type":"Function","line":1,"tested":true},{"id":"t.py::b","type":"Function"}]}],'
        '"collection_errors":[{"id":"u.py","longrepr":"no","failure":{"message":"no"}}],"deselected":["t.py::c"]}}\n'
        '{"status":"error","partial":true,"proctor":{"selected":["t.py::a","t.py::b"],"collection_ended":1.79e9}}\n'
        '{"name":"t.py::a","status":"error","partial":true,"file":"t.py","line":2}\n'
        '{"name":"t.py::a","status":"pass","proctor":{"keywords":["a",""],"passed_in":[1e-9,2e-9,3e-9]}}\n'
        '{"name":"t.py::b","status":"fail","proctor":{"keywords":["b"],"phases":[{"when":"setup","outcome":'
        '"passed","duration":0.0002},{"when":"call","outcome":"failed","duration":0.002,"longrepr":"E  no",'
        '"crash":{"path":"/p/t.py","lineno":4,"message":"no"},"traceback":[{"path":"t.py","lineno":4,'
        '"message":"AssertionError"}],"failure":{"type":"AssertionError","message":"no","place":'
        '{"file":"t.py","line":4}},"stdout":"out","user_properties":[{"k":1}]}]}}\n'
        '{"status":"error","partial":true,"proctor":{"warnings":[{"category":"W","message":"m","file":"t.py",'
        '"line":3,"when":"runtest"}],"internal_error":{"message":"x"},"interrupted":{"type":"Exit"}}}\n'
        '{"status":"fail","partial":false,"proctor":{"finished":{"exit_status":1,"collected":2,"duration":0.3,'
        '"created":1.79e9}}}\n'
    ],
    "fault": [
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x1 (most recent call first):\n"
        '  File "/project/test_a.py", line 3 in test_b\n'
    ],
}
_TERMINAL = """\
============================= test session starts ==============================
rootdir: /project
collecting ... collected 3 items

test_a.py::test_b PASSED                                                 [ 33%]
test_a.py::test_c[x] FAILED                                              [ 66%]
test_a.py::test_d SKIPPED (no reason)                                    [100%]

=================================== FAILURES ===================================
____________________________________ test_c[x] ____________________________________
test_a.py:5: in test_c
    assert 1 == 2
E   assert 1 == 2
=========================== short test summary info ============================
PASSED test_a.py::test_b
SKIPPED [1] test_a.py:7: no reason
FAILED test_a.py::test_c[x] - assert 1 == 2
==================== 1 failed, 1 passed, 1 skipped in 0.01s ====================
"""
