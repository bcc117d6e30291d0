def test_fixture(subtests):
    for number in range(3):
        with subtests.test("odd", number=number):
            assert number % 2 == 0


def test_fixture_and_itself(subtests):
    with subtests.test(msg="part|of"):
        raise ValueError("in the part")
    raise ValueError("itself")
