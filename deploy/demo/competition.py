"""The demo's competition: create it, prepare its references, generate and submit its entries."""

import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO

import numpy as np
from rich.console import Console

from deploy.demo.accounts import ORGANIZER, REVIEWERS, handle_in, new_token, reviewer_handle
from deploy.demo.entries import ENTRIES, DemoEntry
from deploy.demo.photographs import Photographs
from deploy.demo.plan import SEED, DemoPlan
from deploy.demo.scores import SubmittedEntry
from deploy.standalone.service import RunningService
from kennel_client.admin import References
from kennel_client.api import ApiClient
from scorer.archive import write_images

PUBLIC, PRIVATE = "efficientnet_lite0", "efficientnet_lite2"
BENCHMARK = "Held-out photographs"


def create_competition(organizer: ApiClient, plan: DemoPlan) -> str:
    """Create the competition with the first free slug: competitions of earlier runs stay."""
    taken = {competition["slug"] for competition in organizer.get_list("/competitions", "competitions")}
    slug = next(name for number in range(1, 10_000) if (name := _slug(number)) not in taken)
    now = datetime.now(UTC)
    title = "Photographs from a folder" if plan.folder else "Sixty-four pixels of the world"
    organizer.post(
        "/competitions",
        {
            "slug": slug,
            "title": title,
            "description": (
                "Generate 64x64 tiles of real photographs. Some entries learn, others only copy. "
                "The leaderboard is ranked by MiFID, the memorization-informed Fréchet distance."
            ),
            "image_count": plan.images,
            "image_size": 64,
            "opens_at": now.isoformat(),
            "closes_at": (now + timedelta(days=30)).isoformat(),
            "medals": {"gold": 1, "silver": 2, "bronze": 3},
            "public": {"extractor": PUBLIC},
            "private": {"extractor": PRIVATE},
        },
    )
    return slug


def _slug(number: int) -> str:
    return "photographs" if number == 1 else f"photographs-{number}"


def appoint_reviewers(running: RunningService, organizer: ApiClient, slug: str) -> None:
    """Create the competition's reviewers and let them accept their roles."""
    for number, name in enumerate(REVIEWERS, 1):
        handle = reviewer_handle(slug, number)
        with ApiClient(running.url, new_token(running.settings, handle, "participant", name=name)) as person:
            organizer.put(f"/competitions/{slug}/roles/{handle}", {"role": "reviewer"})
            person.call("PUT", f"/competitions/{slug}/role")


def prepare_and_submit(
    running: RunningService,
    organizer: ApiClient,
    slug: str,
    *,
    pictures: Photographs,
    plan: DemoPlan,
    console: Console,
) -> list[SubmittedEntry]:
    """Attach the references, prepare both tracks and meanwhile generate the entries; then submit all entries."""
    for role in ("train", "held_out", "private_extra"):
        with write_temporary_zip(getattr(pictures, role).images) as file:
            organizer.attach_references(slug, role, file)
    with ThreadPoolExecutor(1) as pool, console.status("preparing the references and generating the entries"):
        generating = pool.submit(generate_entries, pictures, plan)
        References(organizer).prepare(slug, say=lambda line: console.print(f"  {line}"), every=0.5)
        zips = generating.result()
    submitted = [
        _submit(running, slug, entry, zip_file=zip_file)
        for entry, zip_file in zip(ENTRIES[: plan.entries], zips, strict=True)
    ]
    held_out = pictures.held_out.images
    if len(held_out) >= plan.images:
        with write_temporary_zip(held_out[: plan.images]) as file:
            answer = organizer.submit(slug, file, file_name="held-out.zip", benchmark=BENCHMARK)
        submitted.append(SubmittedEntry(None, organizer, answer["id"], ORGANIZER))
    else:
        console.print(
            f"There are only {len(held_out)} held-out images, too few for a benchmark entry of {plan.images} images."
        )
    console.print(f"{len(submitted)} entries of {plan.images} images submitted.")
    return submitted


def generate_entries(pictures: Photographs, plan: DemoPlan) -> Sequence[BinaryIO]:
    return [
        write_temporary_zip(entry.generate(pictures.train.images, plan.images, np.random.default_rng([SEED, number])))
        for number, entry in enumerate(ENTRIES[: plan.entries])
    ]


def write_temporary_zip(images: np.ndarray[Any, Any]) -> BinaryIO:
    file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    write_images(images, file)
    file.seek(0)
    return file


def _submit(running: RunningService, slug: str, entry: DemoEntry, *, zip_file: BinaryIO) -> SubmittedEntry:
    """Submit an entry with the token of its participant, who is created for this run, and close its zip."""
    handle = handle_in(slug, entry.key)
    client = ApiClient(running.url, new_token(running.settings, handle, "participant", name=entry.team))
    with zip_file:
        answer = client.submit(slug, zip_file, file_name=f"{entry.key}.zip", note=entry.description)
    return SubmittedEntry(entry, client, answer["id"], handle)
