"""Facts about the live exception of a unittest test. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded at
the first failure.
"""

import re

load = globals()["load"]  # the loader gives it to each file
_exceptions, _channel = load("proctor_exceptions"), load("proctor_channel")
#: Assertions that compare two values, by the names that they have for them.
COMPARED = {
    "assertEqual": ("first", "second"),
    "assertListEqual": ("list1", "list2"),
    "assertTupleEqual": ("tuple1", "tuple2"),
    "assertSequenceEqual": ("seq1", "seq2"),
    "assertSetEqual": ("set1", "set2"),
    "assertDictEqual": ("d1", "d2"),
    "assertMultiLineEqual": ("first", "second"),
}
_DOCTEST_LINE = re.compile(r'^File "(.+)", line (\d+), in ', re.M)


class Failures:
    """Facts about the exceptions of one session, which began in the directory `here`."""

    def __init__(self, here, pattern):
        self.frames = _exceptions.Frames(here, here, (pattern,))
        self.plainly = self.frames.failure

    def of_test(self, value, test):
        """`test` is what `python -m unittest` calls it."""
        facts = self.frames.failure(value)
        causes = _exceptions.causes_of(value, self.frames, [value])
        if causes:
            facts["causes"] = causes
        lines = _DOCTEST_LINE.findall(_exceptions.shown_by(value)) if "place" not in facts else ()
        if lines:
            file, line = lines[-1]
            facts["place"] = {"file": self.frames.relative(file), "line": int(line)}
        try:
            difference, whole = _difference(value.__traceback__)
        except Exception:
            difference, whole = [], ""  # without a difference the failure is still reported
        if difference:
            facts["difference"] = _channel.clean(difference)
        if whole:
            facts["whole_difference"] = whole
        self.frames.add_locals(facts, value.__traceback__)
        if _exceptions.may_be_of_debugger(value):
            load("proctor_debugger").add_note(facts, value, ["unittest", test], self.frames.here)
        return facts


def _difference(traceback):
    """Of the two values that the last assertion compared."""
    asserted = None
    inside = False
    while traceback is not None:
        frame = traceback.tb_frame
        ours = "__unittest" in frame.f_globals
        if ours and not inside:
            asserted = frame
        elif not ours:
            asserted = None
        inside = ours
        traceback = traceback.tb_next
    names = COMPARED.get(asserted.f_code.co_name) if asserted is not None else None
    if names is None or asserted is None:
        return [], ""
    return load("proctor_difference").difference(*[asserted.f_locals[name] for name in names])
