"""Which of a test's keywords are markers. pytest's keywords are also the names of all that a test is in."""

from __future__ import annotations

import posixpath

from proctor import events as e
from proctor.result import SuiteResult
from proctor.wire.reports.id_parts import id_parts

# Attributes of a test's function, which pytest counts among its keywords, and no markers: those that pytest
# itself, unittest.mock and hypothesis set. A marker cannot begin with an underscore.
_ATTRIBUTES = frozenset({"pytestmark", "patchings", "hypothesis", "is_hypothesis_test"})


def markers_of(test: e.TestFinished, suite: SuiteResult) -> list[str]:
    """In the order of the keywords; as far as a name alone can tell it, unless the session said it."""
    if test.test in suite.markers:
        return list(suite.markers[test.test])
    if not test.keywords:
        return []
    path, names = id_parts(test.test)
    last, _, parameters = names[-1].partition("[") if names else ("", "", "")
    around = {*path.split("/"), *names, last, parameters.removesuffix("]"), *_ATTRIBUTES}
    around |= {posixpath.basename(root) for root in _roots(suite)}
    return [word for word in test.keywords if word not in around and _may_be_marker(word)]


def _roots(suite: SuiteResult) -> list[str]:
    """Directories whose name pytest counts as well."""
    described = suite.described
    return [suite.entered.cwd, *([described.root] if described else [])]


def _may_be_marker(word: str) -> bool:
    return word.isidentifier() and not word.startswith("_")
