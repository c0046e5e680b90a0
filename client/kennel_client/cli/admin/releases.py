"""``kennel admin release``: data releases."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from kennel_client.admin.admin import Admin
from kennel_client.api import ApiClient
from kennel_client.cli.connection import err, open_admin
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, Listing, View, answers, columns
from kennel_client.cli.polling import wait_until
from kennel_client.errors import Refused

app = typer.Typer(no_args_is_help=True, help="Data releases: make, download, hand out.")
ReleaseId = Annotated[str, typer.Argument(metavar="RELEASE", help="The release's id, as `list` shows it.")]
Folder = Annotated[Path | None, typer.Option(help="Save its files in this folder.")]


@app.command("list")
@answers
def list_releases(competition: Slug) -> Listing:
    """List the data releases of a competition."""
    with open_admin() as admin:
        releases = admin.releases.all(competition)
    shown = columns("id", "state", "images", "handed out=shown", "created=created_at", "manifest=sha256")
    return Listing(releases, shown, "There are no releases.")


@app.command()
@answers
def create(
    competition: Slug,
    images: Annotated[
        Literal["none", "ranked", "all"], typer.Option(help="Whose images: none, ranked or all.")
    ] = "none",
    new_names: Annotated[bool, typer.Option("--new-names", help="Draw new pseudonyms.")] = False,
    to: Folder = None,
    hand_out: Annotated[bool, typer.Option("--hand-out", help="Let everybody have it.")] = False,
) -> Answer:
    """Make a data release and wait for it."""
    with open_admin() as admin:
        name = admin.releases.start(competition, images, new_names=new_names)["id"]
        release = wait_until(_is_over, lambda: admin.releases.get(competition, name), _stage)
        if release["state"] != "done":
            raise Refused(0, {"title": f"The release could not be made: {release['error']}"})
        if to is not None:
            _download(admin, competition, name, to)
        if hand_out:
            release = admin.releases.hand_out(competition, name)
    return _answer(release)


def _is_over(release: View) -> bool:
    return release["state"] not in {"waiting", "running"}


def _stage(release: View) -> str:
    return str(release["stage"] or release["state"])


def _download(admin: Admin[ApiClient], competition: str, release: str, folder: Path) -> None:
    for path in admin.releases.download(competition, release, folder):
        err.print(str(path), markup=False, soft_wrap=True)


def _answer(release: View) -> Answer:
    text = f"Release {release['id']}: {len(release['files'])} files, manifest {release['sha256']}."
    if release["shown"]:
        text += "\nEverybody may have it while the final board is published."
    return Answer(release, text)


@app.command()
@answers
def download(
    competition: Slug,
    release: ReleaseId,
    to: Annotated[Path, typer.Option(help="The folder for its files.")] = Path(),
) -> Answer:
    """Download the files of a release, and compare each with its SHA-256."""
    with open_admin() as admin:
        _download(admin, competition, release, to)
        return _answer(admin.releases.get(competition, release))


@app.command()
@answers
def hand_out(competition: Slug, release: ReleaseId) -> Answer:
    """Let everybody have a release while the final board is published."""
    with open_admin() as admin:
        return _answer(admin.releases.hand_out(competition, release))


@app.command()
@answers
def withdraw(competition: Slug, release: ReleaseId) -> Answer:
    """Let organizers alone have a release."""
    with open_admin() as admin:
        return _answer(admin.releases.take_back(competition, release))
