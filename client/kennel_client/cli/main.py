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
from kennel_client.cli.connection import KennelGroup, exit_on_error
from kennel_client.cli.groups import ListedCommand, ListingGroup, command_in, listing
from kennel_client.errors import Unreadable

SERVER_GROUP = "kennel.server"
"""The entry point through which an installed server provides the whole command."""
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
"""Commands that only the server has, by noun of ``kennel admin``; the client lists them and explains how to install
them.
"""
WITHOUT_A_SERVICE = frozenset({"recover", "score", "weights"})
"""The server's commands that need only the packages for computing."""
COMMANDS = {
    "accounts": {
        "login": "Sign in on this machine with an API token, or with your password, which creates a token.",
        "logout": "Delete the stored token; revoke it if `kennel login` created it.",
        "my-data": "Print the data that the service stores about you, as JSON.",
        "delete-account": "Delete your account permanently, with your password. Your entries stay under a pseudonym.",
    },
    "start": {
        "start": "Create a folder with the competition's data and a baseline that trains in a minute.",
    },
    "check": {
        "check": (
            "Check a zip as the service would, without uploading it. Exits 0 if it is valid; otherwise lists the "
            "faults and exits 1."
        ),
    },
    "submissions": {
        "submit": "Submit an entry: check the zip, upload it, and with --watch follow the entry to its score.",
        "status": "Show your team's newest entries, or one entry; with --watch, follow those in progress to the end.",
        "cancel": "Cancel an entry before its scoring starts; it does not count.",
        "generator": "Upload the generator of an entry as ONNX, or show the state and result of its audit.",
    },
    "receipts": {
        "receipt": "Print a receipt of an entry's scores as JSON, signed by the service, which anybody can verify.",
        "verify": "Verify a receipt: exits 0 if the service that it names signed it unchanged, otherwise 1.",
    },
    "competitions": {
        "competitions": "List the competitions.",
        "rules": "Show the rules of a competition, or accept them.",
        "leaderboard": "Show a competition's board; as CSV with every place.",
        "pick": "Pick the entries that decide your team's final rank; without IDs, show the picks.",
    },
}
"""The commands of participants by module: names and first paragraphs of the help."""
NOUNS = {
    "account": ("accounts.app", "Accounts: list, suspend, sign out, invite."),
    "allowlist": ("competitions.allowlist", "Allowlist of an invitation-only competition: list, invite, remove."),
    "audit": ("audit_log.app", "The audit log; audits of entries' generators."),
    "campaign": ("rescoring.app", "Rescoring campaigns: measure entries again, preview, switch."),
    "competition": ("competitions.app", "Competitions: create, change, announce, publish, pause."),
    "extractor": ("tuning.extractors", "The private track's extractor: show, compare others, choose."),
    "file": ("competitions.files", "Data files for participants: list, offer, withdraw."),
    "job": ("jobs.app", "Jobs of the workers: list unfinished jobs, restart failed jobs."),
    "queue": ("jobs.queues", "Queues of jobs: pause, resume."),
    "rating": ("insights.app", "Human ratings: list and start studies, invite raters, show means."),
    "rebuttal": ("review.rebuttals", "Rebuttals of teams: list, answer."),
    "reference": ("competitions.references", "Reference images: attach and prepare, show."),
    "release": ("import_export.app", "Data releases: create, download, publish."),
    "review": ("review.app", "The review queue: list, claim, show, review."),
    "role": ("competitions.roles", "Organizers and reviewers of a competition: offer, accept, end."),
    "ruling": ("review.rulings", "Rulings on entries: create, list, show what they would change."),
    "shown-track": (
        "tuning.shown_tracks",
        "Shown tracks, which do not affect the ranking: list, add, remove, measure.",
    ),
    "submission": ("submissions.app", "Entries: set labels, request code and download it."),
    "team": ("teams.app", "Teams: list members, write, rule on all entries."),
    "threshold": ("tuning.thresholds", "Tau of a track: preview, retune, undo, history."),
    "worker": ("jobs.workers", "Workers: drain, resume."),
}
"""The nouns of ``kennel admin``: module, group in the module, and help."""
PANEL = "Participate"
"""The heading of the participants' commands in the help."""
INSTALLATION = "This installation: backup, restore, doctor, secrets, systemd units."
ADMIN = (
    "Commands for organizers and admins; sign in with `kennel login --organize`, or set KENNEL_URL and KENNEL_TOKEN."
)
KAGGLE = "Run the official kaggle client against Kennel: kennel kaggle competitions submit ..."
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
            ListedCommand(name, text, partial(_command, module, name), panel=PANEL)
            for module, texts in COMMANDS.items()
            for name, text in texts.items()
        ),
        ListedCommand("kaggle", KAGGLE, partial(_command, "kaggle", "kaggle")),
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
        """Score a competition of generative image models: commands for participants, organizers and the service."""

    return app


def _command(module: str, name: str) -> TyperCommand:
    command: TyperCommand = command_in(f"kennel_client.cli.{module}", name)
    return command


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
        raise Unreadable(
            f"`{group} {name}` needs the server, and only the client is installed. Run in the folder of Kennel's "
            f"sources: pip install ./client '.[{extras}]'"
        )

    return TyperCommand(name, callback=say, hidden=True, add_help_option=False, context_settings=ANYTHING)


def main() -> None:
    """The console script: the server's command if it is installed, else the client's."""
    for server in entry_points(group=SERVER_GROUP):
        sys.exit(server.load()())
    with exit_on_error():
        client_app()()
