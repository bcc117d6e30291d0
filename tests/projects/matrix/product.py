"""The code under test. Like everything in this project it is Python 2.7 and any Python 3."""


def divide(first, second):
    if second == 0:
        raise ArithmeticError("%d shared among nobody" % first)
    return first // second


def double(number):
    """Twice as much.

    >>> double(2)
    4
    >>> double(3)
    7
    """
    return 2 * number
