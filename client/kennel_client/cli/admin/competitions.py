"""``kennel admin``: competitions, references, data files, imports and invitations."""

import json
import sys
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from kennel_client.api import open_file, segment
from kennel_client.cli.admin.connection import Url, connected_organizer
from kennel_client.errors import Refused, Unreadable
from kennel_client.references import attach, prepare

app = typer.Typer()


@app.command()
def invite(email: Annotated[str, typer.Argument()] = "", url: Url = "") -> None:
    """Print a link with which one person can sign up, and mail it if there is an address."""
    with connected_organizer(url) as client:
        print(client.post("/admin/invitations", {"email": email or None})["link"])


@app.command()
def create(file: Path, url: Url = "") -> None:
    """Create a competition from a TOML file (the fields of POST /competitions)."""
    spec = _fields_in(file)
    with connected_organizer(url) as client:
        print(_still_missing(client.post("/competitions", spec)))


@app.command()
def update(slug: str, file: Path, url: Url = "") -> None:
    """Change a competition by a TOML file (the fields of PATCH /competitions/{slug}): a draft in everything."""
    changes = _fields_in(file)
    with connected_organizer(url) as client:
        print(_still_missing(client.call("PATCH", f"/competitions/{slug}", json=changes)))


@app.command()
def delete_draft(slug: str, url: Url = "") -> None:
    """Delete a competition that is a draft and that nobody has entered."""
    with connected_organizer(url) as client:
        client.send("DELETE", f"/competitions/{segment(slug)}")
    print(f"{slug} is deleted.")


@app.command()
def invite_to(slug: str, who: Annotated[list[str], typer.Argument()], url: Url = "") -> None:
    """Invite people, by handle or mail address, into a competition that is by invitation; prints all who are."""
    with connected_organizer(url) as client:
        client.post(f"/competitions/{segment(slug)}/guests", {"who": who})
        for guest in client.get_list(f"/competitions/{segment(slug)}/guests", "guests"):
            print(guest["who"])


@app.command()
def uninvite(slug: str, who: str, url: Url = "") -> None:
    """Take an invitation into a competition back; what was entered stays."""
    with connected_organizer(url) as client:
        client.send("DELETE", f"/competitions/{segment(slug)}/guests/{segment(who)}")
    print(f"{who} is not invited to {slug} any more.")


@app.command()
def guests(slug: str, url: Url = "") -> None:
    """Print who is invited into a competition."""
    with connected_organizer(url) as client:
        for guest in client.get_list(f"/competitions/{segment(slug)}/guests", "guests"):
            print(f"{guest['who']}  (by {guest['invited_by']}, {guest['invited_at'][:10]})")


def _fields_in(file: Path) -> Any:
    """The fields of a TOML file as JSON values; ``Unreadable`` if it is not TOML."""
    try:
        with open_file(file) as toml:
            return json.loads(json.dumps(tomllib.load(toml), default=_iso))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"{file} is not TOML: {error}.") from None


def _iso(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


@app.command()
def references(
    slug: str,
    train: Annotated[Path, typer.Option(help="Zip or folder: what participants may train on.")],
    held_out: Annotated[Path | None, typer.Option(help="Zip or folder: real, never published.")] = None,
    private_extra: Annotated[
        Path | None, typer.Option(help="Zip or folder: in the private track's reference only.")
    ] = None,
    public_features: Annotated[
        Path | None, typer.Option(help="Features (.npz) that the public track is measured against.")
    ] = None,
    private_features: Annotated[Path | None, typer.Option(help="The same for the private track.")] = None,
    url: Url = "",
) -> None:
    """Attach reference images to a competition and prepare both tracks; returns when they are ready."""
    with connected_organizer(url) as client:
        given = {"train": train, "held_out": held_out, "private_extra": private_extra}
        given |= {"public_features": public_features, "private_features": private_features}
        for role, path in given.items():
            if path is not None:
                attach(client, slug, role, path)
                print(f"{role}: {path} is attached.")
        prepare(client, slug, say=print)
        print(_still_missing(client.get(f"/competitions/{slug}")))


@app.command()
def data_file(
    slug: str,
    file: Annotated[Path | None, typer.Argument(help="What participants may download.")] = None,
    train: Annotated[bool, typer.Option("--train", help="Offer the attached training images.")] = False,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Offer it no longer.")] = False,
    name: Annotated[str, typer.Option(help="Its name there. Default: the file's, or train.zip.")] = "",
    url: Url = "",
) -> None:
    """Offer a file to the participants of a competition, in place of an earlier one of that name."""
    if (file is None) is not train and not (withdraw and name):
        raise Refused(0, {"title": "Name a file, or --train for the training images."})
    name = name or (file.name if file is not None else "train.zip")
    path = f"/competitions/{slug}/data/{segment(name)}"
    with connected_organizer(url) as client:
        if withdraw:
            client.send("DELETE", path)
            print(f"{name} is offered no longer.")
            return
        if file is None:
            stored = client.call("PUT", path, params={"source": "train"})
        else:
            with open_file(file) as content:
                stored = client.upload("PUT", path, content)
    print(f"{name}: {stored['bytes']:,} bytes, SHA-256 {stored['sha256']}")


def _still_missing(competition: dict[str, Any]) -> str:
    missing = "; ".join(competition["missing"])
    return f"{competition['slug']} is {competition['phase']}; " + (
        f"still missing: {missing}." if missing else "complete."
    )


@app.command()
def import_results(
    file: Path,
    competition: Annotated[str, typer.Option(help="Its slug; it is made if there is none.")],
    title: Annotated[str | None, typer.Option(help="Of a competition that is made.")] = None,
    public: Annotated[str, typer.Option(help="The network of the public numbers.")] = "inception_2015",
    private: Annotated[str, typer.Option(help="The network of the private numbers.")] = "nasnetalarge",
    opens_at: Annotated[str | None, typer.Option(help="2019-06-28T00:00:00Z")] = None,
    closes_at: Annotated[str | None, typer.Option(help="Now, if left out.")] = None,
    tau_public: Annotated[float | None, typer.Option(help="Left out: retune later.")] = None,
    tau_private: Annotated[float | None, typer.Option(help="Left out: retune later.")] = None,
    sealed_score: Annotated[float | None, typer.Option(help="What stands for a disqualified entry: 999999.")] = None,
    column: Annotated[list[str], typer.Option(help="fid_public=FID, where a column is called otherwise.")] = [],  # noqa: B006
    url: Url = "",
) -> None:
    """Load a table of results of a competition held elsewhere; the same table again adds nothing. Prints JSON."""
    options = {
        "title": title, "public_extractor": public, "private_extractor": private, "opens_at": opens_at,
        "closes_at": closes_at, "tau_public": tau_public, "tau_private": tau_private, "sealed_score": sealed_score,
        "column": column, "file_name": file.name,
    }  # fmt: skip
    params = {name: value for name, value in options.items() if value is not None}
    with open_file(file) as table, connected_organizer(url) as client:
        report = client.upload("POST", f"/competitions/{competition}/imports", table, media="text/csv", **params)
        json.dump(report, sys.stdout, indent=2)
    print()
