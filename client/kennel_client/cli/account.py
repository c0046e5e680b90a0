"""``kennel my-data`` and ``kennel delete-account``: what is stored about a person, and the end of their account."""

import json
from pathlib import Path
from typing import Annotated

import typer

from kennel_client.api import ApiClient
from kennel_client.cli.connection import connected_client, reported_errors
from kennel_client.cli.login import open_session
from kennel_client.cli.options import PANEL
from kennel_client.cli.streams import utf8_output
from kennel_client.credentials import current_login, delete_login, saved_login
from kennel_client.errors import Unreadable

app = typer.Typer()


@app.command(rich_help_panel=PANEL)
def my_data(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A file. Default: standard output.")] = None,
) -> None:
    """Print what is stored about you, as JSON."""
    with connected_client() as client:
        document = json.dumps(client.get("/me/data"), indent=2, ensure_ascii=False)
        if output is None:
            print(document, file=utf8_output())
            return
        try:
            output.write_text(document + "\n", encoding="utf-8")
        except OSError as error:
            raise Unreadable(f"{output} cannot be written: {error.strerror}.") from None
    print(f"What is stored about you is in {output}.")


@app.command(rich_help_panel=PANEL)
def delete_account() -> None:
    """Delete your account for good, with your password. Your entries stay under a pseudonym."""
    login = current_login()
    handle = typer.prompt(f"Handle of the account at {login.url} to delete for good", err=True)
    password = typer.prompt("Password", hide_input=True, err=True)
    with reported_errors(), ApiClient(login.url) as client:
        headers = open_session(client, handle, password)
        client.send("POST", "/me/deletion", json={"handle": handle, "password": password}, headers=headers)
    saved = saved_login()
    if saved is not None and (saved.url, saved.handle) == (login.url, handle):
        delete_login()
    print(f"The account {handle} is deleted.")
