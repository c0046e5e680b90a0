"""``kennel admin reference``: the images that entries are measured against."""

from pathlib import Path
from typing import Annotated

import typer

from kennel_client.admin.admin import Admin
from kennel_client.admin.references import TRACKS, ReferenceRole
from kennel_client.api import ApiClient, segment
from kennel_client.cli.admin.competitions import competition_answer
from kennel_client.cli.connection import err, open_admin
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, Listing, answers, columns
from kennel_client.errors import Refused

app = typer.Typer(no_args_is_help=True, help="Reference images: attach and prepare, show.")


@app.command()
@answers
def attach(
    competition: Slug,
    train: Annotated[Path, typer.Option(help="Zip or folder: what participants may train on.")],
    held_out: Annotated[Path | None, typer.Option(help="Zip or folder: real, never published.")] = None,
    private_extra: Annotated[
        Path | None, typer.Option(help="Zip or folder: in the private track's reference only.")
    ] = None,
    public_features: Annotated[
        Path | None, typer.Option(help="Features (.npz) that the public track is measured against.")
    ] = None,
    private_features: Annotated[Path | None, typer.Option(help="The same for the private track.")] = None,
) -> Answer:
    """Attach reference images to a competition and prepare both tracks; returns when they are ready."""
    given: dict[ReferenceRole, Path | None] = {"train": train, "held_out": held_out, "private_extra": private_extra}
    given |= {"public_features": public_features, "private_features": private_features}
    with open_admin() as admin:
        _require_weights(admin, competition)
        for role, path in given.items():
            if path is not None:
                attached = admin.references.attach(competition, role, path)
                _say(" ".join(filter(None, (f"{role}: {path} is attached.", attached.get("ignored")))))
        admin.references.prepare(competition, say=_say)
        return competition_answer(admin.api.get(f"/competitions/{segment(competition)}"))


def _require_weights(admin: Admin[ApiClient], competition: str) -> None:
    """``Refused`` before anything is uploaded if no worker has the weights that the tracks need."""
    views = [admin.references.preparation(competition, track) for track in TRACKS]
    faults = list(dict.fromkeys(fault for view in views if (fault := view.get("missing_weights"))))
    if faults:
        title = "The references cannot be prepared yet, so nothing was uploaded."
        raise Refused(409, {"type": "urn:kennel:problem:no-worker-with-weights", "title": title, "faults": faults})


def _say(line: str) -> None:
    err.print(line, markup=False, soft_wrap=True)


@app.command()
@answers
def show(competition: Slug) -> Listing:
    """Show how far the references of both tracks are prepared."""
    with open_admin() as admin:
        tracks = [{"track": track, **admin.references.preparation(competition, track)} for track in TRACKS]
    return Listing(tracks, columns("track", "state", "images", "stage", "error"), "There are no tracks.")
