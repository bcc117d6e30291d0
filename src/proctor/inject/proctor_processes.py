"""The last output of a failed process that a test ran with `subprocess`. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded at a
failure that is about such a process.
"""

MOST_PROCESSES = 2  # of one failure
MOST_LINES = {"stderr": 8, "stdout": 4}  # at the end of what a process wrote
LONGEST = 300  # characters of a line
LOOKED_AT = 1 << 16  # characters at the end of what a process wrote


def last_words(processes):
    """Notes about the last of these: (what its streams are called, an object that has them)."""
    return [note for owner, process in processes[-MOST_PROCESSES:] for note in _last_words(process, owner)]


def _last_words(value, owner):
    notes = []
    for stream, most in MOST_LINES.items():
        try:
            text = getattr(value, stream)
            text = text.decode("utf-8", "backslashreplace") if isinstance(text, bytes) else text
        except Exception:  # of a class of the project
            continue
        if not isinstance(text, str):
            continue
        lines = [line.rstrip() for line in text[-LOOKED_AT:].split("\n") if not _is_noise(line)]
        if lines:
            shown = [line[:LONGEST] for line in lines[-most:]]
            total = len(lines) + text.count("\n", 0, -LOOKED_AT)
            head = "" if len(shown) == total else " (last %d of %d lines)" % (len(shown), total)
            notes.append("%s%s%s:%s%s" % (owner, stream, head, "\n" if shown[1:] else " ", "\n".join(shown)))
    return notes


def _is_noise(line):
    """Columns of a traceback, and its frames in the start of the interpreter."""
    return not line.strip(" ~^\r") or 'File "<frozen ' in line
