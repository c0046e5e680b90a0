"""An organizer and a participant at the other end of TLS: ``python -m tests.compose.client ADDRESS TOKEN TOKEN`` has an
entry of the second one scored and prints what was seen, as JSON."""

import io
import json
import sys
import time
from datetime import UTC, datetime
from typing import Any

from deploy.client.api import Client
from deploy.client.references import prepare
from tests.factories import make_spec, noise_images, zip_of

PATIENCE = 120


def compete(address: str, token: str, participant: str) -> dict[str, Any]:
    """Hold a small competition with one entry; the entry with both scores, and the public board."""
    with Client(address, token) as admin:
        spec = make_spec(datetime.now(UTC)).model_dump(mode="json")
        slug, size = spec["slug"], spec["image_size"]
        admin.post("/competitions", spec)
        for role, seed in (("train", 1), ("held_out", 2), ("private_extra", 3)):
            admin.attach_references(slug, role, io.BytesIO(zip_of(noise_images(seed, 40, size))))
        prepare(admin, slug, say=lambda _: None, every=0.2)
        with Client(address, participant) as ada:
            entry = ada.submit(slug, io.BytesIO(zip_of(noise_images(10))), file_name="entry.zip")
        end = time.monotonic() + PATIENCE
        while True:
            seen = admin.get(f"/submissions/{entry['id']}")
            if (seen["status"], seen["private_state"]) == ("scored", "done"):
                return {"entry": seen, "board": admin.get(f"/competitions/{slug}/leaderboard")}
            if time.monotonic() > end:
                raise TimeoutError(f"no score within {PATIENCE} s: {seen}")
            time.sleep(0.2)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(compete(*sys.argv[1:4])))
