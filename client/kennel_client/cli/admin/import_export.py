"""``kennel admin release``: data releases."""

from pathlib import Path
from typing import Annotated

import typer

from kennel_client.admin import ReleasedImages
from kennel_client.cli.connection import say, saying
from kennel_client.cli.output import AdminClient, Answer, Listing, Slug, View, answers, columns

app = typer.Typer()
ReleaseId = Annotated[str, typer.Argument(metavar="RELEASE", help="The release's ID, as shown by `list`.")]
Folder = Annotated[Path | None, typer.Option(help="Save the files in this folder.")]


@answers(app, "list")
def list_releases(admin: AdminClient, competition: Slug) -> Listing:
    """List the data releases of a competition."""
    releases = admin.releases.all(competition)
    shown = columns("id", "state", "images", "published=shown", "created=created_at", "manifest=sha256")
    return Listing(releases, shown, "There are no data releases yet.")


@answers(app)
def create(
    admin: AdminClient,
    competition: Slug,
    images: Annotated[ReleasedImages, typer.Option(help="Submissions whose images to include.")] = "none",
    new_names: Annotated[
        bool, typer.Option("--new-names", help="Use different pseudonyms from the last release.")
    ] = False,
    to: Folder = None,
    hand_out: Annotated[bool, typer.Option("--hand-out", help="Publish the release when it is complete.")] = False,
) -> Answer:
    """Create a data release, and wait until it is complete."""
    name = admin.releases.start(competition, images, new_names=new_names)["id"]
    release = admin.releases.wait(competition, name, see=saying(_stage))
    if to is not None:
        _download(admin, competition, name, folder=to)
    if hand_out:
        release = admin.releases.hand_out(competition, name)
    return _answer(release)


def _stage(release: View) -> str:
    return str(release["stage"] or release["state"])


def _download(admin: AdminClient, competition: str, release: str, *, folder: Path) -> None:
    for path in admin.releases.download(competition, release, folder):
        say(str(path))


def _answer(release: View) -> Answer:
    text = f"Release {release['id']}: {len(release['files'])} files, manifest {release['sha256']}."
    if release["shown"]:
        text += "\nEverybody can download it while the final board is published."
    return Answer(release, text)


@answers(app)
def download(
    admin: AdminClient,
    competition: Slug,
    release: ReleaseId,
    to: Annotated[Path, typer.Option(help="The folder for the files.")] = Path(),
) -> Answer:
    """Download the files of a release, and check each against its SHA-256."""
    _download(admin, competition, release, folder=to)
    return _answer(admin.releases.get(competition, release))


@answers(app)
def hand_out(admin: AdminClient, competition: Slug, release: ReleaseId) -> Answer:
    """Publish a release. Everybody can download it while the final board is published."""
    return _answer(admin.releases.hand_out(competition, release))


@answers(app)
def withdraw(admin: AdminClient, competition: Slug, release: ReleaseId) -> Answer:
    """Withdraw a release, so that only organizers can download it."""
    return _answer(admin.releases.take_back(competition, release))
