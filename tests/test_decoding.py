"""Types are decoded from several threads: by a server with two runs, and by workers with two shards."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import proctor

# A chain of types, so that looking at the first takes long enough for other threads to meet it.
AT_ONCE = """
import sys, threading, types
import msgspec
from proctor import decoding

def chain(number):
    module = sys.modules[f"chain{number}"] = types.ModuleType(f"chain{number}")
    source = "import msgspec\\nfrom typing import Optional\\nclass A0(msgspec.Struct): a: int = 0\\n"
    for at in range(1, 12):
        source += f"class A{at}(msgspec.Struct):\\n a: 'Optional[A{at - 1}]' = None\\n"
    exec(source, module.__dict__)
    return module.A11

def read(kind, begin, found):
    begin.wait()
    found.append((decoding.decode(b'{"a": {"a": {}}}', kind), decoding.convert({"a": {"a": {}}}, kind)))

sys.setswitchinterval(1e-6)
for number in range(50):
    kind, begin, found = chain(number), threading.Barrier(4), []
    threads = [threading.Thread(target=read, args=(kind, begin, found)) for _ in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert len(found) == 4 and all(one == two == found[0][0] for one, two in found), found
"""


def test_threads_that_decode_a_type_for_the_first_time_at_once_all_get_their_value() -> None:
    ran = subprocess.run([sys.executable, "-c", AT_ONCE], capture_output=True, text=True)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_no_other_module_gives_a_type_to_msgspec() -> None:
    top = Path(proctor.__file__).parent
    found = [
        f"{path.relative_to(top)}:{node.lineno}"
        for path in top.rglob("*.py")
        if path.name != "decoding.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and gives_a_type(node)
    ]

    assert found == []


def gives_a_type(call: ast.Call) -> bool:
    match ast.unparse(call.func):
        case "msgspec.convert":
            return True
        case "msgspec.json.Decoder" | "msgspec.msgpack.Decoder":
            return bool(call.args or call.keywords)
        case "msgspec.json.decode" | "msgspec.toml.decode" | "msgspec.yaml.decode":
            return any(keyword.arg == "type" for keyword in call.keywords)
    return False


@pytest.mark.parametrize(
    ("code", "expected"),
    {
        "msgspec.convert(value, int)": True,
        "msgspec.json.Decoder(A)": True,
        "msgspec.json.decode(data, type=A)": True,
        "msgspec.json.Decoder()": False,
        "msgspec.json.decode(data)": False,
    }.items(),
)
def test_a_call_that_gives_a_type_is_known_by_its_arguments(code: str, expected: bool) -> None:
    (call,) = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))

    assert gives_a_type(call) is expected
