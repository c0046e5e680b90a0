"""The ``kennel`` command: which subcommands it has follows from what is installed."""

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
COMMANDS = {
    "accounts": {
        "login": "Sign in on this machine, with an API token or with your password, which makes a token.",
        "logout": "Forget the kept token, and revoke it if `kennel login` has made it.",
        "my-data": "Print what is stored about you, as JSON.",
        "delete-account": "Delete your account for good, with your password. Your entries stay under a pseudonym.",
    },
    "start": {
        "start": "Write a folder with the competition's data and a baseline that trains in a minute.",
    },
    "check": {
        "check": "Check a zip as the service would, without sending it: exit 0, or the faults and exit 1.",
    },
    "submissions": {
        "submit": "Submit an entry: check it here, upload it, and with --watch follow it to its score.",
        "status": "Show your team's newest entries, or one of them; with --watch, follow what is under way to its end.",
        "cancel": "Take an entry back before its scoring begins: it is not counted.",
        "generator": "Upload the generator that made an entry, as ONNX, or show the state and result of its audit.",
    },
    "receipts": {
        "receipt": "Print a receipt of an entry's scores as JSON: signed by the service, to be shown to anybody.",
        "verify": "Check a receipt: exit 0 if the service that it names has signed exactly this, 1 if it has not.",
    },
    "competitions": {
        "competitions": "List the competitions.",
        "rules": "Show the rules of a competition, or accept them.",
        "leaderboard": "Show a competition's board; as CSV with every place.",
        "pick": "Pick the entries that your team will be ranked by in the end; without IDs, show what is picked.",
    },
}
"""The commands of participants: by module the names, and the first paragraphs of the help."""
NOUNS = {
    "account": ("accounts.app", "Accounts: list, suspend, sign out, invite."),
    "allowlist": ("competitions.allowlist", "The allowlist of a competition by invitation: list, invite, remove."),
    "audit": ("audit_log.app", "The audit log; audits of entries' generators."),
    "campaign": ("rescoring.app", "Rescoring campaigns: measure entries again, preview, switch."),
    "competition": ("competitions.app", "Competitions: create, change, announce, publish, pause."),
    "extractor": ("tuning.extractors", "The private track's extractor: show, compare others, choose."),
    "file": ("competitions.files", "Data files for participants: list, offer, withdraw."),
    "job": ("jobs.app", "Jobs of the workers: list unfinished ones, try failed ones again."),
    "queue": ("jobs.queues", "Queues of jobs: pause, resume."),
    "rating": ("insights.app", "Human ratings: list and start studies, invite raters, show means."),
    "rebuttal": ("review.rebuttals", "Rebuttals of teams: list, answer."),
    "reference": ("competitions.references", "Reference images: attach and prepare, show."),
    "release": ("import_export.app", "Data releases: make, download, hand out."),
    "review": ("review.app", "The review queue: list, claim, show, review."),
    "role": ("competitions.roles", "Organizers and reviewers of a competition: offer, accept, end."),
    "ruling": ("review.rulings", "Rulings on entries: create, list, what they would change."),
    "shown-track": ("tuning.shown_tracks", "Numbers that are shown and not ranked: list, add, remove, measure."),
    "submission": ("submissions.app", "Entries: set labels, ask for code and download it."),
    "team": ("teams.app", "Teams: list members, write, rule on all entries."),
    "threshold": ("tuning.thresholds", "Tau of a track: preview, retune, undo, history."),
    "worker": ("jobs.workers", "Workers: drain, resume."),
}
"""The nouns of ``kennel admin``: module and group in it, and help."""
PANEL = "Taking part"
"""What the commands of participants are listed under."""
INSTALLATION = "This installation: backup, restore, doctor, secrets, systemd units."
ADMIN = "What organizers and admins do: by `kennel login --organize`, or KENNEL_URL and KENNEL_TOKEN."
KAGGLE = "Run the official kaggle client against Kennel: kennel kaggle competitions submit ..."
ANYTHING = {"allow_extra_args": True, "ignore_unknown_options": True}


def make_admin(server: Mapping[str, Sequence[TyperCommand]]) -> typer.Typer:
    """``kennel admin``: what organizers and admins do through the API, by noun; ``server``: what is added to a noun."""
    nouns = dict(NOUNS) | ({"installation": ("", INSTALLATION)} if "installation" in server else {})
    listed = [
        _listed_noun(noun, place, text, added=server.get(noun, ())) for noun, (place, text) in sorted(nouns.items())
    ]
    admin = typer.Typer(cls=listing(ListingGroup, listed), no_args_is_help=True, help=ADMIN)
    admin.callback()(lambda: None)  # without one, Typer takes it for an app without commands
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
    """The command for participants and organizers, with what is added to nouns of ``kennel admin``, and ``others``;
    ``--version`` tells the name and version of a distribution."""
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
        """Scores a competition of generative image models: the service, and what participants and organizers do
        there."""

    return app


def _command(module: str, name: str) -> TyperCommand:
    command: TyperCommand = command_in(f"kennel_client.cli.{module}", name)
    return command


def client_app() -> typer.Typer:
    """The command where only the client is installed."""
    missing = {
        noun: [_missing_command(f"kennel admin {noun}", name) for name in names]
        for noun, names in SERVER_ADMIN_COMMANDS.items()
    }
    others = [_missing_command("kennel", name) for name in SERVER_COMMANDS]
    return make_app(missing, others, "kennel-client", distribution_version=lambda: version("kennel-client"))


def _missing_command(group: str, name: str) -> TyperCommand:
    """A command that says what has to be installed for it."""

    def say() -> None:
        extras = "worker" if name in WITHOUT_A_SERVICE else "api,worker,standalone"
        raise Unreadable(
            f"`{group} {name}` belongs to the server, and only the client is installed here. In the folder of Kennel's "
            f"sources: pip install ./client '.[{extras}]'"
        )

    return TyperCommand(name, callback=say, hidden=True, add_help_option=False, context_settings=ANYTHING)


def main() -> None:
    """The console script: the server's command where it is installed, else the client's."""
    for server in entry_points(group=SERVER_GROUP):
        sys.exit(server.load()())
    with exit_on_error():
        client_app()()
