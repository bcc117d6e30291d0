"""Names of secrets, as data, and what a value must look like to be one.

A placeholder (`None`, `${TOKEN}`, a type, a word of a sentence) is not a secret.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

ANY, KEYLIKE, HEADER, COOKIE, NOTHING = "any", "keylike", "header", "cookie", ""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


class Names(NamedTuple):
    """Names that end in one of these words, written in any style, and what their values must look like."""

    what: str
    endings: tuple[str, ...]  # in small letters, words joined
    value: str
    source: str


NAMES: tuple[Names, ...] = (
    Names(
        "passwords",
        _words(
            """
            password passwd passwort passwrd passphrase passcode pwd userpass dbpass dbpw sshpass smtppass
            mailpass ftppass adminpass rootpass storepass keypass authpass proxypass loginpass mypass
            passwordhash requirepass masterauth psk presharedkey mnemonic seedphrase recoveryphrase recoverycode
            """
        ),
        ANY,
        "gitleaks:generic-api-key, hashicorp-tf-password, nuget-config-password",
    ),
    Names(
        "secrets and keys of services",
        _words(
            """
            secret apikey apisecret accesskey secretkey secretaccesskey privatekey privkey encryptionkey
            signingkey masterkey accountkey sharedkey sharedaccesskey sharedaccesssignature storagekey
            subscriptionkey authkey deploykey licensekey licencekey sshkey gpgkey aeskey cipherkey secretkeybase
            credential credentials creds functionskey hostkey adminkey webhookkey
            """
        ),
        ANY,
        "gitleaks:generic-api-key",
    ),
    Names(
        "tokens that say what they open",
        tuple(
            f"{word}token"
            for word in _words(
                """
            access auth refresh id api bearer session secret private personal oauth oauth2 github gitlab slack
            bot deploy jwt csrf xsrf service npm pypi hf vault security device push registry runner user install
            dev admin root identity job upload publish login sas sso
            """
            )
        ),
        ANY,
        "gitleaks:generic-api-key",
    ),
    Names(
        "words with other meanings: their values must look like keys",
        _words(
            """
            token tokens key auth session sessionid sessid sid signature sig hmac jwt bearer otp pass pw pincode
            salt authentication connectionstring basicauth httpauth proxyauth
            """
        ),
        KEYLIKE,
        "gitleaks:generic-api-key",
    ),
    Names(
        "services whose keys look like any text of letters and digits",
        _words(
            """
            adafruit adobe airtable algolia alibaba asana atlassian confluence jira beamer bitbucket bittrex
            cloudflare codecov cohere coinbase confluent contentful datadog discord drone dropbox etsy facebook
            fastly finicity finnhub flickr freshbooks gitter gocardless heroku hubspot intercom jfrog
            artifactory kraken kucoin launchdarkly linkedin looker mailchimp mailgun mapbox mattermost
            messagebird meraki netlify newrelic nytimes okta plaid privateai rapidapi sendbird sentry snyk sonar
            squarespace sumologic telegram travis trello twilio twitch twitter typeform yandex zendesk
            rediscliauth
            """
        ),
        KEYLIKE,
        "gitleaks:adafruit-api-key and the others of these names",
    ),
    Names(
        "passwords in other languages",
        _words(
            """
            contraseña contrasena motdepasse kennwort senha wachtwoord lösenord losenord parola hasło haslo
            salasana jelszó jelszo adgangskode пароль 密码 密碼 パスワード 비밀번호
            """
        ),
        ANY,
        "usage:the word for password",
    ),
    Names("headers that authorize", ("authorization",), HEADER, "rfc:rfc9110"),
    Names("cookies", ("cookie", "cookies", "setcookie"), COOKIE, "rfc:rfc6265"),
)
#: Words behind a name that do not change what it is: `password2`, `PASSWORD_PROD`, `secret_key_base`.
QUALIFIERS = frozenset(
    _words(
        """
    confirm confirmation confirmed repeat repeated again verify check base value values plain plaintext
    text raw old new current prod production dev development test testing staging stage live local
    default enc encrypted str string b64 base64 hash hashed digest v override env primary secondary main
    backup ro rw a b c x y data bytes list
    """
    )
)
#: Words behind a name that make it something else: `password_length`, `token_type`, `secret_name`.
HARMLESS = frozenset(
    _words(
        """
    name names id ids length len size count counts total type types field fields path paths file files
    filename dir directory url uri host endpoint policy policies min max minimum maximum expiry expires
    expired expiration ttl age at on by version prefix suffix vars label help prompt input inputs class
    validator validators validation provider manager store storage strength rule rules reset change
    changed required optional enabled disabled valid invalid is has algorithm alg algo format mode kind
    scope scopes attempts limit hint error errors message messages status state santa keeper sauce func
    function handler getter callback factory index position pos offset line column stdin fd source info
    schema template rotation rotated usage used budget counter generator gen parser stream iterator iter
    window lifetime timeout fixture ring pair pairs word words hasher hashers backend backends
    """
    )
)
#: Words before `key` and `token` that make it something else: `primary_key`, `pad_token`.
OTHER_KEYS = frozenset(
    _words(
        """
    public primary foreign cache sort partition row dict unique index object map idempotency routing
    natural surrogate composite candidate group hot short press arrow shift enter escape function
    modifier config lookup search translation message i18n join order range hash foreign item default
    missing expected required unknown duplicate no the a this that each any same max min num n total
    next page pad eos bos unk mask cls sep special start end stop last first current prev previous
    unexpected invalid illegal bad wrong input output prompt completion continuation websocket accept ws
    host known
    """
    )
)
#: Words before `pass` that make it something else.
_OTHER_PASSES = frozenset(_words("first second by test tests did must each one per low high band all"))
_PLURALS = {
    "passwords": "password",
    "secrets": "secret",
    "keys": "key",
    "apikeys": "apikey",
    "passphrases": "passphrase",
}
#: Words that follow an option in a sentence.
PROSE = frozenset(
    _words(
        """
    is or and to for option options flag argument must cannot requires was were with from are as at by
    can does has have if instead needs only should that the this when which will without you
    """
    )
)
#: What stands where a value would, in small letters.
NO_VALUES = frozenset(
    _words(
        """
    none null nil undefined true false yes no on off str bytes int float bool string number boolean any
    object optional union unset empty missing required invalid incorrect wrong expected unknown
    unauthorized forbidden expired ok okay error failed failure not is too must and or the a an in for
    if else char text varchar type self cls this redacted masked hidden filtered removed sanitized
    secret password token key passwd placeholder example nan default callable list dict tuple set
    sequence iterable mapping secretstr readonly const let var func def class return lambda await new
    mismatch match matches changed updated accepted rejected denied inherit include omit same-origin
    oauth1 oauth2
    """
    )
)
_WORDS = re.compile(r"[A-Z]+(?![a-zß-ɏ])|[A-Z]?[a-zß-ɏ]+|[A-Za-z]+|\d+|[^\W\d_a-zA-Z]+")
TEMPLATE = re.compile(
    r"\$\{[^}]*\}|\$\(?[A-Za-z_]\w*\)?|\{\{.*\}\}|\{[\w.!:]*\}|%\(\w+\)[sd]|%[sdr]|%\w+%|<[^<>]*>|\[[A-Z_ -]+\]|[*x•.X#_?-]{3,}|[*•]+|\.\.\.|…|@\w+@|\$\{\{.*\}\}?|__\w+__|![a-z-]+(?:[ \t].*)?"
)
_FIELDS = re.compile(r"\$\{[^}]*\}|\{[\w.!:\[\]]*\}|%\(\w+\)[sdr]|%[sdr]")
_RANDOM = re.compile(r"(?=[A-Za-z]{0,9}\d)[A-Za-z0-9]{8}|\d[A-Za-z0-9]{7}")
_ALGORITHM = re.compile(
    r"(?:\w{2,10}-)*(?:MD5|SHA-?\d{1,3}(?:[-/]\d+)?|AES-?\d+|[REHP]S\d{3})(?:-\w+)*", re.I
)
_PATH = re.compile(
    r"(?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.@/\\ -]*\Z|[\w./-]+\.(?:pem|key|crt|pub|txt|json|py|ya?ml|toml)\Z|\w+://\S+\Z"
)
_DOTTED = re.compile(r"[a-z_]+(?:\.[a-z_]+)+(?:\.[A-Za-z_]\w{0,60})?")
_HEX = re.compile(r"(?:[0-9a-fA-F]{6,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\Z")


@lru_cache(2000)
def grade(name: str) -> str:
    """What the value of something of this name must look like to be masked; NOTHING: whatever it is, it stays."""
    words = [word.lower() for word in _WORDS.findall(name)]
    while words and (words[-1].isdigit() or words[-1] in QUALIFIERS):
        words.pop()
    if not words or words[-1] in HARMLESS:
        return NOTHING
    words[-1] = _PLURALS.get(words[-1], words[-1])
    joined = "".join(words)
    if len(words) > 1 and words[-1] in ("key", "token", "tokens") and words[-2] in OTHER_KEYS:
        return NOTHING
    if len(words) > 1 and words[-1] in ("pass", "pw"):
        return NOTHING if words[-2] in _OTHER_PASSES else ANY
    for row in NAMES:
        if row.value in (HEADER, COOKIE) and joined.endswith(row.endings):
            return row.value
    if joined.endswith(_ANY):
        return ANY
    if words[-1] in _KEYLIKE or joined in _KEYLIKE:
        return KEYLIKE
    if any(word in joined for word in ("password", "passwd", "passphrase", "secret", "apikey")):
        return KEYLIKE
    return KEYLIKE if any(service in joined for service in SERVICES) and len(words) <= 6 else NOTHING


def first_word(name: str) -> str:
    """`set` of `client.setPassword`."""
    words = _WORDS.findall(name.rpartition(".")[2])
    return words[0].lower() if words else ""


SERVICES = next(row.endings for row in NAMES if row.what.startswith("services"))
#: Every name of interest holds one of these.
STEMS = (
    *_words(
        "pass pw secret token key cred auth cookie sess sid sig hmac jwt otp bearer salt psk connectionstring"
    ),
    *_words("mnemonic seed_phrase seedphrase recovery_phrase recovery_code recoverycode contrase"),
    *next(row.endings for row in NAMES if "languages" in row.what),
    *SERVICES,
)
#: The first words of calls that are given a secret: `set_password('…')`.
SETTERS = frozenset(_words("set with use make hash check verify change update enter fill"))
_ANY = tuple(ending for row in NAMES if row.value == ANY for ending in row.endings)
_KEYLIKE = frozenset(ending for row in NAMES if row.value == KEYLIKE for ending in row.endings)


def secret(value: str, name: str, wanted: str, in_quotes: bool = False) -> bool:
    """Whether this is a value and nothing that stands for one."""
    word = value.strip()
    if (
        not word
        or TEMPLATE.fullmatch(word)
        or (word.startswith(("***", "${", "{{", "%(", "<")) and len(word) < 60)
    ):
        return False
    small = word.lower()
    if small in NO_VALUES and not (in_quotes and wanted == ANY and small not in _UNSAID):
        return False
    if word.isdigit() and len(word) < 4:
        return False
    if not re.search(r"[^\W_]", _FIELDS.sub("", word)):
        return False
    last = grade(name) if wanted == ANY else wanted
    joined = "".join(_WORDS.findall(name)).lower()
    if joined.endswith(("pwd", "key")) and (_PATH.match(word) or len(word) < 4):
        return False
    if joined in ("pwd", "oldpwd") and re.match(r"[/~]|[A-Za-z]:[\\/]", word):  # the directory
        return False
    if last == ANY:
        return True
    return _looks_random(word, joined)


_UNSAID = frozenset(
    _words(
        """
    none null nil undefined true false redacted masked hidden filtered removed sanitized str string
    bytes inherit include omit same-origin
    """
    )
)


def _looks_random(word: str, name: str) -> bool:
    """Of a name with other meanings: letters and digits in one word, and not a path, a version or a hash of something."""
    if name.endswith("otp") and word.isdigit():
        return 4 <= len(word) <= 10
    if name in _KEYLIKE and name.endswith(("token", "tokens", "auth", "pass", "pw", "bearer", "jwt", "salt")):
        return keylike(word, 6)
    if name.endswith(("password", "passwd", "secret", "passphrase")):
        return keylike(word, 6)
    if name.endswith("token"):
        return keylike(word, 8) and bool(_RANDOM.search(word))
    if name.endswith(("key", "signature", "sig", "hmac", "session", "sid", "sessionid", "sessid")):
        return (
            keylike(word, 16)
            and not (name.endswith("key") and (_HEX.match(word) or ":" in word))
            and bool(_RANDOM.search(word))
        )
    return keylike(word, 12) and bool(_RANDOM.search(word))


def keylike(word: str, least: int) -> bool:
    if len(word) < least or re.search(r"\s|::|[()\[\]{}<>*\\]", word) or _PATH.match(word):
        return False
    if (
        _ALGORITHM.fullmatch(word)
        or _DOTTED.fullmatch(word)
        or re.fullmatch(r"v?\d+(?:[.,:_-]\d+)*(?:[a-z]{1,3}\d*)?|\d{1,6}[a-zA-Z]{1,3}", word)
    ):
        return False
    return bool(re.search(r"\d", word) and re.search(r"[A-Za-z]", word)) or (
        len(word) >= 20 and bool(re.search(r"[a-z][A-Z]", word))
    )
