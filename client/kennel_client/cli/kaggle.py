"""``kennel kaggle``: run the official kaggle client, if installed, against Kennel only."""

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

import typer
from platformdirs import user_config_path

from kennel_client.api import ApiClient
from kennel_client.cli.connection import require_token
from kennel_client.credentials import current_login
from kennel_client.errors import Refused

app = typer.Typer()

ALLOWED_COMMANDS = frozenset({"competitions", "c", "config", "-h", "--help", "-v", "--version"})
"""The client's commands that work with Kennel; the others need Kaggle's own services."""
KAGGLE_VARIABLES = (
    "KAGGLE_API_V1_TOKEN",
    "KAGGLE_DATA_PROXY_URL",
    "KAGGLE_IAP_TOKEN",
    "KAGGLE_KERNEL_RUN_TYPE",
    "KAGGLE_KEY",
    "KAGGLE_USERNAME",
)
"""Environment variables that configure the client for Kaggle itself."""


@app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def kaggle(context: typer.Context) -> None:
    """Run the official kaggle client against Kennel, for example `kennel kaggle competitions submit`."""
    login = current_login()
    run_kaggle(context.args, login.url, require_token(login))


def run_kaggle(arguments: Sequence[str], url: str, token: str) -> None:
    """Run the client's command line. Raises ``Refused`` if it is not installed or ``url`` does not know the token."""
    if any(importlib.util.find_spec(name) is None for name in ("kaggle", "kagglesdk")):
        raise Refused(0, {"title": "The kaggle client is not installed. Run: pip install kaggle six"})
    command = next((argument for argument in arguments if argument not in {"-W", "--no-warn"}), "--help")
    if command not in ALLOWED_COMMANDS:
        raise Refused(
            0, {"title": f"Kennel does not support `kaggle {command}`. Try `kennel kaggle competitions list`."}
        )
    _require_valid_token(url, token)
    _isolate(user_config_path("kennel") / "kaggle", token)
    endpoints = import_module("kagglesdk.kaggle_env")
    # The client may choose any of Kaggle's environments; all of them lead to our URL.
    for environment in endpoints.KaggleEnv:
        endpoints._env_to_endpoint[environment] = url.rstrip("/")  # noqa: SLF001 - the client has no setting for it
    sys.argv = ["kaggle", *arguments]
    import_module("kaggle.cli").main()


def _require_valid_token(url: str, token: str) -> None:
    """Raise ``Refused`` for an unknown token: the client's own message would send people to Kaggle."""
    with ApiClient(url) as client:
        if not client.post("/security.OAuthService/IntrospectToken", {"token": token})["active"]:
            title = f"{url} does not know this token; perhaps it was revoked."
            raise Refused(401, {"type": "urn:kennel:problem:bad-token", "title": title})


def _isolate(home: Path, token: str) -> None:
    """Give the client our token, and hide credentials for Kaggle, which it would send to us."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name in KAGGLE_VARIABLES:
        os.environ.pop(name, None)
    folder = str(home)
    os.environ |= {"HOME": folder, "USERPROFILE": folder, "KAGGLE_CONFIG_DIR": folder}
    os.environ |= {"KAGGLE_API_ENVIRONMENT": "LOCALHOST", "KAGGLE_API_TOKEN": token}
