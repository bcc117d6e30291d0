"""The parts of a test's id: `path::Class::test[parameters]`."""

from __future__ import annotations


def id_parts(test: str) -> tuple[str, list[str]]:
    """The path, and the names behind it; the last one has the parameters, which may contain anything."""
    path, separator, rest = test.partition("::")
    if not separator:
        return path, []
    plain, bracket, parameters = rest.partition("[")
    names = plain.split("::")
    names[-1] += bracket + parameters
    return path, names
