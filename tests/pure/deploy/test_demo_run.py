"""The demo's run: its total time, its folder, and its report while visitors submit entries."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

import migrations
from deploy.demo import competition, report, run
from deploy.demo.entries import ENTRIES
from deploy.demo.plan import DemoPlan
from deploy.demo.scores import SubmittedEntry
from deploy.standalone import service
from scorer.errors import Unavailable

PLAN = DemoPlan(folder=None, images=50, entries=1, full=True)


@contextmanager
def opened(value: Any) -> Iterator[Any]:
    """``value`` as a context manager."""
    yield value


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The demo without photographs, service and competition. Its clock shows 100 s, then 497.4 s."""
    supervisor = SimpleNamespace(failure=None, run=lambda: 0)
    service = SimpleNamespace(start_service=lambda *_, **__: SimpleNamespace(url="http://kennel"))
    clock = iter((100.0, 497.4, 0.0))
    monkeypatch.setattr(run, "bundled_photographs", lambda _: None)
    monkeypatch.setattr(run, "open_data_folder", lambda path: opened(SimpleNamespace(path=path, lock=0)))
    monkeypatch.setattr(run, "Supervisor", lambda *_, **__: opened(supervisor))
    monkeypatch.setattr(run, "service", service)
    monkeypatch.setattr(run, "print_greeting", lambda *_: None)
    monkeypatch.setattr(run, "run_competition", lambda *_, **__: True)
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: next(clock)))


@pytest.mark.usefixtures("stubbed")
@pytest.mark.parametrize("leave", [True, False])
def test_the_total_time_is_the_last_line(leave: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run.run_demo(tmp_path, 0, PLAN, leave=leave) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "The demo took 6 min 37 s."
    assert ("Kennel keeps running until Ctrl-C." in lines) is not leave


@pytest.mark.usefixtures("stubbed")
def test_a_folder_of_a_development_version_is_not_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "demo", tmp_path / "demo-2"
    old.mkdir()
    new.mkdir()
    started: list[Path] = []

    def start_service(_: Any, data: Any, **__: Any) -> Any:
        started.append(data.path)
        if data.path == old:
            migrations.require_released("0051")
        return SimpleNamespace(url="http://kennel")

    monkeypatch.setattr(run, "service", SimpleNamespace(start_service=start_service))
    assert run.run_demo(old, 0, PLAN, leave=True) == 0
    assert started == [old, new]
    printed = " ".join(capsys.readouterr().out.split())
    assert "development version" in printed
    assert f"The demo starts in {new} instead of {old}." in printed


@pytest.mark.usefixtures("stubbed")
def test_any_other_failure_to_start_the_service_ends_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start_service(*_: Any, **__: Any) -> Any:
        raise Unavailable("port-in-use", "Another process listens on port 8000.")

    monkeypatch.setattr(run, "service", SimpleNamespace(start_service=start_service))
    with pytest.raises(Unavailable, match="port 8000"):
        run.run_demo(tmp_path, 0, PLAN, leave=True)


@pytest.mark.parametrize(
    ("seconds", "line"),
    [
        (0.2, "The demo took 0 s."),
        (59.4, "The demo took 59 s."),
        (59.6, "The demo took 1 min 0 s."),
        (4503.0, "The demo took 75 min 3 s."),
    ],
)
def test_a_total_below_a_minute_is_in_seconds(seconds: float, line: str) -> None:
    assert run.total_time_line(seconds) == line


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


def test_a_visitors_entry_is_on_the_board_without_an_expectation() -> None:
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
def test_pages_have_sign_in_links_only_on_a_terminal(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a log, others could read these secrets."""
    monkeypatch.setattr(service, "sign_in_address", lambda *_: "http://kennel/signin/link#secret")
    running: Any = SimpleNamespace(url="http://kennel", settings=None)
    client: Any = None
    submitted = [SubmittedEntry(entry, client, entry.key, entry.key) for entry in ENTRIES[:2]]
    console = Console(file=io.StringIO(), record=True, force_terminal=terminal, width=80)
    run.print_pages(running, "dogs", submitted, console=console)
    lines = console.export_text().splitlines()
    assert len([line for line in lines if line.startswith("http://kennel/")]) == 5
    assert len([line for line in lines if "#secret" in line]) == (5 if terminal else 0)
    handles = [page.handle for page in run.list_pages("dogs", submitted)]
    assert len(set(handles)) == 5
