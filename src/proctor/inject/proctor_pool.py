"""Workers: processes that this one forks and that run the tests it hands out. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Knows no
test framework: a test is a number. Whoever uses a pool (its *client*) says what running one means:

    run_job(job)                in a worker: runs `job.tests()` and tells the pool how they end
    begun(worker, test)         here, as are all others
    ended(worker, test, facts)  with what the worker told
    said(worker, *message)      anything else that it told
    died(worker, test, death)   in the middle of a test, or after its time limit
    lost(worker, death)         after its last test
    limit(test)                 seconds; 0: none
    stopping()                  whether no more tests are to begin
    prepare(number)             before the worker of that number is forked
    idle()                      everything that has arrived was handled
    ending(error)               all workers are going to be interrupted because of it
    parted(error, interrupted)  they are gone; facts of the tests that were interrupted
    channel_fd                  descriptor of the control channel, which is the coordinator's alone
"""

import errno
import gc
import os
import select
import signal
import socket
import tempfile
import warnings
from collections import deque
from time import monotonic, sleep  # taken at the start: a test may replace the clock

load = globals()["load"]  # the loader gives it to each file
_channel, _job = load("proctor_channel"), load("proctor_job")

INTERRUPT_SECONDS = 2.0  # for a sign that the interrupt was heard
CLEANUP_SECONDS = 10.0  # for fixtures, once it was heard
ABORT_SECONDS = 0.5  # for faulthandler to write where the process hangs
MOST_STILLBORN = 3  # workers in a row that die before their first test
BUSY_SECONDS = 0.0005  # until there is news, if tests are short
BREATH_SECONDS = 0.002
GLANCE_SECONDS = 0.5  # between looks at workers whose end the system does not announce
GONE_SECONDS = 1.0  # for a worker to end after it has closed its socket
MOST_DUMP = 64 * 1024  # bytes
PIECE = 1 << 16

OUR_FRAMES = '  File "%s/' % os.path.dirname(os.path.abspath(__file__))
_exit, _getpid, _kill, _fork = os._exit, os.getpid, os.kill, os.fork


class CannotWork(Exception):
    """Workers die before they have begun a test."""


class Worker:
    """What the coordinator knows of a worker."""

    def __init__(self, name, number, pid, end, dump):
        self.name, self.number, self.pid, self.socket, self.dump = name, number, pid, end, dump
        self.pidfd = _pidfd(pid)
        self.buffer = bytearray()
        self.handed: "deque[tuple[int, int]]" = deque()  # (group, position) of tests that it has not begun
        self.test = None  # that it is running
        self.began = 0  # how many it has
        self.unsaid = 0  # turns since it began a test that is not reported yet
        self.limit = self.until = 0.0
        self.overdue = False  # the running test has reached its limit
        self.place = None  # where that was interrupted
        self.ending = None  # the signals that are still to come, and when
        self.left = False  # it has said that it is done
        self.status = None  # with which it ended

    def close(self):
        self.socket.close()
        self.dump.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)

    def send(self, message):
        try:
            self.socket.sendall(_job.frame(message))
        except OSError:
            pass  # it is dying, and that is noticed elsewhere

    def let_begin(self):
        """Whatever the test does to this process, it is known that it has begun."""
        try:
            self.socket.send(b"!")
        except OSError:
            pass  # likewise

    def signal(self, number):
        try:
            _kill(self.pid, number)
        except OSError:
            pass


class Ending:
    """Interrupt, abort, kill, with a pause after each."""

    def __init__(self, now):
        self.steps = [signal.SIGINT, signal.SIGABRT, signal.SIGKILL]
        self.next = now
        self.was_heard = False

    def heard(self, now):
        if signal.SIGABRT in self.steps and not self.was_heard:
            self.was_heard = True
            self.next = now + CLEANUP_SECONDS

    def due(self, now):
        if not self.steps or now < self.next:
            return None
        step = self.steps.pop(0)
        self.next = now + (INTERRUPT_SECONDS if step == signal.SIGINT else ABORT_SECONDS)
        return step


def _pidfd(pid):
    try:
        return os.pidfd_open(pid)  # Linux, Python 3.9
    except (AttributeError, OSError):
        return -1


def _out_of_the_way(fd):
    """The same file with a number that tests do not expect to be free, or to be theirs."""
    import fcntl

    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _channel.OUR_FD)
    finally:
        os.close(fd)


def _temporary_file():
    fd, path = tempfile.mkstemp()
    os.unlink(path)
    return os.fdopen(_out_of_the_way(fd), "w+b")


def _socketpair():
    ours, theirs = socket.socketpair()
    try:
        theirs = socket.socket(fileno=_out_of_the_way(theirs.detach()))
        ours = socket.socket(fileno=_out_of_the_way(ours.detach()))
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.EINVAL):  # a limit on descriptors
            raise
        ours, theirs = socket.socketpair()
    return ours, theirs


class Pool:
    """Runs `groups`, lists of tests, in `size` workers. `one_each`: each group in a worker of its own."""

    def __init__(self, client, groups, size, one_each=False):
        self.client, self.groups, self.size, self.one_each = client, groups, size, one_each
        self.waiting = deque((number, 0) for number in range(len(groups)))
        self.workers = []
        self.poll, self.by_fd = select.poll(), {}
        self.free = list(range(size - 1, -1, -1))  # numbers of workers
        self.board = _job.Board(size)
        self.stillborn = 0
        self.busy = False  # there was news at once
        self.closing = False
        self.interrupted = []  # what tests said that were interrupted at the end
        self.pid = _getpid()

    def work(self):
        """Returns when all tests have ended, or no more are to begin."""
        gc.freeze()  # the collector would touch, and so copy, all the memory that the processes share
        try:
            while True:
                self._staff()
                if not self.workers:
                    return
                self._turn(self._patience(monotonic()))
        except BaseException as error:
            if _getpid() == self.pid:
                self._end(error)
            raise
        finally:
            gc.unfreeze()
            self.board.memory.close()

    # Workers come and go

    def _staff(self):
        while self.free and self.waiting and not self._is_stopping():
            self._start(self.free.pop())

    def _start(self, number):
        self.client.prepare(number)
        ours, theirs = _socketpair()
        dump = _temporary_file()
        first = self.waiting.popleft()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python 3.12 warns of threads; those that matter were counted
            pid = _fork()
        if pid == 0:
            self._be_worker(number, ours, theirs, dump, first)
        theirs.close()
        worker = Worker(_name_of(number), number, pid, ours, dump)
        self.workers.append(worker)
        for fd in (worker.socket.fileno(), worker.pidfd):
            if fd >= 0:
                self.by_fd[fd] = worker
                self.poll.register(fd, select.POLLIN)
        self._note(worker, first)

    def _be_worker(self, number, ours, theirs, dump, first):
        """Never returns."""
        code = 1
        try:
            os.setpgid(0, 0)  # a test that ends its process group ends its own
            ours.close()
            if self.client.channel_fd >= 0:
                os.close(self.client.channel_fd)  # what a test did to it would cost the tests of all workers
            for other in self.workers:
                other.close()
            shared = self.groups, self.board
            job = _job.Job(_name_of(number), number, theirs, dump, *shared, first, self.one_each)
            self.client.run_job(job)
            job.tell("left")
            job.flush()
            code = 0
        finally:
            _exit(code)

    def _hand_out(self, worker):
        """The next group, before the last test of this one begins: it has to know which test follows."""
        handed = self.waiting.popleft() if self.waiting else None
        if handed is not None:
            self._note(worker, handed)
        worker.send(handed)

    def _note(self, worker, handed):
        group, start = handed
        worker.handed.extend((group, at) for at in range(start, len(self.groups[group])))

    def _is_stopping(self):
        if self.client.stopping():
            self.waiting.clear()
            self.board.stop()
            return True
        return False

    # What they say

    def _turn(self, seconds):
        """Waits for news, and hears all that has arrived before it judges who is late."""
        if self.busy:
            sleep(BREATH_SECONDS)  # many short tests: to hear several at once costs less
        if any(worker.unsaid for worker in self.workers):
            seconds = 0.0
        before, gone = monotonic(), []
        news = self.poll.poll(None if seconds is None else int(seconds * 1000) + 1)
        self.busy = bool(news) and monotonic() - before < BUSY_SECONDS
        for fd, _ in news:
            worker = self.by_fd[fd]
            if fd == worker.pidfd or not self._hear(worker):
                gone.append(worker)
        gone += [worker for worker in self.workers if worker.pidfd < 0 and self._has_ended(worker)]
        for worker in gone:
            if worker in self.workers:
                self._bury(worker)
        for worker in self.workers:
            if worker.unsaid and (worker.unsaid > 1 or not self.busy):
                self._say_begun(worker)
            elif worker.unsaid:
                worker.unsaid += 1  # a short test ends before the next turn: one report for both
        self.client.idle()
        self._push(monotonic())

    def _hear(self, worker):
        """Whether there was anything to hear; nothing is the end, after a sign that there is something."""
        try:
            data = worker.socket.recv(PIECE, socket.MSG_DONTWAIT)
        except OSError:
            return False
        buffer = worker.buffer
        buffer += data
        at = 0
        while len(buffer) - at >= _job.LENGTH.size:
            sign, length = _job.LENGTH.unpack_from(buffer, at)
            end = at + _job.LENGTH.size + length
            if sign == _job.SIGN and len(buffer) < end:
                break
            messages = _job.messages(sign, buffer[at + _job.LENGTH.size : end])
            at = end
            if messages is None:  # a test wrote to what was not its own: nothing can be understood any more
                worker.signal(signal.SIGKILL)
                del buffer[:]
                return False
            for message in messages:
                self._heard(worker, message)
        del buffer[:at]
        return bool(data)

    def _heard(self, worker, message):
        kind = message[0]
        if self.closing:
            if kind == "interrupted":
                worker.ending.heard(monotonic())
                self.interrupted.append(message[1])
            elif kind == "begun" and not self.one_each:  # or it still waits, and never runs
                self.client.begun(worker, message[1])
        elif kind == "begun":
            self._begun(worker, message[1])
        elif kind == "ended":
            self._say_begun(worker)
            self._ended(worker, message[1], message[2])
        elif kind == "wants":
            self._hand_out(worker)
        elif kind == "left":
            worker.left = True
        elif kind == "interrupted":
            worker.place = message[1].get("place")
            if worker.ending is not None:
                worker.ending.heard(monotonic())
            if not worker.overdue:
                self.client.said(worker, *message)
        else:
            self.client.said(worker, *message)

    def _begun(self, worker, test):
        self.stillborn = 0
        worker.handed.popleft()
        worker.began += 1
        worker.test, worker.overdue, worker.place = test, False, None
        worker.limit = self.client.limit(test)
        worker.until = monotonic() + worker.limit if worker.limit else 0.0
        worker.unsaid = 1
        if self.one_each:
            self._say_begun(worker)
            worker.let_begin()

    def _say_begun(self, worker):
        if worker.unsaid:
            worker.unsaid = 0
            self.client.begun(worker, worker.test)

    def _ended(self, worker, test, facts):
        overdue, worker.test, worker.until, worker.ending = worker.overdue, None, 0.0, None
        if overdue:  # it went on after the interrupt, and that does not make it a test that passed
            self.client.died(worker, test, self._death(worker, 0))
        else:
            self.client.ended(worker, test, facts)
        worker.overdue = False
        self._is_stopping()

    # Time limits

    def _patience(self, now):
        """Seconds until something is due; None: nothing is."""
        times = [worker.until for worker in self.workers if worker.until and not worker.overdue]
        times += [worker.ending.next for worker in self.workers if worker.ending and worker.ending.steps]
        times += [now + GLANCE_SECONDS for worker in self.workers if worker.pidfd < 0]
        return max(0.0, min(times) - now) if times else None

    def _push(self, now):
        for worker in self.workers:
            if worker.until and now >= worker.until and not worker.overdue:
                worker.overdue, worker.ending = True, Ending(now)
                self.board.set_late(worker.number, True)
            step = worker.ending.due(now) if worker.ending is not None else None
            if step is not None:
                worker.signal(step)

    # Deaths

    def _has_ended(self, worker):
        if worker.status is None:
            try:
                pid, status = os.waitpid(worker.pid, os.WNOHANG)
            except ChildProcessError:  # somebody else has waited for it
                pid, status = worker.pid, 0
            if pid:
                worker.status = status
        return worker.status is not None

    def _bury(self, worker):
        """It has ended, or nothing can be heard from it any more."""
        while self._hear(worker):
            pass
        until = monotonic() + GONE_SECONDS
        while not self._has_ended(worker):
            if monotonic() > until:
                worker.signal(signal.SIGKILL)
            sleep(0.002)
        self.workers.remove(worker)
        for fd in [fd for fd, owner in self.by_fd.items() if owner is worker]:
            self.poll.unregister(fd)
            del self.by_fd[fd]
        self.free.append(worker.number)
        death = self._death(worker, worker.status)
        worker.close()
        self._take_back(worker)
        self._mourn(worker, death)

    def _take_back(self, worker):
        """What it has not begun goes to the next one."""
        starts: "dict[int, int]" = {}
        for group, at in worker.handed:
            starts.setdefault(group, at)
        self.waiting.extendleft(reversed(list(starts.items())))

    def _mourn(self, worker, death):
        if worker.test is not None:
            self._say_begun(worker)
            self.client.died(worker, worker.test, death)
        elif not worker.left and worker.began:
            self.client.lost(worker, death)
        elif not worker.left:
            self.stillborn += 1
            if self.stillborn >= MOST_STILLBORN:
                raise CannotWork(
                    "%d workers in a row died before their first test: %s" % (self.stillborn, how(death))
                )
        self._is_stopping()

    def _death(self, worker, status):
        death = {}
        if os.WIFSIGNALED(status):
            death["signal"] = _name(os.WTERMSIG(status))
        elif os.WIFEXITED(status):
            death["exit_code"] = os.WEXITSTATUS(status)
        dump = _contents(worker.dump)
        if dump:
            death["dump"] = dump
        if worker.overdue:
            death["limit"] = worker.limit
            if worker.place:
                death["place"] = worker.place
        return death

    def _end(self, error):
        """Ends all workers: they may clean up; a second interrupt kills them at once."""
        self.closing = True
        self.client.ending(error)
        now = monotonic()
        for worker in self.workers:
            worker.ending = Ending(now)
        try:
            while self.workers:
                self._part(monotonic())
        except KeyboardInterrupt:
            for worker in self.workers:
                worker.signal(signal.SIGKILL)
                self._has_ended(worker)
        self.client.parted(error, self.interrupted)

    def _part(self, now):
        """Nothing that they say counts any more, but for the sign that they clean up."""
        for worker in list(self.workers):
            step = worker.ending.due(now)
            if step is not None:
                worker.signal(step)
            self._hear(worker)
            if self._has_ended(worker):
                self.workers.remove(worker)
                worker.close()
        if self.workers:
            sleep(0.005)


def _name_of(number):
    return "gw%d" % number


def how(death):
    return death.get("signal") or "exit code %d" % death.get("exit_code", 0)


def _name(number):
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal %d" % number


def _contents(file):
    """Of a dump, without our own frames, which are of no use to a reader."""
    try:
        size = os.fstat(file.fileno()).st_size
        dump = os.pread(file.fileno(), MOST_DUMP, max(0, size - MOST_DUMP))
    except OSError:
        return ""
    lines = dump.decode("utf-8", "backslashreplace").splitlines(True)
    return "".join([line for line in lines if not line.startswith(OUR_FRAMES)])
