"""Values that look like credentials, masked: what a test prints must not end in a conversation.

By the look of the value (keys of well-known services, signed tokens, private keys), by its place (a password
in a URL, a header that authorizes), or by the name it is given (`password=…`, `"api_key": "…"`).
"""

from __future__ import annotations

import re

MASK = "***"

# Repetitions are bounded: what a test prints may be long and of any shape.
_NAMES = r"(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|credential)\w{0,40}"
_NAMED = ("passw", "passphrase", "secret", "key", "credential")
_KEYLIKE = r"(?=[\w./+=-]{0,200}\d)(?=[\w./+=-]{0,200}[A-Za-z])[\w./+=-]{12,}"
_BARE = r"[^\s,;)}\]'\"]"
_IS = r"['\"]?\s{0,9}(?:=(?!=)|:)\s{0,9}"

#: What a text must contain, in small letters, for a rule to apply; the rule; what replaces a match.
_RULES = [
    (hints, re.compile(pattern), mask)
    for hints, pattern, mask in (
        # -----BEGIN … PRIVATE KEY----- and what follows it
        (
            ("private key-----",),
            r"(?s)(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----).*?(-----END|\Z)",
            rf"\1{MASK}\2",
        ),
        # scheme://user:password@host
        (("://",), r"(\b[a-zA-Z][\w+.-]{0,20}://[^\s:/@'\"]{0,200}:)[^\s@/'\"]{1,200}(@)", rf"\1{MASK}\2"),
        # Authorization: Basic …, Bearer …
        (
            ("authorization",),
            rf"(?i)(authorization{_IS}['\"]?(?:\w{{1,40}} )?)[\w./+=~-]{{6,}}",
            rf"\1{MASK}",
        ),
        (("bearer ",), r"\b(Bearer )[\w./+=~-]{12,}", rf"\1{MASK}"),
        # keys with the prefix of their service
        (
            ("gh", "glpat-", "sk-", "k_", "xox", "akia", "asia", "aiza", "npm_", "pypi-"),
            r"\b(?:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|[sr]k_(?:live|test)_\w{10,}"
            r"|xox[abeoprs]-[\w-]{10,}|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[\w-]{30,}|npm_\w{30,}|pypi-[\w-]{30,})",
            MASK,
        ),
        (("eyj",), r"\beyJ[\w-]{8,2000}\.[\w-]{8,2000}\.[\w-]*", MASK),
        # name=value and "name": "value"; the quotes stay
        (_NAMED, rf"(?i)({_NAMES}{_IS})(['\"])(?:\\.|(?!\2)[^\\])+\2", rf"\1\2{MASK}\2"),
        (_NAMED, rf"(?i)({_NAMES}['\"]?=)(?!['\"\s<*=])[^\s,;)}}\]'\"]+", rf"\1{MASK}"),
        (_NAMED, rf"(?im)({_NAMES}['\"]?: ?)(?!['\"\s<*=])(?:{_BARE}*\d{_BARE}*|{_BARE}+$)", rf"\1{MASK}"),
        # a difference: at ['password']: … != …
        (_NAMED, rf"(?im)((?:\[['\"]|\.)[\w.-]{{0,40}}{_NAMES}(?:['\"]\])?: ).+$", rf"\1{MASK}"),
        # a word with other meanings: its value must look like a key
        (("token",), rf"(?i)(token{_IS})(['\"]?){_KEYLIKE}\2", rf"\1\2{MASK}\2"),
    )
]


def masked(text: str) -> str:
    small = text.lower()
    for hints, pattern, mask in _RULES:
        if any(hint in small for hint in hints):
            text = pattern.sub(mask, text)
    return text
