"""What /proc says of processes that a supervisor has started."""

from __future__ import annotations

from pathlib import Path

from proctor.process.supervise import LAUNCH_FD


def read_proc(path: str) -> bytes:
    """Empty where nothing is, or no longer."""
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def parent_of(pid: int) -> int:
    """0: it has ended."""
    return int(_stat(pid)[1])


def is_watched(pid: int) -> bool:
    """Whether the supervisor of a standby has said that this process is there, and waits for its end. Before
    that, proctor knows of no process; a supervisor that is stopped then has started none."""
    supervisor = parent_of(pid)
    has_launch = Path(f"/proc/{supervisor}/fd/{LAUNCH_FD}").exists()
    return supervisor > 1 and not has_launch and _stat(supervisor)[0] == b"S"


def _stat(pid: int) -> list[bytes]:
    """State and parent."""
    return read_proc(f"/proc/{pid}/stat").rpartition(b")")[2].split()[:2] or [b"", b"0"]
