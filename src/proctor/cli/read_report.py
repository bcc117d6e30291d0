"""The runs of a report, a stream, a log or a document, whichever it is."""

from __future__ import annotations

from proctor.replay import Replay
from proctor.result import RunResult
from proctor.wire.reports.any_report import AnyReport


def read_report(data: bytes, name: str) -> tuple[list[RunResult], str]:
    """The runs, and what is missing or wrong. Raises a UsageError for what is no report."""
    report = AnyReport(name)
    results: list[RunResult] = []
    replay = Replay(lambda: [], results.append)
    replay.take(report.feed(data))
    replay.take(report.close())
    replay.close()
    gaps = [gap for gap in dict.fromkeys((*replay.gaps, report.gap)) if gap]
    return results, "; ".join(gap for gap in gaps if not any(gap != other and gap in other for other in gaps))
