"""What to open after the demo: five pages, in a terminal each with a link that signs in once as one of its users."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from rich.console import Console

from deploy.demo.accounts import ORGANIZER, reviewer_handle
from deploy.demo.scores import SubmittedEntry
from deploy.standalone.service import ADMIN, RunningService
from scorer.accounts import sign_in_links
from scorer.accounts.administration import find_account
from scorer.db.session import connected


@dataclass(frozen=True)
class Page:
    """A page to open: its path, what it shows, and the handle of an account that uses it."""

    path: str
    shows: str
    handle: str


def pages_of(slug: str, submitted: Sequence[SubmittedEntry]) -> list[Page]:
    """The five pages, each for another account: an account has one sign-in link at a time."""
    entries = [each for each in submitted if each.entry is not None]
    return [
        Page(f"/competitions/{slug}", "the leaderboard, as a participant", entries[0].handle),
        Page(f"/submissions/{entries[-1].submission_id}", "an entry, as its team", entries[-1].handle),
        Page(f"/competitions/{slug}/desk", "the review queue, as a reviewer", reviewer_handle(slug, 1)),
        Page(f"/competitions/{slug}/tau", "the thresholds, as the organizer", ORGANIZER),
        Page("/admin/jobs", "the jobs of the workers, as an admin", ADMIN),
    ]


def print_pages(running: RunningService, slug: str, submitted: Sequence[SubmittedEntry], console: Console) -> None:
    """Print the pages; to a terminal also the links, which would be secrets in a log."""
    console.print("\n[bold]To open:[/]")
    for page in pages_of(slug, submitted):
        console.print(f"{running.url}{page.path}  {page.shows}", markup=False, soft_wrap=True)
        if console.is_terminal:
            console.print(f"  sign in: {_sign_in_link(running, page)}", markup=False, soft_wrap=True)
    if console.is_terminal:
        console.print("Each link works once, within an hour.")


def _sign_in_link(running: RunningService, page: Page) -> str:
    secret, now = secrets.token_urlsafe(32), datetime.now(UTC)
    with connected(running.settings) as sessions, sessions.begin() as session:
        account = find_account(session, page.handle)
        return sign_in_links.link_for(session, account, secret=secret, site=running.url, onward=page.path, now=now)
