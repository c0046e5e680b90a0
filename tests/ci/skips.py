"""The only reasons for which CI may skip tests. Any other skip fails its run: a test that never runs guards nothing."""

import pytest

NEEDS_ROOT = "needs root"
REASONS = ("needs a GPU", "needs docker", "needs Python 3.", NEEDS_ROOT)
"""What a reason begins with. CI runs as root what needs root, so that ``needs root`` is for tests so marked alone."""


def may_skip(report: pytest.TestReport | pytest.CollectReport) -> bool:
    """Whether CI may skip what was skipped here."""
    reason = reason_of(report)
    return reason.startswith(REASONS) and (reason != NEEDS_ROOT or "root" in report.keywords)


def reason_of(report: pytest.TestReport | pytest.CollectReport) -> str:
    """Why it was skipped."""
    return str(report.longrepr[2]).removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else ""


def others(terminal: pytest.TerminalReporter) -> list[str]:
    """The tests of a run that were skipped for another reason, with it."""
    skipped = terminal.stats.get("skipped", [])
    return [f"{report.nodeid}: {reason_of(report)}" for report in skipped if not may_skip(report)]
