"""The ``kennel`` command: which subcommands it has follows from what is installed."""

import sys
from collections.abc import Callable, Mapping, Sequence
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
from kennel_client.cli.admin import (
    accounts,
    audit,
    campaigns,
    extractors,
    files,
    guests,
    queues,
    ratings,
    rebuttals,
    references,
    releases,
    reviews,
    roles,
    rulings,
    shown_tracks,
    teams,
    thresholds,
    workers,
)
from kennel_client.cli.admin import competitions as admin_competitions
from kennel_client.cli.admin import submissions as admin_submissions
from kennel_client.cli.connection import KennelGroup, exit_on_error
from kennel_client.cli.former_spellings import AdminGroup
from kennel_client.errors import Unreadable

SERVER_GROUP = "kennel.server"
"""The entry point by which an installed server offers the whole command."""
SERVER_COMMANDS = ("demo", "migrate", "recover", "rescore", "score", "up", "weights")
SERVER_ADMIN_COMMANDS = {
    "account": ("create", "create-admin", "delete", "remove-second-factor", "reset-link", "set-role", "token"),
    "installation": (
        "backup",
        "doctor",
        "restore",
        "rotate-secrets",
        "rotate-signing-key",
        "service",
        "verify-backup",
    ),
}
"""Commands that only the server has, those of ``kennel admin`` by noun: the client says so, instead of knowing nothing
of them."""
WITHOUT_A_SERVICE = frozenset({"recover", "score", "weights"})
"""Those of them that need what computes, and none of the service's other packages."""
NOUNS = {
    "account": accounts.app,
    "audit": audit.app,
    "campaign": campaigns.app,
    "competition": admin_competitions.app,
    "extractor": extractors.app,
    "file": files.app,
    "guest": guests.app,
    "queue": queues.app,
    "rating": ratings.app,
    "rebuttal": rebuttals.app,
    "reference": references.app,
    "release": releases.app,
    "review": reviews.app,
    "role": roles.app,
    "ruling": rulings.app,
    "shown-track": shown_tracks.app,
    "submission": admin_submissions.app,
    "team": teams.app,
    "threshold": thresholds.app,
    "worker": workers.app,
}
"""The nouns of ``kennel admin``."""
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


def make_admin(server: Mapping[str, typer.Typer]) -> typer.Typer:
    """``kennel admin``: what organizers and admins do through the API, by noun; ``server``: what is added to a noun."""
    admin = typer.Typer(
        cls=AdminGroup,
        no_args_is_help=True,
        help="What organizers and admins do: by `kennel login --organize`, or KENNEL_URL and KENNEL_TOKEN.",
    )
    for noun in sorted(NOUNS.keys() | server.keys()):
        parts = [apps[noun] for apps in (NOUNS, server) if noun in apps]
        group = typer.Typer(no_args_is_help=True, help=parts[0].info.help, hidden=parts[0].info.hidden)
        for part in parts:
            group.add_typer(part)
        admin.add_typer(group, name=noun)
    return admin


def make_app(admin: typer.Typer, distribution: str, distribution_version: Callable[[], str]) -> typer.Typer:
    """The command for participants and organizers; ``--version`` tells the name and version of a distribution."""
    app = typer.Typer(
        cls=KennelGroup,
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        epilog=exit_codes.exit_codes_help(),
    )

    def print_version(wanted: bool) -> None:
        if wanted:
            print(f"{distribution} {distribution_version()}")
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
    missing = {noun: typer.Typer(hidden=noun not in NOUNS) for noun in SERVER_ADMIN_COMMANDS}
    app = make_app(make_admin(missing), "kennel-client", lambda: version("kennel-client"))
    for noun, names in SERVER_ADMIN_COMMANDS.items():
        _say_what_is_missing(missing[noun], f"kennel admin {noun}", names)
    _say_what_is_missing(app, "kennel", SERVER_COMMANDS)
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
    with exit_on_error():
        client_app()()
