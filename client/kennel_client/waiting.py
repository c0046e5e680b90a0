"""Wait for the service: for an entry with its event stream, for anything else by polling."""

import json
import warnings
from collections.abc import Callable
from typing import Any

from kennel_client.api import build_path
from kennel_client.errors import Refused
from kennel_client.results import FINISHED
from kennel_client.steps import RETRY_SECONDS, Listen, Operation, Pause, Request, Retries, get, parse_json

POLL_SECONDS = 2.0
"""The polling interval without an event stream."""
LOOK_SECONDS = 10.0
"""The polling interval for an entry while its event stream cannot be read."""
SILENCE_SECONDS = 45.0
"""The service sends a comment every 15 s, so a longer silence means a broken connection."""
State = dict[str, Any]
"""The API's ``StateView``: status, stage, queue position, and whether it is final (``over``)."""


def ignore(_seen: object) -> None: ...


def wait_until(
    path: str,
    finished: Callable[[Any], bool],
    *,
    see: Callable[[Any], object] = ignore,
    every: float | None = None,
) -> Operation[Any]:
    """GET ``path`` every ``every`` seconds (default ``POLL_SECONDS``) until the response is ``finished``, and return
    it; ``see`` gets the responses before that. Failed requests are repeated.
    """
    retries = Retries()
    while True:
        try:
            seen = yield from get(path)
        except Refused as refusal:
            yield Pause(retries.seconds_after(refusal))
            continue
        retries.reset()
        if finished(seen):
            return seen
        see(seen)
        yield Pause(POLL_SECONDS if every is None else every)


class EventReader:
    """Reads server-sent events line by line, and calls ``see`` with the state in each. Skips other lines."""

    def __init__(self, see: Callable[[State], object]) -> None:
        self._see = see
        self._fields: dict[str, str] = {}
        self.last_id = ""
        self.number = 0
        """Number of events so far."""
        self.over = False

    def begin(self) -> None:
        """Forget an event that a lost connection did not complete."""
        self._fields = {}

    def read(self, line: str) -> bool:
        """Read a line; returns whether the final state has arrived."""
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return False
        fields, self._fields = self._fields, {}
        if "data" in fields and "id" in fields:
            self.last_id = fields["id"]
            self.number += 1
            self.see(json.loads(fields["data"]))
        return self.over

    def see(self, state: State) -> None:
        self.over = state["over"]
        self._see(state)


def follow(
    submission: str, see: Callable[[State], object], say: Callable[[str], object] = warnings.warn
) -> Operation[None]:
    """Call ``see`` with the states of an entry, up to its final one. Resumes a stream that breaks off. If none can be
    read, though the service responds, it polls the entry every ``LOOK_SECONDS``, and ``say`` gets the reason once.
    """
    reader = EventReader(see)
    retries = Retries()
    announced = False
    while not reader.over:
        before = reader.number
        pause, reason = RETRY_SECONDS[0], "it ended without an event"
        try:
            if (yield _listen(submission, reader)) == 204:
                return  # the final state has already been received
        except Refused as refusal:
            pause, reason = retries.seconds_after(refusal), str(refusal)
        if reader.number > before:
            retries.reset()
        elif (yield from _look(submission, reader)):
            retries.reset()
            pause = LOOK_SECONDS
            if not announced:
                say(f"No event stream ({reason.removesuffix('.')}); polling every {LOOK_SECONDS:.0f} s instead.")
                announced = True
        if not reader.over:
            yield Pause(pause)


def _listen(submission: str, reader: EventReader) -> Listen:
    reader.begin()
    headers = {"Accept": "text/event-stream", **({"Last-Event-ID": reader.last_id} if reader.last_id else {})}
    return Listen(build_path("submissions", submission, "events"), headers, reader.read, SILENCE_SECONDS)


def _look(submission: str, reader: EventReader) -> Operation[bool]:
    """Pass on the current state of an entry; False if the service does not respond either."""
    try:
        view = parse_json((yield Request("GET", build_path("submissions", submission))))
    except Refused:
        return False
    names = ("status", "reason", "stage", "fraction", "queue_position", "paused")
    unknown = {"stage_in_words": view["stage"], "estimate_seconds": None}
    reader.see({name: view[name] for name in names} | unknown | {"over": view["status"] in FINISHED})
    return True
