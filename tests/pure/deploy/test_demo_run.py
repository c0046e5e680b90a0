"""The demo's frame: the total time at its end, and the folder in which it runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import migrations
from deploy.demo import run
from deploy.demo.plan import DemoPlan
from scorer.errors import Unavailable

PLAN = DemoPlan(folder=None, images=50, entries=1, full=True)


@contextmanager
def opened(value: Any) -> Iterator[Any]:
    """``value``, for a block."""
    yield value


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The demo without photographs, service and competition; its clock shows 100 s, then 497.4 s."""
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
def test_a_folder_of_a_development_version_stays_and_another_is_used(
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
def test_what_else_keeps_the_service_from_starting_ends_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start_service(*_: Any, **__: Any) -> Any:
        raise Unavailable("port-in-use", "Something else listens on port 8000.")

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
def test_seconds_below_a_minute_stand_alone(seconds: float, line: str) -> None:
    assert run.total_time_line(seconds) == line
