"""Values that a name gives away: `password = …`, `"api_key": "…"`, `--token …`, headers.

Each name of interest that is followed by something like `=` or `:` is graded by its words (`secret_names`), and its value is
read in the way it is written. The text is gone through once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from proctor.render.secret_names import (
    ANY,
    COOKIE,
    HEADER,
    NAMES,
    NO_VALUES,
    NOTHING,
    PROSE,
    TEMPLATE,
    grade,
    keylike,
    secret,
)

Span: TypeAlias = tuple[int, int]
_CODE = re.compile(r"\s(?:or|and|if|else|in|not|is|for|==|!=|\+|%|\|\||&&|\?)\s|\.format\(")


_STEMS: tuple[str, ...] = (
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "cred",
    "auth",
    "cookie",
    "sess",
    "sid",
    "sig",
    "hmac",
    "jwt",
    "otp",
    "bearer",
    "salt",
    "connectionstring",
    "_pw",
    *NAMES[4].endings,
)


_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_$.-")


_LONGEST_NAME = 100
_QUOTE = r"\\{0,15}[\"'`]|&quot;|&\#3[49];|&apos;|%2[27]|\\u002[27]"
#: A name, from its first character on, and what joins it to a value.
_NAME = re.compile(
    rf"""(?<![\w$.-])(?P<name>[\w$.-]++(?:\ (?:Key|key|KEY|Id|Password|password|Token|token|Secret|secret)(?=\s?[=:]))?)
    (?P<close>{_QUOTE})?(?P<bracket>\s?\])?
    (?:[ \t]{{0,20}}(?P<sep>=>|:=|={{1,3}}|!={{1,2}}|<>|:(?!:)|->|%3[DdAa]|\\u003[dDaA]|&\#61;|>|\|)
     |(?P<item>\s?,)|(?P<blank>[ \t]{{1,20}}(?:\\\n[ \t]{{0,40}})?(?:(?:is|was|of|to|as|equals)[ \t]{{1,9}})?))""",
    re.X,
)
_GAP = re.compile(r"[ \t]{0,40}(?:only on the (?:left|right): )?(?:\n[ \t>E+-]{1,80}(?=[\"'bB]))?")
_OPEN = re.compile(
    rf"(?P<wrap>(?:(?:[\w.]{{0,30}}(?:Str|Bytes|Secret|String|Value|Password|str|bytes|bytearray|quote|Some|Ok|Just)\(|[\[({{]|&|@)\s{{0,9}}){{0,3}})(?:[bBuUrRfF@]{{1,2}})?(?P<quote>\"\"\"|'''|{_QUOTE})"
)
_BARE = re.compile(
    r"""(?:[^\s"'`<>,;&)\]}\\%|]
    |\\(?![nrt"'`\\u])|\\u(?!00(?:26|22|27))|%(?!2[26C7])|&(?!quot;|\#3[49];|apos;|amp;[\w.-]{1,60}=|[\w.%\[\]-]{1,60}=)
    |[,;|](?=[^\s"'`,;|])(?![\w.\ -]{1,40}[=:])|[)\]}](?=[A-Za-z0-9])|['"](?=\w))+""",
    re.X,
)


_REST_OF_LINE = re.compile(r"(?:(?!\s+[\w.-]{1,60}=|\s#|\s(?:&&|\|\|?|;)\s|\\n|\\r)[^\n\r\"'])+")
_TYPED = re.compile(
    r"[\w.]{1,40}(?:\[[\w.,| \[\]\"']{0,80}\])?(?:\s?\|\s?\w{1,20}){0,3}\s{1,9}=\s{1,9}(?!=)|(?:&(?:'\w+ )?)?(?:mut )?\w{1,20}(?:<[\w<>]{1,40}>)?\s{1,9}=\s{1,9}(?!=)"
)
_CHAIN = re.compile(
    r"[ \t]{0,9}(?:(?:!=|==|->|=>|is not|is|vs\.?|\+)[ \t]{0,9}|\\?\n[ \t]{0,80}(?:[E>|+-][ \t]{1,80}){0,2})(?=[bBuU]?\\{0,15}[\"'])"
)
_BESIDE = re.compile(r"[ \t]{0,9},[ \t]{1,9}(?=[bBuU]?[\"'])")
_BLOCK = re.compile(r"[|>][+-]?\d?[ \t]*((?:\n[ \t]+\S[^\n]*){1,200})")
_ASSIGNED = re.compile(r"[ \t]{1,20}=[ \t]")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*")
_SCHEME = re.compile(
    r"(?P<scheme>(?:Basic|Bearer|Digest|Token|Negotiate|NTLM|Api-?Key|Key|OAuth|Hawk|HOBA|Mutual|DPoP|SharedKey(?:Lite)?|SharedAccessSignature|GoogleLogin|AWS4-HMAC-SHA256|AWS4-ECDSA-P256-SHA256|AWS|Splunk|SSWS|Snowflake|GenieKey|Client-ID|Discogs|Bot|JWT|PRIVATE-TOKEN|Zoho-oauthtoken|Bitbucket|ApiToken|TOK|Session|SCRAM-\S{1,10})(?:[ +]|%20|:\s?))",
    re.I,
)
_LONGEST_KEY = 300
_LONGEST = 2_000  # characters of one value that are looked at
_PLAIN = {
    '"': re.compile(r'(?:[^"\\\n]|\\.)*+'),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*+"),
    "`": re.compile(r"(?:[^`\\]|\\.)*+"),
}


_LINE_END = re.compile(r"[^\n\r]*+")


def named_spans(text: str, small: str) -> Iterator[Span]:
    """The values in the text; `small` is the same text in small letters."""
    end = 0
    for start in _name_starts(small):
        if start >= end and (found := _NAME.match(text, start)):
            for begin, stop in _values(text, found):
                if stop - begin in (_LONGEST, _LONGEST_KEY):  # it was not read to its end
                    stop = _rest_of_line(text, stop)
                end = max(end, stop)
                yield begin, stop


def _name_starts(small: str) -> list[int]:
    """Where the names begin that hold a word of interest."""
    starts: set[int] = set()
    for stem in _STEMS:
        at = small.find(stem)
        while at >= 0:
            start = at
            while start and small[start - 1] in _NAME_CHARACTERS and at - start < _LONGEST_NAME:
                start -= 1
            starts.add(start)
            at = small.find(stem, at + len(stem))
    return sorted(starts)


def _is_set(text: str, at: int) -> bool:
    """`ENV NAME value` of a Dockerfile and `setenv NAME value` need nothing between the two."""
    return text[max(0, at - 7) : at].endswith(("ENV ", "setenv "))


class _Value(NamedTuple):
    """A value as it is written: where it is, in which quotes, and where what follows it begins."""

    start: int
    end: int
    quote: str
    after: int
    wrap: str = ""


def _values(text: str, found: re.Match[str]) -> Iterator[Span]:
    name, before = _name(text, found)
    wanted = grade(name)
    if wanted == NOTHING:
        return
    joint = found["sep"]
    flag = not found["bracket"] and (name.startswith("-") or _is_set(text, found.start("name")))
    if joint is None and not _joined(text, found, flag):
        return
    if joint == ">" and before != "<":
        return
    gap = _GAP.match(text, found.end())
    at = gap.end() if gap else found.end()
    if wanted == HEADER:
        yield from _header(text, at, found)
    elif wanted == COOKIE:
        yield from _cookie(text, at, name)
    else:
        yield from _plain(text, at, found, name, before, wanted, flag)


def _plain(
    text: str, at: int, found: re.Match[str], name: str, before: str, wanted: str, flag: bool
) -> Iterator[Span]:
    joint, quoted = found["sep"], _OPEN.match(text, at)
    if quoted is not None and not found["close"] and _closes(text, found.start("name"), quoted):
        return
    if quoted is not None:
        if joint is None and not flag and not _strict(text, quoted):
            return
        yield from _literals(text, quoted, name, wanted, flag, joint)
        return
    if joint in ("==", "===", "!=", "!==", "<>"):
        return
    if joint is None and found["item"]:
        return
    if joint == ">":
        close = text.find("<", at, at + _LONGEST)
        if close > at and secret(text[at:close].strip(), name, wanted):
            yield at, close
        return
    if joint == ":" and (typed := _TYPED.match(text, at)):
        if inner := _OPEN.match(text, typed.end()):
            yield from _literals(text, inner, name, wanted, flag, "=")
        return
    if joint == ":" and (block := _BLOCK.match(text, at)):
        if wanted == ANY:
            yield block.span(1)
        return
    yield from _bare(text, at, found, name, before, wanted, flag)


def _closes(text: str, start: int, quoted: re.Match[str]) -> bool:
    """Whether these quotes are the end of the text that the name is in: `input('Password: ')`."""
    if quoted["quote"] not in _PLAIN or quoted["wrap"]:
        return False
    line = text.rfind("\n", max(0, start - 500), start) + 1
    return text.count(quoted["quote"], line, start) % 2 == 1


def _joined(text: str, found: re.Match[str], flag: bool) -> bool:
    """Whether a comma or blanks join the name to its value: `('authorization', '…')`, `--password x`."""
    if found["item"]:
        opened = found.start("name") - len(found["close"] or "") - 1
        return bool(found["close"]) and (flag or (opened >= 0 and text[opened : opened + 1] in "([b"))
    return not found["bracket"] and (flag or not found["close"])


def _strict(text: str, quoted: re.Match[str]) -> bool:
    """`password 'hunter2' is too short`: only what is one word with something else than letters in it."""
    value = _quoted(text, quoted)
    word = text[value.start : value.end]
    return bool(re.fullmatch(r"\S*[\d\W]\S*", word)) and len(word) >= 4


def _literals(
    text: str, quoted: re.Match[str], name: str, wanted: str, flag: bool, joint: str | None
) -> Iterator[Span]:
    """The text in quotes, and others that belong to it: of a list, of a difference, or of a wrapped line."""
    several = bool(quoted["wrap"]) and quoted["wrap"].rstrip()[-1] in "[({"
    first = True
    for _ in range(200):
        value = _quoted(text, quoted)
        word = text[value.start : value.end]
        following = text[value.after : value.after + 1]
        if first and several and following == ":" and quoted["wrap"].rstrip()[-1] in "{(":
            return  # a dictionary: its names speak for themselves
        if secret(word, name, ANY if flag else wanted, in_quotes=True) and not (several and _spaced(word)):
            yield value.start, value.end
        elif first and not several:
            return
        first = False
        if several:
            more = re.compile(r"\s{0,200},\s{0,200}(?:[E+>-]\s{1,80})?").match(text, value.after)
        else:
            more = _CHAIN.match(text, value.after)
            if more is None and joint == "=" and (beside := _BESIDE.match(text, value.after)):
                more = None if _is_key(text, beside.end()) else beside  # user, password = "ann", "…"
            if more and "\n" in more[0] and joint == ":" and _is_key(text, more.end()):
                return
        if more is None:
            return
        again = _OPEN.match(text, more.end())
        if again is None:
            return
        quoted = again


def _is_key(text: str, at: int) -> bool:
    opened = _OPEN.match(text, at)
    if opened is None:
        return False
    value = _quoted(text, opened)
    return text[value.after : value.after + 3].lstrip().startswith((":", "=", "]"))


def _spaced(word: str) -> bool:
    return " " in word


def _quoted(text: str, opened: re.Match[str]) -> _Value:
    quote, start = opened["quote"], opened.end()
    if quote in _PLAIN:
        body = _PLAIN[quote].match(text, start, start + _LONGEST)
        end = body.end() if body else start
        return _Value(start, end, quote, end + (text[end : end + 1] == quote))
    if quote in ('"""', "'''"):
        end = text.find(quote, start, start + _LONGEST)
        end = end if end >= 0 else _line_end(text, start)
        return _Value(start, end, quote, end + 3)
    return _escaped(text, start, quote)


def _escaped(text: str, start: int, quote: str) -> _Value:
    """In quotes that are escaped themselves, as JSON inside JSON has them: up to the same, or the end of the line."""
    limit = min(_line_end(text, start), start + _LONGEST)
    end = text.find(quote, start, limit)
    while quote[0] == "\\" and end > start and text[end - 1] == "\\":
        end = text.find(quote, end + 1, limit)
    if end < 0:
        bare = text.find(quote[-1], start, limit) if quote[0] == "\\" else -1
        end = bare if bare >= 0 else limit
        return _Value(start, end, quote, end)
    return _Value(start, end, quote, end + len(quote))


def _line_end(text: str, at: int) -> int:
    found = _LINE_END.match(text, at, at + _LONGEST)
    return found.end() if found else at


def _rest_of_line(text: str, at: int) -> int:
    found = _LINE_END.match(text, at)
    return found.end() if found else at


def _bare(
    text: str, at: int, found: re.Match[str], name: str, before: str, wanted: str, flag: bool
) -> Iterator[Span]:
    value = _BARE.match(text, at, at + (_LONGEST if wanted == ANY or flag else _LONGEST_KEY))
    if value is None or value[0][0] in "{[(":
        return
    end, joint = value.end(), found["sep"]
    word = text[at:end].rstrip(".") if not flag else text[at:end]
    end = at + len(word)
    if not word:
        return
    blanks = (
        text[found.end("close") if found["close"] else found.end("name") : found.start("sep")]
        if joint
        else ""
    )
    said = re.search(r"\s(?:is|was)\s", found[0]) and re.search(r"\d", word) and keylike(word, 4)
    if joint is None and not flag and not said:
        return
    if joint == "|" and not keylike(word, 6):
        return
    if flag:
        if _is_metavariable(word, joint) or not secret(word, name, ANY):
            return
        yield at, end
        return
    if text[end : end + 1] in ("(", "[") or not secret(word, name, wanted):
        return
    if _is_code(text, found, word, before, blanks or text[found.end("sep") : at]) or _ASSIGNED.match(
        text, end
    ):
        return
    starts_line = _starts_line(text, found.start("name"))
    if joint == ":" and not _is_single(text, end) and not re.search(r"\d|[^\w\s-]", word):
        return  # a sentence
    if joint in ("=", ":=") and wanted == ANY and (starts_line or before == ";"):
        rest = _REST_OF_LINE.match(text, at, at + _LONGEST)
        longer = rest.end() if rest else end
        if before == ";" or text[end : end + 1] == ";":
            semicolon = text.find(";", at, longer)
            longer = semicolon if before == ";" and semicolon > 0 else end
        elif _CODE.search(text, at, longer) or text[end : end + 1] in "&\"'":
            longer = end
        end = max(end, longer)
    yield at, end
    yield from _others(text, end)


def _others(text: str, end: int) -> Iterator[Span]:
    """The other side of a difference between bare values."""
    if (more := re.compile(r"[ \t](?:!=|->|=>)[ \t]").match(text, end)) and (
        other := _BARE.match(text, more.end())
    ):
        yield other.span()


def _is_single(text: str, end: int) -> bool:
    """Whether nothing but punctuation follows in this line or in this place of a list."""
    return re.compile(r"\s*(?:$|[\n\r,;)}\]\"'`&|]|\\[nr]|#|!=|->)").match(text, end) is not None


def _starts_line(text: str, at: int) -> bool:
    line = text.rfind("\n", max(0, at - 200), at) + 1
    lead = text[max(line, at - 200) : at]
    return bool(
        re.fullmatch(
            r"(?:[\w./-]*:?\d*:)?\s*(?:(?:export|set|env|setenv|ENV|ARG|SET|-|[E>+$#])\s+){0,3}[\"']?", lead
        )
    ) or lead.endswith("\\n")


def _is_metavariable(word: str, joint: str | None) -> bool:
    if word.startswith("-") or (joint is None and word.lower() in NO_VALUES):
        return True
    if joint is None and word.rstrip(".,:;").lower() in PROSE:
        return True
    return (
        word.isupper()
        and word.isalpha()
        and any(stem in word.lower() for stem in ("pass", "token", "key", "secret", "pwd"))
    )


def _is_code(text: str, found: re.Match[str], word: str, before: str, blanks: str) -> bool:
    """Whether a bare word is a variable, an attribute or a call of source code and no value."""
    if re.match(
        r"[A-Za-z_][\w.:]*[(\[]|(?:self|cls|this|os|sys|config|settings|args|request|kwargs|ctx|env|process|options?)\.",
        word,
    ):
        return True
    if found["close"] or not _IDENTIFIER.fullmatch(word):
        return False
    small = word.lower()
    if any(
        stem in small
        for stem in (
            "passw",
            "passphrase",
            "secret",
            "token",
            "pwd",
            "_key",
            "api_key",
            "credential",
            "getenv",
            "environ",
        )
    ):
        return True
    if found["sep"] == ":" and word[0].isupper() and not re.search(r"\d", word) and before in tuple("(,*"):
        return True
    if "." in word:
        return not re.search(r"\d", word.rpartition(".")[2])
    called = before in tuple("(,*") or text[found.end("name") - 1 : found.end("name")] == "("
    if called:
        return not re.search(r"\d", word) or (
            word.islower() is False and word.isidentifier() and not re.search(r"\d", word)
        )
    indented = re.search(
        r"(?:^|\n)(?:[E>]?[ \t]{3,}|\t)(?:\w+\.)*\Z",
        text[max(0, found.start("name") - 120) : found.start("name")],
    )
    return bool(indented) and found["sep"] == "=" and " " in blanks and not re.search(r"\d", word)


def _header(text: str, at: int, found: re.Match[str]) -> Iterator[Span]:
    """After the scheme, to the end of the line or of the quotes that it is in."""
    opened = _OPEN.match(text, at)
    if opened is not None:
        value = _quoted(text, opened)
        start, end = value.start, value.end
    else:
        if found["sep"] is None:
            return
        if (
            re.match(r"[A-Za-z_]\w*[.(\[]", text[at : at + 100])
            and " " in text[found.start("sep") - 1 : found.start("sep")]
        ):
            return  # source code
        start, end = at, _header_end(text, at)
    scheme = _SCHEME.match(text, start, end)
    if scheme is not None:
        start = scheme.end()
    word = text[start:end].strip()
    if (
        scheme is None
        and opened is None
        and not (keylike(word.split(" ")[0], 6) or (len(word) >= 16 and " " not in word))
    ):
        return
    unsaid = scheme is None and " " in word and not re.search(r"\d", word)
    about = scheme is not None and opened is None and word.islower() and word in NO_VALUES
    if word and not (TEMPLATE.fullmatch(word) or unsaid or about):
        yield start, end


def _header_end(text: str, at: int) -> int:
    found = re.compile(r"(?:(?!\\[nr])[^\n\r\"'`])*").match(text, at, at + _LONGEST)
    end = found.end() if found else at
    if text[end : end + 1] == '"' and "=" in text[at:end]:  # of Digest: its own quotes
        found = re.compile(r"(?:(?!\\[nr])[^\n\r'`])*").match(text, at, at + _LONGEST)
        end = found.end() if found else end
    return end


def _cookie(text: str, at: int, name: str) -> Iterator[Span]:
    opened = _OPEN.match(text, at)
    if opened is not None and not opened["wrap"].strip():
        value = _quoted(text, opened)
        start, end = value.start, value.end
    elif opened is None:
        start, end = at, _header_end(text, at)
    else:
        return
    pairs = re.compile(r"\s*[\w!#$%&*+.^|~-]{1,100}=[^\s;,]+").match(text, start, end)
    if pairs is None:
        return
    if "set" in name.lower():
        first = text.find(";", start, end)
        end = first if first >= 0 else end
        start = text.find("=", start, end) + 1
    if not TEMPLATE.fullmatch(text[start:end].strip()):
        yield start, end


def _name(text: str, found: re.Match[str]) -> tuple[str, str]:
    """The name, and the character before it. An escape before it is no part of it: `\\npassword`, `%26password`."""
    name, start = found["name"], found.start("name")
    before = text[start - 1 : start] if start else ""
    if before == "\\":
        for skipped in (r"u00[0-9a-fA-F]{2}", r"x[0-9a-fA-F]{2}", r"[nrt]"):
            if part := re.match(skipped, name):
                name, before = name[part.end() :], "\n"
                break
    elif before == "%":
        name, before = name[2:], "&"
    elif before == "[":
        name = re.sub(r"^[\d;]{1,9}m", "", name)
    if before in ("", " ", "\t"):
        lead = text[max(0, start - 40) : start].rstrip(" \t")
        before = lead[-1:] if lead[-1:] in "(,*;&?" and lead else before
    return name[-200:], before
