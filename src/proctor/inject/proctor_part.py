"""Which tests are this shard's, and which files it need not load. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded in
sessions that run one shard of a plan.
"""

_channel = globals()["load"]("proctor_channel")  # the loader gives `load` to each file


class Part:
    """Tests by id. What is in files that no shard has is for the last one."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            asked = _channel.loads(file.read())
        self.tests = set(asked["tests"])
        self.files = {test.partition("::")[0] for test in self.tests}.union(asked["files"])
        self.others = set(asked["others"]) - self.files
        self.last = asked["last"]

    def has(self, test):
        return _channel.literal(test) in self.tests

    def leaves_out(self, file):
        """Whether nothing in the file is for this shard; `file` as ids begin."""
        file = _channel.literal(file)
        return file in self.others if self.last else file not in self.files
