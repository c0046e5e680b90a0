"""Progress of a long command: bars on a terminal, a plain line every two seconds elsewhere."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from scorer.lifecycle import STAGES

LINE_SECONDS = 2.0
StageProgress = Callable[[str, float], None]
"""Called with a stage and its finished share. The worker defines the same, but importing it takes half a second."""


def show_progress(console: Console) -> AbstractContextManager[StageProgress]:
    """A context manager that yields a callback; what it is called with is shown on ``console``."""
    return _bars(console) if console.is_terminal else _lines(console, LINE_SECONDS)


def stage_text(stage: str) -> str:
    """The text for a stage; the stage itself if it has none."""
    return STAGES.get(stage, stage)


@contextmanager
def _bars(console: Console) -> Iterator[StageProgress]:
    """One bar for each stage, with elapsed and remaining time."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    current: tuple[str, TaskID] | None = None
    with Bars(*columns, console=console) as bars:

        def report(stage: str, fraction: float) -> None:
            nonlocal current
            if current is None or current[0] != stage:
                if current is not None:
                    bars.update(current[1], completed=1.0)
                current = stage, bars.add_task(stage_text(stage), total=1.0)
            bars.update(current[1], completed=fraction)

        yield report


@contextmanager
def _lines(console: Console, seconds: float) -> Iterator[StageProgress]:
    """A line such as ``features 37 %`` every ``seconds``, written by a thread, so that lines also come while a stage
    reports nothing."""
    latest: tuple[str, float] | None = None
    end = threading.Event()

    def report(stage: str, fraction: float) -> None:
        nonlocal latest
        latest = stage, fraction

    def write() -> None:
        while not end.wait(seconds):
            if latest is not None:
                stage, fraction = latest
                console.print(f"{stage_text(stage)} {100 * fraction:.0f} %", markup=False, soft_wrap=True)

    writer = threading.Thread(target=write, name="progress", daemon=True)
    writer.start()
    try:
        yield report
    finally:
        end.set()
        writer.join()
