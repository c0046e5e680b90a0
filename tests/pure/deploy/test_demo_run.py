"""The demo's frame: that its total time is printed at the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deploy.demo import run
from deploy.demo.plan import DemoPlan


@contextmanager
def opened(value: Any) -> Iterator[Any]:
    """``value``, for a block."""
    yield value


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The demo without photographs, service and competition; its clock shows 100 s, then 497.4 s."""
    supervisor = SimpleNamespace(failure=None, run=lambda: 0)
    service = SimpleNamespace(start_service=lambda *_, **__: SimpleNamespace(url="http://kennel"))
    clock = iter((100.0, 497.4))
    monkeypatch.setattr(run, "bundled_photographs", lambda _: None)
    monkeypatch.setattr(run, "open_data_folder", lambda _: opened(SimpleNamespace(path=tmp_path, lock=0)))
    monkeypatch.setattr(run, "Supervisor", lambda *_, **__: opened(supervisor))
    monkeypatch.setattr(run, "service", service)
    monkeypatch.setattr(run, "print_greeting", lambda *_: None)
    monkeypatch.setattr(run, "run_competition", lambda *_, **__: True)
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: next(clock)))


@pytest.mark.usefixtures("stubbed")
@pytest.mark.parametrize("leave", [True, False])
def test_the_total_time_is_the_last_line(leave: bool, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    plan = DemoPlan(folder=None, images=50, entries=1, full=True)
    assert run.run_demo(tmp_path, 0, plan, leave=leave) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "The demo took 6 min 37 s."
    assert ("Kennel keeps running until Ctrl-C." in lines) is not leave


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
