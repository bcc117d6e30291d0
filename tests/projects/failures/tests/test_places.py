import pytest
from helper import must_be_known
from shop import prices


def test_product():
    prices.price("a")


def test_standard_library():
    prices.parsed("{")


def test_product_goes_before_test():
    def callback(number):
        assert number == 2

    prices.each(callback)


def test_helper():
    must_be_known("b")


def test_hidden_frame():
    prices.checked("c")


def test_frame_hidden_for_this_exception():
    prices.hidden_for_lookups("d")


def test_nothing_but_hidden_frames():
    __tracebackhide__ = True
    raise ValueError("hidden")


def test_executed_text():
    exec("def f():\n    raise ValueError('inside')\nf()")


def test_chained():
    prices.chained("e")


def test_syntax_error_of_a_text():
    compile("def", "<text>", "exec")


def test_group_of_one():
    raise ExceptionGroup("one", [KeyError("k")])


def test_group_of_many():
    raise ExceptionGroup("many", [ExceptionGroup("inner", [ValueError("v\nmore")]), KeyError("k")])
