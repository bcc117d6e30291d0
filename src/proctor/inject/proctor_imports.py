"""Write down which modules a session has imported. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded for
the server and for `proctor watch`: which tests can a change touch, and what takes long to import?
"""

import os
import sys


class Imports:
    def __init__(self, asked, dumps):
        """`asked`: {"file": to be written, "root": of the project}."""
        self._asked, self._dumps = asked, dumps

    def pytest_sessionfinish(self):
        try:
            self.write()
        except Exception:
            pass  # it makes later answers faster, no more

    def write(self):
        root = os.path.join(os.path.realpath(self._asked["root"]), "")
        modules, packages = {}, set()
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__dict__", {}).get("__file__")
            if not isinstance(file, str):
                continue
            if "site-packages" in file or "dist-packages" in file:
                packages.add(name.partition(".")[0])
            elif os.path.realpath(file).startswith(root):
                modules[name] = os.path.realpath(file)
        fresh = "%s.%d" % (self._asked["file"], os.getpid())
        with open(fresh, "w", encoding="ascii") as file:
            file.write(self._dumps({"modules": modules, "packages": sorted(packages)}))
        os.replace(fresh, self._asked["file"])
