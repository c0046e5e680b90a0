"""Output of commands, and the options and arguments that commands share."""

import csv
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import wraps
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer
from rich.console import Console
from typer.core import TyperCommand

from kennel_client.cli import tables
from kennel_client.cli.connection import open_admin, reported_errors
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.formatting import escape_formula, format_time, terminal_safe, terminal_safe_lines, utf8_output
from kennel_client.names import Distribution

if TYPE_CHECKING:
    from kennel_client.admin import Admin
    from kennel_client.api import ApiClient

View = Mapping[str, Any]
AdminClient: TypeAlias = "Admin[ApiClient]"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")

Slug = Annotated[str, typer.Argument(metavar="COMPETITION", help="The competition's slug (see `kennel competitions`).")]
SubmissionId = Annotated[str, typer.Argument(metavar="ID", help="The submission's ID.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output, and nothing else.")]
Format = Literal["table", "csv", "json"]
AsFormat = Annotated[Format | None, typer.Option("--format", help="Output format. Default: table.")]
Watch = Annotated[bool, typer.Option("--watch", help="Wait for the score. If there is none, exit with status 1.")]
RequiredBy = Annotated[
    str | None, typer.Option(help="Ask the service what this competition requires: count, size, latents.")
]
LatentDimension = Annotated[
    int | None, typer.Option(min=1, help="A generator's latent dimension. Default: that of the file.")
]
LatentDistribution = Annotated[
    Distribution | None,
    typer.Option(help="A generator's latent distribution. Default: as in the file, else the competition's."),
]
LatentClasses = Annotated[
    int | None,
    typer.Option(min=0, help="Classes of a one-hot class after a generator's latent; 0: no class. Default: as above."),
]
AcceptWeakerSandbox = Annotated[
    bool,
    typer.Option("--accept-weaker-sandbox", help="Run the generator even if this system lacks parts of the sandbox."),
]
TeamReason = Annotated[str, typer.Option("--reason", help="Reason (shown to the team).")]
Reason = Annotated[str, typer.Option(help="Reason (recorded in the audit log).")]


@dataclass(frozen=True)
class Answer:
    """One document for programs, and its text for people or a function that prints it."""

    document: Any
    text: str | Callable[[Console], None]
    exit_code: ExitCode = ExitCode.DONE

    def print(self, form: Format) -> None:
        if form == "csv":
            raise typer.BadParameter("This output is not a list; use --format table or json.")
        tables.print_answer(self.document, self._show, as_json=form == "json")

    def _show(self, out: Console) -> None:
        if callable(self.text):
            self.text(out)
        else:
            tables.print_text(out, terminal_safe_lines(self.text))


@dataclass(frozen=True)
class Listing:
    """A list of documents: complete as JSON; as a table or CSV with the columns, each a function of a document."""

    documents: Sequence[View]
    columns: Mapping[str, Callable[[View], object]]
    empty: str
    """The text shown instead of an empty table."""
    exit_code: ExitCode = ExitCode.DONE

    def print(self, form: Format) -> None:
        if form == "csv":
            writer = csv.writer(utf8_output(), lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows([csv_cell(value) for value in row] for row in self._rows())
        else:
            tables.print_answer(list(self.documents), self._show, as_json=form == "json")

    def _rows(self) -> list[list[object]]:
        return [[compute(document) for compute in self.columns.values()] for document in self.documents]

    def _show(self, out: Console) -> None:
        rows = self._rows()
        if not rows:
            tables.print_text(out, self.empty)
            return
        alignment = {
            name: tables.RIGHT if all(isinstance(row[index], int | float | None) for row in rows) else tables.LEFT
            for index, name in enumerate(self.columns)
        }
        tables.print_table(out, alignment, [[table_cell(value) for value in row] for row in rows])


def table_cell(value: object) -> str:
    match value:
        case None | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
        case list() | tuple():
            return ", ".join(map(table_cell, value)) or "-"
    text = str(value)
    return format_time(text) if TIME.fullmatch(text) else terminal_safe(text)


def csv_cell(value: object) -> object:
    """A value for a CSV file; no text becomes a spreadsheet's formula."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int() | float():
            return value
        case list() | tuple():
            return escape_formula(" ".join(map(str, value)))
    return escape_formula(str(value))


def columns(*names: str) -> dict[str, Callable[[View], object]]:
    """Columns from fields of the documents: ``"handle"``, or ``"last seen=last_seen_at"`` with another heading."""
    pairs = [name.partition("=") for name in names]
    return {heading: itemgetter(field or heading) for heading, _, field in pairs}


def answers(
    app: typer.Typer, name: str | None = None, **settings: Any
) -> Callable[[Callable[..., Answer | Listing]], Callable[..., None]]:
    """Add a command to ``app`` that prints the function's return value in the requested format. Two parameters of the
    function are not options: ``as_json`` says whether the format is JSON; ``admin`` has the methods of organizers and
    admins with the current login.
    """

    def add(function: Callable[..., Answer | Listing]) -> Callable[..., None]:
        signature = inspect.signature(function)
        parameters = dict(signature.parameters)
        wanted = {"as_json", "admin"} & parameters.keys()
        parameters.pop("admin", None)
        parameters["as_json"] = _option("as_json", AsJson, default=False)
        if signature.return_annotation is not Answer:
            parameters["form"] = _option("form", AsFormat, default=None)

        @wraps(function)
        def command(as_json: bool = False, form: Format | None = None, **options: Any) -> None:
            chosen = choose_format(form, as_json=as_json)
            with (
                reported_errors(as_json=True) if chosen == "json" else nullcontext(),
                open_admin() if "admin" in wanted else nullcontext() as admin,
            ):
                more = {"as_json": chosen == "json", "admin": admin}
                answer = function(**options, **{parameter: more[parameter] for parameter in wanted})
            answer.print(chosen)
            if answer.exit_code:
                raise typer.Exit(answer.exit_code)

        command.__dict__["__signature__"] = inspect.Signature(list(parameters.values()))
        command.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()} | {
            "return": None
        }
        return app.command(name, **settings)(command)

    return add


def choose_format(form: Format | None, *, as_json: bool) -> Format:
    if as_json and form not in {None, "json"}:
        raise typer.BadParameter(f"--json and --format {form} cannot be combined.")
    return "json" if as_json else form or "table"


def _option(name: str, annotation: Any, *, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


class IdCommand(TyperCommand):
    """A command that takes submission IDs, which may begin with a hyphen: only ``-h`` itself asks for help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, ["--help" if argument == "-h" else argument for argument in args])


IDS: dict[str, Any] = {
    "cls": IdCommand,
    "context_settings": {"ignore_unknown_options": True, "help_option_names": ["--help"]},
}
"""Typer settings for a command that takes submission IDs."""
