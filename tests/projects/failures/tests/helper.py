def must_be_known(code):
    assert code == "known"
