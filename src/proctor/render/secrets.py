"""Values that look like credentials, masked: what a test prints must not end in a conversation.

By the look of the value (keys of well-known services, signed tokens, private keys), by its place (a password
in a URL, a header that authorizes), or by the name it is given (`password=…`, `"api_key": "…"`).
"""

from __future__ import annotations

import re

MASK = "***"

_NAMES = (
    r"[\w.-]*(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|credential)\w*"
)
_TOKENS = r"[\w.-]*token"  # a word with other meanings: its value must look like a key
_KEYLIKE = r"(?=[\w./+=-]*\d)(?=[\w./+=-]*[A-Za-z])[\w./+=-]{12,}"
_BARE = r"[^\s,;)}\]'\"]"

_RULES = [
    # -----BEGIN … PRIVATE KEY----- and what follows it
    (re.compile(r"(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END|\Z)", re.S), rf"\1{MASK}\2"),
    # scheme://user:password@host
    (re.compile(r"(\b[a-zA-Z][\w+.-]*://[^\s:/@'\"]*:)[^\s@/'\"]+(@)"), rf"\1{MASK}\2"),
    # Authorization: Basic …, Bearer …
    (re.compile(r"(?i)\b(authorization['\"]?\s*[:=]\s*['\"]?(?:\w+ )?)[\w./+=~-]{6,}"), rf"\1{MASK}"),
    (re.compile(r"\b(Bearer )[\w./+=~-]{12,}"), rf"\1{MASK}"),
    # keys that say themselves what they are
    (
        re.compile(
            r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|[sr]k_(?:live|test)_\w{10,}"
            r"|xox[abeoprs]-[\w-]{10,}|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[\w-]{30,}|npm_\w{30,}|pypi-[\w-]{30,}"
            r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
        ),
        MASK,
    ),
    # name=value and "name": "value"; the quotes stay
    (re.compile(rf"(?i)(\b{_NAMES}['\"]?\s*(?:=(?!=)|:)\s*)(['\"])(?:\\.|(?!\2)[^\\])+\2"), rf"\1\2{MASK}\2"),
    (re.compile(rf"(?i)(\b{_NAMES}['\"]?=)(?!['\"\s<*=])[^\s,;)}}\]'\"]+"), rf"\1{MASK}"),
    (re.compile(rf"(?im)(\b{_NAMES}['\"]?: ?)(?!['\"\s<*=])(?:{_BARE}*\d{_BARE}*|{_BARE}+$)"), rf"\1{MASK}"),
    # a difference: at ['password']: … != …
    (re.compile(rf"(?im)((?:\[['\"]|\.){_NAMES}(?:['\"]\])?: ).+$"), rf"\1{MASK}"),
    (re.compile(rf"(?i)(\b{_TOKENS}['\"]?\s*(?:=(?!=)|:)\s*)(['\"]?){_KEYLIKE}\2"), rf"\1\2{MASK}\2"),
]


def masked(text: str) -> str:
    for pattern, mask in _RULES:
        text = pattern.sub(mask, text)
    return text
