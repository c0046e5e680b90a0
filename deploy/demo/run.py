"""The demo from start to end: a whole competition on real photographs, through the public API, in a few minutes."""

import io
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from deploy.demo import report
from deploy.demo.accounts import new_token
from deploy.demo.entries import ENTRIES, DemoEntry
from deploy.demo.photographs import Photographs, bundled_photographs, photographs_in
from deploy.demo.report import SubmittedEntry
from deploy.standalone import service
from deploy.standalone.data_folder import default_data_folder, open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.run import print_greeting
from deploy.standalone.supervisor import Supervisor
from kennel_client.api import ApiClient
from kennel_client.errors import Refused
from kennel_client.references import prepare
from scorer.archive import write_images
from scorer.errors import Unavailable
from scorer.lifecycle import UNFINISHED

SEED = 2019
PUBLIC, PRIVATE = "efficientnet_lite0", "efficientnet_lite2"
BENCHMARK = "Held-out photographs"
PAPER_WIDTH = 110
"""Columns where the output is no terminal."""
FINAL_STATES = {"scored", "rejected", "failed", "cancelled"}


@dataclass(frozen=True)
class DemoPlan:
    """What to run: photographs from ``folder`` (None: the built-in ones), ``count`` images an entry, and only the
    first so many ``entries`` (None: all)."""

    folder: Path | None
    count: int
    entries: int | None


def run_demo(data_folder: Path | None, port: int, plan: DemoPlan, *, leave: bool) -> int:
    """Run the demo and serve until Ctrl-C (``leave``: stop at the end). 0 if every entry ended as expected."""
    start = time.monotonic()
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PAPER_WIDTH
    pictures = bundled_photographs(SEED) if plan.folder is None else photographs_in(plan.folder, seed=SEED)
    data_folder = data_folder or default_data_folder("kennel-demo")
    with (
        open_data_folder(data_folder) as data,
        (data.path / "kennel.log").open("a") as log,
        Supervisor(Log(log), signals=True, hold=[data.lock]) as supervisor,
    ):
        try:
            console.print(f"Starting Kennel (its log: {data.path / 'kennel.log'}) ...")
            running = service.start_service(supervisor, data, port=port)
            print_greeting(running, data.path)
            fine = run_competition(running, pictures, plan, console)
        except KeyboardInterrupt:
            return 130
        except Refused as error:
            # The sentence about a crashed part explains more than that about the request which failed because of it.
            raise Unavailable("demo", supervisor.failure or str(error)) from error
        if not leave:
            console.print(f"\nThe board is at [bold]{running.url}[/]. Ctrl-C stops the service.")
        console.print(total_time_line(time.monotonic() - start))
        if leave:
            return 0 if fine else 1
        return supervisor.run()


def total_time_line(seconds: float) -> str:
    """How long the demo took: ``The demo took 6 min 37 s.``"""
    minutes, rest = divmod(round(seconds), 60)
    return f"The demo took {f'{minutes} min ' if minutes else ''}{rest} s."


def run_competition(running: service.RunningService, pictures: Photographs, plan: DemoPlan, console: Console) -> bool:
    """Create a competition, submit all entries, print the report; True if every entry ended as expected."""
    start = time.monotonic()
    with ApiClient(running.url, new_token(running.settings, service.ADMIN, "admin")) as organizer:
        slug = create_competition(organizer, plan)
        console.print(f"Competition [bold]{slug}[/]: {report.photograph_line(pictures)}")
        attach_and_prepare(organizer, slug, pictures, console)
        submitted = submit_entries(running, organizer, slug, pictures, plan, console)
        first = wait_for_scores(submitted, organizer, slug, console, start)
        console.print(f"First score after {first:.0f} s, all entries after {time.monotonic() - start:.0f} s.")
        try:
            fine = report.print_report(organizer, running, slug, submitted, console, judge=plan.folder is None)
        except Exception:  # noqa: BLE001 - whatever it is, visitors may be using the service
            console.print_exception()
            console.print("[bold red]The report failed.[/] The service keeps running.")
            fine = False
    for each in submitted:
        each.client.close()
    return fine


def create_competition(organizer: ApiClient, plan: DemoPlan) -> str:
    """Create the competition under the first free slug, because competitions of earlier runs stay."""
    taken = {each["slug"] for each in organizer.get_list("/competitions", "competitions")}
    slug = next(name for number in range(1, 10_000) if (name := _slug(number)) not in taken)
    now = datetime.now(UTC)
    title = "Photographs from a folder" if plan.folder else "Sixty-four pixels of the world"
    organizer.post(
        "/competitions",
        {
            "slug": slug,
            "title": title,
            "description": (
                "Generate 64x64 tiles of real photographs. Some entries here learn, some only copy: "
                "the leaderboard is ranked by MiFID, the memorization-informed Fréchet distance."
            ),
            "image_count": plan.count,
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


def zip_of(images: np.ndarray[Any, Any]) -> io.BytesIO:
    """The images as PNGs in a zip."""
    buffer = io.BytesIO()
    write_images(images, buffer)
    buffer.seek(0)
    return buffer


def attach_and_prepare(organizer: ApiClient, slug: str, pictures: Photographs, console: Console) -> None:
    """Upload the reference images by role and prepare both tracks."""
    for role in ("train", "held_out", "private_extra"):
        organizer.attach_references(slug, role, zip_of(getattr(pictures, role).images))
    with console.status("preparing the references"):
        prepare(organizer, slug, say=lambda line: console.print(f"  {line}"), every=0.5)


def submit_entries(
    running: service.RunningService,
    organizer: ApiClient,
    slug: str,
    pictures: Photographs,
    plan: DemoPlan,
    console: Console,
) -> list[SubmittedEntry]:
    """Generate every entry and upload it with its own participant's token; the benchmark is the organizer's."""
    submitted = []
    for number, entry in enumerate(ENTRIES[: plan.entries]):
        with console.status(f"{entry.team}: {entry.description}"):
            images = entry.generate(pictures.train.images, plan.count, np.random.default_rng([SEED, number]))
            client = ApiClient(running.url, participant_token(running, slug, entry))
            answer = client.submit(slug, zip_of(images), file_name=f"{entry.key}.zip", note=entry.description)
        submitted.append(SubmittedEntry(entry, client, answer["id"]))
    held_out = pictures.held_out.images
    if len(held_out) >= plan.count:
        file = zip_of(held_out[: plan.count])
        answer = organizer.submit(slug, file, file_name="held-out.zip", benchmark=BENCHMARK)
        submitted.append(SubmittedEntry(None, organizer, answer["id"]))
    else:
        console.print(f"Only {len(held_out)} photographs are held out: no benchmark entry of {plan.count} images.")
    console.print(f"{len(submitted)} entries of {plan.count} images are handed in.")
    return submitted


def participant_token(running: service.RunningService, slug: str, entry: DemoEntry) -> str:
    """Create a participant for an entry of this run; returns the token."""
    handle = f"{entry.key}-{slug}"[:39].strip("-.")
    return new_token(running.settings, handle, "participant", name=entry.team)


def wait_for_scores(
    submitted: Sequence[SubmittedEntry], organizer: ApiClient, slug: str, console: Console, start: float
) -> float:
    """Wait until every entry has ended on both tracks; returns the seconds from ``start`` to the first score."""
    first = None
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        public = progress.add_task("public scores", total=len(submitted))
        private = progress.add_task("private scores", total=len(submitted))
        while True:
            by_id = {
                each["id"]: each for each in organizer.get_list(f"/competitions/{slug}/submissions", "submissions")
            }
            views = [by_id[each.submission_id] for each in submitted]
            ended = [each for each in views if each["status"] in FINAL_STATES]
            settled = [each for each in views if each["private_state"] not in {None, *UNFINISHED}]
            unscored = [each for each in ended if each["status"] != "scored" and each not in settled]
            if first is None and any(each["status"] == "scored" for each in ended):
                first = time.monotonic() - start
            progress.update(public, completed=len(ended))
            progress.update(private, completed=len(settled) + len(unscored))
            if len(ended) == len(submitted) == len(settled) + len(unscored):
                return first or float("nan")
            time.sleep(1.0)
