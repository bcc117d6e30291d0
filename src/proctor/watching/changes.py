"""Which files of a project change, from `watchfiles`: the only module that knows it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

from proctor.errors import UsageError
from proctor.watching.contents import Contents
from proctor.watching.ignored import Ignored

_STEP = 40  # milliseconds without another change until a change is reported
_MOST = 400  # milliseconds for which changes are collected

#: Called with what has changed, by relative path, and when that was, in nanoseconds.
Tell: TypeAlias = Callable[[Mapping[str, int]], None]


def check_installed() -> None:
    if find_spec("watchfiles") is None:
        raise UsageError("`proctor watch` needs watchfiles: install it with `pip install 'proctor[watch]'`")


class Changes:
    """Watches in a thread of its own, from the moment that this exists until it is closed."""

    def __init__(self, root: Path, ignored: Ignored, tell: Tell, failed: Callable[[str], None]) -> None:
        """`failed` is called if it cannot go on. Raises UsageError if it cannot begin."""
        self._root, self._ignored, self._tell = root, ignored, tell
        self._roots = [os.path.join(path, "") for path in (str(root), os.path.realpath(root))]
        self._contents = Contents(root)
        self._began = threading.Event()
        self._stopped = False
        self._fault = ""
        self._failed = failed
        self._since = time.time_ns()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        self._began.wait()
        if self._fault:
            raise UsageError(self._fault)

    def is_set(self) -> bool:
        """watchfiles asks whether to stop: as soon as it watches, and every few milliseconds."""
        if not self._began.is_set():
            self._began.set()
            self._contents.learn(self._ignored.files(), self._since)
        return self._stopped

    def close(self) -> None:
        self._stopped = True
        self._thread.join()

    def _work(self) -> None:
        try:
            self._watch()
        except Exception as error:  # noqa: BLE001  where a thread ends
            self._fault = f"cannot watch {self._root}: {error}"
            if self._began.is_set():
                self._failed(self._fault)
            self._began.set()

    def _watch(self) -> None:
        from watchfiles import watch

        batches = watch(
            self._root,
            watch_filter=None,
            debounce=_MOST,
            step=_STEP,
            stop_event=self,
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
        for batch in batches:
            self._look({path for _, path in batch})

    def _look(self, paths: set[str]) -> None:
        inside = {relative for path in paths if (relative := self._relative(path))}
        counting = self._ignored.without(self._contents.files(inside, self._ignored.is_known))
        if changed := self._contents.changed(counting):
            self._tell(changed)

    def _relative(self, path: str) -> str:
        """Some systems tell real paths, whatever they were asked to watch."""
        for root in self._roots:
            if path.startswith(root):
                return path.removeprefix(root)
        return ""
