"""The ``kennel`` command: which subcommands it has follows from what is installed."""

import sys
from collections.abc import Sequence
from importlib.metadata import entry_points, version
from typing import Annotated

import typer

from kennel_client.cli import (
    account,
    check,
    competitions,
    exit_codes,
    generators,
    kaggle,
    login,
    receipts,
    start,
    submissions,
)
from kennel_client.cli.admin import accounts, pauses, publication, storage, tuning
from kennel_client.cli.admin import competitions as admin_competitions
from kennel_client.errors import Unreadable

SERVER_GROUP = "kennel.server"
"""The entry point by which an installed server offers the whole command."""
SERVER_COMMANDS = ("demo", "migrate", "recover", "rescore", "score", "up", "weights")
SERVER_ADMIN_COMMANDS = (
    "account",
    "backup",
    "create-admin",
    "delete-account",
    "doctor",
    "remove-second-factor",
    "reset-link",
    "restore",
    "role",
    "rotate-secrets",
    "rotate-signing-key",
    "service",
    "token",
    "verify-backup",
)
"""Commands that only the server has: the client says so, instead of knowing nothing of them."""
WITHOUT_A_SERVICE = frozenset({"recover", "score", "weights"})
"""Those of them that need what computes, and none of the service's other packages."""
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


def make_admin() -> typer.Typer:
    """``kennel admin``: what organizers and admins do through the API."""
    app = typer.Typer(
        no_args_is_help=True,
        help="Accounts, competitions, references, tau: by `kennel login`, or KENNEL_URL and KENNEL_TOKEN.",
    )
    for each in (admin_competitions, accounts, tuning, publication, pauses, storage):
        app.add_typer(each.app)
    return app


def make_app(admin: typer.Typer, distribution: str) -> typer.Typer:
    """The command for participants and organizers; ``--version`` tells that of a distribution."""
    app = typer.Typer(
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        epilog=exit_codes.exit_codes_help(),
    )

    def print_version(wanted: bool) -> None:
        if wanted:
            print(f"{distribution} {version(distribution)}")
            raise typer.Exit

    @app.callback()
    def kennel(
        version: Annotated[
            bool, typer.Option("--version", callback=print_version, is_eager=True, help="Print the version.")
        ] = False,
    ) -> None:
        """Scores a competition of generative image models: the service, and what participants and organizers do
        there."""

    for each in (login, account, start, check, submissions, receipts, generators, competitions, kaggle):
        app.add_typer(each.app)
    app.add_typer(admin, name="admin")
    return app


def client_app() -> typer.Typer:
    """The command where only the client is installed."""
    admin = make_admin()
    app = make_app(admin, "kennel-client")
    _say_what_is_missing(app, "kennel", SERVER_COMMANDS)
    _say_what_is_missing(admin, "kennel admin", SERVER_ADMIN_COMMANDS)
    return app


def _say_what_is_missing(app: typer.Typer, group: str, names: Sequence[str]) -> None:
    def missing(context: typer.Context) -> None:
        name = f"{group} {context.info_name}"
        extras = "worker" if context.info_name in WITHOUT_A_SERVICE else "api,worker,standalone"
        raise Unreadable(
            f"`{name}` belongs to the server, and only the client is installed here. In the folder of Kennel's "
            f"sources: pip install ./client '.[{extras}]'"
        )

    for name in names:
        app.command(name, hidden=True, add_help_option=False, context_settings=ANYTHING)(missing)


def main() -> None:
    """The console script: the server's command where it is installed, else the client's."""
    for server in entry_points(group=SERVER_GROUP):
        sys.exit(server.load()())
    with exit_codes.exit_on_error():
        client_app()()
