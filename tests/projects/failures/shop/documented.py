def double(number):
    """
    >>> double(2)
    4
    >>> double(3)
    7
    """
    return 2 * number


def rows():
    """
    >>> for row in rows():
    ...     print(row)
    a
    b
    """
    return ["x", "y"]


def wrong():
    """
    >>> 1 / 0
    1
    """
