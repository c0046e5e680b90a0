"""The complete demo: a competition on real photographs, through the public API, in a few minutes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

import migrations
from deploy.demo import competition, report
from deploy.demo.accounts import ORGANIZER, new_token, reviewer_handle
from deploy.demo.photographs import Photographs, bundled_photographs, photographs_in
from deploy.demo.plan import SEED, USUAL_REFERENCES, DemoPlan
from deploy.demo.scores import Scores, SubmittedEntry
from deploy.standalone import service
from deploy.standalone.data_folder import default_data_folder, open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.run import print_greeting
from deploy.standalone.service import ADMIN, RunningService
from deploy.standalone.supervisor import Supervisor
from kennel_client.api import ApiClient
from kennel_client.errors import Refused
from scorer.errors import Unavailable

PAPER_WIDTH = 110
"""Columns if the output is not a terminal."""


def run_demo(data_folder: Path | None, port: int, plan: DemoPlan, *, leave: bool) -> int:
    """Run the demo and serve until Ctrl-C, or stop at the end with ``leave``. Returns 0 if every entry ended as
    expected. If the data folder belongs to a development version, the demo uses another folder next to it.
    """
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PAPER_WIDTH
    folder = (data_folder or default_data_folder("kennel-demo")).expanduser().absolute()
    try:
        return _run_in(folder, port, plan, console=console, leave=leave)
    except Unavailable as error:
        if error.slug != migrations.DEVELOPMENT:
            raise
        other = folder.with_name(f"{folder.name}-2")
        console.print(f"{error.message} The demo starts in {other} instead of {folder}.")
        return _run_in(other, port, plan, console=console, leave=leave)


def _run_in(data_folder: Path, port: int, plan: DemoPlan, *, console: Console, leave: bool) -> int:
    start = time.monotonic()
    pictures = _load_photographs(plan)
    with (
        open_data_folder(data_folder) as data,
        (data.path / "kennel.log").open("a") as log,
        Supervisor(Log(log), signals=True, hold=[data.lock]) as supervisor,
    ):
        try:
            console.print(f"Starting Kennel (its log: {data.path / 'kennel.log'}) ...")
            running = service.start_service(supervisor, data, port=port)
            print_greeting(running, data.path)
            succeeded = run_competition(running, pictures, plan, console=console, start=start, leave=leave)
        except KeyboardInterrupt:
            return 130
        except Refused as error:
            # the sentence about a crashed part explains more than the failed request's
            raise Unavailable("demo", supervisor.failure or str(error)) from error
        if not leave:
            console.print("Kennel keeps running until Ctrl-C.")
        console.print(total_time_line(time.monotonic() - start))
        if leave:
            return 0 if succeeded else 1
        return supervisor.run()


def _load_photographs(plan: DemoPlan) -> Photographs:
    if plan.folder is not None:
        return photographs_in(plan.folder, seed=SEED, **({} if plan.full else USUAL_REFERENCES))
    pictures = bundled_photographs(SEED)
    return pictures if plan.full else pictures.first(USUAL_REFERENCES)


def total_time_line(seconds: float) -> str:
    """The demo's duration: ``The demo took 6 min 37 s.``"""
    minutes, rest = divmod(round(seconds), 60)
    return f"The demo took {f'{minutes} min ' if minutes else ''}{rest} s."


def run_competition(
    running: service.RunningService,
    pictures: Photographs,
    plan: DemoPlan,
    *,
    console: Console,
    start: float,
    leave: bool,
) -> bool:
    """Returns True if every entry ended as expected. ``start`` is the demo's start time."""
    token = new_token(running.settings, ORGANIZER, "organizer", name="The organizers")
    with ApiClient(running.url, token) as organizer:
        slug = competition.create_competition(organizer, plan)
        competition.appoint_reviewers(running, organizer, slug)
        console.print(f"Competition [bold]{slug}[/]: {report.photograph_line(pictures)}")
        submitted = competition.prepare_and_submit(
            running, organizer, slug, pictures=pictures, plan=plan, console=console
        )
        scores = Scores(organizer, console, start)
        scores.print_all(submitted)
        console.print(
            f"First score after {scores.first or 0:.0f} s, all scores after {time.monotonic() - start:.0f} s."
        )
        try:
            succeeded = report.print_report(organizer, running, slug, submitted=submitted, console=console, plan=plan)
        except Exception:  # noqa: BLE001 - whatever it is, visitors may be using the service
            console.print_exception()
            console.print("[bold red]The report failed.[/] The service keeps running.")
            succeeded = False
    for submission in submitted:
        submission.client.close()
    if not leave:
        print_pages(running, slug, submitted, console=console)
    return succeeded


@dataclass(frozen=True)
class Page:
    path: str
    shows: str
    handle: str


def list_pages(slug: str, submitted: Sequence[SubmittedEntry]) -> list[Page]:
    """The five pages, each for a different account, because an account has only one sign-in link at a time."""
    entries = [submission for submission in submitted if submission.entry is not None]
    return [
        Page(f"/competitions/{slug}", "the leaderboard, as a participant", entries[0].handle),
        Page(f"/submissions/{entries[-1].submission_id}", "an entry, as its team", entries[-1].handle),
        Page(f"/competitions/{slug}/review-queue", "the review queue, as a reviewer", reviewer_handle(slug, 1)),
        Page(f"/competitions/{slug}/tau", "the thresholds, as the organizer", ORGANIZER),
        Page("/admin/jobs", "the jobs of the workers, as an admin", ADMIN),
    ]


def print_pages(running: RunningService, slug: str, submitted: Sequence[SubmittedEntry], *, console: Console) -> None:
    """Print the pages; on a terminal also the links, which must not appear in a log."""
    console.print("\n[bold]Pages to open:[/]")
    for page in list_pages(slug, submitted):
        console.print(f"{running.url}{page.path}  {page.shows}", markup=False, soft_wrap=True)
        if console.is_terminal:
            link = service.sign_in_address(running.settings, page.handle, page.path)
            console.print(f"  sign in: {link}", markup=False, soft_wrap=True)
    if console.is_terminal:
        console.print("Each link works once, within an hour.")
