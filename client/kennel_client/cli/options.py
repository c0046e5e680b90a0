"""Options and arguments that several commands share."""

from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

Slug = Annotated[str, typer.Argument(metavar="COMPETITION", help="Its short name, as in `kennel competitions`.")]
EntryId = Annotated[str, typer.Argument(metavar="ID", help="The entry's id.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, and nothing else there.")]
Format = Literal["table", "csv", "json"]
AsFormat = Annotated[Format | None, typer.Option("--format", help="How to print the list: table if left out.")]
Watch = Annotated[bool, typer.Option("--watch", help="Follow it to its end; exit 1 unless it is scored.")]
Told = Annotated[str, typer.Option("--reason", help="Told to the team.")]
Reason = Annotated[str, typer.Option(help="For the audit log.")]


class IdCommand(TyperCommand):
    """A command that takes ids of entries, which may begin with a hyphen: ``-h`` asks for help, an id with an h does
    not."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, in which ``-h`` is ``--help``."""
        return super().parse_args(ctx, ["--help" if each == "-h" else each for each in args])


IDS: dict[str, Any] = {
    "cls": IdCommand,
    "context_settings": {"ignore_unknown_options": True, "help_option_names": ["--help"]},
}
"""How a command that takes ids of entries is declared."""
