from weather import rain


def test_no_rain():
    assert rain([]) == 0


def test_a_rainy_week():
    assert rain([1, 0, 4]) == 5
