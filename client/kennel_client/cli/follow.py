"""Following an entry: its server-sent events, printed as status lines."""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape

from kennel_client.api import ApiClient, segment
from kennel_client.cli.formatting import format_duration
from kennel_client.errors import Refused
from kennel_client.retries import RETRY_SECONDS, Retries

Event = dict[str, Any]
READ_TIMEOUT_SECONDS = 45.0
"""The service sends a comment every 15 s, so a longer silence means a broken connection."""


def events_of(client: ApiClient, submission: str, *, sleep: Callable[[float], None] = time.sleep) -> Iterator[Event]:
    """The states of an entry up to its final one. Resumes after a broken connection; ``Refused`` if it cannot."""
    last = ""
    retries = Retries()
    while True:
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        try:
            path = f"/submissions/{segment(submission)}/events"
            with client.stream(path, headers=headers, silence=READ_TIMEOUT_SECONDS) as answer:
                if answer.status_code == 204:
                    return  # the final state has already been received
                for number, event in parse_events(answer.iter_lines()):
                    last = number
                    retries.reset()
                    yield event
                    if event["over"]:
                        return
            sleep(RETRY_SECONDS[0])
        except Refused as refusal:
            sleep(retries.seconds_after(refusal))


def parse_events(lines: Iterable[str]) -> Iterator[tuple[str, Event]]:
    """The events of a stream, each with its id; comments and other fields are skipped."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        if "data" in fields and "id" in fields:
            yield fields["id"], json.loads(fields["data"])
        fields = {}


def event_text(event: Event) -> str:
    """An entry's state as a line: ``queued (position 3, about 4 min)``, ``scoring: features 62 %``."""
    if event["stage_in_words"]:
        share = "" if event["fraction"] is None else f" {100 * event['fraction']:.0f} %"
        return f"{event['status']}: {event['stage_in_words']}{share}"
    place = f"position {event['queue_position']}" if event["queue_position"] else ""
    wait = f"about {format_duration(event['estimate_seconds'])}" if event["estimate_seconds"] else ""
    paused = "scoring is paused" if event.get("paused") else ""
    details = ", ".join(filter(None, (place, wait, paused)))
    return f"{event['status']} ({details})" if details else str(event["status"])


def follow_submission(client: ApiClient, submission: str, console: Console) -> None:
    """Show an entry's states on ``console`` up to the final one: one updated line on a terminal; elsewhere a line for
    each status, stage and queue position."""
    with _line(console) as show:
        for event in events_of(client, submission):
            show(event)


@contextmanager
def _line(console: Console) -> Iterator[Callable[[Event], None]]:
    if console.is_terminal:
        with console.status("following") as status:
            yield lambda event: status.update(escape(event_text(event)))
        return
    last_shown: tuple[object, ...] = ()

    def show(event: Event) -> None:
        nonlocal last_shown
        now = event["status"], event["stage"], event["queue_position"], event.get("paused")
        if now != last_shown:
            last_shown = now
            console.print(event_text(event), markup=False, soft_wrap=True)

    yield show
