"""``kennel admin file``: what participants of a competition may download."""

from pathlib import Path
from typing import Annotated

import typer

from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, Listing, answers, columns

app = typer.Typer(no_args_is_help=True, help="Data files for participants: list, offer, withdraw.")


@app.command("list")
@answers
def list_files(competition: Slug) -> Listing:
    """List the files that participants may download."""
    with open_admin() as admin:
        files = admin.data_files.all(competition)
    return Listing(files, columns("name", "bytes", "sha256", "offered=offered_at"), "No file is offered.")


@app.command()
@answers
def offer(
    competition: Slug,
    file: Annotated[Path | None, typer.Argument(help="What participants may download.")] = None,
    train: Annotated[bool, typer.Option("--train", help="Offer the attached training images.")] = False,
    name: Annotated[str, typer.Option(help="Its name there. Default: the file's, or train.zip.")] = "",
) -> Answer:
    """Offer a file to the participants of a competition, in place of an earlier one of that name."""
    if (file is None) is not train:
        raise typer.BadParameter("Name a file, or --train for the training images.")
    name = name or (file.name if file is not None else "train.zip")
    with open_admin() as admin:
        if file is None:
            stored = admin.data_files.offer_training_images(competition, name)
        else:
            stored = admin.data_files.offer(competition, file, name)
    return Answer(stored, f"{name}: {stored['bytes']:,} bytes, SHA-256 {stored['sha256']}")


@app.command()
@answers
def withdraw(competition: Slug, name: Annotated[str, typer.Argument(help="The file's name there.")]) -> Answer:
    """Offer a file no longer."""
    with open_admin() as admin:
        admin.data_files.withdraw(competition, name)
    return Answer({"name": name}, f"{name} is offered no longer.")
