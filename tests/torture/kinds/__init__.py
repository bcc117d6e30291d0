"""Every kind there is, by theme."""

from torture.kinds import credentials, files, javascript, output, plugins, processes, programs, python

KINDS = [
    *processes.KINDS,
    *output.KINDS,
    *plugins.KINDS,
    *python.KINDS,
    *files.KINDS,
    *programs.KINDS,
    *javascript.KINDS,
    *credentials.KINDS,
]
