"""The ``kennel`` command with the server's commands, which are imported when they are called."""

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
        "up": "Run the whole service on this machine: database, queue, web, workers. Press Ctrl-C to stop it.",
        "demo": ("Run a complete example competition with real photographs, from submissions to boards and a new tau."),
        "migrate": "Migrate the database at DATABASE_OWNER_URL (or DATABASE_URL) to this version.",
    },
    "scoring": {
        "score": "Score a zip against reference images without a server, and show the closest pairs of images.",
        "rescore": "Repeat the measurement of a scored submission, without recording the result.",
    },
    "generators": {
        "draw": "Draw the images that the service would draw from a generator with a seed, and count equal and "
        "nearly equal ones.",
    },
    "recovery.command": {
        "recover": "Use latent recovery to test whether a generator reproduces training images better than held-out "
        "images.",
    },
    "weights": {
        "weights": "Check, install and convert weights of extractors.",
    },
}
"""The server's commands by module: names and first paragraphs of the help."""
ADMIN_COMMANDS = {
    "account": {
        "admin": {
            "create-admin": "Create an admin account, or a new token for an existing one.",
            "token": "Print a new API token for an account, with all scopes that its role allows.",
            "reset-link": "Print a link for setting a new password. The link works for one hour.",
            "remove-second-factor": "Remove the second factor and recovery codes of somebody who has lost them.",
            "delete": "Permanently delete the account of somebody who asks for it and cannot sign in.",
            "create": "Create a participant's account and print its first token.",
            "set-role": "Set an account's role: participant, organizer or admin.",
        },
    },
    "installation": {
        "admin_backups": {
            "backup": "Back up the database and all blobs while the service runs.",
            "verify-backup": "Read a whole backup, and check every file against its SHA-256.",
            "restore": "Restore a backup into a new, unused installation.",
        },
        "admin_installation": {
            "rotate-secrets": "Replace the passwords of the database's roles and the queue server at the next start.",
            "rotate-signing-key": "Create a new key, which signs receipts from now on.",
            "service": "Write systemd units for the web process, beat and workers on one machine without containers.",
            "doctor": "Check this installation, from database to mail, and suggest fixes.",
        },
    },
}
"""The server's commands in nouns of ``kennel admin``."""
BACKENDS = frozenset({"kombu", "redis", "sqlalchemy"})


def make_server_app(prepare: Callable[[], None] = lambda: None) -> typer.Typer:
    """The whole command. ``prepare`` runs before each command of the server."""

    def listed(name: str, module: str, text: str) -> ListedCommand:
        def load() -> Any:
            group = group_in(f"deploy.cli.{module}")
            for command in group.commands.values():
                command.callback = _after(prepare, command.callback)
            return group if name in GROUPS else group.commands[name]

        return ListedCommand(name, text, load)

    def list_all_commands(commands: Mapping[str, Mapping[str, str]]) -> list[ListedCommand]:
        return [listed(name, module, text) for module, texts in commands.items() for name, text in texts.items()]

    added = {noun: list_all_commands(commands) for noun, commands in ADMIN_COMMANDS.items()}
    return make_app(
        added,
        list_all_commands(COMMANDS),
        product_version.DISTRIBUTION,
        distribution_version=product_version.product_version,
    )


def _after(prepare: Callable[[], None], function: Callable[..., Any] | None) -> Callable[..., Any]:
    def prepared(*arguments: Any, **options: Any) -> Any:
        prepare()
        return function(*arguments, **options) if function else None

    return prepared


app = make_server_app()


def prepare_process() -> None:
    """Configure logging from the environment, and let idle threads of libraries sleep. By default a command logs only
    what its user should know.
    """
    from scorer.monitoring.logs import configure_logging
    from scorer.process_resources import wait_passively
    from scorer.settings import read_log_settings

    wait_passively()
    settings = read_log_settings()
    level = settings.log_level if "log_level" in settings.model_fields_set else "WARNING"
    configure_logging(level, "json" if settings.log_format == "json" else "text")


def in_words(error: Exception) -> KennelError | None:
    """Translate an error of the database or queue server for people; None for other errors."""
    if BACKENDS.isdisjoint(sys.modules):
        return None
    from deploy.cli import server_faults

    return server_faults.in_words(error)


translations.append(in_words)


def main() -> None:
    """The whole command; the client's console script calls it if the server is installed."""
    with exit_on_error():
        make_server_app(prepare_process)()
