"""``kennel submit``, ``status``, ``cancel`` and ``generator``: a team's submissions."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import typer
from rich.markup import escape

from kennel_client.api import ApiClient, open_file, segment
from kennel_client.cli import tables
from kennel_client.cli.competitions import accepts_rules
from kennel_client.cli.connection import err, interruptible, open_client, reported_errors, say, saying
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.formatting import format_duration, format_time
from kennel_client.cli.output import (
    IDS,
    Answer,
    LatentClasses,
    LatentDimension,
    LatentDistribution,
    Listing,
    Slug,
    SubmissionId,
    Watch,
    answers,
    columns,
)
from kennel_client.errors import Refused, naming
from kennel_client.operations import MAX_NAME_LENGTH
from kennel_client.progress import show_progress
from kennel_client.results import FINISHED, UNSUCCESSFUL
from kennel_client.resumable import ResumableUpload, open_resumable_upload
from kennel_client.submit import begin_upload, finish_upload
from kennel_client.waiting import State, follow


def event_text(state: State) -> str:
    """A submission's state as a line: ``queued (position 3, about 4 min)``, ``scoring: features 62 %``."""
    if state["stage_in_words"]:
        share = "" if state["fraction"] is None else f" {100 * state['fraction']:.0f} %"
        return f"{state['status']}: {state['stage_in_words']}{share}"
    place = f"position {state['queue_position']}" if state["queue_position"] else ""
    wait = f"about {format_duration(state['estimate_seconds'])}" if state["estimate_seconds"] else ""
    paused = "scoring is paused" if state.get("paused") else ""
    details = ", ".join(filter(None, (place, wait, paused)))
    return f"{state['status']} ({details})" if details else str(state["status"])


@contextmanager
def _shown_states() -> Iterator[Callable[[State], None]]:
    """Show states on standard error: one updated line on a terminal, else a line per status, stage and position."""
    if err.is_terminal:
        with err.status("following") as status:
            yield lambda state: status.update(escape(event_text(state)))
        return
    last_shown: tuple[object, ...] = ()

    def show(state: State) -> None:
        nonlocal last_shown
        now = state["status"], state["stage"], state["queue_position"], state.get("paused")
        if now != last_shown:
            last_shown = now
            say(event_text(state))

    yield show


app = typer.Typer()
MAX_SHOWN = 50
INTERRUPTED_MESSAGE = "Stopped. The upload is kept for a day; run the same command again to continue."


@answers(app)
def submit(
    competition: Slug,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The zip of images, or the ONNX file of a generator.")],
    note: Annotated[str, typer.Option(help="A note for your team.")] = "",
    watch: Watch = False,
    latent: LatentDimension = None,
    distribution: LatentDistribution = None,
    classes: LatentClasses = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Check a zip's images on this machine before uploading.")
    ] = True,
    as_json: bool = False,
) -> Answer:
    """Submit a zip of images, which is first checked on this machine, or a generator. With --watch, follow it until it
    is scored.

    Uploads resume automatically after a lost connection. If the command was stopped, run it again to continue.
    """
    with reported_errors(as_json=as_json, uploading=True), open_client() as client, open_file(file) as content:
        resumable = open_resumable_upload(
            client.url,
            competition,
            content,
            file_name=file.name[-MAX_NAME_LENGTH:],
            note=note,
            latent={"latent": latent, "distribution": distribution, "classes": classes},
        )
        with naming(file):
            submission, repeated = _submit_file(client, resumable, content, check=check, ask=not as_json)
        view = client.get(f"/submissions/{submission}")
        accepted = _accepted_text(client, resumable, view, watch=watch, repeated=repeated)
        if watch:
            if not as_json:
                print(accepted)
            _follow(client, submission)
            return _answer(client, client.get(f"/submissions/{submission}"))
        return replace(_answer(client, view), text=accepted)


def _submit_file(
    client: ApiClient, resumable: ResumableUpload, content: BinaryIO, *, check: bool, ask: bool
) -> tuple[str, bool]:
    """The ID of the submission, and whether it is an earlier one with the same file."""
    try:
        upload = client.run(begin_upload(resumable))
    except Refused as refusal:
        if refusal.slug != "rules-not-accepted" or not ask or not accepts_rules(client, resumable.pending.slug):
            raise
        upload = client.run(begin_upload(resumable))
    if upload["offset"] > 0 and not upload["repeated"]:
        err.print(f"Continuing an earlier upload; {upload['offset'] / upload['length']:.0%} has arrived.")
    with interruptible(INTERRUPTED_MESSAGE), show_progress(err) as progress:
        submission = client.run(
            finish_upload(resumable, upload, content, progress=progress, check=check, waiting=saying(_retry_text))
        )
    return submission, upload["repeated"]


def _retry_text(reason: str) -> str:
    return f"{reason} Trying again."


def _accepted_text(
    client: ApiClient, resumable: ResumableUpload, view: dict[str, Any], *, watch: bool, repeated: bool
) -> str:
    submission = view["id"]
    page = f"{client.url}/submissions/{submission}"
    if repeated:
        lines = [f"This file is submission {submission}, submitted on {format_time(view['accepted_at'])}: {page}"]
    else:
        lines = [f"{resumable.pending.file_name} is submission {submission}: {page}"]
    if view.get("ignored"):
        lines.append(view["ignored"])
    with suppress(Refused):  # the submission is accepted; the quota is only extra information
        lines.append(tables.quota_text(client.get(f"/competitions/{segment(resumable.pending.slug)}/limits")))
    if not watch:
        lines.append(f"Run `kennel status {submission} --watch` to follow it.")
    return "\n".join(lines)


def _follow(client: ApiClient, submission: str) -> None:
    message = f"Scoring continues without this command; run `kennel status {submission} --watch` to follow it again."
    with interruptible(message), _shown_states() as show:
        client.run(follow(submission, show, say))


def _answer(client: ApiClient, view: dict[str, Any]) -> Answer:
    page = f"{client.url}/submissions/{view['id']}"
    return Answer(
        view | {"page": page}, partial(tables.print_submission, view=view, page=page), _choose_exit_code(view)
    )


def _choose_exit_code(*views: dict[str, Any]) -> ExitCode:
    return ExitCode.FAULTY if any(view["status"] in UNSUCCESSFUL for view in views) else ExitCode.DONE


@answers(app, **IDS)
def status(
    submission: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The submission's ID. Default: all submissions.")
    ] = None,
    competition: Annotated[str | None, typer.Option(help="Only submissions to this competition.")] = None,
    watch: Watch = False,
) -> Answer | Listing:
    """Show your team's newest submissions, or one submission. With --watch, follow those in progress until they
    finish.
    """
    with open_client() as client:
        if submission is not None:
            if watch:
                _follow(client, submission)
            return _answer(client, client.get(f"/submissions/{segment(submission)}"))
        views = _own_submissions(client, competition)
        watched = [view["id"] for view in reversed(views) if watch and view["status"] not in FINISHED]
        for submission_id in watched:
            _follow(client, submission_id)
        if watched:
            views = _own_submissions(client, competition)
    exit_code = _choose_exit_code(*(view for view in views if view["id"] in watched))
    shown = columns("id", "competition") | {
        "status": tables.status_text,
        "MiFID": tables.score_text,
        "accepted": lambda view: view["accepted_at"],
        "file": lambda view: " · ".join(filter(None, (view["file_name"], view["note"]))),
    }
    return Listing(views, shown, "There are no submissions yet. Run `kennel submit` to create one.", exit_code)


def _own_submissions(client: ApiClient, competition: str | None) -> list[dict[str, Any]]:
    visible = [] if competition else client.get_list("/competitions", "competitions")
    slugs = [competition] if competition else [view["slug"] for view in visible]
    views = [
        view
        for slug in slugs
        for view in client.get(f"/competitions/{segment(slug)}/submissions", limit=MAX_SHOWN)["submissions"]
    ]
    return sorted(views, key=lambda view: int(view["ref"]), reverse=True)[:MAX_SHOWN]


@answers(app, **IDS)
def cancel(submission: SubmissionId) -> Answer:
    """Cancel a submission before its scoring starts. It then does not count towards your daily limit."""
    with open_client() as client:
        view = client.post(f"/submissions/{segment(submission)}/cancel")
        return replace(_answer(client, view), exit_code=ExitCode.DONE)


@answers(app, **IDS)
def generator(
    submission: Annotated[
        str, typer.Argument(metavar="ID", help="ID of the submission whose images the generator made.")
    ],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="The ONNX file. Default: show the state and result of the audit."),
    ] = None,
    latent: Annotated[int | None, typer.Option(min=1, help="The latent dimension; required with FILE.")] = None,
    distribution: Annotated[
        Literal["normal", "uniform"],
        typer.Option(help="Distribution of the latents: standard normal, or uniform on [-1, 1]."),
    ] = "normal",
    as_json: bool = False,
) -> Answer:
    """Upload a submission's generator as an ONNX file, or show the state and result of its audit."""
    if (file is None) != (latent is None):
        raise typer.BadParameter("FILE and --latent can only be used together.")
    path = f"/submissions/{segment(submission)}/generator"
    with reported_errors(as_json=as_json, uploading=file is not None), open_client() as client:
        if file is None:
            view = client.get(path)
        else:
            with open_file(file) as content:
                declared = {"latent": latent, "distribution": distribution}
                view = client.upload("PUT", path, content, media="application/octet-stream", **declared)
    exit_code = ExitCode.FAULTY if view["state"] in {"refused", "failed"} else ExitCode.DONE
    return Answer(view, partial(tables.print_generator, view=view), exit_code)
