"""What a fault may use: the service, the teams' traffic, a random generator, and the moment to begin."""

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx
import psycopg2

from tests.faults.rounds.stack import Stack
from tests.faults.rounds.steps import STEPS
from tests.faults.rounds.traffic import Traffic

STEP_SECONDS = 30.0
"""How long a fault waits for its step; then it begins all the same."""


class Skipped(Exception):
    """A fault that this machine cannot have, with the reason."""


@dataclass
class Situation:
    """One round, as its faults see it. ``outage``: seconds that something is away or silent for."""

    stack: Stack
    traffic: Traffic
    rng: Random
    outage: float
    victims: set[str] = field(default_factory=set)
    """Ids of entries that may fail, because the fault took their zip from them."""
    lost_zips: dict[str, tuple[Path, bytes]] = field(default_factory=dict)
    """Where the zips of victims were, and what they were, if the fault has not restored them."""
    any_may_fail: bool = False
    """Whether every entry may fail: each attempt was killed."""
    acts: dict[str, Any] = field(default_factory=dict)
    """What organizers and teams were told to have happened (:mod:`tests.faults.rounds.race_faults`)."""
    log: list[str] = field(default_factory=list)
    """What the fault did, for the report."""

    def reach(self, steps: Collection[str] = tuple(STEPS)) -> str:
        """Wait until as many entries as the seed says have reached a step that the seed chooses, and a moment more;
        returns the step."""
        step = self.rng.choice(tuple(steps))
        count = self.rng.randint(1, 3)
        pause = self.rng.uniform(0, 0.2)
        end = time.monotonic() + STEP_SECONDS
        while time.monotonic() < end:
            with suppress(psycopg2.Error):
                ((reached,),) = self.stack.rows(STEPS[step], {"slug": self.traffic.slug})
                if reached >= count:
                    break
            time.sleep(0.005)
        time.sleep(pause)
        self.log.append(f"at {step} of entry {count}")
        return step

    def begin(self) -> None:
        """Let the teams begin; for faults that come before."""
        self.traffic.begin.set()

    def last(self) -> None:
        """Let the outage last."""
        time.sleep(self.outage)

    def last_readable(self) -> None:
        """Let the outage last, while every visitor can still read the boards."""
        end = time.monotonic() + self.outage
        path = f"/api/v1/competitions/{self.traffic.slug}/leaderboard"
        while time.monotonic() < end:
            answer = httpx.get(f"{self.stack.url}{path}", timeout=30.0)
            if answer.status_code != httpx.codes.OK:
                raise AssertionError(f"the board could not be read: {answer.status_code} {answer.text}")
            time.sleep(0.2)
