"""Masks values that look like credentials: what a test prints must not reach a conversation.

`secret_kinds` lists them by form and place, `secret_names` by the names that they have.
Both are loaded and compiled when there is a text that may hold one: most runs never need them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

MASK = "***"
_CUT = "[...]"  # in place of what was taken away
_LONG = 16  # characters of a word: a shorter one is a credential only by its place or its name
#: In small letters: what a text of short words holds at least where it holds a credential.
# fmt: off
HINTS = (
    "pass", "pw", "secret", "token", "key", "cred", "auth", "cookie", "sess", "sid", "sig", "hmac", "jwt",
    "otp", "bearer", "basic", "salt", "psk", "//", "%2f%2f", "\\/\\/", "...", "…", "curl", "--user",
    "--proxy-user", "wget", "http", "xh ", "mysql", "mariadb", "redis-cli", "docker", "podman", "helm",
    "ldap", "oc ", "az ", "zip ", "7z ", "mongo", "sqlcmd", "bcp ", "isql ", "snowsql", "skopeo", "twine",
    "svn", "rabbitmqctl", "snmp", "smbclient", "sqlplus", "jdbc:", "identified ", "kubeadm", "jarsigner",
    "openssl", "net user", "vault ", "sudo", "insert ", "value", "login", "identify ", "-literal",
    "mnemonic", "_phrase", "recovery", "seedphrase", "contrase", "kennwort", "senha", "wachtwoord",
    "lösenord", "losenord", "parola", "hasło", "haslo", "salasana", "jelsz", "adgangskode", "пароль", "密码",
    "密碼", "パスワード", "비밀번호",
)
# fmt: on


def masked(text: str, known: Collection[str] = ()) -> str:
    """The same text where it holds none. `known` values are masked wherever they stand."""
    return masked_part(text, 0, len(text), known)


def masked_part(text: str, start: int, end: int, known: Collection[str] = ()) -> str:
    """This part of the text. What begins before it or ends behind it is seen, too."""
    if not known and not may_hold(text):
        return text[start:end]
    from proctor.render.secret_spans import spans

    return _without(text, start, end, spans(text, known))


def masked_and_found(text: str, known: Collection[str]) -> tuple[str, list[str]]:
    """The text, masked, and what was masked that is unlike any other text, to be looked for elsewhere."""
    if not known and not may_hold(text):
        return text, []
    from proctor.render.secret_spans import spans, worth_knowing

    found = spans(text, known)
    values = [value for start, end in found if worth_knowing(value := text[start:end])]
    return _without(text, 0, len(text), found), values


def cut_beginning(text: str) -> str:
    """Without the line that an end of a text begins with: what it holds may have begun before it.

    Of the only one, what stands behind its first quotes of each kind stays: there, such a value has ended.
    """
    if text.startswith(_CUT):
        return text
    line, end, rest = text.partition("\n")
    quotes = [line.find(quote) for quote in "'\"" if quote in line]
    ended = max([*quotes, line.find(" ")]) + 1 if quotes and not rest.strip() else len(line)
    return _CUT + line[ended:] + end + rest


def may_hold(text: str) -> bool:
    """Quickly: whether it is worth a closer look."""
    small = text.lower()
    return any(hint in small for hint in HINTS) or any(
        len(part) >= _LONG for word in text.split() if len(word) >= _LONG for part in word.split("/")
    )


def _without(text: str, start: int, end: int, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = start
    for begin, stop in spans:
        if stop > at and begin < end:
            parts += [text[at:begin], MASK]
            at = min(stop, end)
    return "".join([*parts, text[at:end]]) if parts else text[start:end]
