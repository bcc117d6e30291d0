import pytest
from shop import discount, total


def test_an_empty_basket_costs_nothing():
    assert total([]) == 0


def test_quantities_count():
    basket = [("tea", 250, 2), ("cup", 900, 1)]

    assert total(basket) == 1400


@pytest.mark.parametrize("percent, left", [(0, 200), (50, 100), (100, 0)])
def test_a_discount_is_taken_off(percent, left):
    assert discount(200, percent) == left


def test_a_discount_has_bounds():
    with pytest.raises(ValueError, match="0 to 100"):
        discount(200, 101)


@pytest.mark.skip(reason="the till is not connected")
def test_the_till_opens():
    raise AssertionError
