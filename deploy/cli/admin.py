"""``kennel admin``: accounts, competitions, references and imports, for organizers and operators."""

import json
import secrets
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from sqlalchemy.orm import Session

from deploy.client.api import Client, Refused, Unreadable, open_file, segment
from deploy.client.references import attach, prepare
from deploy.standalone.data_folder import settings_of
from scorer import audit_log, personal_data
from scorer.accounts import accounts, api_tokens, password_resets, roles, second_factors
from scorer.accounts.administration import find_account
from scorer.db.accounts import account_by_handle
from scorer.db.session import connected
from scorer.db.tables import Account
from scorer.settings import Settings

app = typer.Typer(
    no_args_is_help=True, help="Accounts, competitions, references, tau. Needs KENNEL_URL and KENNEL_TOKEN."
)
Url = Annotated[str, typer.Option(envvar="KENNEL_URL", help="Where the service is.")]
Token = Annotated[str, typer.Option(envvar="KENNEL_TOKEN", help="An organizer's or admin's API token.")]
DEFAULT_URL = "http://127.0.0.1:8000"


Data = Annotated[Path | None, typer.Option(help="The data folder of a `kennel up` that is running.")]


@contextmanager
def _database(data: Path | None) -> Iterator[tuple[Session, Settings]]:
    """A transaction directly in the database (``DATABASE_URL``, or that of ``--data``), which needs no token."""
    settings = settings_of(data)
    with connected(settings) as sessions, sessions.begin() as session:
        yield session, settings


@app.command()
def create_admin(handle: str, data: Data = None) -> None:
    """Make an admin, or give an existing one a new token, directly in the database: DATABASE_URL, or --data."""
    now = datetime.now(UTC)
    with _database(data) as (session, _):
        account = account_by_handle(session, handle)
        if account is None:
            account = accounts.create_account(session, handle=handle, name="", role="admin", now=now)
        secret = _new_token(session, roles.require_role(account), now)
    print(secret)


@app.command()
def token(handle: str, data: Data = None) -> None:
    """Print a new API token of an account, with all scopes that its role may have; directly in the database."""
    with _database(data) as (session, _):
        secret = _new_token(session, find_account(session, handle), datetime.now(UTC))
    print(secret)


def _new_token(session: Session, account: Account, now: datetime) -> str:
    secret = secrets.token_urlsafe(32)
    api_tokens.issue(session, account, secret, name="made by the operator", now=now)
    subject = f"account:{account.handle}"
    audit_log.record_action(session, "token.made", subject, actor=None, now=now, after={"by": "the operator"})
    return secret


@app.command()
def reset_link(handle: str, data: Data = None) -> None:
    """Print a link with which somebody sets their password, within an hour; directly in the database."""
    secret = secrets.token_urlsafe(32)
    now = datetime.now(UTC)
    with _database(data) as (session, settings):
        account = find_account(session, handle)
        link = password_resets.link_for(session, account, secret=secret, site=settings.public_url, now=now)
        audit_log.record_action(
            session, "reset-link.made", f"account:{account.handle}", actor=None, now=now, after={"by": "the operator"}
        )
    print(link)


@app.command()
def remove_second_factor(handle: str, data: Data = None) -> None:
    """Take the second factor away from somebody who has lost it, with its recovery codes; directly in the database."""
    with _database(data) as (session, _):
        account = find_account(session, handle)
        second_factors.remove_all(session, account, author=None, now=datetime.now(UTC))
    print(f"{handle} signs in with the password alone.")


@app.command()
def delete_account(
    handle: str,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    data: Data = None,
) -> None:
    """Delete an account for good, for somebody who asks for it and cannot sign in; directly in the database.

    Entries stay under a pseudonym. People who can sign in do it on their page /account, or with kennel delete-account.
    """
    if not yes:
        typer.confirm(f"Delete the account {handle} for good?", abort=True)
    with _database(data) as (session, _):
        personal_data.delete_account(session, find_account(session, handle).id, author=None, now=datetime.now(UTC))
    print(f"The account {handle} is deleted.")


@app.command()
def invite(email: Annotated[str, typer.Argument()] = "", url: Url = DEFAULT_URL, token: Token = "") -> None:
    """Print a link with which one person can sign up, and mail it if there is an address."""
    with Client(url, token) as client:
        print(client.post("/admin/invitations", {"email": email or None})["link"])


@app.command()
def account(handle: str, name: str = "", data: Data = None) -> None:
    """Make a participant's account and print its first token; directly in the database: no API token may make one."""
    now = datetime.now(UTC)
    with _database(data) as (session, _):
        made = accounts.create_account(session, handle=handle, name=name, role="participant", now=now)
        secret = _new_token(session, made, now)
    print(secret)


@app.command()
def role(handle: str, role: str, data: Data = None) -> None:
    """Give an account another role: participant, organizer or admin; directly in the database.

    An admin's API token may not do this: a leaked one could make admins. Admins do it on the page /admin/accounts.
    """
    with _database(data) as (session, _):
        changed = accounts.change_role(session, handle, role, author=None, now=datetime.now(UTC))
        print(f"{changed.handle} is {changed.role} now.")


@app.command()
def create(file: Path, url: Url = DEFAULT_URL, token: Token = "") -> None:
    """Create a competition from a TOML file (the fields of POST /competitions)."""
    spec = _fields_in(file)
    with Client(url, token) as client:
        print(_still_missing(client.post("/competitions", spec)))


@app.command()
def update(slug: str, file: Path, url: Url = DEFAULT_URL, token: Token = "") -> None:
    """Change a competition by a TOML file (the fields of PATCH /competitions/{slug}): a draft in everything."""
    changes = _fields_in(file)
    with Client(url, token) as client:
        print(_still_missing(client.call("PATCH", f"/competitions/{slug}", json=changes)))


@app.command()
def delete_draft(slug: str, url: Url = DEFAULT_URL, token: Token = "") -> None:
    """Delete a competition that is a draft and that nobody has entered."""
    with Client(url, token) as client:
        client.send("DELETE", f"/competitions/{segment(slug)}")
    print(f"{slug} is deleted.")


@app.command()
def invite_to(
    slug: str, who: Annotated[list[str], typer.Argument()], url: Url = DEFAULT_URL, token: Token = ""
) -> None:
    """Invite people, by handle or mail address, into a competition that is by invitation; prints all who are."""
    with Client(url, token) as client:
        for guest in client.post(f"/competitions/{segment(slug)}/guests", {"who": who}):
            print(guest["who"])


@app.command()
def uninvite(slug: str, who: str, url: Url = DEFAULT_URL, token: Token = "") -> None:
    """Take an invitation into a competition back; what was entered stays."""
    with Client(url, token) as client:
        client.send("DELETE", f"/competitions/{segment(slug)}/guests/{segment(who)}")
    print(f"{who} is not invited to {slug} any more.")


@app.command()
def guests(slug: str, url: Url = DEFAULT_URL, token: Token = "") -> None:
    """Print who is invited into a competition."""
    with Client(url, token) as client:
        for guest in client.get(f"/competitions/{segment(slug)}/guests"):
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
    url: Url = DEFAULT_URL,
    token: Token = "",
) -> None:
    """Attach reference images to a competition and prepare both tracks; returns when they are ready."""
    with Client(url, token) as client:
        for role, path in (("train", train), ("held_out", held_out), ("private_extra", private_extra)):
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
    url: Url = DEFAULT_URL,
    token: Token = "",
) -> None:
    """Offer a file to the participants of a competition, in place of an earlier one of that name."""
    if (file is None) is not train and not (withdraw and name):
        raise Refused(0, {"title": "Name a file, or --train for the training images."})
    name = name or (file.name if file is not None else "train.zip")
    path = f"/competitions/{slug}/data/{quote(name, safe='')}"
    with Client(url, token) as client:
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
    url: Url = DEFAULT_URL,
    token: Token = "",
) -> None:
    """Load a table of results of a competition held elsewhere; the same table again adds nothing. Prints JSON."""
    options = {
        "title": title, "public_extractor": public, "private_extractor": private, "opens_at": opens_at,
        "closes_at": closes_at, "tau_public": tau_public, "tau_private": tau_private, "sealed_score": sealed_score,
        "column": column, "file_name": file.name,
    }  # fmt: skip
    params = {name: value for name, value in options.items() if value is not None}
    with open_file(file) as table, Client(url, token) as client:
        report = client.upload("POST", f"/competitions/{competition}/imports", table, media="text/csv", **params)
        json.dump(report, sys.stdout, indent=2)
    print()
