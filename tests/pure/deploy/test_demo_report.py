"""The demo's report while visitors submit entries of their own."""

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from deploy.demo import competition, report, run
from deploy.demo.entries import ENTRIES
from deploy.demo.plan import DemoPlan
from deploy.demo.scores import SubmittedEntry


def line(team: str, rank: int, submission_id: str) -> dict[str, Any]:
    return {
        "team": team,
        "rank": rank,
        "score": float(rank),
        "fid": float(rank),
        "memorization_distance": 0.2,
        "penalised": False,
        "submission_id": submission_id,
    }


def test_a_visitors_entry_is_on_the_board_and_nothing_is_expected_of_it() -> None:
    escapes = next(entry for entry in ENTRIES if entry.expected == "escapes")
    benchmark = {**line("Photographs", 0, "b"), "memorization_distance": 0.1}
    board = {
        "tau": 0.1,
        "entries": [line("A visitor", 1, "unknown"), line(escapes.team, 2, "known")],
        "benchmarks": [benchmark],
        "disqualified": [],
        "copies": [],
    }
    console = Console(record=True, width=200)
    console.print(report.board_table(board, {"known": escapes}, "public"))
    report._print_caveats(board, {"known": escapes}, console)
    printed = console.export_text()
    assert next(words.strip() for words in printed.splitlines() if "A visitor" in words).endswith("a visitor's │")
    assert f"For manual review: {escapes.team}" in printed


def test_a_report_that_fails_leaves_the_service_running(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> bool:
        raise KeyError("an entry of a visitor")

    monkeypatch.setattr(competition, "create_competition", lambda *_: "slug")
    monkeypatch.setattr(competition, "appoint_reviewers", lambda *_: None)
    monkeypatch.setattr(competition, "prepare_and_submit", lambda *_, **__: [])
    monkeypatch.setattr(run, "new_token", lambda *_, **__: "token")
    monkeypatch.setattr(report, "photograph_line", lambda _: "")
    monkeypatch.setattr(report, "print_report", fail)
    console = Console(record=True, width=200)
    running: Any = SimpleNamespace(url="http://127.0.0.1:1", settings=None)
    pictures: Any = None
    plan = DemoPlan(None, 50, 1, full=True)
    assert run.run_competition(running, pictures, plan, console=console, start=0.0, leave=True) is False
    assert "The report failed. The service keeps running." in console.export_text()


@pytest.mark.parametrize("terminal", [True, False])
def test_pages_have_sign_in_links_on_a_terminal_alone(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a log they would be secrets that others read."""
    monkeypatch.setattr(run, "_sign_in_link", lambda _, page: f"http://kennel/signin/link?next={page.path}#secret")
    running: Any = SimpleNamespace(url="http://kennel", settings=None)
    client: Any = None
    submitted = [SubmittedEntry(entry, client, entry.key, entry.key) for entry in ENTRIES[:2]]
    console = Console(file=io.StringIO(), record=True, force_terminal=terminal, width=80)
    run.print_pages(running, "dogs", submitted, console=console)
    lines = console.export_text().splitlines()
    assert len([line for line in lines if line.startswith("http://kennel/")]) == 5
    assert len([line for line in lines if "#secret" in line]) == (5 if terminal else 0)
    handles = [page.handle for page in run.pages_of("dogs", submitted)]
    assert len(set(handles)) == 5
