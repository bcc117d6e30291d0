"""The engine dask, on the side of the client. Somebody else runs the scheduler and its workers."""

from __future__ import annotations

import gc
import ipaddress
import logging
import uuid
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from importlib.metadata import version
from typing import Any

from proctor import __version__
from proctor.engines.dask_executor import DaskExecutor
from proctor.engines.dask_names import ATTEMPT, LINES, OF, TOPIC, name_of
from proctor.engines.engine import DASK
from proctor.engines.host import DASK_WORD, Live
from proctor.errors import UsageError
from proctor.outcome import RunOutcome

_ANSWER = 10.0  # seconds that a scheduler has to answer
_ANSWER_MEANWHILE = 1.0  # and while tests run: Ctrl-C waits for it
_NAMED = 3  # workers that an error names
_PROTECTED = ("tls", "wss", "ucxx+tls", "inproc")  # schemes of addresses


class DaskEngine:
    """A scheduler, with its workers. Its futures are released with the connection, however that ends."""

    def __init__(self, address: str) -> None:
        """Raises UsageError if there is none, or if its workers cannot do our work."""
        try:
            import distributed
        except ImportError:
            raise UsageError(
                f"--engine {DASK}:{address} needs distributed: install it with `pip install 'proctor[dask]'`"
            ) from None
        _silence()
        self.name = f"{DASK}:{address}"
        connect: Any = distributed.Client
        self._client: Any = None
        reason = ""
        try:
            self._client = connect(address, timeout=_ANSWER, set_as_default=False)
        except Exception as error:  # noqa: BLE001  dask has no class for them
            reason = _reason(error)
        if self._client is None:
            gc.collect()  # one that has failed, and is collected while another one starts, blocks both
            raise UsageError(
                f"--engine {self.name}: no dask scheduler answers there: {reason};"
                f" expected e.g. {DASK}:127.0.0.1:8786 or {DASK}:tls://HOST:8786"
            )
        self.warning = warning(self._client.scheduler.address)
        self._topic = f"{TOPIC}{uuid.uuid4().hex}"
        self._word = f"{DASK_WORD}{self._topic}"
        self._executor = DaskExecutor(self._client)
        self._live: Live | None = None
        try:
            self._check_workers()
        except UsageError:
            self.close()
            raise

    def executor(self) -> Executor:
        return self._executor

    def listen(self, live: Live) -> str:
        self._live = live
        self._tidy()
        try:
            self._client.subscribe_topic(self._topic, self._hear)
        except Exception:  # noqa: BLE001  the scheduler is gone, as whoever submits a shard will hear
            return ""
        return self._word

    def recall(self, reason: RunOutcome) -> bool:
        from proctor.engines.dask_host import recall

        question = partial(self._client.run, recall, self._word, str(reason), on_error="ignore")
        return self._ask(question, _ANSWER_MEANWHILE) is not None

    def lack(self) -> str:
        workers = self._ask(lambda: self._client.nthreads(), _ANSWER_MEANWHILE)
        if workers is None:
            return f"no answer from {self.name}"
        return "" if workers else f"no worker at {self.name}"

    def close(self) -> None:
        self._executor.shutdown()
        self._tidy()
        self._client.close(timeout=2)

    def _hear(self, event: tuple[float, dict[str, str]]) -> None:
        if self._live is not None:
            self._live(event[1][ATTEMPT], event[1][LINES])

    def _check_workers(self) -> None:
        """Raises UsageError if a worker has no proctor, or another version of it."""
        found = self._ask(lambda: self._client.run(version, "proctor", on_error="return"), _ANSWER) or {}
        answers = {address: told for address, told in found.items() if not isinstance(told, OSError)}
        others = {address: told for address, told in answers.items() if told != __version__}
        if not others:  # a worker that has died meanwhile, an OSError, gets no work
            return
        infos = self._client.scheduler_info()["workers"]
        named = [
            f"{name_of(infos.get(address, {}).get('name', address), address)} has {_installed(told)}"
            for address, told in sorted(others.items())
        ]
        more = f", and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        raise UsageError(
            f"--engine {self.name}: worker {'; '.join(named[:_NAMED])}{more}: expected proctor {__version__}"
        )

    def _tidy(self) -> None:
        """Has the scheduler forget the messages of this run, and of runs whose client is gone. A scheduler
        that refuses to run functions keeps the last ones, as of every topic."""
        self._ask(
            lambda: self._client.run_on_scheduler(_forget_topics, TOPIC, OF, self._topic), _ANSWER_MEANWHILE
        )

    def _ask(self, question: Callable[[], Any], seconds: float) -> Any:
        """None if there is no answer in time."""
        if self._client.status != "running":
            return None
        try:
            return self._client.sync(question, callback_timeout=seconds)
        except Exception:  # noqa: BLE001  dask has no class for them
            return None


def _forget_topics(prefix: str, separator: str, own: str, dask_scheduler: Any) -> None:
    """Runs in the scheduler."""
    topics, clients = dask_scheduler._broker._topics, dask_scheduler.clients
    for name in [name for name in topics if name.startswith(prefix)]:
        run = name.partition(separator)[0]
        if run == own or run not in topics or topics[run].subscribers.isdisjoint(clients):
            del topics[name]


# A scheduler needs no proctor: dask sends functions of the main module as they are, others by their names.
_forget_topics.__module__ = "__main__"


def _silence() -> None:
    """Keeps dask's own log off stderr: proctor reports what matters to users."""
    for name in [*logging.root.manager.loggerDict]:
        if name.partition(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)


def _installed(told: object) -> str:
    if isinstance(told, str):
        return f"proctor {told}"
    return "no proctor" if type(told).__name__ == "PackageNotFoundError" else f"an error: {told}"


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text or type(error).__name__


def warning(address: str) -> str:
    """For an address without TLS: dask runs what anyone sends it. Empty if there is nothing to warn of."""
    scheme, found, rest = address.rpartition("://")
    if (found and scheme in _PROTECTED) or _is_loopback(_host(rest)):
        return ""
    return (
        f"the connection to {address} has no TLS: anyone who can reach that port can run programs there,"
        " and anyone on the network between can read and change what is sent"
    )


def _host(rest: str) -> str:
    if rest.startswith("["):
        return rest[1:].partition("]")[0]
    return rest.partition(":")[0] if rest.count(":") <= 1 else rest


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
