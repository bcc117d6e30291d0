from depot import missing


def test_a_name_that_the_depot_does_not_know():
    assert missing({"jug": 1}, {}) == {"jug": 1}
