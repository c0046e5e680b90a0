"""Attaching reference sets to a competition through the API, and preparing its tracks."""

import time
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from kennel_client.api import ApiClient, open_file
from kennel_client.archive import zip_folder
from kennel_client.errors import Refused

TRACK_KINDS = ("public", "private")


def attach(client: ApiClient, slug: str, role: str, path: Path, *, attach: bool = True) -> str:
    """Upload a zip, or a folder packed as a zip, and attach it unless it is only to be stored; returns its SHA-256."""
    if not path.is_dir():
        with open_file(path) as file:
            return str(client.attach_references(slug, role, file, attach=attach)["sha256"])
    with TemporaryFile() as file:
        if zip_folder(path, file) == 0:
            raise Refused(0, {"title": f"There is no PNG, JPEG or WebP in {path}."})
        return str(client.attach_references(slug, role, file, attach=attach)["sha256"])


def prepare(client: ApiClient, slug: str, *, say: Any, every: float = 1.0) -> None:
    """Start the preparation of both tracks and wait for it, with progress to ``say``; ``Refused`` if it fails."""
    for kind in TRACK_KINDS:
        client.post(f"/competitions/{slug}/tracks/{kind}/preparation")
    for kind in TRACK_KINDS:
        last_stage = None
        while True:
            preparation = client.get(f"/competitions/{slug}/tracks/{kind}/preparation")
            if preparation["state"] == "failed":
                raise Refused(0, {"title": f"The {kind} track could not be prepared: {preparation['error']}"})
            if preparation["state"] == "done":
                say(f"{kind}: {preparation['images']:,} reference images are ready.")
                break
            stage = preparation["stage"] or preparation["state"]
            if stage != last_stage:
                say(f"{kind}: {stage}")
                last_stage = stage
            time.sleep(every)
