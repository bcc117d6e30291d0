"""Accounts and their plans, with two mistakes."""

import logging

QUOTAS = {"free": 5, "team": 7}


def account(name: str, plan: str) -> dict[str, object]:
    return {"user": {"name": name, "quota": quota(plan)}, "active": True, "roles": ["reader", "writer"]}


def quota(plan: str) -> int:
    try:
        return QUOTAS[plan]
    except KeyError:
        logging.getLogger("accounts").warning("no quota for %r", plan)
        raise LookupError("the plan has no quota") from None
