import not_there


def test_never(): ...
