"""How far a long command is: bars on a terminal, a plain line every two seconds anywhere else."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from scorer.lifecycle import STAGES

LINE_SECONDS = 2.0
StageProgress = Callable[[str, float], None]
"""Hears a stage and its finished share. The worker has the same, but to import it takes half a second."""


def show_progress(console: Console) -> AbstractContextManager[StageProgress]:
    """Context manager whose value hears stage and finished share, and shows them on ``console``."""
    return _bars(console) if console.is_terminal else _lines(console, LINE_SECONDS)


def stage_text(stage: str) -> str:
    """A stage as people read it; one without words of its own as it is."""
    return STAGES.get(stage, stage)


@contextmanager
def _bars(console: Console) -> Iterator[StageProgress]:
    """One bar for each stage, with the time that it has taken and may still take."""
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
    """A line such as ``features 37 %`` every so many seconds. A thread of its own writes it, because a stage that
    cannot say how far it is should still be seen to live."""
    now: tuple[str, float] | None = None
    end = threading.Event()

    def report(stage: str, fraction: float) -> None:
        nonlocal now
        now = stage, fraction

    def write() -> None:
        while not end.wait(seconds):
            if now is not None:
                stage, fraction = now
                console.print(f"{stage_text(stage)} {100 * fraction:.0f} %", markup=False, soft_wrap=True)

    writer = threading.Thread(target=write, name="progress", daemon=True)
    writer.start()
    try:
        yield report
    finally:
        end.set()
        writer.join()
