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
    elif name == "control":
        yield from (SIZE + data for data in _vectors())
    elif name == "pytest-text":
        yield SIZE + _TERMINAL.encode()
    elif name in ("events", "stream"):
        yield from (SIZE + path.read_bytes() for path in sorted(DATA.glob("streams/**/*.jsonl")))
    else:
        from proctor.wire.detect import detect

        for path in sorted(DATA.glob("foreign/*/reports/*")):
            data = path.read_bytes()
            if len(data) < 60_000 and detect(data, path.name) == name:
                yield SIZE + data


def _vectors() -> Iterator[bytes]:
    for vector in json.loads((DATA / "control_vectors.json").read_text())["vectors"]:
        if "stream_base64" in vector:  # the others are long, and made of parts
            yield base64.b64decode(vector["stream_base64"])


_OTHERS = {
    "row": ["t.py::test_a | AssertionError: 1 == 2 | t.py:3", r"t.py::test\|b | a\nb | ", r"\#x | \u2028 | "],
    "settings": [
        'timeout = "15m"\nmemory = "2G"\nhide_environment = ["AWS_*"]\n',
        '[[tests]]\nname = "a"\ncommand = "sh -c true"\nduration = "1h 30m"\n[limits]\npartials = 3\n',
    ],
    "expression": ["db and not (slow or net)", "a or b and c"],
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
