"""The only reasons for which CI may skip tests. Any other skip fails the run: a test that never runs guards nothing."""

import pytest

NEEDS_ROOT = "needs root"
REASONS = ("needs a GPU", "needs docker", "needs Python 3.", NEEDS_ROOT)
"""The beginnings of allowed reasons. CI runs tests with the mark ``root`` as root, so only they may need root."""


def may_skip(report: pytest.TestReport | pytest.CollectReport) -> bool:
    reason = read_reason(report)
    return reason.startswith(REASONS) and (reason != NEEDS_ROOT or "root" in report.keywords)


def read_reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    return str(report.longrepr[2]).removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""


def others(terminal: pytest.TerminalReporter) -> list[str]:
    """The tests of a run that were skipped for a reason that is not allowed, with that reason."""
    skipped = terminal.stats.get("skipped", [])
    return [f"{report.nodeid}: {read_reason(report)}" for report in skipped if not may_skip(report)]
