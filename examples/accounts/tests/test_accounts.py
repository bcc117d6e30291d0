import pytest
from accounts import account, quota

TEAM = {"user": {"name": "ada", "quota": 9}, "active": True, "roles": ["reader", "writer"]}


def test_a_team_account():
    assert account("ada", "team") == TEAM


@pytest.mark.parametrize("plan", ["free", "team", "school", "club"])
def test_every_plan_has_a_quota(plan):
    assert quota(plan) > 0


@pytest.mark.parametrize("name", ["ada", "grace", "edsger"])
def test_a_name_is_kept(name):
    assert account(name, "free")["user"]["name"] == name
