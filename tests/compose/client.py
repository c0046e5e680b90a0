"""An organizer and a participant who reach the service over TLS.

``python -m tests.compose.client ADDRESS ORGANIZER_TOKEN PARTICIPANT_TOKEN [SLUG]`` submits one entry, to a new
competition or to SLUG, waits for both scores and prints the responses as JSON.
"""

import io
import json
import sys
import time
from datetime import UTC, datetime
from typing import Any

from kennel_client.admin import References
from kennel_client.api import ApiClient
from tests.factories import make_spec, make_zip, noise_images

PATIENCE = 120


def compete(address: str, token: str, participant: str) -> dict[str, Any]:
    """Run a small competition with one entry and return its slug, the entry with both scores and the public board."""
    with ApiClient(address, token) as admin:
        spec = make_spec(datetime.now(UTC)).model_dump(mode="json")
        slug, size = spec["slug"], spec["image_size"]
        admin.post("/competitions", spec)
        for role, seed in (("train", 1), ("held_out", 2), ("private_extra", 3)):
            admin.attach_references(slug, role, io.BytesIO(make_zip(noise_images(seed, 40, size))))
        References(admin).prepare(slug, say=lambda _: None, every=0.2)
        entry = submit_and_wait(admin, slug, ApiClient(address, participant), seed=10)
        return {"slug": slug, "entry": entry, "board": admin.get(f"/competitions/{slug}/leaderboard")}


def continue_competition(address: str, token: str, participant: str, slug: str) -> dict[str, Any]:
    """Return the public board of an existing competition, and another entry with both scores."""
    with ApiClient(address, token) as admin:
        board = admin.get(f"/competitions/{slug}/leaderboard")
        entry = submit_and_wait(admin, slug, ApiClient(address, participant), seed=11)
        return {"slug": slug, "board": board, "entry": entry}


def submit_and_wait(admin: ApiClient, slug: str, participant: ApiClient, *, seed: int) -> Any:
    """Submit an entry, wait for its scores and return it as organizers see it."""
    with participant:
        entry = participant.submit(slug, io.BytesIO(make_zip(noise_images(seed))), file_name="entry.zip")
    end = time.monotonic() + PATIENCE
    while True:
        seen = admin.get(f"/submissions/{entry['id']}")
        if (seen["status"], seen["private_state"]) == ("scored", "done"):
            return seen
        if time.monotonic() > end:
            raise TimeoutError(f"no score within {PATIENCE} s: {seen}")
        time.sleep(0.2)


if __name__ == "__main__":
    sys.stdout.write(json.dumps((continue_competition if sys.argv[4:] else compete)(*sys.argv[1:])))
