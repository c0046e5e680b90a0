"""The ``kennel`` command; its subcommands depend on what is installed."""

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import entry_points, version
from typing import Annotated

import typer
from typer.core import TyperCommand, TyperGroup

from kennel_client.cli import exit_codes
from kennel_client.cli.connection import KennelGroup, exit_on_error, needs_server
from kennel_client.cli.groups import ListedCommand, ListingGroup, command_in, listing

SERVER_GROUP = "kennel.server"
"""The entry point through which an installed server provides the whole command."""
SERVER_COMMANDS = ("demo", "draw", "migrate", "recover", "rescore", "score", "up", "weights")
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
"""Commands that only the server has, by noun of ``kennel admin``. The client explains how to install them."""
WITHOUT_A_SERVICE = frozenset({"draw", "recover", "score", "weights"})
"""The server's commands that need only the packages for computing."""
COMMANDS = {
    "accounts": {
        "login": "Sign in on this machine with an API token, or with your password, which creates a token.",
        "logout": "Delete the stored token, and revoke it if `kennel login` created it.",
        "my-data": "Print the data that the service stores about you, as JSON.",
        "delete-account": "Permanently delete your account. Your submissions remain under a pseudonym.",
    },
    "start": {
        "start": "Create a folder with the competition's data and a baseline that trains in a minute.",
    },
    "check": {
        "check": (
            "Check a zip or a generator as the service would, without uploading it. If it has faults, list them and "
            "exit with status 1."
        ),
    },
    "submissions": {
        "submit": (
            "Submit a zip of images, which is first checked on this machine, or a generator. With --watch, follow it "
            "until it is scored."
        ),
        "status": (
            "Show your team's newest submissions, or one submission. With --watch, follow those in progress until they "
            "finish."
        ),
        "cancel": "Cancel a submission before its scoring starts. It then does not count towards your daily limit.",
        "generator": "Upload a submission's generator as an ONNX file, or show the state and result of its audit.",
    },
    "receipts": {
        "receipt": "Print a receipt of a submission's scores as JSON, signed so that anyone can verify it.",
        "verify": (
            "Verify that a receipt is unchanged and signed by the service it names. With --generator, draw its images "
            "again. If anything differs, exit with status 1."
        ),
    },
    "competitions": {
        "competitions": "List the competitions.",
        "rules": "Show or accept the rules of a competition.",
        "leaderboard": "Show a competition's board. CSV output contains all ranks.",
        "pick": "Pick the submissions that decide your team's final rank. Without IDs, show the current picks.",
    },
}
"""The commands of participants by module: names and first paragraphs of the help."""
NOUNS = {
    "account": ("accounts.app", "List, suspend and sign out accounts, and invite people to sign up."),
    "allowlist": (
        "competitions.allowlist",
        "List, invite and remove the people who may enter an invitation-only competition.",
    ),
    "audit": ("audit_log.app", "Show the audit log and the results of generator audits."),
    "campaign": ("rescoring.app", "Measure submissions again in rescoring campaigns, and apply the results."),
    "competition": ("competitions.app", "Create, update, announce, publish and pause competitions."),
    "extractor": ("tuning.extractors", "Show the private track's extractor, compare it with others, and choose one."),
    "file": ("competitions.files", "List, offer and withdraw data files for participants."),
    "job": ("jobs.app", "Show unfinished jobs and restart failed ones."),
    "queue": ("jobs.queues", "Pause and resume job queues."),
    "rating": ("insights.app", "Start rating studies, invite raters, and show the mean ratings."),
    "rebuttal": ("review.rebuttals", "List and answer the rebuttals of teams."),
    "reference": ("competitions.references", "Attach and prepare reference images, and show the progress."),
    "release": ("import_export.app", "Create, download and publish data releases."),
    "review": ("review.app", "List, claim, show and review flagged submissions."),
    "role": ("competitions.roles", "Offer, accept and end the roles of organizer and reviewer."),
    "ruling": ("review.rulings", "Create and list rulings on submissions, and show what they would change."),
    "shown-track": ("tuning.shown_tracks", "List, add, remove and measure shown tracks, which do not affect ranks."),
    "submission": ("submissions.app", "Label submissions, and request and download their code."),
    "team": ("teams.app", "List teams, send them messages, and rule on all submissions of a team."),
    "threshold": ("tuning.thresholds", "Preview, choose and undo a track's tau, and list earlier choices."),
    "worker": ("jobs.workers", "Drain and resume workers."),
}
"""The nouns of ``kennel admin``: module, group in the module, and help."""
PANEL = "Participate"
"""The heading of the participants' commands in the help."""
INSTALLATION = "Back up, restore, check and configure this installation."
ADMIN = (
    "Commands for organizers and admins. Sign in with `kennel login --organize`, or set KENNEL_URL and KENNEL_TOKEN."
)
KAGGLE = "Run the official kaggle client against Kennel, for example `kennel kaggle competitions submit`."
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


def make_admin(server: Mapping[str, Sequence[TyperCommand]]) -> typer.Typer:
    """``kennel admin`` by noun; ``server`` adds commands to a noun."""
    nouns = dict(NOUNS) | ({"installation": ("", INSTALLATION)} if "installation" in server else {})
    listed = [
        _listed_noun(noun, place, text, added=server.get(noun, ())) for noun, (place, text) in sorted(nouns.items())
    ]
    admin = typer.Typer(cls=listing(ListingGroup, listed), no_args_is_help=True, help=ADMIN)
    admin.callback()(lambda: None)  # without a callback, Typer takes it for an app without commands
    return admin


def _listed_noun(noun: str, place: str, text: str, *, added: Sequence[TyperCommand]) -> ListedCommand:
    def load() -> TyperGroup:
        group = typer.Typer(cls=listing(ListingGroup, added), no_args_is_help=True, help=text)
        module, _, name = place.partition(".")
        if module:
            group.add_typer(getattr(import_module(f"kennel_client.cli.admin.{module}"), name))
        return typer.main.get_group(group)

    return ListedCommand(noun, text, load, hidden=not place and all(command.hidden for command in added))


def make_app(
    admin: Mapping[str, Sequence[TyperCommand]],
    others: Sequence[TyperCommand],
    distribution: str,
    *,
    distribution_version: Callable[[], str],
) -> typer.Typer:
    """The root command. ``admin`` and ``others`` add commands to nouns of ``kennel admin`` and to the root;
    ``--version`` prints the distribution's name and version.
    """
    listed = [
        *others,
        *(
            ListedCommand(name, text, partial(command_in, f"kennel_client.cli.{module}", name), panel=PANEL)
            for module, texts in COMMANDS.items()
            for name, text in texts.items()
        ),
        ListedCommand("kaggle", KAGGLE, partial(command_in, "kennel_client.cli.kaggle", "kaggle")),
        ListedCommand("admin", ADMIN, lambda: typer.main.get_group(make_admin(admin))),
    ]
    app = typer.Typer(
        cls=listing(KennelGroup, listed),
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
        """Enter, organize and run competitions of generative image models."""

    return app


def client_app() -> typer.Typer:
    """The command if only the client is installed."""
    missing = {
        noun: [_missing_command(f"kennel admin {noun}", name) for name in names]
        for noun, names in SERVER_ADMIN_COMMANDS.items()
    }
    others = [_missing_command("kennel", name) for name in SERVER_COMMANDS]
    return make_app(missing, others, "kennel-client", distribution_version=lambda: version("kennel-client"))


def _missing_command(group: str, name: str) -> TyperCommand:
    """A command that explains which packages it needs."""

    def say() -> None:
        extras = "worker" if name in WITHOUT_A_SERVICE else "api,worker,standalone"
        raise needs_server(f"{group} {name}", extras)

    return TyperCommand(name, callback=say, hidden=True, add_help_option=False, context_settings=ANYTHING)


def main() -> None:
    """The console script: the server's command if it is installed, else the client's."""
    for server in entry_points(group=SERVER_GROUP):
        sys.exit(server.load()())
    with exit_on_error():
        client_app()()
