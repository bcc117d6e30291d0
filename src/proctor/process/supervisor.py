"""Stands between proctor and the tests: starts them, reaps everything, and leaves nothing alive.

Started as `python -I -S supervisor.py SOCKET CONTROL`; standard library only, and little of it, because
every run waits for it. File descriptors 0, 1 and 2 are already those of the tests, CONTROL is the channel.

On SOCKET it reads one launch (see `encode_launch` in supervise.py), then single letters:
    i  interrupt the main process      a  make it abort, so that it says where it is      k  kill everything
and writes lines: `pid N`, `failed ERRNO WHERE`, `exit STATUS` (as waitpid gives it), `gone`.
End of input means that proctor is dead: everything is killed.
"""

import _signal as signal  # type: ignore[import-not-found]  # the plain module costs ten times as much
import os
import select
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
CONTROL_FD = 3  # in the tests; 3 to 9, because a POSIX shell need not take two digits
KILL_SECONDS = 10.0  # after that, what is left cannot be killed by anybody


def main(sock: int, control: int) -> None:
    os.set_inheritable(sock, False)
    os.set_inheritable(control, False)
    fields = read_launch(sock)
    become_subreaper()
    try:
        main_pid = start(fields, control)
    except OSError as error:
        say(sock, f"failed {error.errno or 0} {error.filename or ''}")
        return
    os.close(control)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    say(sock, f"pid {main_pid}")
    watch(sock, main_pid)
    end_tree(main_pid)
    say(sock, "gone")


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


def say(sock: int, text: str) -> None:
    try:
        os.write(sock, text.encode("ascii", "backslashreplace") + b"\n")
    except OSError:
        pass  # proctor is gone; the tree still has to go


def prctl(option: int, value: int) -> None:
    try:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass  # not Linux: process groups and the run's tag must do


def become_subreaper() -> None:
    """Whoever daemonises below us becomes our child instead of disappearing."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def start(fields: list[bytes], control: int) -> int:
    memory, cwd, argc = int(fields[0]), fields[1], int(fields[2])
    argv, environ = fields[3 : 3 + argc], dict(f.split(b"=", 1) for f in fields[3 + argc :])
    trouble, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        step = cwd
        try:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            os.setsid()
            reset_signals()
            if memory:
                import resource

                resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            os.chdir(cwd)
            place_control(control)
            step = argv[0]
            os.execve(argv[0], argv, environ)
        except OSError as error:
            os.write(report, b"%d %b" % (error.errno or 0, step))
        finally:
            os._exit(127)
    os.close(report)
    words = b""
    while True:
        part = os.read(trouble, 4096)
        if not part:
            break
        words += part
    os.close(trouble)
    if words:
        os.waitpid(pid, 0)
        code, _, step = words.partition(b" ")
        raise OSError(int(code), "", os.fsdecode(step))
    return pid


def place_control(control: int) -> None:
    if control == CONTROL_FD:
        os.set_inheritable(control, True)
        return
    os.dup2(control, CONTROL_FD)


def reset_signals() -> None:
    """What Python or our own parent changed for itself is not meant for the tests."""
    for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def watch(sock: int, main_pid: int) -> None:
    """Until the main process ends or everything is to be killed."""
    pidfd = open_pidfd(main_pid)
    waiting = [sock] if pidfd is None else [sock, pidfd]
    while True:
        ready = select.select(waiting, [], [], 0.02 if pidfd is None else 0.5)[0]
        if sock in ready:
            letters = os.read(sock, 64)
            if not letters or b"k" in letters:
                kill_and_tell(sock, main_pid)
                return
            if b"i" in letters:
                signal_to(main_pid, signal.SIGINT)
            if b"a" in letters:
                without_core_dump(main_pid)
                signal_to(main_pid, signal.SIGABRT)
        if reap(sock, main_pid):
            return


def open_pidfd(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None


def reap(sock: int, main_pid: int) -> bool:
    """Bury whatever has ended; True if the main process is among it."""
    ended = False
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return True
        if pid == 0:
            return ended
        if pid == main_pid:
            say(sock, f"exit {status}")
            ended = True


def kill_and_tell(sock: int, main_pid: int) -> None:
    signal_to(main_pid, signal.SIGKILL)
    try:
        say(sock, f"exit {os.waitpid(main_pid, 0)[1]}")
    except ChildProcessError:
        pass


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


def end_tree(main_pid: int) -> None:
    """Kill every descendant, again and again, until there is none: some may fork while we look."""
    try:
        os.killpg(main_pid, signal.SIGKILL)  # all there is to do where there is no /proc
    except OSError:
        pass
    deadline = time.monotonic() + KILL_SECONDS
    while time.monotonic() < deadline:
        below = descendants()
        for pid in below:  # first stop them all, so that none can fork behind our back
            signal_to(pid, signal.SIGSTOP)
        for pid in below:
            signal_to(pid, signal.SIGKILL)
        if no_children():
            return
        time.sleep(0.002)


def no_children() -> bool:
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return False
        except ChildProcessError:
            return True


def descendants() -> list[int]:
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    stat = file.read()
            except OSError:
                continue
            parent = int(stat[stat.rindex(b")") + 2 :].split()[1])
            children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
