"""The only reasons for which CI may skip tests. Any other skip fails the run: a test that never runs guards nothing."""

import os
from importlib.util import find_spec

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that need root or the extra ``worker`` if it is missing."""
    missing = {}
    if find_spec("torch") is None:
        missing["torch"] = "needs the extra `worker`"
    if os.geteuid() != 0:
        missing["root"] = NEEDS_ROOT
    for item in items:
        for marker, reason in missing.items():
            if item.get_closest_marker(marker):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a CI run that skips a required test."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") == "true" and isinstance(terminal, pytest.TerminalReporter) and others(terminal):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the required tests that CI skipped."""
    if os.environ.get("CI") == "true":
        for line in others(terminalreporter):
            terminalreporter.write_line(f"CI may not skip {line}", red=True)
