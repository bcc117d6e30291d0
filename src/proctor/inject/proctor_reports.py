"""Keep what earlier sessions wrote: reports of a later one go to a directory of its own. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded in
every session of a suite after the first. Coverage is appended to what there is.
"""

import argparse
import os

load = globals()["load"]  # the loader gives it to each file
_channel = load("proctor_channel")


class Written:
    """An option of pytest or of a plugin that names a file or a directory which a session writes anew."""

    def __init__(self, option, dest, needs="", ini="", plugin=""):
        self.option, self.dest = option, dest
        self.needs = needs  # another destination that must be set, or nothing is written
        self.ini = ini  # the setting that stands in for the option
        self.plugin = plugin  # that must be there, because the destination could be anybody's

    def value(self, config):
        option = config.option
        if (self.needs and not getattr(option, self.needs, None)) or not hasattr(option, self.dest):
            return None
        if self.plugin and not config.pluginmanager.hasplugin(self.plugin):
            return None
        value = getattr(option, self.dest)
        if value is None and self.ini:
            value = config.getini(self.ini)
        return value or None


WRITTEN = (
    Written("--junit-xml", "xmlpath"),
    Written("--log-file", "log_file", ini="log_file"),
    Written("--html", "htmlpath"),  # pytest-html
    Written("--json-report-file", "json_report_file", needs="json_report"),  # pytest-json-report
    Written("--report-log", "report_log"),  # pytest-reportlog
    Written("--result-log", "resultlog"),  # pytest-resultlog
    Written("--md", "mdpath"),  # pytest-md
    Written("--md-report-output", "md_report_output", ini="md_report_output"),  # pytest-md-report
    Written("--csv", "csv_path"),  # pytest-csv
    Written("--nunit-xml", "nunit_xmlpath"),  # pytest-nunit
    Written("--excelreport", "excelpath"),  # pytest-excel
    Written("--json", "json_path", plugin="pytest_json"),  # pytest-json
    Written("--ctrf", "ctrf", plugin="pytest_json_ctrf"),  # pytest-json-ctrf
    Written("--cucumberjson", "cucumber_json_path"),  # pytest-bdd
    Written("--tap-outdir", "tap_outdir", needs="tap_files"),  # pytest-tap
    Written("--tap-outdir", "tap_outdir", needs="tap_combined"),
    Written("--pstats-dir", "pstats_dir", needs="profile"),  # pytest-profiling
    Written("--memray-bin-path", "memray_bin_path"),  # pytest-memray
    Written("--output", "output", plugin="playwright"),  # pytest-playwright empties it first
    Written("--benchmark-histogram", "benchmark_histogram"),  # pytest-benchmark
    Written("--benchmark-cprofile-dump", "benchmark_cprofile_dump"),
)
#: Options by which a plugin throws away what is there, rather than adding to it.
CLEANING = ("clean_alluredir", "clean_durations")  # of allure-pytest and pytest-split
#: Where pytest-cov and coverage write a report if the option does not say.
COVERAGE = {
    "annotate": "annotated",
    "html": "htmlcov",
    "json": "coverage.json",
    "lcov": "coverage.lcov",
    "markdown": "coverage.md",
    "markdown-append": "coverage.md",
    "xml": "coverage.xml",
}


class Reports:
    """Puts other paths into the options of one session, and knows what to tell about that."""

    def __init__(self, directory, session, data_lost):
        self.directory, self.session, self.data_lost = directory, session, data_lost
        self.moved = {}  # (option, path as given) -> new path
        self.basetemp = None  # as given
        self.limit = None  # of coverage
        self.unjudged = False  # whether snapshots are unused
        self.untouched = []  # files that this session writes in spite of all
        self._open = argparse.FileType.__call__
        self._watch_files()

    # Files that the parser of options opens

    def _watch_files(self):
        """An option may open its file as soon as it is read: until options are known, files go elsewhere."""
        opened = self._open

        def open_elsewhere(kind, path):
            if path != "-" and not kind._mode.startswith("r"):
                path = self.place("", path)
            return opened(kind, path)

        argparse.FileType.__call__ = open_elsewhere  # type: ignore[method-assign]

    def stop_watching(self):
        argparse.FileType.__call__ = self._open  # type: ignore[method-assign]

    # Paths

    def place(self, option, path):
        """Where a file or directory of this name goes instead."""
        path = str(path)
        known = self.moved.get((option, path))
        if known is None:
            name = os.path.basename(path.rstrip("/\\")) or "report"
            stem, ending = os.path.splitext(name)
            number, taken = 1, {os.path.basename(other) for other in self.moved.values()}
            while name in taken:
                number += 1
                name = "%s-%d%s" % (stem, number, ending)
            known = self.moved[option, path] = os.path.join(self.directory, name)
            os.makedirs(self.directory, exist_ok=True)
        return known

    def arguments(self, options, args):
        """Those that must be changed before they are read for good."""
        path = getattr(options, "debug", None)
        if not isinstance(path, str):
            if path is True:  # before pytest 7
                self.untouched.append("pytestdebug.log")
            return
        for number, arg in enumerate(args):
            if arg == "--debug" or arg.startswith("--debug="):
                if arg == "--debug" and args[number + 1 : number + 2] == [path]:
                    del args[number + 1]
                args[number] = "--debug=" + self.place("--debug", path)

    def options(self, config):
        option = config.option
        for written in WRITTEN:
            value = written.value(config)
            if isinstance(value, list):  # given several times: a plugin takes the first, or all
                setattr(option, written.dest, [self.place(written.option, path) for path in value])
            elif isinstance(value, (str, os.PathLike)):
                setattr(option, written.dest, self.place(written.option, value))
        for name in CLEANING:
            if getattr(option, name, False):
                setattr(option, name, False)
        basetemp = getattr(option, "basetemp", None)
        if isinstance(basetemp, (str, os.PathLike)) and not hasattr(config, "workerinput"):
            # pytest empties it first. Not to our directory: a socket's path must be short.
            self.basetemp = str(basetemp).rstrip("/\\")
            option.basetemp = "%s-session-%s" % (self.basetemp, self.session)

    # Coverage

    def coverage(self, options):
        """pytest-cov reads its options early, and takes others from coverage's own settings."""
        if not getattr(options, "cov_source", None) or getattr(options, "no_cov", False):
            return
        options.cov_append = True
        reports = getattr(options, "cov_report", None)
        if isinstance(reports, dict):
            # A new one: that of the parser is filled again whenever options are read.
            options.cov_report = {kind: self._of_coverage(kind, path) for kind, path in reports.items()}
        if self.data_lost:
            self.limit = getattr(options, "cov_fail_under", None) or self.limit
            options.cov_fail_under = 0

    def _of_coverage(self, kind, path):
        usual = COVERAGE.get(kind.partition(":")[0])
        return path if usual is None else self.place("--cov-report", path or usual)

    # Snapshots

    def snapshots(self, config):
        """syrupy takes those of tests that ran in another session for unused ones, and removes them."""
        syrupy = getattr(config, "_syrupy", None)
        if syrupy is not None:
            syrupy.remove_unused_snapshots = lambda *args, **kwargs: None
            self.unjudged = self.data_lost and not getattr(config.option, "warn_unused_snapshots", True)
            config.option.warn_unused_snapshots = True  # and does not fail for them

    # What to tell

    def notices(self, config):
        told = []
        if self.moved:
            shown = [self._shown_move(*known) for known in self.moved.items()]
            told.append(
                "sessions after the first wrote their reports to %s, so that earlier ones are kept: %s"
                % (self._where(), ", ".join(shown))
            )
        if self.basetemp:
            told.append(
                "sessions after the first had --basetemp %s-session-N instead of %s, which pytest would have"
                " emptied" % (self._shown(self.basetemp), self._shown(self.basetemp))
            )
        lost = "each session wrote %s anew: what an earlier one wrote to it is lost"
        told += [lost % file for file in self.untouched]
        coverage = self._coverage_notice(config)
        return [*told, coverage] if coverage else told

    def last_notices(self, config):
        """What is known when the tests have run."""
        if self.unjudged and getattr(config._syrupy, "_assertions", True):
            return ["unused snapshots were not looked for, because a session died"]
        return []

    def _where(self):
        """The same words for every session: `session-N`."""
        where, number = self._shown(self.directory), str(self.session)
        return where[: -len(number)] + "N" if where.endswith("session-" + number) else where

    def _shown_move(self, known, place):
        option, path = known
        name = os.path.basename(place)
        shown = self._shown(path)
        if name != os.path.basename(path.rstrip("/\\")):
            shown += " as " + name
        return "%s (%s)" % (shown, option) if option else shown

    def _coverage_notice(self, config):
        plugin = config.pluginmanager.get_plugin("_cov")
        if plugin is None or not self.data_lost:
            return None
        try:
            limit = self.limit or plugin.cov_controller.cov.config.fail_under
        except AttributeError:
            limit = self.limit
        words = "coverage lacks what ran in a session that died"
        return "%s; the limit of %g %% is not checked" % (words, limit) if limit else words

    @staticmethod
    def _shown(path):
        inside = _channel.relative(path, os.getcwd())
        return path if inside.startswith("../") else inside
