"""The connection of an organizer's command: options, environment, or ``kennel login``."""

from typing import Annotated

import typer

from kennel_client.api import ApiClient
from kennel_client.credentials import login_for

Url = Annotated[str, typer.Option(envvar="KENNEL_URL", help="Where the service is. Default: that of `kennel login`.")]
Token = Annotated[
    str,
    typer.Option(envvar="KENNEL_TOKEN", help="An organizer's or admin's API token. Default: that of `kennel login`."),
]


def connected_organizer(url: str, token: str) -> ApiClient:
    """A client with the options of a command, which say the same as the environment; what they leave out is that of
    ``kennel login``."""
    login = login_for(url, token)
    return ApiClient(login.url, login.token)
