"""Every kind there is, by theme."""

from torture.kinds import (
    credentials,
    files,
    javascript,
    output,
    plugins,
    processes,
    programs,
    python,
    sessions,
)

KINDS = [
    *processes.KINDS,
    *output.KINDS,
    *plugins.KINDS,
    *python.KINDS,
    *sessions.KINDS,
    *files.KINDS,
    *programs.KINDS,
    *javascript.KINDS,
    *credentials.KINDS,
]
