from images import first_byte, size


def test_size():
    assert size(4, 2) == 24


def test_first_byte_of_no_image():
    assert first_byte(0) == 0


def test_size_of_nothing():
    assert size(0, 0) == 0
