"""A real Chromium without a window, driven over two pipes: it needs no port and no driver."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from support.devtools import GUARD, Connection, DevToolsError
from support.page import Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-breakpad",  # its handler of crashes would outlive it
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-lcd-text",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing leaves; what is tried is noted
    "--remote-debugging-pipe",
)
COMMANDS, ANSWERS = 3, 4  # descriptors that --remote-debugging-pipe uses
_FREE = 10  # above those that a new process is given


class NoBrowser(Exception):
    """There is no Chromium on this machine."""


def find_chromium() -> str:
    chosen = os.environ.get("PROCTOR_CHROMIUM")
    found = shutil.which(chosen) if chosen else next(filter(None, map(shutil.which, NAMES)), None)
    if not found:
        wanted = chosen or ", ".join(NAMES)
        raise NoBrowser(f"no Chromium on this machine ({wanted}); `apt-get install chromium` installs it")
    return found


class Browser:
    """One process with a profile of its own. Leaving the context ends it and all its helpers."""

    def __init__(self) -> None:
        program = find_chromium()
        self.profile = Path(tempfile.mkdtemp(prefix="proctor-browser-"))
        self.process, self._connection = _started(program, self.profile)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def version(self) -> str:
        return str(self._call("Browser.getVersion")["product"])

    @contextlib.contextmanager
    def page(self, width: int = 1280, height: int = 800) -> Iterator[Page]:
        """An empty page. What pages store they would share: a profile for each takes twice the time."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        try:
            page = Page(self._connection, session)
            page.resize(width, height)
            yield page
        finally:
            self._connection.forget(session)
            self._call("Browser.resetPermissions")
            self._call("Target.closeTarget", targetId=target)

    def memory(self) -> int:
        """Bytes of the processes that show pages; what several share counts for each by its part."""
        processes = self._call("SystemInfo.getProcessInfo")["processInfo"]
        return sum(_proportional(one["id"]) for one in processes if one["type"] == "renderer")

    def close(self) -> None:
        """The profile is thrown away, so nothing has to be saved first."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        deadline = time.monotonic() + GUARD
        while living(self.process) and time.monotonic() < deadline:
            time.sleep(0.01)
        self._connection.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        try:
            return self._connection.call(method, **params)
        except DevToolsError as error:
            printed = (self.profile / "stderr").read_text(errors="replace")[-2000:]
            raise DevToolsError(f"{error}\n{printed}") from None


def living(group: int) -> list[int]:
    """Processes of a group that have not ended. Those that ended may wait for their parent to notice."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, _, of = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
                found += [int(entry.name)] * (int(of) == group and state not in "ZX")
    return found


def _started(program: str, profile: Path) -> tuple[int, Connection]:
    """The process leads a group of its own, so that its helpers end with it."""
    commands, to_browser = map(_high, os.pipe())
    from_browser, answers = map(_high, os.pipe())
    with open(os.devnull) as nothing, open(profile / "stderr", "w") as stderr:
        pid = os.posix_spawn(
            program,
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            {**os.environ, "HOME": str(profile), "TZ": "UTC"},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, nothing.fileno(), 0),
                (os.POSIX_SPAWN_DUP2, stderr.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, stderr.fileno(), 2),
                (os.POSIX_SPAWN_DUP2, commands, COMMANDS),
                (os.POSIX_SPAWN_DUP2, answers, ANSWERS),
            ],
            setsid=True,
        )
    os.close(commands)
    os.close(answers)
    return pid, Connection(to_browser, from_browser)


def _high(descriptor: int) -> int:
    """The same file with a number that no other file of the new process has."""
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FREE)
    os.close(descriptor)
    return copy


def _proportional(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:  # it has just ended
        return 0
    return int(text.partition("\nPss:")[2].split()[0]) << 10
