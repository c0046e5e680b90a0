"""Races instead of machine faults: publications, thresholds, picks and the close in the same second."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from kennel_client.errors import Refused
from tests.faults.rounds.situation import Situation

CLOSES_IN = timedelta(seconds=1.5)
RACING_SECONDS = 3.5


def close_and_publish(situation: Situation) -> None:
    """Repeatedly change both thresholds, pick and publish for some seconds, while the competition closes."""
    situation.reach(("recorded", "private"))
    admin, slug = situation.stack.admin, situation.traffic.slug
    changed = {"closes_at": (datetime.now(UTC) + CLOSES_IN).isoformat()}
    admin.call("PATCH", f"/competitions/{slug}", json=changed)
    published: list[Any] = []
    chosen: list[Any] = []
    picked: dict[int, list[str]] = {}

    def publish() -> None:
        wish = {"published": not published or not published[-1]["published"], "reason": "race", "override": "race"}
        published.append(admin.post(f"/competitions/{slug}/publication", wish))

    def retune(kind: str) -> None:
        tau = situation.rng.choice((0.0, 0.05, 0.1, 0.2, 0.5))
        wish = {"method": "manual", "tau": tau, "reason": "race"}
        chosen.append(admin.post(f"/competitions/{slug}/tracks/{kind}/thresholds", wish))

    def pick(team: int) -> None:
        with situation.traffic.client(team) as client:
            own = client.get(f"/competitions/{slug}/submissions")["submissions"]
            wanted = [entry["id"] for entry in own if entry["status"] == "scored"][:1]
            client.put(f"/competitions/{slug}/picks", {"submissions": wanted})
            picked[team] = wanted

    tuning = [partial(retune, kind) for kind in ("public", "private")]
    refusals = _race([publish, *tuning, *(partial(pick, team) for team in situation.traffic.accounts)])
    situation.acts = {"published": published, "thresholds": len(chosen), "picks": picked}
    situation.log.append(
        f"closed; {len(published)} publications, {len(chosen)} thresholds, picks of {len(picked)} teams;"
        f" refusals {dict(refusals)}"
    )


def _race(acts: list[Callable[[], None]]) -> Counter[str]:
    """Repeat each act in its own thread, and count the refusals by slug."""
    end = time.monotonic() + RACING_SECONDS
    refusals = Counter[str]()

    def repeat(act: Callable[[], None]) -> None:
        while time.monotonic() < end:
            try:
                act()
            except Refused as refusal:
                refusals[refusal.slug] += 1
            time.sleep(0.02)

    threads = [threading.Thread(target=repeat, args=[act], daemon=True) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return refusals


KINDS = {"close-and-publish": close_and_publish}
