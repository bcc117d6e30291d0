"""Where a text holds credentials: by their look, their place, or the name they are given. Linear in the text."""

from __future__ import annotations

import base64
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from functools import cache, lru_cache
from operator import attrgetter
from typing import NamedTuple

from proctor.render.secret_kinds import KINDS, LEAST, Kind
from proctor.render.secret_names import ANY, KEYLIKE, TEMPLATE, grade, secret
from proctor.render.secret_values import Span, named_spans
from proctor.render.secrets import MASK

#: A credential does not begin inside a word; an escape before it is no part of one: `\nghp_…`, `%20ghp_…`.
_LEFT = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-9a-fA-F]{2})|(?<=\\x[0-9a-fA-F]{2}))"
)
_OWN_LEFT = re.compile(r"\(\?<!\[[^\]]+\]\)")
#: Colours, as they are and as a text in which they were escaped shows them.
_COLOURS = re.compile(
    r"(?:\x1b|\\{1,15}(?:x1b|u001[bB]|033|e))\[[0-9;]{0,20}m|\x1b(?:\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])"
)
#: What stands for another character in a text inside of a text, and the margin of what pytest says.
_WRITTEN = re.compile(
    r"\\{1,15}(?:(?:u00|x)(?P<code>[0-9a-fA-F]{2})|[nrt\"'`/])|&(?:amp;){0,3}(?P<word>quot|apos|lt|gt|amp|\#34|\#39|\#x27);"
    r"|(?:(?<=\n)|\A)E(?= {3})"
)
_ENTITIES = {"quot": '"', "#34": '"', "apos": "'", "#39": "'", "#x27": "'", "lt": "<", "gt": ">", "amp": "&"}
_KEY_BEGINS = re.compile(
    r"---{1,2}-? ?BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-----?|---- BEGIN SSH2 [A-Z ]{0,20}PRIVATE KEY ----"
)
_KEY_ENDS = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY")
_KEY_LINES = re.compile(
    r"(?:(?:\s|\\[nrt\\]|[\"',]|[E>|+-](?=\s))*(?:[A-Za-z0-9+/=]{16,}|(?:Proc-Type|DEK-Info|Comment|Version)[^\n\\]*))*"
    r"(?:(?:\s|\\[nrt\\]|[E>|+-](?=\s))*[A-Za-z0-9+/]{1,64}={0,2}(?=[\n\r\\\\\"']|\Z))?"
)
_KEY_LINE = re.compile(r"(?:[E>|+-]\s)?[\s\"',]*(?:[A-Za-z0-9+/=]*|[\w-]{1,20}: .*)[\s\"',]*(?:\.\.\.)?\\?")
_AWS_SECRET = re.compile(
    r"(?<![A-Za-z0-9/+=])(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"
)
_BASIC = re.compile(r"\b(?i:basic)(?:[ +]|%20){1,3}([A-Za-z0-9+/_-]{4,1000}={0,2})")
_WHERE = re.compile(
    r"where[ \t]{1,9}((?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"))[ \t]{1,9}=[ \t]{1,9}([^\n]{1,2000})"
)
_ASSERTED = re.compile(
    r">[ \t]{1,20}assert[ \t]{1,9}([^\n=!]{1,200}?)[ \t]{1,9}[=!]=[ \t]{1,9}[^\n]{0,200}\n"
    r"[ \tE]{1,30}(?:AssertionError: )?assert ('(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
)
_LAST_NAME = re.compile(r"(\w{1,100})['\"]?[\])]{0,3}(?:\(\))?[\s\"'\]}\\]*\Z")
_DOTS = re.compile(r"(?:\.\.\.|…)[\w+/=~-]{0,400}")
_BREAKS = re.compile(r"[^\w.+/~-]")
_AFTER_CUT = re.compile(r"left out(?:[^\]\n]{0,200}) \.\.\.\]\n([^\s\"']{1,400})")
#: A name and its value in two places: what the text holds there in small letters, and how the two are written.
_PAIRS = tuple(
    (hint, re.compile(pattern))
    for hint, pattern in (
        (
            "value",  # {"name": "DB_PASSWORD", "value": "…"}
            r"(?i:name|key)\\*[\"']?\s{0,9}[:=]\s{0,9}\\*[\"']?(?P<name>[\w.-]{2,100})\\*[\"']?\s{0,9},?[\s-]{0,80}\\*[\"']?"
            r"(?i:value)\\*[\"']?\s{0,9}[:=]\s{0,9}(?P<quote>\\*[\"']?)(?P<value>[^\s\"'\\,}<>]{1,400})",
        ),
        (
            "variable",  # of Terraform
            r"variable\s{1,9}\"(?P<name>[\w-]{1,100})\"\s{0,9}\{[^{}]{0,400}?\bdefault\s{0,20}=\s{0,20}(?P<quote>\")(?P<value>[^\"\n]{1,400})\"",
        ),
        (
            "</",  # <x:Password Type="…">…</…>
            r"<(?:[\w-]{1,40}:)?(?P<name>[\w.-]{1,60})\s[^<>]{1,200}>(?P<quote>)(?P<value>[^<>]{1,400})</",
        ),
        (
            "</",  # <string name="api_key">…</string>
            r"\b(?:name|key|id)=[\"'](?P<name>[\w.-]{1,100})(?P<quote>[\"'])[^<>]{0,100}>(?P<value>[^<>]{1,400})</",
        ),
        (
            "</key>",  # <key>APIKey</key><string>…</string>
            r"<key>(?P<name>[\w.-]{1,100})</key>\s{0,80}<string>(?P<quote>)(?P<value>[^<>]{1,400})</string>",
        ),
        (
            "<input",
            r"<input\s[^<>]{0,200}?type=(?P<quote>[\"']?)(?P<name>password)\b[^<>]{0,200}?\svalue=[\"']?(?P<value>[^\s<>\"']{1,200})",
        ),
        (
            "<input",
            r"<input\s[^<>]{0,200}?value=(?P<quote>[\"']?)(?P<value>[^\s<>\"']{1,200})[\"']?\s[^<>]{0,200}?type=[\"']?(?P<name>password)\b",
        ),
    )
)
_MANIFEST = re.compile(r"(?<![\w.-])[\"']?kind[\"']?:[ \t]{0,9}[\"']?Secret\b(?![\w-])")
_DATA = re.compile(
    r"(?P<indent>(?:\n|\A)[ \t>E+|-]{0,40})(?:data|stringData):[ \t]{0,9}(?P<lines>(?:(?P=indent)[ \t]{1,40}[^\n]{0,4000}){1,200})"
    r"|\"(?:data|stringData)\":\s{0,9}\{(?P<object>[^{}]{1,20000})\}"
)
_ENTRY = re.compile(
    r"\n[ \t>E+|-]{0,60}[\w.\"'-]{1,200}:[ \t]{1,9}(?![|>][+-]?\d?[ \t]*(?:\n|\Z))(?P<value>[^\n]{1,4000})|\"[^\"]{1,200}\":\s{0,9}\"(?P<item>[^\"]{1,10000})\"|(?P<more>\n[ \t>E+|-]{0,60}[^\s:]{8,4000}(?=\n|\Z))"
)
_INSERT = re.compile(
    r"(?i:insert\s{1,9}(?:or\s\w{1,10}\s)?into)\s{1,9}[\w.\"'`\[\]]{1,100}\s{0,9}\((?P<columns>[\w\s,\"'`\[\]]{1,1000})\)\s{0,9}(?i:values)\s{0,9}"
)
_ROW = re.compile(r"\s{0,9},?\s{0,9}\((?P<cells>(?:'(?:[^'\\\n]|\\.)*'|[^()'])*)\)")
_CELL = re.compile(r"(?:'(?:[^'\\\n]|\\.)*'|[^',])+")
_IN_AN_ID = re.compile(
    r"\.\w{1,6}::[^\s\[\]]{0,200}\[[^\]\n]*\Z|(?<![\w/])(?:Test|Benchmark|Fuzz|Example)\w*/\S*\Z"
)
_HINTED = [
    (
        kind,
        tuple(hint for hint in kind.hints if hint == hint.lower()),
        tuple(hint for hint in kind.hints if hint != hint.lower()),
    )
    for kind in KINDS
]
_SHORT = 200  # characters of a text whose spans are remembered
_ROUNDS = 8  # in which a mask may make something else plain
_MOST_KNOWN = 50  # values that are looked for wherever else they stand


def spans(text: str, known: Collection[str] = ()) -> list[Span]:
    """In their order, apart from each other. `known` are values that were found elsewhere.

    Where a mask makes another credential plain, that is masked, too: who masks the text again finds nothing.
    """
    return list(_in_short(text)) if not known and len(text) <= _SHORT else _in_any(text, known)


@lru_cache(256)
def _in_short(text: str) -> list[Span]:
    """Arguments, paths and names come back many times in a run, and in each run of a server."""
    return _in_any(text, ())


def _in_any(text: str, known: Collection[str]) -> list[Span]:
    found = _first_spans(text, known)
    for _ in range(_ROUNDS if found else 0):
        shown, moves = _rewritten(text, ((*span, MASK) for span in found))
        more = [_before(span, moves) for span in _first_spans(shown, known)]
        wider = _merged([*found, *more])
        if wider == found:
            break
        found = wider
    return found


def _first_spans(text: str, known: Collection[str]) -> list[Span]:
    """In the text without its colours; and in its form before it was escaped or indented."""
    colours = (
        [(*match.span(), "") for match in _COLOURS.finditer(text)] if "\x1b" in text or "\\" in text else []
    )
    plain, moves = _rewritten(text, colours)
    found = _spans(plain, known)
    if "\\" in plain or "&" in plain or "\nE " in plain or plain.startswith("E "):
        escapes = [(*match.span(), _meaning(match)) for match in _WRITTEN.finditer(plain)]
        if escapes:
            written, back = _rewritten(plain, escapes)
            found = _merged([*found, *(_before(span, back) for span in _spans(written, known))])
    return [_before(span, moves) for span in found] if colours else found


def _meaning(escape: re.Match[str]) -> str:
    """`"` for `\\"`, `&quot;` or `\\u0022`; a margin of pytest's is blank."""
    if code := escape["code"]:
        return chr(int(code, 16))
    if word := escape["word"]:
        return _ENTITIES[word]
    return {"n": "\n", "r": "\n", "t": "\t", "E": " "}.get(escape[0][-1], escape[0][-1])


def _rewritten(text: str, changes: Iterable[tuple[int, int, str]]) -> tuple[str, list[_Part]]:
    """The text with these parts replaced, and where its parts are from: kept and replaced ones take turns."""
    parts: list[str] = []
    moves: list[_Part] = []
    at = size = 0
    for start, end, new in changes:
        moves += [_Part(size, at, start), _Part(size + start - at, start, end)]
        parts += [text[at:start], new]
        size += start - at + len(new)
        at = end
    return "".join([*parts, text[at:]]), [*moves, _Part(size, at, len(text))]


def _before(span: Span, moves: list[_Part]) -> Span:
    """The same part of the text before it was rewritten: what was replaced is taken whole."""
    first = bisect_right(moves, span[0], key=_begin) - 1
    last = bisect_right(moves, span[1] - 1, key=_begin) - 1
    start = moves[first].start + (0 if first % 2 else span[0] - moves[first].at)
    return start, moves[last].end if last % 2 else moves[last].start + span[1] - moves[last].at


class _Part(NamedTuple):
    at: int  # in the new text
    start: int
    end: int


_begin = attrgetter("at")


def worth_knowing(value: str) -> bool:
    """Whether it is unlike any other text, so that it can be looked for in other places."""
    return 6 <= len(value) <= 200 and bool(re.fullmatch(r"(?=\S*\d)(?=\S*[A-Za-z])\S+", value))


def _spans(text: str, known: Collection[str]) -> list[Span]:
    small = text.lower()
    if len(small) != len(text):
        small = "".join([low if len(low := one.lower()) == 1 else one for one in text])
    found = [span for span in _found(text, small) if not _in_an_id(text, span)]
    values = dict.fromkeys(value for start, end in found if worth_knowing(value := text[start:end]))
    literals: list[Span] = list(_where(text))
    for value in [*values, *known][:_MOST_KNOWN]:
        literals += [span for span in _places(text, value) if not _in_an_id(text, span)]
    return _merged([*found, *literals]) if found or literals else []


def _found(text: str, small: str) -> Iterator[Span]:
    words = "\n".join([word for word in text.split() if len(word) >= LEAST])
    small_words = words.lower()
    for kind, lower_hints, other_hints in _HINTED:
        whole, lower = (text, small) if kind.wide else (words, small_words)
        hints = [hint for hint in lower_hints if hint in lower]
        hints += [hint for hint in other_hints if hint in whole]
        if hints:
            for match in _matches(kind, hints, text, small):
                start, end = match.span(match.lastgroup or 0)
                if not TEMPLATE.fullmatch(text, start, end):
                    yield _with_the_rest(text, (start, end))
                if kind.name == "aws-key-id":
                    start = max(0, match.start() - 300)
                    yield from (near.span() for near in _AWS_SECRET.finditer(text, start, match.end() + 300))
    if "..." in text or "…" in text:
        yield from _cut_off(text)
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    if "basic" in small:
        found = (_BASIC.match(text, at) for at in _occurrences(small, "basic"))
        yield from (match.span(1) for match in found if match and _is_user_and_password(match[1]))
    for hint, pattern in _PAIRS:
        if hint in small:
            yield from _paired(pattern, text)
    if "kind" in small and "Secret" in text:
        yield from _manifests(text)
    if "insert" in small:
        yield from _inserted(text)
    yield from named_spans(text, small)


def _matches(kind: Kind, hints: list[str], text: str, small: str) -> Iterator[re.Match[str]]:
    pattern = _compiled(kind)
    if kind.at is None:
        yield from pattern.finditer(text)
        return
    for hint in hints:
        last = 0
        for at in _occurrences(small if hint == hint.lower() else text, hint):
            start = at - kind.at
            if start >= last and (match := pattern.match(text, start)):
                last = match.end()
                yield match


def _cut_off(text: str) -> Iterator[Span]:
    """Credentials of which too little is left for their pattern, but enough to tell what they are."""
    for dots in _DOTS.finditer(text):
        lead = _BREAKS.split(text[max(0, dots.start() - 220) : dots.start()])[-1]
        if (match := _cut_kinds().match(lead)) or (match := _cut_kinds().match(lead[1:])):
            yield dots.start() - len(match.string), dots.end()
    if "left out" in text:
        yield from (match.span(1) for match in _AFTER_CUT.finditer(text) if worth_knowing(match[1]))


@cache
def _compiled(kind: Kind) -> re.Pattern[str]:
    own = _OWN_LEFT.match(
        kind.pattern
    )  # stricter than the usual one, but an escape may stand there all the same
    if own is not None:
        return re.compile(rf"(?:{own[0]}|(?<=\\[nrt])){kind.pattern[own.end() :]}")
    return re.compile(kind.pattern if kind.inside else _LEFT + kind.pattern)


@cache
def _cut_kinds() -> re.Pattern[str]:
    return re.compile("|".join(kind.start for kind in KINDS if kind.start))


def _with_the_rest(text: str, span: Span) -> Span:
    """A value of which the middle was left out goes on behind the dots."""
    cut = _DOTS.match(text, span[1])
    return (span[0], cut.end()) if cut else span


def _private_keys(text: str) -> Iterator[Span]:
    at, has_end = 0, True
    while begun := _KEY_BEGINS.search(text, at):
        end = text.find("---END" if "-----" in begun[0] else "---- END", begun.end()) if has_end else -1
        has_end = end >= 0
        while has_end and text[end - 1] == "-":
            end -= 1
        lines = _KEY_LINES.match(text, begun.end())
        at = end if has_end else max(begun.end(), lines.end() if lines else 0)
        yield begun.end(), at
    yield from _ends_of_keys(text)


def _ends_of_keys(text: str) -> Iterator[Span]:
    """Keys whose beginning was cut off: the lines before their end."""
    last = 0
    for ended in _KEY_ENDS.finditer(text):
        start = end = ended.start()
        lead = text[max(last, end - 10_000) : end]
        if "PRIVATE KEY" in lead:
            last = ended.end()
            continue
        for line in reversed(re.split(r"(?<=\n)|(?<=\\n)", lead)):
            if not _KEY_LINE.fullmatch(line.strip().removesuffix("\\n")):
                break
            start -= len(line)
        last = ended.end()
        if start < end:
            yield start, end


def _is_user_and_password(word: str) -> bool:
    try:
        plain = base64.b64decode(word + "=" * (-len(word) % 4), validate=True)
    except ValueError:
        return False
    return b":" in plain and all(32 <= byte < 127 or byte > 160 for byte in plain)


def _paired(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """Values whose names stand elsewhere in the same sentence, element or entry."""
    for match in pattern.finditer(text):
        name, value = match["name"], match["value"]
        if grade(name) in (ANY, KEYLIKE) and secret(value, name, grade(name), in_quotes=bool(match["quote"])):
            yield match.span("value")


def _manifests(text: str) -> Iterator[Span]:
    """The data of a Kubernetes secret, whatever the names are: before or behind its kind, in the same document."""
    begin = 0
    for part in re.split(r"(?<=\n---)(?=\s)", text):
        if _MANIFEST.search(part):
            for data in _DATA.finditer(part):
                group = "object" if data["object"] else "lines"
                for entry in _ENTRY.finditer(part, *data.span(group)):
                    start, end = entry.span(entry.lastgroup or 0)
                    if not TEMPLATE.fullmatch(part[start:end].strip(" '\"")):
                        yield begin + start + (entry.lastgroup == "more"), begin + end
        begin += len(part)


def _inserted(text: str) -> Iterator[Span]:
    """`INSERT INTO users (name, password) VALUES ('ann', '…')`: the cells of columns that a name gives away."""
    for insert in _INSERT.finditer(text):
        columns = [column.strip(" \n\"'`[]") for column in insert["columns"].split(",")]
        hidden = [at for at, column in enumerate(columns) if grade(column) == ANY]
        at = insert.end()
        while hidden and (row := _ROW.match(text, at)):
            at = row.end()
            cells = list(_CELL.finditer(text, *row.span("cells")))
            for number in hidden if len(cells) == len(columns) else []:
                cell = cells[number][0].strip()
                if cell[:1] == "'" and secret(cell.strip("'"), columns[number], ANY, in_quotes=True):
                    start = text.index("'", cells[number].start()) + 1
                    yield start, start + len(cell) - 2


def _where(text: str) -> Iterator[Span]:
    """What pytest says about an assertion: `where 'hunter2' = <User>.password`, and the same value above it;
    or the line of the test, `> assert user.password == 'x'`, and below it `E assert 'hunter2' == 'x'`."""
    told = [(match[1], match[2]) for match in _WHERE.finditer(text)] if "where" in text else []
    if "assert" in text:
        told += [(match[2], match[1]) for match in _ASSERTED.finditer(text)]
    for literal, expression in told:
        name = _LAST_NAME.search(expression[-120:])
        if name and grade(name[1]) == ANY and secret(literal[1:-1], name[1], ANY, in_quotes=True):
            for at in _occurrences(text, literal):
                yield at + 1, at + len(literal) - 1


def _places(text: str, value: str) -> Iterator[Span]:
    for at in _occurrences(text, value):
        end = at + len(value)
        if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()) or text[
            max(0, at - 2) : at
        ] in ("\\n", "\\t", "\\r"):
            yield at, end


def _occurrences(text: str, value: str) -> Iterator[int]:
    at = text.find(value)
    while at >= 0:
        yield at
        at = text.find(value, at + len(value))


def _in_an_id(text: str, span: Span) -> bool:
    """An id stays as it is, wherever it stands: `t.py::test_login[password=x]`, `TestLogin/password=x`."""
    lead = text[max(0, span[0] - 500, text.rfind("\n", max(0, span[0] - 500), span[0]) + 1) : span[0]]
    return ("::" in lead or "/" in lead) and _IN_AN_ID.search(lead) is not None


def _merged(found: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif start < end:
            merged.append((start, end))
    return merged
