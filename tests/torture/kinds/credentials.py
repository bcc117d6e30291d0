"""Tests that print, log, raise and compare credentials, written in every way that we know."""

from __future__ import annotations

from support.secret_samples import SPELLINGS
from torture.kind import crowd

HIDDEN = "Zq7hiDden9"
#: `<an20>` stands for keys that are longer; none may begin in the middle of a word.
LINES = [
    spelling.replace("<an20>", f"{HIDDEN}Zq7hiDden9").replace("¤", HIDDEN).replace("⏎", "\n")
    for spelling in SPELLINGS.strip("\n").split("\n")
]
HEAD = """
import logging, warnings
LINES = open("lines.txt", encoding="utf-8").read().split("\\n--\\n")
SOME = LINES[::30]
HIDDEN = open("hidden.txt").read()
"""
BODIES = {
    "printed": 'print("\\n".join(SOME)); assert 0',
    "printed_with_an_error": 'for line in SOME: print("error:", line)\nassert 0',
    "written_beside": 'print(*SOME, sep="\\n", file=sys.stderr); assert 0',
    "printed_by_a_child": 'subprocess.run(["head", "-c", "3000", "lines.txt"]); assert 0',
    "logged": 'for line in SOME: logging.getLogger("a").error(line)\nassert 0',
    "warned": 'warnings.warn("\\n".join(SOME)); assert 0',
    "raised": 'raise ValueError("\\n".join(SOME))',
    "raised_escaped": "raise ValueError(json.dumps({'text': SOME}))",
    "a_cause": 'raise ValueError("no") from RuntimeError(LINES[0])',
    "compared": 'assert {"user": "ann", "password": HIDDEN} == {"user": "ann", "password": "other"}',
    "compared_as_text": 'assert "password=" + HIDDEN == "password=x"',
    "an_attribute": 'class User: password = HIDDEN\nassert User().password == "x"',
    "a_note": 'error = ValueError("no"); error.add_note("token=" + HIDDEN); raise error',
    "a_long_text": 'print("x" * 70_000); print("\\n".join(SOME)); assert 0',
    "a_long_value": 'print("x" * 70_000 + " password=\'" + "word " * 600 + HIDDEN + "\'"); assert 0',
}
KINDS = [
    crowd(
        "tests tell credentials",
        BODIES,
        "failed",
        "failed",
        head=HEAD,
        files={"lines.txt": "\n--\n".join(LINES), "hidden.txt": HIDDEN},
        hidden=(HIDDEN,),
    )
]
