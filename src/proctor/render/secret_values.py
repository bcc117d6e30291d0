"""Finds secrets by their names: `password = …`, `"api_key": "…"`, `--token …`, headers.

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
    KEYLIKE,
    NO_VALUES,
    NOTHING,
    PROSE,
    SETTERS,
    STEMS,
    TEMPLATE,
    first_word,
    grade,
    keylike,
    secret,
)

Span: TypeAlias = tuple[int, int]
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_$.-")
_LONGEST_NAME = 100
_QUOTE = r"\\{0,15}[\"'`]|&quot;|&\#3[49];|&apos;|%2[27]|\\u002[27]"
#: A name, from its first character on, and what joins it to a value.
_NAME = re.compile(
    rf"""(?<![\w$.-])(?P<name>[\w$.-]+(?![\w$.-])(?:\ (?:Key|key|KEY|Id|Password|password|Token|token|Secret|secret)(?=\s?[=:]|\s(?:is\s)?\w{{8}}))?)
    (?P<close>{_QUOTE})?(?P<bracket>\s?\])?
    (?:[ \t]{{0,20}}(?P<sep>=>|:=|={{1,3}}|!={{1,2}}|<>|<-|:(?!:)|->|%3[DdAa]|\\u003[dDaA]|&\#61;|>|\||\((?=\s{{0,9}}[bBuU]?["']))
     |(?P<item>\s?,)|(?P<blank>[ \t]{{1,20}}(?:\\\n[ \t]{{0,40}})?(?:(?:is|was|of|to|as|equals)[ \t]{{1,9}})?))""",
    re.X,
)
_GAP = re.compile(
    r"[ \t]{0,40}(?:only on the (?:left|right): )?(?:\n[ \t>E+-]{1,80}(?:string\(\d{1,9}\) )?(?=[\"'bB]))?"
)
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
_BESIDE = re.compile(r"[ \t]{0,9},[ \t]{1,9}(?=[bBuU]?\\{0,15}[\"'])")
_BLOCK = re.compile(r"[|>][+-]?\d?[ \t]*((?:\n[ \t]+\S[^\n]*){1,200})")
_CODE = re.compile(r"\s(?:or|and|if|else|in|not|is|for|==|!=|\+|%|\|\||&&|\?)\s|\.format\(")
_EXPRESSION = re.compile(
    r"[A-Za-z_][\w.:]*[(\[]|\$\w+(?:->|\[)"
    r"|(?:self|cls|this|os|sys|config|settings|args|request|kwargs|ctx|env|process|options?)\."
)
_INDENTED = re.compile(r"(?:^|\n)(?:[E>]?[ \t]{3,}|\t)(?:\w+\.)*\Z")
#: A word with one of these is a name itself, where it could be a variable.
_OF_SECRETS = ("passw", "passphrase", "secret", "token", "pwd", "_key", "credential", "getenv", "environ")
_DIGIT_INSIDE = re.compile(r"\d[a-z]")  # `hunter2secret`; a variable is `token2` or `oauth2_token`
_SAID = re.compile(r"\s(?:is|was)\s")
#: Letters of both kinds, and digits in two places: no word is written like that.
_UNLIKE_A_WORD = re.compile(r"(?=\S*[a-z])(?=\S*[A-Z])(?=\S*\d\D+\d)[^\s./:()\[\]]{8,}")
_ASSIGNED = re.compile(r"[ \t]{1,20}=[ \t]")
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*")
_SCHEME = re.compile(
    r"(?P<scheme>(?:Basic|Bearer|Digest|Token|Negotiate|NTLM|Api-?Key|Key|OAuth|Hawk|HOBA|Mutual|DPoP|SharedKey(?:Lite)?|SharedAccessSignature|GoogleLogin|AWS4-HMAC-SHA256|AWS4-ECDSA-P256-SHA256|AWS|Splunk|SSWS|Snowflake|GenieKey|Client-ID|Discogs|Bot|JWT|PRIVATE-TOKEN|Zoho-oauthtoken|Bitbucket|ApiToken|TOK|Session|SCRAM-\S{1,10})(?:[ +]|%20|:\s?))",
    re.I,
)
_LONGEST_KEY = 300
_LONGEST = 2_000  # characters of one value that are looked at
_PLAIN = {
    '"': re.compile(r'(?:[^"\\\n]|\\.)*'),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*"),
    "`": re.compile(r"(?:[^`\\]|\\.)*"),
}
_LINE_END = re.compile(r"[^\n\r]*")


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
    for stem in STEMS:
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


class _Named(NamedTuple):
    """A name in a text, and what its value must look like."""

    text: str
    match: re.Match[str]  # of `_NAME`
    name: str
    before: str  # the character before it
    wanted: str
    flag: bool  # an option, or something else that needs nothing between it and its value

    @property
    def joint(self) -> str | None:
        joint: str | None = self.match["sep"]
        return joint


def _values(text: str, found: re.Match[str]) -> Iterator[Span]:
    name, before = _name(text, found)
    wanted = grade(name)
    if wanted == NOTHING:
        return
    flag = not found["bracket"] and (name.startswith("-") or _is_set(text, found.start("name")))
    joint = found["sep"]
    if joint is None and not _joined(text, found, flag):
        return
    if (joint == ">" and before != "<") or (joint == "(" and first_word(name) not in SETTERS):
        return
    if joint == "(" and "pass" not in name.lower():
        wanted = KEYLIKE
    named = _Named(text, found, name, before, wanted, flag)
    gap = _GAP.match(text, found.end())
    at = gap.end() if gap else found.end()
    if wanted == HEADER:
        yield from _header(text, at, found)
    elif wanted == COOKIE:
        yield from _cookie(text, at, name)
    else:
        yield from _plain(named, at)


def _plain(named: _Named, at: int) -> Iterator[Span]:
    text, joint, quoted = named.text, named.joint, _OPEN.match(named.text, at)
    if quoted is not None:
        if not named.match["close"] and joint != "(" and _closes(text, named.match.start("name"), quoted):
            return
        if joint is not None or named.flag or _strict(text, quoted, bool(named.match["item"])):
            yield from _literals(named, quoted, joint)
    elif joint in ("==", "===", "!=", "!==", "<>", "<-") or (joint is None and named.match["item"]):
        return
    elif joint == ">":
        close = text.find("<", at, at + _LONGEST)
        if close > at and secret(text[at:close].strip(), named.name, named.wanted):
            yield at, close
    elif joint in (":", None) and not named.flag and (typed := _TYPED.match(text, at)):
        if inner := _OPEN.match(text, typed.end()):
            yield from _literals(named, inner, "=")
    elif joint == ":" and (block := _BLOCK.match(text, at)):
        if named.wanted == ANY:
            yield block.span(1)
    else:
        yield from _bare(named, at)


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


def _strict(text: str, quoted: re.Match[str], item: bool) -> bool:
    """`password 'hunter2' is too short`: only what is one word with something else than letters in it."""
    value = _quoted(text, quoted)
    word = text[value.start : value.end]
    return bool(re.fullmatch(r"\S*\d\S*" if item else r"\S*[\d\W]\S*", word)) and len(word) >= 4


def _literals(named: _Named, quoted: re.Match[str], joint: str | None) -> Iterator[Span]:
    """The text in quotes, and others that belong to it: of a list, of a difference, or of a wrapped line."""
    text, wanted = named.text, ANY if named.flag else named.wanted
    several = joint == "(" or (bool(quoted["wrap"]) and quoted["wrap"].rstrip()[-1] in "[({")
    first = True
    for _ in range(200):
        value = _quoted(text, quoted)
        word = text[value.start : value.end]
        following = text[value.after : value.after + 1]
        if first and several and following == ":" and quoted["wrap"].rstrip()[-1:] in ("{", "("):
            return  # a dictionary: its names speak for themselves
        if secret(word, named.name, wanted, in_quotes=True) and not (several and " " in word):
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


def _bare(named: _Named, at: int) -> Iterator[Span]:
    """A value without quotes."""
    whole = named.wanted == ANY or named.flag
    value = _BARE.match(named.text, at, at + (_LONGEST if whole else _LONGEST_KEY))
    if value is None or value[0][0] in "{[(":
        return
    word = value[0] if named.flag else value[0].rstrip(".")
    end = at + len(word)
    if not word:
        return
    if named.flag:
        if not _is_metavariable(word, named.joint) and secret(word, named.name, ANY):
            yield at, end
    elif _is_told(named, at, end):
        end = _with_blanks(named, at, end)
        yield at, end
        yield from _others(named.text, end)


def _is_told(named: _Named, at: int, end: int) -> bool:
    """Whether a bare word is the value of the name, and no code nor the next word of a sentence."""
    text, word, joint = named.text, named.text[at:end], named.joint
    if joint is None and not _is_said(named.match[0], word):
        return False
    if joint == "|" and not keylike(word, 6):
        return False
    if text[end : end + 1] in ("(", "[") or not secret(word, named.name, named.wanted):
        return False
    if _is_code(named, at, word) or _ASSIGNED.match(text, end):
        return False
    return joint != ":" or _is_single(text, end) or bool(re.search(r"\d|[^\w\s-]", word))


def _is_said(lead: str, word: str) -> bool:
    """`the password is x1`; without any word between the two, only what is like no word."""
    if _SAID.search(lead):
        return bool(re.search(r"\d", word)) and keylike(word, 4)
    return _UNLIKE_A_WORD.fullmatch(word) is not None


def _with_blanks(named: _Named, at: int, end: int) -> int:
    """Where a value ends that has a line, or all up to a semicolon, to itself: it may hold blanks."""
    text, setting = named.text, named.before == ";"
    if named.joint not in ("=", ":=") or named.wanted != ANY:
        return end
    if not setting and not _starts_line(text, named.match.start("name")):
        return end
    rest = _REST_OF_LINE.match(text, at, at + _LONGEST)
    longer = rest.end() if rest else end
    if setting or text[end : end + 1] == ";":
        semicolon = text.find(";", at, longer)
        longer = semicolon if setting and semicolon > 0 else end
    elif _CODE.search(text, at, longer) or text[end : end + 1] in "&\"'":
        longer = end
    return max(end, longer)


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


def _is_code(named: _Named, at: int, word: str) -> bool:
    """Whether a bare word is a variable, an attribute or a call of source code and no value."""
    if _EXPRESSION.match(word):
        return True
    if named.match["close"] or not _IDENTIFIER.fullmatch(word):
        return False
    if any(stem in word.lower() for stem in _OF_SECRETS) and not _DIGIT_INSIDE.search(word):
        return True
    if "." in word:
        return _is_attribute(named, word)
    if re.search(r"\d", word):
        return False
    return named.before in tuple("(,*") or _is_assigned(named, at)


def _is_attribute(named: _Named, word: str) -> bool:
    last = word.rpartition(".")[2]
    return not re.search(r"\d", last) or (named.wanted != ANY and len(last) < 10)


def _is_assigned(named: _Named, at: int) -> bool:
    """Whether this is an indented line of source code: `    password = given`."""
    text, match = named.text, named.match
    if match["sep"] != "=" or " " not in text[match.end("name") : at]:
        return False
    start = match.start("name")
    return _INDENTED.search(text[max(0, start - 120) : start]) is not None


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
