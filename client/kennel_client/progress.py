"""Progress of what takes long: bars on a terminal, a plain line every two seconds elsewhere, as in notebooks."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from kennel_client.submit import CHECKING, UPLOADING, StageProgress

LINE_SECONDS = 2.0
COMPARING, DOWNLOADING = "comparing", "downloading"
STAGES = {
    CHECKING: "checking the images",
    COMPARING: "comparing with the training images",
    DOWNLOADING: "downloading",
    UPLOADING: "uploading",
}
"""Phrases for the stages that the client reports; a worker's stages have others."""


def show_progress(
    console: Console | None = None, stages: Mapping[str, str] = STAGES
) -> AbstractContextManager[StageProgress]:
    """A context manager that yields a callback; what it is called with is shown on ``console`` (standard error), a
    stage by its phrase in ``stages``, or by its name if it has none."""
    console = console or Console(stderr=True, highlight=False)
    return _bars(console, stages) if console.is_terminal else _lines(console, stages, LINE_SECONDS)


@contextmanager
def _bars(console: Console, stages: Mapping[str, str]) -> Iterator[StageProgress]:
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
                current = stage, bars.add_task(stages.get(stage, stage), total=1.0)
            bars.update(current[1], completed=fraction)

        yield report


@contextmanager
def _lines(console: Console, stages: Mapping[str, str], seconds: float) -> Iterator[StageProgress]:
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
                console.print(f"{stages.get(stage, stage)} {100 * fraction:.0f} %", markup=False, soft_wrap=True)

    writer = threading.Thread(target=write, name="progress", daemon=True)
    writer.start()
    try:
        yield report
    finally:
        end.set()
        writer.join()
