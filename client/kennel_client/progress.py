"""Progress of long operations: bars on a terminal and in notebooks, elsewhere a line every two seconds."""

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from html import escape
from typing import Any

from rich.console import Console

from kennel_client.submit import CHECKING, UPLOADING, StageProgress

LINE_SECONDS = 2.0
NOTEBOOK_SECONDS = 0.2
"""Pause between two updates of a notebook's bar: more updates enlarge the file without being seen."""
COMPARING, DOWNLOADING = "comparing", "downloading"
STAGES = {
    CHECKING: "checking the images",
    COMPARING: "comparing with the training images",
    DOWNLOADING: "downloading",
    UPLOADING: "uploading",
}
"""Phrases for the client's stages; a worker has other stages."""


def show_progress(
    console: Console | None = None, stages: Mapping[str, str] = STAGES
) -> AbstractContextManager[StageProgress]:
    """A context manager that yields a callback for stages and their shares. Shows them on ``console`` (default:
    standard error), or below the cell of a notebook without one. A stage appears with its phrase in ``stages``, or else
    its name.
    """
    notebook = _notebook() if console is None else None
    if notebook is not None:
        return _cell(notebook, stages)
    console = console or Console(stderr=True, highlight=False)
    return _bars(console, stages) if console.is_terminal else _lines(console, stages, LINE_SECONDS)


@contextmanager
def _bars(console: Console, stages: Mapping[str, str]) -> Iterator[StageProgress]:
    from rich import progress as rich  # noqa: PLC0415 - only terminals need it

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
    )
    current: tuple[str, rich.TaskID] | None = None
    with rich.Progress(*columns, console=console) as bars:

        def report(stage: str, fraction: float) -> None:
            nonlocal current
            if current is None or current[0] != stage:
                if current is not None:
                    bars.update(current[1], completed=1.0)
                current = stage, bars.add_task(stages.get(stage, stage), total=1.0)
            bars.update(current[1], completed=fraction)

        yield report


def _notebook() -> Any:
    """IPython in a notebook's kernel, else None. Imported only there, because it need not be installed elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return ipython if getattr(shell, "kernel", None) is not None else None


@contextmanager
def _cell(ipython: Any, stages: Mapping[str, str]) -> Iterator[StageProgress]:
    """One bar per stage, updated in place: HTML, or a line of text in frontends that show no HTML."""
    current: tuple[str, Any, float] | None = None
    """The current stage, its display, and the time of its last update."""

    def report(stage: str, fraction: float) -> None:
        nonlocal current
        now = time.monotonic()
        if current is None or current[0] != stage:
            if current is not None:
                current[1].update(_picture(stages, current[0], 1.0), raw=True)
            current = stage, ipython.display.display(_picture(stages, stage, fraction), raw=True, display_id=True), now
        elif fraction >= 1.0 or now - current[2] >= NOTEBOOK_SECONDS:
            current[1].update(_picture(stages, stage, fraction), raw=True)
            current = stage, current[1], now

    yield report


def _picture(stages: Mapping[str, str], stage: str, fraction: float) -> dict[str, str]:
    text = f"{stages.get(stage, stage)} {100 * fraction:.0f} %"
    bar = f'<progress value="{fraction:.3f}" max="1"></progress> {escape(text)}'
    return {"text/plain": text, "text/html": bar}


@contextmanager
def _lines(console: Console, stages: Mapping[str, str], seconds: float) -> Iterator[StageProgress]:
    """A line such as ``features 37 %`` every ``seconds``; a thread writes it, so that lines also come while a stage
    reports nothing.
    """
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
