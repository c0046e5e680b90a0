"""``kennel submit``, ``status`` and ``cancel``."""

import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from deploy.client import Client, Refused, opened, segment
from deploy.exits import Exit
from deploy.participant import entering, showing
from deploy.participant.boards import accept_rules
from deploy.participant.connecting import connected, err, left_alone
from deploy.participant.following import follow
from deploy.participant.options import IDS, PANEL, AsJson, Slug, Watch
from deploy.participant.remembered import Remembered, promised
from deploy.progress import shown
from scorer.lifecycle import PENDING, Status

app = typer.Typer()
LONGEST_NAME = 200
SHOWN = 50
UNLUCKY = frozenset({Status.REJECTED, Status.FAILED, Status.CANCELLED})
RESTING = "Stopped. What has arrived is kept for a day: the same command goes on from there."


@app.command(rich_help_panel=PANEL)
def submit(
    competition: Slug,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The zip of images.")],
    note: Annotated[str, typer.Option(help="What your team wants to remember of it.")] = "",
    watch: Watch = False,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Look at the images here before sending.")] = True,
    as_json: AsJson = False,
) -> None:
    """Hand an entry in: check it here, upload it, and with --watch follow it to its score.

    An upload that breaks off goes on by itself; after a restart, the same command goes on where it stopped.
    """
    with connected(as_json=as_json, uploading=True) as client, opened(file) as content:
        memory = promised(client.url, competition, content, file_name=file.name[-LONGEST_NAME:], note=note)
        submission = _handed_in(client, memory, content, check=check, ask=not as_json)
        if not as_json:
            _tell_arrival(client, memory, submission, watch=watch)
        if watch:
            _follow(client, submission)
        view = client.get(f"/submissions/{submission}")
    if watch or as_json:
        _answer(client, view, as_json=as_json)
    raise typer.Exit(_exit_of(view))


def _handed_in(client: Client, memory: Remembered, content: BinaryIO, *, check: bool, ask: bool) -> str:
    try:
        upload = entering.begin(client, memory)
    except Refused as refusal:
        if refusal.slug != "rules-not-accepted" or not ask or not _accepts_rules(client, memory.promise.slug):
            raise
        upload = entering.begin(client, memory)
    if upload["offset"] > 0:
        err.print(f"Going on with an upload begun earlier: {upload['offset'] / upload['length']:.0%} is there.")
    with left_alone(RESTING), shown(err) as progress:
        if check and entering.is_fresh(upload):
            entering.check(client, memory, upload, content, progress)
        return entering.send(client, memory, content, progress)


def _accepts_rules(client: Client, slug: str) -> bool:
    """Whether somebody at the terminal reads the rules and accepts them."""
    if not sys.stdin.isatty() or not err.is_terminal:
        return False
    found = client.get(f"/competitions/{segment(slug)}")
    showing.rules(err, found)
    if not typer.confirm("Do you accept these rules?", err=True):
        return False
    accept_rules(client, found)
    return True


def _tell_arrival(client: Client, memory: Remembered, submission: str, *, watch: bool) -> None:
    print(f"{memory.promise.file_name} is entry {submission}: {client.url}/submissions/{submission}")
    with suppress(Refused):  # the entry is in, whatever happens now
        print(showing.limits_in_words(client.get(f"/competitions/{segment(memory.promise.slug)}/limits")))
    if not watch:
        print(f"`kennel status {submission} --watch` follows it.")


def _follow(client: Client, submission: str) -> None:
    words = f"The entry goes on without you; `kennel status {submission} --watch` comes back to it."
    with left_alone(words):
        follow(client, submission, err)


def _answer(client: Client, view: dict[str, Any], *, as_json: bool) -> None:
    page = f"{client.url}/submissions/{view['id']}"
    showing.answer(view | {"page": page}, partial(showing.entry, view=view, page=page), as_json=as_json)


def _exit_of(*views: dict[str, Any]) -> Exit:
    return Exit.FAULTY if any(view["status"] in UNLUCKY for view in views) else Exit.DONE


@app.command(rich_help_panel=PANEL, context_settings=IDS)
def status(
    submission: Annotated[str | None, typer.Argument(metavar="[ID]", help="An entry; without it, all.")] = None,
    competition: Annotated[str | None, typer.Option(help="Only entries of this competition.")] = None,
    watch: Watch = False,
    as_json: AsJson = False,
) -> None:
    """Show your team's newest entries, or one of them; with --watch, follow what is under way to its end."""
    with connected(as_json=as_json) as client:
        if submission is not None:
            if watch:
                _follow(client, submission)
            view = client.get(f"/submissions/{segment(submission)}")
            _answer(client, view, as_json=as_json)
            raise typer.Exit(_exit_of(view))
        views = _own(client, competition)
        watched = [view["id"] for view in reversed(views) if watch and view["status"] in PENDING]
        for each in watched:
            _follow(client, each)
        if watched:
            views = _own(client, competition)
    showing.answer(views, partial(showing.entries, views=views), as_json=as_json)
    raise typer.Exit(_exit_of(*(view for view in views if view["id"] in watched)))


def _own(client: Client, competition: str | None) -> list[dict[str, Any]]:
    """The team's newest entries, of one competition or of all."""
    slugs = [competition] if competition else [each["slug"] for each in client.get("/competitions")]
    found = [
        view
        for slug in slugs
        for view in client.get(f"/competitions/{segment(slug)}/submissions", limit=SHOWN)["submissions"]
    ]
    return sorted(found, key=lambda view: int(view["ref"]), reverse=True)[:SHOWN]


@app.command(rich_help_panel=PANEL, context_settings=IDS)
def cancel(submission: Annotated[str, typer.Argument(metavar="ID")], as_json: AsJson = False) -> None:
    """Take an entry back before its scoring begins: it is not counted."""
    with connected(as_json=as_json) as client:
        view = client.post(f"/submissions/{segment(submission)}/cancel")
    _answer(client, view, as_json=as_json)
