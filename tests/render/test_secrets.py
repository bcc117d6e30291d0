"""What looks like a credential is masked; what only speaks of one is not."""

from __future__ import annotations

import pytest
from support.made_runs import failed, run_of

from proctor.render.agent import Detail, agent_text
from proctor.render.secrets import masked

SECRETS = [
    ("postgres://bob:hunter2@db:5432/x", "hunter2"),
    ("{'password': 'correct horse', 'user': 'ann'}", "correct horse"),
    ("{'db_password': \"it's\"}", "it's"),
    ("User(name='ann', api_key='k-17')", "k-17"),
    ("AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "wJalrXUtnFEMI"),
    ("password: hunter2", "hunter2"),
    ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("sent Bearer abc.def.ghi123456", "abc.def"),
    ("access_token='a1b2c3d4e5f6g7h8'", "a1b2c3"),
    ("key ghp_" + "a1" * 18, "a1a1"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIA"),
    ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmVk", "eyJ"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n-----END RSA PRIVATE KEY-----", "MIIE"),
    ("at ['password']: 'old' != 'new'", "old"),
]
HARMLESS = [
    "assert token == 'abc'",
    "Unexpected token: 'foo'",
    "bad token in 'a|b'",
    "KeyError: 'password'",
    "ValueError: password must be at least 8 characters",
    "password: too short",
    "assert secret == 5",
    "http://host:8080/path",
    "tokens: 12",
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_masked(text: str, secret: str) -> None:
    assert secret not in masked(text)
    assert "***" in masked(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_words_about_secrets_stay(text: str) -> None:
    assert masked(text) == text


def test_masking_never_touches_an_id() -> None:
    test = "t.py::test_login[password='hunter2']"
    text = agent_text(run_of(failed(test, "ValueError: password='hunter2'", ("a.py", 1))))

    assert test in text
    assert text.count("hunter2") == 1


def test_masking_can_be_switched_off() -> None:
    result = run_of(failed("t.py::test_login", "ValueError: password='hunter2'"))

    assert "hunter2" in agent_text(result, Detail(mask=False))


@pytest.mark.parametrize(
    "piece", ["a.", "a-", "eyJ-", "secret", "password='", "token=", "a://", "x", "key: "]
)
def test_a_long_text_of_any_shape_is_looked_at_in_no_time(piece: str) -> None:
    """It took minutes for the first of them."""
    assert masked(piece * 20_000).count("\n") == 0
