"""Stands between proctor and the tests: starts them, reaps everything, and leaves nothing alive.

Imported by `python -I -S -c …` and nothing else; standard library only, and little of it, because every run
waits for it. File descriptors 0, 1 and 2 are already those of the tests, CONTROL is the channel; a process
that waits for its launch also gets LAUNCH_FD.

On SOCKET it reads one launch (see `encode_launch` in supervise.py), then single letters:
    i  interrupt the main process      a  make it abort, so that it writes where it is     k  kill everything
and writes lines: `pid N` or `failed STEP ERRNO`, `exit STATUS` (as waitpid gives it), and `gone` once
nothing is alive. `pid N weak` means that orphans do not become our children: those may not be found.
End of input means that proctor is dead: everything is killed.
"""

import _signal as signal  # type: ignore[import-not-found]  # the plain module costs ten times as much
import os
import select
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
EINVAL = 22
CONTROL_FD = 3  # here and in the tests; 3 to 9, because a POSIX shell need not take two digits
SOCKET = 4
LAUNCH_FD = 5  # there only if our own command line ends with its number
KILL_SECONDS = 20.0  # after that, what is left cannot be killed by anybody


def start_up() -> None:
    ours = SOCKET if len(sys.argv) == 1 else LAUNCH_FD
    os.closerange(ours + 1, max(4096, os.sysconf("SC_OPEN_MAX")))  # what proctor inherited and did not open
    os.chdir("/")
    os._exit(main(SOCKET, CONTROL_FD))  # no tidying up: proctor waits for us


def main(sock: int, control: int) -> int:
    os.set_inheritable(sock, False)
    os.set_inheritable(control, False)
    prctl(PR_SET_PDEATHSIG, signal.SIGCONT)  # who is stopped would not notice that proctor is dead
    fields = read_launch(sock)
    adopts = prctl(PR_SET_CHILD_SUBREAPER, 1)  # whoever daemonises below us becomes our child
    main_pid, trouble = start(fields, control)
    if trouble:
        write_line(sock, b"failed " + trouble)
        return 0
    # From here on only SIGKILL ends us, and only SIGSTOP stops us: tests signal their parents by mistake.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    let_go_of_output(control)
    if len(sys.argv) > 1:
        os.close(LAUNCH_FD)
    write_line(sock, b"pid %d" % main_pid if adopts else b"pid %d weak" % main_pid)
    watch(sock, main_pid)
    if not end_tree(sock, main_pid):
        return 1
    write_line(sock, b"gone")
    return 0


def read_launch(sock: int) -> list[bytes]:
    """Fields, each ended by NUL: memory, cwd, argc, argv..., then the whole environment as K=V."""
    size = int(read_exactly(sock, 10))
    return read_exactly(sock, size).split(b"\0")[:-1]


def read_exactly(sock: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(sock, min(size, 1 << 20))
        if not part:
            sys.exit(1)
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def write_line(sock: int, line: bytes) -> None:
    try:
        os.write(sock, line + b"\n")
    except OSError:
        pass  # proctor is gone; the processes still have to be killed


def prctl(option: int, value: int) -> bool:
    """Whether it was done."""
    try:
        import _ctypes  # all of ctypes would cost half as much again as starting Python

        ourselves = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]
        function = _ctypes.dlsym(ourselves, "prctl")
        return bool(_ctypes.call_function(function, (option, value, 0, 0, 0)) == 0)
    except (ImportError, OSError, AttributeError):
        return False  # not Linux: process groups must do


def start(fields: list[bytes], control: int) -> tuple[int, bytes]:
    """The main process; or, if it could not be started, the step that failed and its error's number."""
    memory, cwd, argc = int(fields[0]), fields[1], int(fields[2])
    argv, environ = fields[3 : 3 + argc], dict(f.split(b"=", 1) for f in fields[3 + argc :])
    trouble, report = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        step = b"session"
        try:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:  # killed before we could ask to die with it
                os._exit(127)
            os.setsid()
            reset_signals()
            step = b"memory"
            if memory:
                limit_memory(memory)
            step = b"directory"
            os.chdir(cwd)
            step = b"program"
            place_control(control)
            if os.path.isdir("/proc/self/fd"):  # there for whoever loses the descriptor, as under sudo
                environ[b"PROCTOR_CONTROL"] = b"/proc/%d/fd/%d" % (os.getpid(), CONTROL_FD)
            os.execve(argv[0], argv, environ)
        except (OSError, ValueError, OverflowError) as error:
            os.write(report, b"%b %d" % (step, getattr(error, "errno", None) or EINVAL))
        finally:
            os._exit(127)
    os.close(report)  # exec closes the other copy: end of input means that it has begun
    words = os.read(trouble, 4096)
    os.close(trouble)
    if words:
        os.waitpid(pid, 0)
    return pid, words


def limit_memory(size: int) -> None:
    import resource

    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY:
        size = min(size, hard)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def place_control(control: int) -> None:
    if control == CONTROL_FD:
        os.set_inheritable(control, True)
    else:
        os.dup2(control, CONTROL_FD)


def reset_signals() -> None:
    """Tests do not inherit what Python or our own parent changed for itself."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def let_go_of_output(control: int) -> None:
    """The pipes belong to the tests alone, so that they end when the tests do."""
    os.close(control)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.close(null)


def watch(sock: int, main_pid: int) -> None:
    """Until the main process ends or everything is to be killed."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    pidfd = open_pidfd(main_pid)
    if pidfd is not None:
        poll.register(pidfd, select.POLLIN)
    pause = 20 if pidfd is None else 500  # milliseconds; adopted processes that ended must be waited for, too
    while True:
        if any(ready == sock for ready, _ in poll.poll(pause)):
            letters = read_letters(sock)
            if not letters or b"k" in letters:
                return
            if b"i" in letters:
                signal_to(main_pid, signal.SIGINT)
            if b"a" in letters:
                without_core_dump(main_pid)
                signal_to(main_pid, signal.SIGABRT)
        ended = reap(sock, main_pid)
        if ended is None or main_pid in ended:
            return


def read_letters(sock: int) -> bytes:
    try:
        return os.read(sock, 64)
    except OSError:
        return b""  # proctor died before it read all that we wrote


def open_pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def reap(sock: int, main_pid: int) -> list[int] | None:
    """Wait for whatever has ended, and report how the main process did; None when no child is left."""
    ended: list[int] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return None
        if pid == 0:
            return ended
        ended.append(pid)
        if pid == main_pid:
            write_line(sock, b"exit %d" % status)


def without_core_dump(pid: int) -> None:
    try:
        import resource

        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    except (ImportError, AttributeError, OSError, ValueError):
        pass


def signal_to(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


def end_tree(sock: int, main_pid: int) -> bool:
    """Kill every descendant, again and again, until there is none: some may fork while we look.

    Being without children is proof: as their subreaper we inherit all of them in the end.
    """
    looking = os.path.isdir("/proc/self")
    if not looking:
        signal_to(-main_pid, signal.SIGKILL)  # all that can be found without it
    deadline = time.monotonic() + KILL_SECONDS
    while reap(sock, main_pid) is not None:
        if time.monotonic() > deadline:
            return False
        if looking:
            kill_descendants()
        time.sleep(0.002)
    return True


def kill_descendants() -> None:
    """One look, oldest first; what it misses becomes our child and is found by the next.

    By process group, because that reaches all members at once: what forks and ends faster than we can look
    is never found by its own number. And each on sight, because a thousand of them leave us little time.
    The groups are ours alone: the main process began a session, and no process joins a group of another.
    """
    ours, groups = {os.getpid()}, {os.getpgrp()}
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                stat = file.read()
            parent, group = map(int, stat[stat.rindex(b")") + 2 :].split()[1:3])
        except (OSError, ValueError):
            continue  # it ended while we looked
        if parent in ours:
            ours.add(pid)
            if group not in groups:
                groups.add(group)
                signal_to(-group, signal.SIGKILL)
