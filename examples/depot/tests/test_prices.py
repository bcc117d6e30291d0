from depot import price


def test_a_few():
    assert price(3, 1.5) == 4.5


def test_a_dozen_is_cheaper():
    assert price(12, 1.0) == 10.8
