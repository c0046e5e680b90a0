"""Following an entry, step by step: resumed streams, and polling if no stream can be read."""

import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from kennel_client.errors import Refused, Unreachable
from kennel_client.steps import MAX_TRIES, Listen, Pause, Request
from kennel_client.waiting import LOOK_SECONDS, follow

GONE = Unreachable("No answer from http://127.0.0.1:9: refused.")
BUSY = Refused(429, {"type": "urn:kennel:problem:too-many-streams", "title": "You follow 100 submissions already."})


def event(number: int, status: str) -> list[str]:
    return [f"id: {number}", f"data: {json.dumps({'status': status, 'over': status == 'scored'})}", ""]


def view(status: str) -> httpx.Response:
    """The response with an entry."""
    fields = {"status": status, "reason": None, "stage": None, "fraction": None, "queue_position": 2, "paused": False}
    return httpx.Response(200, json=fields)


class Story:
    """The events while the steps of an operation had the given outcomes. The outcome of a stream is its lines, with an
    error or a status at the end."""

    def __init__(self, streams: Sequence[Sequence[Any]], looks: Sequence[httpx.Response | Refused] = ()) -> None:
        self.seen: list[str] = []
        self.said: list[str] = []
        self.pauses: list[float] = []
        self.resumed_after: list[str] = []
        self._streams, self._looks = iter(streams), iter(looks)
        operation = follow("a", lambda state: self.seen.append(state["status"]), self.said.append)
        outcome: Any = None
        while True:
            try:
                step = operation.throw(outcome) if isinstance(outcome, Refused) else operation.send(outcome)
            except StopIteration:
                return
            outcome = self._outcome(step)

    def _outcome(self, step: object) -> Any:
        if isinstance(step, Pause):
            return self.pauses.append(step.seconds)
        if isinstance(step, Request):
            return next(self._looks)
        assert isinstance(step, Listen)
        self.resumed_after.append(step.headers.get("Last-Event-ID", ""))
        for item in next(self._streams):
            if isinstance(item, Refused | int):
                return item
            step.read(item)
        return 200


def test_an_interrupted_stream_is_resumed() -> None:
    story = Story([[*event(7, "queued"), GONE], [*event(8, "scoring"), "id: 9"], event(9, "scored")])
    assert story.seen == ["queued", "scoring", "scored"]
    assert story.resumed_after == ["", "7", "8"]
    assert (len(story.pauses), max(story.pauses) <= 0.5, story.said) == (2, True, [])


def test_a_final_state_ends_the_stream() -> None:
    assert Story([[*event(7, "queued")], [204]]).seen == ["queued"]


@pytest.mark.parametrize("nothing", [["<html>", ""], [BUSY], [GONE]])
def test_without_a_readable_stream_the_entry_is_polled(nothing: list[Any]) -> None:
    story = Story([nothing, nothing, event(9, "scored")], [view("queued"), view("scoring")])
    assert story.seen == ["queued", "scoring", "scored"]
    assert story.pauses == [LOOK_SECONDS] * 2
    (line,) = story.said
    assert line.startswith("No event stream (")
    assert line.endswith("); polling every 10 s instead.")
    assert Story([nothing], [view("failed")]).seen == ["failed"], "polling also sees the final state"


def test_waiting_fails_if_the_service_stays_unreachable() -> None:
    streams, looks = [[GONE]] * (MAX_TRIES + 1), [GONE] * MAX_TRIES
    with pytest.raises(Unreachable):
        Story(streams, looks)
    with pytest.raises(StopIteration):
        Story(streams[1:], looks)


def test_an_unknown_entry_is_an_immediate_error() -> None:
    with pytest.raises(Refused, match="There is no submission"):
        Story([[Refused(404, {"type": "urn:kennel:problem:no-submission", "title": "There is no submission."})]])
