"""The ``kennel`` command with the server's commands, each of which is imported when it is called."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

import typer

from kennel_client.cli.connection import exit_on_error, translations
from kennel_client.cli.groups import ListedCommand, group_in
from kennel_client.cli.main import make_app
from kennel_client.errors import KennelError
from scorer import product_version

GROUPS = frozenset({"weights"})
COMMANDS = {
    "service": {
        "up": "Run the whole service on this machine: database, queue, web, workers. Ctrl-C ends it.",
        "demo": "Run a whole competition on real photographs: several methods, both scores, the board, a re-tune.",
        "migrate": "Bring the database at DATABASE_OWNER_URL (or DATABASE_URL) to the newest version.",
    },
    "scoring": {
        "score": "Score a zip against a reference without a server; the closest pairs of images are shown as evidence.",
        "rescore": "Measure a recorded submission again from its stored zip, as its provenance says; records nothing.",
    },
    "recovery.command": {
        "recover": "Test by latent recovery whether a generator makes its training photographs better than others.",
    },
    "weights": {
        "weights": "The extractors' weights in the folder KENNEL_WEIGHTS_DIR.",
    },
}
"""The server's commands: by module the names, and the first paragraphs of the help."""
ADMIN_COMMANDS = {
    "account": {
        "admin": {
            "create-admin": "Make an admin, or give an existing one a new token.",
            "token": "Print a new API token of an account, with all scopes that its role may have.",
            "reset-link": "Print a link with which somebody sets their password, within an hour.",
            "remove-second-factor": "Take the second factor from somebody who has lost it, with its recovery codes.",
            "delete": "Delete an account for good, for somebody who asks for it and cannot sign in.",
            "create": "Make a participant's account and print its first token.",
            "set-role": "Give an account another role: participant, organizer or admin.",
        },
    },
    "installation": {
        "admin_backups": {
            "backup": "Back up the database and all blobs while the service runs.",
            "verify-backup": "Read a backup through and compare every file with its SHA-256.",
            "restore": "Restore a backup into a new installation, on which nobody has worked yet.",
        },
        "admin_installation": {
            "rotate-secrets": "Give the database's roles and the queue server new passwords from the next start on.",
            "rotate-signing-key": "Sign receipts with a new key from now on.",
            "service": "Write systemd units for one machine without containers: web, beat and workers.",
            "doctor": "Look for what is wrong with this installation, from database to mail.",
        },
    },
}
"""What the server adds to nouns of ``kennel admin``."""
BACKENDS = frozenset({"kombu", "redis", "sqlalchemy"})


def make_server_app(prepare: Callable[[], None] = lambda: None) -> typer.Typer:
    """The whole command. ``prepare`` is called before a command of the server."""

    def listed(name: str, module: str, text: str) -> ListedCommand:
        def load() -> Any:
            group = group_in(f"deploy.cli.{module}")
            for command in group.commands.values():
                command.callback = _after(prepare, command.callback)
            return group if name in GROUPS else group.commands[name]

        return ListedCommand(name, text, load)

    def all_of(commands: Mapping[str, Mapping[str, str]]) -> list[ListedCommand]:
        return [listed(name, module, text) for module, texts in commands.items() for name, text in texts.items()]

    added = {noun: all_of(commands) for noun, commands in ADMIN_COMMANDS.items()}
    return make_app(
        added, all_of(COMMANDS), product_version.DISTRIBUTION, distribution_version=product_version.product_version
    )


def _after(prepare: Callable[[], None], function: Callable[..., Any] | None) -> Callable[..., Any]:
    def prepared(*arguments: Any, **options: Any) -> Any:
        prepare()
        return function(*arguments, **options) if function else None

    return prepared


app = make_server_app()


def prepare_process() -> None:
    """Log as the environment says, and let threads of networks sleep while they wait. By default a person reads what a
    command logs, and only what they should know."""
    from scorer.monitoring.logs import configure_logging
    from scorer.process_resources import wait_passively
    from scorer.settings import read_log_settings

    wait_passively()
    settings = read_log_settings()
    level = settings.log_level if "log_level" in settings.model_fields_set else "WARNING"
    configure_logging(level, "json" if settings.log_format == "json" else "text")


def in_words(error: Exception) -> KennelError | None:
    """What a fault of the database or the queue server is for a person; None for other errors."""
    if BACKENDS.isdisjoint(sys.modules):
        return None
    from deploy.cli import server_faults

    return server_faults.in_words(error)


translations.append(in_words)


def main() -> None:
    """The whole command; the client's console script calls it where the server is installed."""
    with exit_on_error():
        make_server_app(prepare_process)()
