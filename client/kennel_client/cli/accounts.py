"""``kennel login``, ``logout``, ``my-data`` and ``delete-account``."""

import json
import os
import socket
import sys
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from kennel_client.api import ApiClient
from kennel_client.cli.connection import err, open_client
from kennel_client.cli.formatting import utf8_output
from kennel_client.credentials import DEFAULT_URL, Login, current_login, delete_login, save_login, saved_login
from kennel_client.errors import Refused, Unreadable

app = typer.Typer()
SCOPES = ["read", "submit"]
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@app.command()
def login(
    url: Annotated[str, typer.Option(envvar="KENNEL_URL", help="The service's URL. Default: ask for it.")] = "",
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Read the token from standard input, for scripts.")
    ] = False,
    organize: Annotated[
        bool,
        typer.Option("--organize", help="Also request the scope organize, which `kennel admin` needs."),
    ] = False,
) -> None:
    """Sign in on this machine with an API token, or with your password, which creates a token.

    The command asks for the token or password, so you never put them on the command line. It stores the token in a file
    that only you can read. KENNEL_URL and KENNEL_TOKEN take precedence over that file.
    """
    if not url:
        url = DEFAULT_URL if token_stdin else typer.prompt("URL of the service", default=DEFAULT_URL, err=True)
    url = _address(url)
    scopes = [*SCOPES, "organize"] if organize else SCOPES
    login = _login_by_token(url, sys.stdin.readline(), scopes) if token_stdin else _ask_login(url, scopes)
    file = save_login(login)
    print(f"Signed in as {login.handle} at {login.url}. The token is in {file}.")
    if os.environ.get("KENNEL_TOKEN"):
        err.print("KENNEL_TOKEN is set and takes precedence over this login.")


def _address(url: str) -> str:
    """Return the URL with a scheme; print a warning if the connection is not encrypted."""
    if "://" not in url:
        url = f"https://{url}"
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise typer.BadParameter(f"{url} is not an http or https URL.")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        err.print(f"Warning: {url} does not use encryption; others on the network can read your token.", markup=False)
    return url.rstrip("/")


def _ask_login(url: str, scopes: list[str]) -> Login:
    token = typer.prompt(
        "API token (leave empty to sign in with your password)", "", hide_input=True, show_default=False, err=True
    )
    if token:
        return _login_by_token(url, token, scopes)
    name = typer.prompt("Handle or email address", err=True)
    return _login_by_password(url, name, typer.prompt("Password", hide_input=True, err=True), scopes=scopes)


def _login_by_token(url: str, token: str, scopes: list[str]) -> Login:
    with ApiClient(url, token.strip() or None) as client:
        me = client.get("/me")
    missing = sorted(set(scopes) - set(me["scopes"]))
    if missing:
        err.print(
            f"This token lacks the scope{'s' if len(missing) > 1 else ''} {' and '.join(missing)}, so the service will "
            "refuse some commands.",
            markup=False,
        )
    return Login(url, token.strip(), me["handle"])


def _login_by_password(url: str, name: str, password: str, *, scopes: list[str]) -> Login:
    """Create a token in a session that ends immediately afterwards."""
    with ApiClient(url) as client:
        headers = open_session(client, name, password)
        try:
            body = {"name": f"kennel on {socket.gethostname()}"[:100], "scopes": scopes}
            token = client.call("POST", "/tokens", json=body, headers=headers)
            me = client.get("/me")
        finally:
            client.send("DELETE", "/session", headers=headers)
    return Login(url, token["token"], me["handle"], token["id"])


def open_session(client: ApiClient, name: str, password: str) -> dict[str, str]:
    """Sign a client in, with the second factor if there is one; return the headers for unsafe requests."""
    opened = client.post("/session", {"login": name, "password": password})
    if opened["second_factor"]:
        code = typer.prompt("Code from your authenticator app, or a recovery code", err=True)
        opened = client.post("/session/second-factor", {"code": code})
    return {"X-CSRF-Token": opened["csrf_token"]}


@app.command()
def logout() -> None:
    """Delete the stored token, and revoke it if `kennel login` created it."""
    saved = saved_login()
    delete_login()
    if saved is None:
        print("You are not signed in on this machine.")
        return
    if saved.token_id is not None:
        _revoke(saved)
    print(f"{saved.handle} is signed out of {saved.url}.")


def _revoke(saved: Login) -> None:
    try:
        with ApiClient(saved.url, saved.token) as client:
            client.send("DELETE", f"/tokens/{saved.token_id}")
    except Refused as refusal:
        if refusal.slug not in {"bad-token", "no-token-here"}:
            err.print(f"The token could not be revoked: {refusal} Revoke it at {saved.url}/account.", markup=False)


@app.command()
def my_data(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write. Default: standard output.")
    ] = None,
) -> None:
    """Print the data that the service stores about you, as JSON."""
    with open_client() as client:
        document = json.dumps(client.get("/me/data"), indent=2, ensure_ascii=False)
        if output is None:
            print(document, file=utf8_output())
            return
        try:
            output.write_text(document + "\n", encoding="utf-8")
        except OSError as error:
            raise Unreadable(f"{output} cannot be written: {error.strerror}.") from None
    print(f"Your data was written to {output}.")


@app.command()
def delete_account() -> None:
    """Permanently delete your account. Your submissions remain under a pseudonym.

    The command asks for your handle and password.
    """
    login = current_login()
    handle = typer.prompt(f"To permanently delete your account at {login.url}, enter its handle", err=True)
    password = typer.prompt("Password", hide_input=True, err=True)
    with ApiClient(login.url) as client:
        headers = open_session(client, handle, password)
        client.send("POST", "/me/deletion", json={"handle": handle, "password": password}, headers=headers)
    saved = saved_login()
    if saved is not None and (saved.url, saved.handle) == (login.url, handle):
        delete_login()
    print(f"Account {handle} deleted.")
