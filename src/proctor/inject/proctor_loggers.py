"""Loggers that a package has made when it was imported early. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Until the
run imports the package they are not there: `logging.config` disables those that it finds.
"""

import sys


def known():
    logging = sys.modules.get("logging")
    return dict(logging.Logger.manager.loggerDict) if logging else {}


class Loggers:
    """Those of one package."""

    def __init__(self, before, visible, others):
        """New ones since `before`, without those of other packages and of modules that everybody sees.
        `visible`: the first parts of the names of these modules."""
        self._own = {
            name: logger
            for name, logger in known().items()
            if name not in before
            and name.partition(".")[0] not in visible
            and not any(name in other._own for other in others)
        }
        self._class = sys.modules["logging"].getLoggerClass() if self._own else None

    def hide(self):
        for name in self._own:
            sys.modules["logging"].Logger.manager.loggerDict.pop(name, None)

    def would_differ(self):
        """Whether the package would have others now: of another class, or that somebody has set up."""
        if not self._own:
            return False
        logging = sys.modules["logging"]
        now = logging.Logger.manager.loggerDict
        if any(isinstance(now.get(name), logging.Logger) for name in self._own):
            return True
        return logging.getLoggerClass() is not self._class

    def show(self):
        for name, logger in self._own.items():
            if isinstance(logger, sys.modules["logging"].Logger):
                _put_back(sys.modules["logging"], name, logger)


def _put_back(logging, name, logger):
    manager = logging.Logger.manager
    there = manager.loggerDict.get(name)
    if isinstance(there, logging.Logger):  # somebody was first to ask for it: both are one from now on
        for handler in logger.handlers:
            there.addHandler(handler)
        there.setLevel(logger.level or there.level)
        logger.__dict__ = there.__dict__
        return
    usual = manager.loggerClass
    manager.loggerClass = lambda name: logger
    try:
        manager.getLogger(name)
    finally:
        manager.loggerClass = usual
