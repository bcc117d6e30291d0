def test_first(): ...


def test_interrupts():
    raise KeyboardInterrupt


def test_last(): ...
