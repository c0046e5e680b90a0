"""The demo's report while visitors submit entries of their own."""

from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from deploy.demo import report, run
from deploy.demo.entries import ENTRIES


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

    monkeypatch.setattr(run, "create_competition", lambda *_: "slug")
    monkeypatch.setattr(run, "attach_and_prepare", lambda *_: None)
    monkeypatch.setattr(run, "submit_entries", lambda *_: [])
    monkeypatch.setattr(run, "wait_for_scores", lambda *_: 1.0)
    monkeypatch.setattr(run, "new_token", lambda *_: "token")
    monkeypatch.setattr(report, "photograph_line", lambda _: "")
    monkeypatch.setattr(report, "print_report", fail)
    console = Console(record=True, width=200)
    running: Any = SimpleNamespace(url="http://127.0.0.1:1", settings=None)
    pictures: Any = None
    assert run.run_competition(running, pictures, run.DemoPlan(None, 50, 1), console) is False
    assert "The report failed. The service keeps running." in console.export_text()
