"""Wait for the scores of the demo's entries and print each as it arrives."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from deploy.demo.entries import DemoEntry
from kennel_client.api import ApiClient
from kennel_client.waiting import follow
from scorer.lifecycle import UNFINISHED, Status, TrackKind

POLL_SECONDS = 0.5
"""The polling interval for private scores, which are not in an entry's event stream."""


@dataclass(frozen=True)
class SubmittedEntry:
    entry: DemoEntry | None
    """None for the benchmark."""
    client: ApiClient
    submission_id: str
    handle: str
    """The handle of the account that submitted it."""


class Scores:
    """Prints the scores of entries, with the seconds since ``start``. The service scores entries in the order of
    submission, on the public track before the private one.
    """

    def __init__(self, organizer: ApiClient, console: Console, start: float) -> None:
        self._organizer = organizer
        self._console = console
        self._start = start
        self._private: deque[str] = deque()
        """IDs of the entries without a printed private score."""
        self.first: float | None = None
        """Seconds until the first score."""

    def print_all(self, submitted: Sequence[SubmittedEntry]) -> None:
        """Print all scores; returns when all entries have ended on both tracks."""
        with self._console.status("waiting for scores"):
            for submission in submitted:
                submission.client.run(follow(submission.submission_id, lambda _state: None))
                self._print_public(self._view(submission.submission_id))
                while self._private and self._print_private():
                    pass
            while self._private:
                if not self._print_private():
                    time.sleep(POLL_SECONDS)

    def _view(self, submission_id: str) -> Mapping[str, Any]:
        view: Mapping[str, Any] = self._organizer.get(f"/submissions/{submission_id}")
        return view

    def _print_public(self, view: Mapping[str, Any]) -> None:
        seconds = self._print(view, "public")
        if view["status"] == Status.SCORED:
            self.first = self.first or seconds
            self._private.append(view["id"])

    def _print_private(self) -> bool:
        """Print the next private score if it has arrived or failed; returns whether it has."""
        view = self._view(self._private[0])
        if view["private_state"] in UNFINISHED:
            return False
        self._private.popleft()
        self._print(view, "private")
        return True

    def _print(self, view: Mapping[str, Any], track: TrackKind) -> float:
        seconds = time.monotonic() - self._start
        line = f"{seconds:5.0f} s  {track:<7}  {view['team']:<20}  {score_text(view, track)}"
        self._console.print(line, markup=False, soft_wrap=True)
        return seconds


def score_text(view: Mapping[str, Any], track: TrackKind) -> str:
    """An entry's score on a track, or the reason why it has none."""
    measured = next((measurement for measurement in view["measurements"] if measurement["track"] == track), None)
    if measured is None:
        return f"{view['status']}: {view['reason']}" if view["reason"] else "not scored"
    if measured["mifid"] is None:
        return "copies of training images, so no score"
    return f"MiFID {measured['mifid']:.2f}" + (", penalised" if measured["penalised"] else "")
