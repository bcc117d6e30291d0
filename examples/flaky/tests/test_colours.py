from colours import first, remember


def test_the_first_colour():
    assert first({"blue", "green", "red"}) == "blue"


def test_a_colour_is_remembered():
    assert remember("red") == 1
