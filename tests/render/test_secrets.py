"""What looks like a credential is masked; what only speaks of one is not. No sample is missed."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.made_runs import failed, run_of
from support.secret_samples import KINDS, ORDINARY, SPELLINGS, VALUE, written_out

from proctor.render.agent import Detail, agent_text
from proctor.render.secret_kinds import KINDS as RULES
from proctor.render.secret_kinds import SOURCES, Kind
from proctor.render.secret_names import NAMES
from proctor.render.secrets import masked, masked_part

RULES_BY_NAME = {rule.name: rule for rule in RULES}


def samples(kind: str) -> list[str]:
    return [written_out(one).replace("\0", "|") for one in KINDS[kind].split("|")]


POSITIVE = [(kind, sample) for kind in KINDS for sample in samples(kind) if not sample.startswith("!")]
NEGATIVE = [(kind, sample[1:]) for kind in KINDS for sample in samples(kind) if sample.startswith("!")]


def test_every_rule_has_a_source_a_date_and_samples_of_both_kinds() -> None:
    assert [rule.name for rule in RULES] == list(dict.fromkeys(rule.name for rule in RULES))
    assert {kind for kind, _ in POSITIVE} == {kind for kind, _ in NEGATIVE} == set(RULES_BY_NAME)
    for rule in RULES:
        source, _, entry = rule.source.partition(":")
        assert source in SOURCES and entry, rule
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", rule.checked), rule
        assert rule.hints and rule.what, rule
    assert all(row.source.partition(":")[0] in SOURCES and row.endings for row in NAMES)


def secret_in(rule: Kind, text: str) -> str:
    """What the pattern of this rule, and of no other, finds in the text."""
    found = re.search(rule.pattern, text)
    assert found is not None, f"{rule.name} does not find {text!r}"
    return found[found.lastgroup or 0]


@pytest.mark.parametrize(("kind", "text"), POSITIVE)
def test_a_credential_is_known_by_its_look(kind: str, text: str) -> None:
    secret = secret_in(RULES_BY_NAME[kind], text)
    for around in ("{}", "got {} from", "('{}')", "x\n{}\ny", "'a\\n{}\\nb'", "\x1b[31m{}\x1b[0m"):
        assert secret not in masked(around.format(text)), around


@pytest.mark.parametrize(("kind", "text"), NEGATIVE)
def test_what_is_nearly_a_credential_stays(kind: str, text: str) -> None:
    assert masked(text) == text


@pytest.mark.parametrize("spelling", SPELLINGS.strip("\n").split("\n"))
def test_a_value_is_masked_however_its_name_is_written(spelling: str) -> None:
    value = written_out("<an20>") if "<an20>" in spelling else VALUE
    text = written_out(spelling).replace("¤", value).replace("⏎", "\n")
    assert value not in masked(text)
    assert "***" in masked(text)


#: How a text comes to stand in another one.
INSIDE: dict[str, Callable[[str], str]] = {
    "a list": lambda text: repr([text]),
    "JSON": lambda text: json.dumps({"text": text}),
    "JSON in JSON": lambda text: json.dumps(json.dumps({"text": text})),
    "what pytest says": lambda text: "\n".join(f"E   {line}" for line in text.split("\n")),
    "HTML": html.escape,
}


@pytest.mark.parametrize("way", INSIDE)
def test_a_value_is_masked_in_a_text_that_stands_in_another(way: str) -> None:
    texts = [
        spelling.replace("¤", VALUE).replace("⏎", "\n") for spelling in SPELLINGS.strip("\n").split("\n")
    ]

    assert [text for text in texts if VALUE in masked(INSIDE[way](text))] == []


@pytest.mark.parametrize("text", ORDINARY.strip("\n").split("\n"))
def test_ordinary_text_stays(text: str) -> None:
    text = text.replace("⏎", "\n")
    assert masked(text) == text
    assert masked(f"E       {text}\nmore") == f"E       {text}\nmore"


@pytest.mark.parametrize("value", ["hunter2secretpw", "my7token", "Xy3passwordQ", "a1secret2b"])
def test_a_bare_password_with_a_digit_inside_is_no_variable_whatever_words_it_has(value: str) -> None:
    assert masked(f"AssertionError: password={value}; see above") == "AssertionError: password=***; see above"


@pytest.mark.parametrize("name", ["token2", "oauth2_token", "new_password", "db_password1"])
def test_a_variable_that_is_named_after_a_secret_is_none(name: str) -> None:
    assert masked(f"login(user, password={name})") == f"login(user, password={name})"


def test_a_key_is_masked_even_if_only_a_part_of_it_is_there() -> None:
    body = "\n".join(written_out(f"<an{size}>") for size in (64, 63, 62, 17))
    begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
    for text in (
        f"{begin}\n{body}\n{end}",
        f"x\n{begin}\n{body}\nthe end",
        f"{body}\n{end}\nmore",
        repr(f"{begin}\n{body}\n{end}\n"),
        '{"private_key": "' + f"{begin}\n{body}\n{end}\n".replace("\n", "\\n") + '"}',
        "\n".join(f"E   {line}" for line in [begin, *body.split("\n"), end]),
    ):
        shown = masked(text)
        assert not any(line in shown for line in body.split("\n")), shown
    assert "the end" in masked(f"x\n{begin}\n{body}\nthe end")
    assert masked("-----BEGIN PUBLIC KEY-----\nabc\n") == "-----BEGIN PUBLIC KEY-----\nabc\n"


def test_a_value_of_which_the_middle_was_left_out_is_masked_on_both_sides() -> None:
    head, tail = written_out("<an12>"), written_out("<an19>")
    for text in (
        f"'ghp_{head}...{tail}'",
        f"key=eyJhbGciOi{head}…{tail}",
        f"'postgres://ann:{head}...{tail}@db'",
    ):
        assert head not in masked(text), text
        assert tail not in masked(text), text


def test_a_secret_key_is_known_by_the_id_beside_it() -> None:
    key = written_out("<an38>") + "/+"
    assert key not in masked(f"AKIA{written_out('<up16>')}\n{key}\n")
    assert masked(f"x\n{key}\n") == f"x\n{key}\n"


def test_a_value_that_was_named_once_is_masked_wherever_else_it_stands() -> None:
    text = f"password = '{VALUE}'\nlogin('ann', '{VALUE}')\nexpected {VALUE}\nt.py::test_x[{VALUE}] failed"

    assert masked(text).count(VALUE) == 1  # in the id
    assert masked("password = 'horse'\nriding a 'horse'").endswith(
        "riding a 'horse'"
    )  # a word like any other


def test_a_part_of_a_text_is_masked_as_in_the_whole() -> None:
    text = f"user=ann password={VALUE} more"
    for start in range(len(text)):
        for end in range(start, len(text) + 1):
            part = masked_part(text, start, end)
            assert not any(part.count(VALUE[at : at + 4]) for at in range(len(VALUE) - 4)), (start, end)


def test_what_is_masked_stays_as_it_is() -> None:
    for _, text in POSITIVE:
        assert masked(masked(text)) == masked(text)


@given(st.text(max_size=60), st.sampled_from(POSITIVE), st.text(max_size=60))
def test_a_credential_is_found_in_any_text(before: str, sample: tuple[str, str], behind: str) -> None:
    kind, text = sample
    if "::" not in before and "/" not in before:  # inside of an id it stays
        assert secret_in(RULES_BY_NAME[kind], text) not in masked(f"{before}\n{text}\n{behind}")


def test_masking_never_touches_an_id() -> None:
    test = "t.py::test_login[password='hunter2']"
    text = agent_text(run_of(failed(test, "ValueError: password='hunter2'", ("a.py", 1))))

    assert test in text
    assert text.count("hunter2") == 1


def test_masking_can_be_switched_off() -> None:
    result = run_of(failed("t.py::test_login", "ValueError: password='hunter2'"))

    assert "hunter2" in agent_text(result, Detail(mask=False))


def test_rules_are_not_loaded_for_texts_that_cannot_hold_a_credential() -> None:
    code = "import sys; from proctor.render.masking import masked_values; masked_values(['1 == 2', 'x']);"
    code += "print([name for name in sys.modules if 'render.secret_' in name])"

    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


# fmt: off
HOSTILE = (
    "a.", "a-", "eyJ-", "secret", "password='", "password=", "token=", "a://", "x", "key: ", "://a:",
    "//a@", "\\", "'", '\\"password\\": \\"', "password: |\n ", "-----BEGIN PRIVATE KEY-----\n",
    "-----END PRIVATE KEY-----\n", "AKIA", "...", "Authorization: ", "Cookie: a=", "Bearer ", "basic ",
    "where 'a' = ", "\x1b[31m", "t.py::a[", "curl -u ", "mysql -p", "password,", "('password', '",
    "--password ", "name: value: ", "password = x, ", "key" * 9, "left out ...]\n", "https://a", "sk-",
    "ghp_", "a=1&password=", "password=a1b2c3 ", "token=['", "{'password': {", "%2F%2F", "zip -",
    "docker -p", "login x ", "kind: Secret\ndata:\n a: b\n", "kind: Secret\n",
    "insert into t (password) values ('a'),", "<a b>", 'name="a" ', 'variable "a" {', "echo a | ",
    "data:\n", "set_password('a', ", "http -a ", "password ", "api key ", "$6$", "code=", "USER a PASS ",
    "<input value=a ",
)
# fmt: on


def seconds(text: str) -> float:
    """Of this process: others may be busy."""
    started = time.process_time()
    masked(text)
    return time.process_time() - started


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_grows_with_the_text_and_no_faster(piece: str) -> None:
    text = piece * (4_000 // len(piece))
    once = min(seconds(text), seconds(text))
    often = (seconds(text * 6) for _ in range(3))  # the first is enough, unless something came between

    assert any(time < 0.02 + 15 * once for time in often)  # what is quadratic takes 36 times as long
