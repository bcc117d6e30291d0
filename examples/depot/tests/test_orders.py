from depot import missing


def test_all_there():
    assert missing({"cup": 2}, {"cup": 2}) == {}


def test_some_missing():
    assert missing({"cup": 5}, {"cup": 2}) == {"cup": 3}
