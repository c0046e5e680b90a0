"""Progress of long commands on a terminal, in a notebook and in a file."""

import io
import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest
from rich.console import Console

from kennel_client import progress
from scorer.lifecycle import STAGES

ROUND = ("decoding", "reference-decoding", "reference-features", "features", "neighbours", "frechet", "evidence")


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=120, color_system=None, legacy_windows=False)


def written(on: Console) -> str:
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


def last_picture(on: Console, lines: int) -> list[str]:
    """The last lines on the terminal at the end, before the cursor is shown again."""
    return [line.rpartition("\x1b[2K")[2] for line in written(on).removesuffix("\x1b[?25h").splitlines()[-lines:]]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Print lines forty times as often."""
    monkeypatch.setattr(progress, "LINE_SECONDS", 0.05)


def test_a_terminal_sees_a_bar_for_each_stage() -> None:
    terminal = console(terminal=True)
    with progress.show_progress(terminal, STAGES) as report:
        for stage in ROUND:
            report(stage, 0.0)
            report(stage, 0.4)
    picture = last_picture(terminal, len(ROUND))
    assert [STAGES[stage] in line for stage, line in zip(ROUND, picture, strict=True)] == [True] * len(ROUND)
    assert ["100%" in line for line in picture] == [True] * (len(ROUND) - 1) + [False], "finished stages are full"
    assert " 40% 0:00:0" in picture[-1], "share and elapsed time"
    assert "-:--:--" in picture[-1], "the remaining time is not known yet"


def test_a_repeated_stage_gets_another_bar() -> None:
    terminal = console(terminal=True)
    with progress.show_progress(terminal, STAGES) as report:
        for stage in ("features", "frechet", "features"):
            report(stage, 1.0)
    bars = last_picture(terminal, 3)
    assert [STAGES[stage] in bar for stage, bar in zip(("features", "frechet", "features"), bars, strict=True)] == [
        True
    ] * 3


def test_without_a_terminal_progress_is_plain_lines(quick: None) -> None:
    file = console(terminal=False)
    with progress.show_progress(file, STAGES) as report:
        report("features", 0.371)
        until(lambda: "computing the features 37 %\n" in written(file))
    assert "\x1b" not in written(file)
    assert set(written(file).splitlines()) == {"computing the features 37 %"}


def test_a_stage_without_a_description_is_shown_by_its_name(quick: None) -> None:
    file = console(terminal=False)
    with progress.show_progress(file) as report:
        report("checking", 1.0)
        until(lambda: "checking the images 100 %\n" in written(file))
        report("something new", 0.5)
        until(lambda: "something new 50 %\n" in written(file))


def test_a_stage_without_reports_still_prints_lines(quick: None) -> None:
    file = console(terminal=False)
    with progress.show_progress(file, STAGES) as report:
        report("frechet", 0.0)
        until(lambda: written(file).count("Fréchet distance 0 %") >= 3)


def test_lines_are_at_least_the_interval_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress.LINE_SECONDS == 2.0
    monkeypatch.setattr(progress, "LINE_SECONDS", 60.0)
    file = console(terminal=False)
    with progress.show_progress(file, STAGES) as report:
        for step in range(1000):
            report("features", step / 1000)
    assert written(file) == ""


class Notebook(ModuleType):
    """IPython in a kernel, with everything that each of its displays has shown."""

    def __init__(self, shell: object) -> None:
        super().__init__("IPython")
        self.displays: list[list[dict[str, str]]] = []
        self.get_ipython = lambda: shell
        self.display = SimpleNamespace(display=self._show)

    def _show(self, picture: dict[str, str], *, raw: bool, display_id: bool) -> object:
        assert raw
        assert display_id
        shown = [picture]
        self.displays.append(shown)

        def update(picture: dict[str, str], *, raw: bool) -> None:
            assert raw
            shown.append(picture)

        return SimpleNamespace(update=update)


def test_a_notebook_has_a_bar_for_each_stage_updated_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(shell=SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setattr(progress, "NOTEBOOK_SECONDS", 60.0)
    with progress.show_progress(stages={"checking": "a <check>"}) as report:
        for step in range(1000):
            report("checking", step / 1000)
        report("uploading", 0.25)
        report("uploading", 1.0)
    texts = [[picture["text/plain"] for picture in display] for display in notebook.displays]
    assert texts == [["a <check> 0 %", "a <check> 100 %"], ["uploading 25 %", "uploading 100 %"]]
    html = '<progress value="1.000" max="1"></progress> a &lt;check&gt; 100 %'
    assert notebook.displays[0][-1]["text/html"] == html


@pytest.mark.parametrize("shell", [None, SimpleNamespace(colors="Linux")])
def test_ipython_on_a_terminal_is_no_notebook(shell: object, monkeypatch: pytest.MonkeyPatch) -> None:
    ipython = Notebook(shell)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    with progress.show_progress() as report:
        report("features", 0.5)
    assert ipython.displays == []


@pytest.mark.parametrize("terminal", [True, False])
def test_no_thread_keeps_running_after_an_error(terminal: bool) -> None:
    def interrupted() -> None:
        with progress.show_progress(console(terminal=terminal), STAGES) as report:
            report("features", 0.5)
            raise KeyboardInterrupt

    before = set(threading.enumerate())
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    # rich asks its thread to end without waiting for it.
    until(lambda: set(threading.enumerate()) <= before)


def until(condition: Callable[[], bool], timeout: float = 60.0) -> None:
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)
