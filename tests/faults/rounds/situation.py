"""The state of a round for its faults: the service, the teams' traffic, a random generator and the moment to begin."""

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
"""Maximum wait of a fault for its step. After that, the fault begins anyway."""


class Skipped(Exception):
    """This machine cannot produce the fault, for the given reason."""


@dataclass
class Situation:
    """One round, as its faults see it. ``outage`` is the length of an outage in seconds."""

    stack: Stack
    traffic: Traffic
    rng: Random
    outage: float
    victims: set[str] = field(default_factory=set)
    """The IDs of entries that may fail because the fault removed their zip."""
    lost_zips: dict[str, tuple[Path, bytes]] = field(default_factory=dict)
    """By victim: path and content of the zip, unless the fault has restored it."""
    any_may_fail: bool = False
    """Whether any entry may fail, because every attempt was killed."""
    acts: dict[str, Any] = field(default_factory=dict)
    """Acts that the service confirmed to organizers and teams (:mod:`tests.faults.rounds.race_faults`)."""
    log: list[str] = field(default_factory=list)
    """The actions of the fault, for the report."""

    def reach(self, steps: Collection[str] = tuple(STEPS)) -> str:
        """Wait until a random number of entries have reached a random step, plus a moment. Returns the step."""
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
        """Let the teams begin. Only for kinds in ``BEFORE``."""
        self.traffic.begin.set()

    def last(self) -> None:
        """Wait for the length of the outage."""
        time.sleep(self.outage)

    def last_readable(self) -> None:
        """Wait for the length of the outage and check that visitors can read the boards."""
        end = time.monotonic() + self.outage
        path = f"/api/v1/competitions/{self.traffic.slug}/leaderboard"
        while time.monotonic() < end:
            answer = httpx.get(f"{self.stack.url}{path}", timeout=30.0)
            if answer.status_code != httpx.codes.OK:
                raise AssertionError(f"the board could not be read: {answer.status_code} {answer.text}")
            time.sleep(0.2)
