"""The requests of visitors and organizers that are slow in a large competition, with the limits of each."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import httpx

from benchmarks.harness.seeding import ORGANIZER, SESSION, SLUG

API = f"/api/v1/competitions/{SLUG}"
BOARD = f"{API}/leaderboard"
PAGE = f"/competitions/{SLUG}"
THRESHOLDS = f"{API}/tracks/public/thresholds"


@dataclass(frozen=True)
class TimedRequest:
    """A request, and its limits at full size: seconds until the last and the first byte, bytes of the body.

    Without ``varies``, every round sends the same request, and the service may repeat an earlier answer: the limits
    apply from the second time on. ``varies`` makes parameters (of GET) or the body (of POST) from the number of the
    round, so each round requests something new.
    """

    name: str
    title: str
    path: str
    seconds: float | None = None
    first_byte: float | None = None
    size: int | None = None
    """Largest body, in bytes."""
    method: str = "GET"
    organizer: bool = False
    parameters: Mapping[str, str] = field(default_factory=dict)
    varies: Callable[[int], dict[str, Any]] | None = None

    def send(self, http: httpx.Client, number: int) -> "Answer":
        headers = {"Accept-Encoding": "identity"}
        if self.organizer:
            by_token = self.path.startswith("/api")
            headers |= {"Authorization": f"Bearer {ORGANIZER}"} if by_token else {"Cookie": f"kennel={SESSION}"}
        values = self.varies(number) if self.varies else {}
        parameters = dict(self.parameters) | (values if self.method == "GET" else {})
        body = values if self.method == "POST" else None
        begun = time.perf_counter()
        first_byte, size = 0.0, 0
        with http.stream(self.method, self.path, params=parameters, json=body, headers=headers) as response:
            response.raise_for_status()
            for piece in response.iter_bytes():
                first_byte = first_byte or time.perf_counter() - begun
                size += len(piece)
        return Answer(first_byte, time.perf_counter() - begun, size)


@dataclass(frozen=True)
class Answer:
    """Seconds until the first and the last byte of an answer, and its size in bytes."""

    first_byte: float
    seconds: float
    size: int


def compute_round_tau(number: int) -> float:
    """A threshold that differs in each round and moves penalties on the seeded distances."""
    return 0.2 + 0.01 * (number + 1)


_organizers = partial(TimedRequest, organizer=True)
_posted = partial(_organizers, seconds=1, size=200_000, method="POST")
INSIGHTS, DISTANCES = f"{PAGE}/insights", f"{API}/insights/distances"
REQUESTS: Sequence[TimedRequest] = (
    TimedRequest(
        *("search_team", "teams by name (`team 4242`, different each time)", BOARD, 0.1),
        varies=lambda number: {"search": f"team {4242 + number}"},
    ),
    TimedRequest(
        *("search_letter", "teams by one letter of the name (different each time)", BOARD, 0.1),
        varies=lambda number: {"search": "team"[number % 4]},
    ),
    TimedRequest(
        *("past", "board at a past moment (different each time)", BOARD, 1),
        varies=lambda number: {"as_of": (datetime.now(UTC) - timedelta(days=3, hours=number)).isoformat()},
    ),
    TimedRequest("insights_page", "page of all figures", INSIGHTS, 0.3),
    _organizers("insights_all", "the same page for organizers, with all entries", INSIGHTS, 0.3),
    TimedRequest("figure_json", "one figure as JSON", DISTANCES, 0.3),
    TimedRequest("figure_svg", "one figure as SVG", DISTANCES, 0.3, parameters={"format": "svg"}),
    _organizers("figure_all", "one figure of all entries as JSON", DISTANCES, first_byte=0.3),
    TimedRequest("csv", "the whole board as CSV", BOARD, first_byte=0.2, parameters={"format": "csv"}),
    _organizers("checklist", "checklist before publication", f"{API}/publication", 0.5),
    _organizers("checklist_page", "checklist page", f"{PAGE}/publication", 0.5),
    _organizers("tau_page", "threshold page", f"{PAGE}/tau", 1.5, size=500_000),
    _organizers(
        *("impact", "the threshold page's numbers for another tau", f"{THRESHOLDS}/impact", 0.3),
        varies=lambda number: {"tau": str(0.31 + 0.007 * number), "limit": "30"},
    ),
    _organizers("choices", "the threshold that each method would choose", f"{THRESHOLDS}/choices", 1),
    _posted(
        *("preview", "preview of a re-tune", THRESHOLDS),
        varies=lambda number: {"method": "manual", "tau": 0.305 + 0.01 * number, "preview": True},
    ),
    _posted(
        *("retune", "re-tune", THRESHOLDS),
        varies=lambda number: {"method": "manual", "tau": compute_round_tau(number), "reason": "benchmark"},
    ),
    _posted(
        *("undo", "undo of a re-tune", f"{THRESHOLDS}/undo"), varies=lambda number: {"reason": f"benchmark {number}"}
    ),
)
"""In the order in which a round sends them."""
MAX_BYTES = 900_000_000
"""Largest resident memory of the web process, with any request."""
