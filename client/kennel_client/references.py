"""Attaching reference sets and preparing tracks, with a client of the API."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

from kennel_client.admin import ReferenceRole, References
from kennel_client.api import ApiClient


def attach(client: ApiClient, slug: str, role: str, path: Path, *, attach: bool = True) -> str:
    """Upload a zip, or a folder packed as a zip, and attach it unless it is only to be stored; returns its SHA-256."""
    return References(client).attach(slug, cast(ReferenceRole, role), path, attach=attach)["sha256"]


def prepare(client: ApiClient, slug: str, *, say: Callable[[str], None], every: float = 1.0) -> None:
    """Prepare both tracks and wait until they are ready, with progress to ``say``."""
    References(client).prepare(slug, say=say, every=every)
