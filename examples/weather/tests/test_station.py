from weather import forecast, wind


def test_wind():
    assert wind(0) == 0


def test_forecast():
    assert forecast() == "sun"


def test_a_station_has_a_name():
    assert wind.__name__ == "wind"
