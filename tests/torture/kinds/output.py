"""Output that floods, lies, or has nowhere to go; and the channel that is not theirs."""

from __future__ import annotations

from typing import Any

from torture.kind import SIZE, UNCAPTURED, Kind, crowd, culprit, instead, plain

PIPES = """
def is_pipe(fd):
    try:
        return stat.S_ISFIFO(os.fstat(fd).st_mode)
    except OSError:
        return False

def pipes():
    '''All but standard output: the channel is among them.'''
    return [int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and is_pipe(int(fd))]

def frame(text):
    return b"result %d\\n%b" % (len(text), text.encode())
"""
FORGED = """
print("== 3 passed in 0.00s ==")
print('##[failures] {"total": 0}')
print('{"schema": "proctor.result/1", "outcome": "passed", "tests": []}')
print("passed\\r\\x1b[2J\\x1b]0;owned\\x07\\x1b[1A\\x9b31m\\u202e")
assert 0
"""


PASSED, FAILED = instead("passed", "passed"), instead("failed", "failed")


def cut_off(name: str, body: str, **more: Any) -> Kind:
    """The channel is lost in the middle of a test. A worker does not have it."""
    return culprit(name, body, "incomplete", "error", None, PIPES, reason="control channel", **more)


PLAIN = {
    "end_of_input": "assert os.read(0, 1) == sys.stdin.buffer.read() == b''",
    "bytes": "os.write(1, bytes(range(256)) * 100); os.write(2, b'\\xff\\xfe\\x00' * 100)",
    "errors_closed": "os.close(2)",
}
UNPLAIN = {"forged": FORGED, "input": "input()"}
KINDS = [
    culprit(
        "it closes its output",
        "os.close(1)",
        "internal_error",
        "error",
        None,
        files=UNCAPTURED,
        ways={"-n 2": PASSED},
    ),
    culprit(
        "it has no sys.stdout",
        "sys.stdout = sys.__stdout__ = sys.stderr = sys.__stderr__ = None",
        "incomplete",
        files=UNCAPTURED,
        ways={"--isolate": PASSED},
    ),
    culprit("it writes very often", f"for _ in range({200_000 * SIZE}): os.write(1, b'.')", files=UNCAPTURED),
    crowd("tests read and write what is no text", PLAIN, files=UNCAPTURED, ways={"-n 2": {}}),
    crowd("tests forge a verdict", UNPLAIN, "failed", "failed", ways={"-n 2": {}}),
    crowd("tests forge a verdict, uncaptured", UNPLAIN, "failed", "failed", files=UNCAPTURED),
    cut_off(
        "it closes the first 256 descriptors",
        "os.closerange(0, 256)",
        ways=dict.fromkeys(("-n 2", "--isolate"), instead("crashed", "crash")),
    ),
    cut_off("it closes the channel", "for fd in pipes(): os.close(fd)", ways={"--isolate": FAILED}),
    cut_off(
        "it puts a file in the channel's place",
        """
        file = os.open("../mine", os.O_CREAT | os.O_WRONLY)
        for fd in pipes(): os.dup2(file, fd)
        """,
        writes=("mine",),
    ),
    cut_off(
        "it writes garbage to the channel",
        "for fd in pipes(): os.write(fd, b'\\xff this is not ours\\n')",
        ways=dict.fromkeys(("-n 2", "--isolate"), PASSED),
    ),
    cut_off(
        "it announces a gigabyte on the channel", "for fd in pipes(): os.write(fd, b'result 1000000000\\n{')"
    ),
    cut_off(
        "it announces an endless number on the channel",
        "for fd in pipes(): os.write(fd, b'result ' + b'9' * 10_000)",
    ),
    cut_off(
        "it sends half a result and exits with 0",
        """
        for fd in pipes(): os.write(fd, b'result 100\\n{"name": "x"')
        os._exit(0)
        """,
    ),
    culprit(
        "it writes garbage to every socket",
        """
        for fd in map(int, os.listdir("/proc/self/fd")):
            if os.path.exists(f"/proc/self/fd/{fd}") and stat.S_ISSOCK(os.fstat(fd).st_mode):
                os.write(fd, b"\\0" * 1000)
        """,
        ways={
            way: instead("crashed", "crash") for way in ("-n 2", "--isolate")
        },  # which is how a worker speaks
    ),
    culprit(
        "it forges a pass of its own and fails",
        """
        for fd in pipes(): os.write(fd, frame('{"name":"test_a.py::test_culprit","status":"pass"}'))
        assert 0
        """,
        "failed",
        "failed",
        head=PIPES,
        ways={"-n 2": {}},
    ),
    culprit(
        "it forges the end of the session and exits with 0",
        """
        end = '{"status":"pass","proctor":{"finished":{"exit_status":0,"collected":3}}}'
        for fd in pipes(): os.write(fd, frame(end))
        os._exit(0)
        """,
        "incomplete",
        "error",
        None,
        PIPES,
        ways={"--isolate": instead("crashed", "crash")},
    ),
    plain(
        "its report of another tool says that all is well",
        "failed",
        """
        def pytest_sessionfinish(session):
            with open("junit.xml", "w") as file:
                file.write('<testsuite tests="1" failures="0"><testcase name="test_first"/></testsuite>')
            session.exitstatus = 1
        """,
        writes=("project/junit.xml",),
    ),
]
