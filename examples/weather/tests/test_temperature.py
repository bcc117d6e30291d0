from weather import temperature


def test_temperature():
    assert temperature() == 21


def test_it_is_warm():
    assert temperature() > 15
