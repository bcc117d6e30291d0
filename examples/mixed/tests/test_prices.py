from prices import with_tax


def test_tax_is_added():
    assert with_tax(1000, 19) == 1190


def test_no_tax_changes_nothing():
    assert with_tax(1000, 0) == 1000
