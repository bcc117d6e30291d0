from depot import boxes


def test_nothing_needs_no_box():
    assert boxes(0) == 0


def test_a_dozen_fits_into_one():
    assert boxes(12) == 1


def test_one_more_needs_another():
    assert boxes(13) == 2
