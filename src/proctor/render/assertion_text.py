"""What pytest explains about the values of an assertion: `500 = <Response 500 …>.status_code`.

pytest has a line for each (` +  where 1 = size()`, ` +    where size = <Queue object>.size`). A name
without meaning of its own is replaced by its expression; a meaningful value is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_WHERE = re.compile(r"\s*\+\s+(?:where|and)\s+(.+)", re.S)
#: Says which kind of object it is, and no more.
_HOLLOW = (
    r"(?:<(?:function|built-in function|built-in method|bound method|method|class|module)\b[^=]*>"
    r"|<[\w.<>]+(?: object)?>|[A-Za-z_]\w*)"
)
_NAME = re.compile(_HOLLOW, re.S)
_PLAIN_USE = re.compile(
    rf"{_HOLLOW}(?:\.\w+|\(\))*", re.S
)  # its attributes and calls: the test's source has them
_LONGEST_NAME = 24  # characters of a value that stands in full before


def where_line(line: str) -> str:
    """`NAME = VALUE` of a line that explains a value; of any other, nothing."""
    found = _WHERE.match(line)
    return found[1].strip() if found and " = " in found[1] else ""


def explanations(first: str, lines: Iterable[str]) -> list[str]:
    """The values that the lines after the first one explain, as `NAME = VALUE`."""
    texts = [first]
    for where in filter(None, map(where_line, lines)):
        name, value = _split(where, texts)
        at = next((at for at, text in enumerate(texts) if at and name in text), 0)
        if at and _NAME.fullmatch(name):
            texts[at] = _replaced(texts[at], name, value)
        elif name != value:
            texts.append(f"{_short(name) if at else name} = {value}")
    return texts[1:]


def says_something(where: str) -> bool:
    """Whether it tells more than the source of the test."""
    return _PLAIN_USE.fullmatch(where.partition(" = ")[2]) is None


def _split(where: str, texts: list[str]) -> tuple[str, str]:
    """At the equals sign after a name that has been used; a value may have such signs of its own."""
    signs = [found.start() for found in re.finditer(" = ", where)][:20]
    at = next((at for at in reversed(signs) if any(where[:at] in text for text in texts)), signs[0])
    return where[:at], where[at + 3 :]


def _replaced(text: str, name: str, value: str) -> str:
    """Once: a text that has a name twice could double with every line."""
    if name.isidentifier():
        return re.sub(rf"(?<![\w.]){name}(?=\()", lambda _: value, text, count=1)
    return text.replace(name, value, 1)


def _short(name: str) -> str:
    """Enough of a value to find it in a line above."""
    if len(name) <= _LONGEST_NAME:
        return name
    found = re.match(r"<[\w.]+|\w+\(|[\[{(]<?\w*|['\"].{10}", name)
    return f"{found[0] if found else name[:10]}…{name[-1]}"
