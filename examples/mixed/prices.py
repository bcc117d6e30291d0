"""Prices, for the server."""


def with_tax(cents: int, percent: int) -> int:
    return cents + cents * percent // 100
