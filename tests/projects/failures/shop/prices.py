"""What the tests call."""

import json


def total(prices):
    return sum(prices)


def parsed(text):
    return json.loads(text)


def price(code):
    raise KeyError(code)


def each(callback):
    return [callback(1)]


def checked(code):
    __tracebackhide__ = True
    if code != "known":
        raise LookupError(code)


def hidden_for_lookups(code):
    __tracebackhide__ = lambda excinfo: excinfo.errisinstance(LookupError)
    raise LookupError(code)


def chained(code):
    try:
        price(code)
    except KeyError as error:
        raise ValueError("no price") from error
