"""Following an entry: its states, printed as status lines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

from kennel_client.api import ApiClient
from kennel_client.cli.formatting import format_duration
from kennel_client.waiting import State, follow


def event_text(state: State) -> str:
    """An entry's state as a line: ``queued (position 3, about 4 min)``, ``scoring: features 62 %``."""
    if state["stage_in_words"]:
        share = "" if state["fraction"] is None else f" {100 * state['fraction']:.0f} %"
        return f"{state['status']}: {state['stage_in_words']}{share}"
    place = f"position {state['queue_position']}" if state["queue_position"] else ""
    wait = f"about {format_duration(state['estimate_seconds'])}" if state["estimate_seconds"] else ""
    paused = "scoring is paused" if state.get("paused") else ""
    details = ", ".join(filter(None, (place, wait, paused)))
    return f"{state['status']} ({details})" if details else str(state["status"])


def follow_submission(client: ApiClient, submission: str, console: Console) -> None:
    """Show an entry's states on ``console`` up to the final one: one updated line on a terminal; elsewhere a line for
    each status, stage and queue position."""

    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    with _line(console) as show:
        client.run(follow(submission, show, say))


@contextmanager
def _line(console: Console) -> Iterator[Callable[[State], None]]:
    if console.is_terminal:
        with console.status("following") as status:
            yield lambda state: status.update(escape(event_text(state)))
        return
    last_shown: tuple[object, ...] = ()

    def show(state: State) -> None:
        nonlocal last_shown
        now = state["status"], state["stage"], state["queue_position"], state.get("paused")
        if now != last_shown:
            last_shown = now
            console.print(event_text(state), markup=False, soft_wrap=True)

    yield show
