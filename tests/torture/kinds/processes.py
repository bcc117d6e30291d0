"""Processes that end too soon, will not end, or end others."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

from torture.kind import FIRST, LATER, UNCAPTURED, Kind, crowd, culprit, instead, plain

DAEMON = """
def daemon(environ=None):
    '''Leaves by the book, ignores what it can, keeps every descriptor, and forgets where it came from.'''
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
                signal.signal(number, signal.SIG_IGN)
            started(os.getpid())
            os.write(write, b"%d" % os.getpid())
            os.execve("/bin/sleep", ["sleep", "1000"], os.environ if environ is None else environ)
        os._exit(0)
    os.wait()
    return int(os.read(read, 20))

def proctor():
    '''The process above our supervisor. Nobody else is ever to be killed.'''
    with open(f"/proc/{os.getppid()}/stat") as file:
        pid = int(file.read().rpartition(")")[2].split()[1])
    with open(f"/proc/{pid}/cmdline") as file:
        assert "proctor" in file.read()
    return pid
"""


# Some fork and end so fast that their numbers are gone before one can look; most have mercy on us.
BOMB = """
import os, time

made = os.open("../made", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
number = 0
while os.fstat(made).st_size < 100:
    os.write(made, b".")
    if os.fork() == 0:
        os.setsid()
        number = os.fstat(made).st_size
while not os.path.exists("stop"):  # which nobody makes
    if os.fork() and number < 8:
        os._exit(0)
    if number >= 8:
        time.sleep(60)
"""


BOTH: Mapping[str, Mapping[str, Any]] = {"-n 2": {}, "--isolate": {}}
CRASHED = instead("crashed", "crash")
LATE = instead("timeout", "timeout")  # a limit for each test costs only the one that hangs


def dies(name: str, body: str, *ways: str) -> Kind:
    """It costs one test: the others run in another session, or in another worker."""
    return culprit(name, body, "crashed", "crash", ways={way: {} for way in ways})


def hangs(name: str, body: str, head: str = "", ways: tuple[str, ...] = ()) -> Kind:
    body = "reached()\n" + dedent(body)
    return culprit(name, body, "timeout", "timeout", None, head, hangs=True, ways=dict.fromkeys(ways, LATE))


ENDINGS = [
    dies("it exits with 0", "os._exit(0)", *BOTH),
    dies("it exits with pytest's code for no tests", "os._exit(5)"),
    dies("it exits with pytest's code for a wrong request", "os._exit(4)"),
    dies("it exits with pytest's code for its own fault", "os._exit(3)"),
    dies(
        "it reads address 0 with faulthandler off",
        "import faulthandler; faulthandler.disable(); ctypes.string_at(0)",
        "-n 2",
    ),
    dies("it aborts", "os.abort()", "--isolate"),
    dies("it kills itself", "os.kill(os.getpid(), signal.SIGKILL)", "-n 2"),
    dies("it ends its process group", "os.killpg(0, signal.SIGTERM)", *BOTH),
    dies("an alarm rings", "signal.alarm(1); time.sleep(60)"),
    dies(
        "it uses up its processor time",
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, 2))\nwhile True: pass",
    ),
    culprit(
        "it becomes another program",
        "os.execv('/bin/sleep', ['sleep', '1'])",
        "incomplete",
        "error",
        None,
        ways={"-n 2": CRASHED},  # it is only a worker that did
    ),
    culprit(
        "it becomes pytest once more",
        "os.execv(sys.executable, [sys.executable, '-m', 'pytest', '-k', 'first'])",
        "incomplete",
        "error",
        None,
        again=(FIRST,),
        ways={"--isolate": CRASHED},
    ),
    dies("a thread exits for all", "threading.Thread(target=os._exit, args=(0,)).start(); time.sleep(60)"),
]
HANGING = [
    hangs(
        "it stops itself",
        "os.kill(os.getpid(), signal.SIGSTOP)",
        ways=("--test-timeout 4", "-n 2 --test-timeout 4"),
    ),
    hangs(
        "it masks every signal and waits",
        "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\ntime.sleep(60)",
        ways=("--isolate --test-timeout 4",),
    ),
    hangs(
        "it ignores every signal",
        """
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGABRT}:
            signal.signal(number, signal.SIG_IGN)
        while True: time.sleep(0.01)
        """,
        ways=("--test-timeout 4",),
    ),
    hangs(
        "an __eq__ never answers",
        "assert Slow() == Slow()",
        """
        class Slow:
            def __eq__(self, other):
                while True: time.sleep(0.01)
        """,
        ways=("-n 2 --test-timeout 4",),
    ),
    hangs(
        "it stops its supervisor and sleeps",
        "daemon(); os.kill(os.getppid(), signal.SIGSTOP); time.sleep(60)",
        DAEMON,
        ways=("--test-timeout 4",),
    ),
    plain(
        "its exit handler never returns",
        "timeout",
        """
        import atexit

        @atexit.register
        def stay():
            reached()
            time.sleep(60)
        """,
        hangs=True,
    ),
]
TERMINAL = """
import pty, termios, fcntl

def terminal(child):
    '''A child that has a terminal of its own, and does this there.'''
    pid, master = pty.fork()
    if pid == 0:
        try:
            child()
        finally:
            os._exit(0)
    return master
"""
DEAF = """
DEAF = ["sh", "-c", "trap '' TERM HUP INT; while :; do sleep 100; done"]
"""
LEFT = {
    "daemon": "daemon({})",
    "stopped_daemon": "os.kill(daemon({}), signal.SIGSTOP)",
    "session": "subprocess.Popen(DEAF, start_new_session=True)",
    "pool": "import multiprocessing; globals()['pool'] = multiprocessing.get_context('fork').Pool(3)",
    "traced": """
        if os.fork() == 0:
            ctypes.CDLL(None).ptrace(0, 0, 0, 0)
            os.kill(os.getpid(), signal.SIGUSR1)
        """,
    "terminal": """
        def sleep():
            started(os.getpid())
            os.write(1, b".")
            os.execve("/bin/sleep", ["sleep", "1000"], {})
        assert os.read(terminal(sleep), 1) == b"."
        """,
    "no_terminal": "with pytest.raises(OSError): open('/dev/tty')",
}
STAYING = [
    crowd("processes want to stay", LEFT, head=DAEMON + TERMINAL + DEAF, files=UNCAPTURED, ways=BOTH),
    culprit(
        "a bomb of forks",
        """
        subprocess.Popen([sys.executable, "bomb.py"])
        while not (os.path.exists("../made") and os.path.getsize("../made") >= 100):
            time.sleep(0.01)
        """,
        files={"bomb.py": BOMB},
        writes=("made",),
    ),
    culprit(
        "a thread never ends",
        "threading.Thread(target=time.sleep, args=(1000,)).start()",
        "timeout",
        files={"conftest.py": "from ledger import reached\ndef pytest_unconfigure(): reached()\n"},
        hangs=True,
        ways={"-n 2": {"outcome": "passed"}},  # a worker waits for no thread
    ),
    culprit(
        "its child goes on through pytest",
        """
        if os.fork() == 0:
            raise AssertionError("only in the child")
        """,
        again=(LATER,),
        ways={way: {"again": ()} for way in BOTH},  # the child of a worker is given no other test
    ),
    culprit(
        "it runs pytest within",
        """
        argv = [sys.executable, "-m", "pytest", "-k", "first"]
        assert subprocess.run(argv, close_fds=False).returncode == 0
        """,
        again=(FIRST,),
        ways={"-n 2": {}},
    ),
]
TURNING = [
    culprit(
        "it kills its supervisor",
        "daemon(); os.kill(os.getppid(), signal.SIGKILL); time.sleep(60)",
        "incomplete",
        "error",
        None,
        DAEMON,
        ways={"--isolate": CRASHED},  # what is above it is the session
    ),
    culprit("it stops its supervisor and passes", "os.kill(os.getppid(), signal.SIGSTOP)"),
    culprit(
        "it sends every signal to its supervisor",
        """
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            os.kill(os.getppid(), number)
        """,
        ways={"--isolate": CRASHED},
    ),
    culprit(
        "it kills proctor",
        """
        daemon({})
        (log,) = glob.glob(".proctor/runs/*/events.jsonl")
        while b'"status":"ok"' not in open(log, "rb").read():
            time.sleep(0.01)  # what was not read yet cannot be kept
        os.kill(proctor(), signal.SIGKILL)
        time.sleep(60)
        """,
        "incomplete",
        "error",
        None,
        "import glob\n" + DAEMON,
        kept="in part",
        kills_proctor=True,
    ),
]
GAMES = [
    culprit(
        "it takes a terminal for itself and goes to its background",
        """
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            time.sleep(60)
            os._exit(0)
        os.setpgid(child, child)
        os.tcsetpgrp(slave, child)
        """,
        head=TERMINAL,
        ways={"--isolate": instead("failed", "failed")},  # only the process at the head of a session may
    ),
]
KINDS = [*ENDINGS, *HANGING, *STAYING, *TURNING, *GAMES]
