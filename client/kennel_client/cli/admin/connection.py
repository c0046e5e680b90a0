"""The connection of an organizer's command: its option, the environment, or ``kennel login``."""

import os
from typing import Annotated

import typer

from kennel_client.api import ApiClient
from kennel_client.credentials import login_for

Url = Annotated[str, typer.Option(envvar="KENNEL_URL", help="Where the service is. Default: that of `kennel login`.")]


def connected_organizer(url: str) -> ApiClient:
    """A client for the service at ``url``. Its token is KENNEL_TOKEN's or that of ``kennel login``, and no option:
    everybody on a machine sees the command lines of all processes."""
    login = login_for(url, os.environ.get("KENNEL_TOKEN", "").strip())
    return ApiClient(login.url, login.token)
