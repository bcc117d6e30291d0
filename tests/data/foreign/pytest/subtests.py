def test_parts(subtests):
    for number in range(3):
        with subtests.test("number", n=number):
            assert number != 1


def test_fine(subtests):
    with subtests.test("only"):
        pass
