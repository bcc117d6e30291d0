"""What `proctor doctor` says about the warm start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from proctor.config import Settings
from proctor.describe import Description
from proctor.imported import read_imported
from proctor.launch import Launch
from proctor.places import user_cache

SLOW_SECONDS = 0.05  # an import that takes longer is worth a thought
MOST = 5  # candidates
PATIENCE = 30.0  # seconds for all imports together


def warm_lines(about: Description, settings: Settings, environ: Mapping[str, str]) -> Iterator[str]:
    if not about.pytest:
        return
    launch = about.warm
    if not settings.warm:
        yield "warm start: off (`warm = false` in the settings)"
    elif launch is None:
        yield "warm start: off (pytest is too old for the plugin)"
    else:
        yield "warm start: on for `proctor mcp` and `proctor watch`"
        yield from _preload_lines(launch, about.root, settings, environ)


def _preload_lines(
    launch: Launch, root: Path, settings: Settings, environ: Mapping[str, str]
) -> Iterator[str]:
    from proctor.process.preloads import Preloads

    assert launch.ahead is not None
    known = Preloads(user_cache(environ)).of_project(launch.cwd, launch.argv[0], launch.ahead.installed)
    dropped = {name: why for name, why in known.items() if name in settings.preload}
    if settings.preload:
        kept = [name for name in settings.preload if name not in dropped]
        yield f"preloaded: {', '.join(kept) or 'none'}"
    for name, why in dropped.items():
        yield f"not preloaded: {name}: {why}"
    tops = {name.partition(".")[0] for name in (*settings.preload, *known)}
    others = [name for name in read_imported(root, environ).packages if name not in tops]
    if others:
        yield from _candidates(launch.argv[0], others, environ)


def _candidates(python: str, packages: list[str], environ: Mapping[str, str]) -> Iterator[str]:
    from proctor.process.import_times import import_times

    times = import_times(python, packages, environ, PATIENCE)
    if times.fault:
        yield f"preload candidates: unknown: {times.fault}"
    slow = sorted((-taken, name) for name, taken in times.seconds.items() if taken >= SLOW_SECONDS)
    if slow:
        listed = ", ".join(f"{name} {-taken * 1000:.0f} ms" for taken, name in slow[:MOST])
        yield f"preload candidates (imported by the last run): {listed}"
