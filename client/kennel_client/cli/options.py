"""Options and arguments that several participant commands share."""

from typing import Annotated, Any

import typer

Slug = Annotated[str, typer.Argument(metavar="COMPETITION", help="Its short name, as in `kennel competitions`.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output, and nothing else there.")]
Watch = Annotated[bool, typer.Option("--watch", "--wait", help="Follow it to its end; exit 1 unless it is scored.")]
PANEL = "Taking part"
IDS: dict[str, Any] = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
"""For commands that take ids of entries, because an id may begin with a hyphen; an h in it does not ask for help."""
