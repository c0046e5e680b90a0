"""``kennel competitions``, ``rules``, ``leaderboard`` and ``pick``."""

import csv
import io
import sys
from functools import partial
from typing import Annotated

import typer

from kennel_client.api import ApiClient, segment
from kennel_client.cli import tables
from kennel_client.cli.connection import err, open_client, reported_errors
from kennel_client.cli.formatting import utf8_output
from kennel_client.cli.output import IDS, Answer, AsFormat, AsJson, Listing, Slug, answers, choose_format, columns
from kennel_client.operations import accept_rules_version, board_view
from kennel_client.results import rules_state

app = typer.Typer()


@answers(app)
def competitions() -> Listing:
    """List the competitions."""
    with open_client(needs_token=False) as client:
        views = client.get_list("/competitions", "competitions")
    shown = columns("competition=slug", "title", "phase", "closes=closes_at", "entries") | {
        "images": lambda view: f"{view['image_count']:,} of {view['image_size']}x{view['image_size']}",
        "rules": rules_state,
    }
    return Listing(views, shown, "There are no competitions yet.")


@answers(app)
def rules(
    competition: Slug,
    accept: Annotated[bool, typer.Option("--accept", help="Accept the rules in their current version.")] = False,
) -> Answer:
    """Show or accept the rules of a competition."""
    with open_client(needs_token=accept) as client:
        details = client.get(f"/competitions/{segment(competition)}")
        if accept:
            client.run(accept_rules_version(details["slug"], details["rules_sha256"]))
            details["rules_accepted"] = True
    view = {name: details[name] for name in ("slug", "title", "rules", "rules_sha256", "rules_accepted")}
    return Answer(view, partial(tables.print_rules, view=view))


def accepts_rules(client: ApiClient, slug: str) -> bool:
    """Show the rules and ask for acceptance; return whether they were accepted. False without a terminal."""
    if not sys.stdin.isatty() or not err.is_terminal:
        return False
    competition = client.get(f"/competitions/{segment(slug)}")
    tables.print_rules(err, competition)
    if not typer.confirm("Do you accept these rules?", err=True):
        return False
    client.run(accept_rules_version(competition["slug"], competition["rules_sha256"]))
    return True


@app.command()
def leaderboard(
    competition: Slug,
    private: Annotated[bool, typer.Option("--private", help="Show the final board, once it is published.")] = False,
    late: Annotated[bool, typer.Option("--late", help="Show the board of submissions after the deadline.")] = False,
    search: Annotated[str, typer.Option(help="Only teams whose name contains this text.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Number of ranks to show.")] = 50,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Also show this metric. CSV and JSON output contains all metrics."),
    ] = None,
    as_json: AsJson = False,
    form: AsFormat = None,
) -> None:
    """Show a competition's board. CSV output contains all ranks."""
    form = choose_format(form, as_json=as_json)
    with reported_errors(as_json=form == "json"), open_client(needs_token=False) as client:
        if form == "csv":
            params = {"track": "private" if private else "public", "late": late, "format": "csv"}
            answer = client.send("GET", f"/competitions/{segment(competition)}/leaderboard", params=params)
            utf8_output().write(_matching_csv_rows(answer.text, search))
            return
        board = client.run(board_view(competition, private=private, late=late, search=search, limit=limit))
    shown = [track["name"] for track in board["shown_tracks"]]
    if unknown := [name for name in column or () if name not in shown]:
        message = f"This board has no metric {', '.join(unknown)}. Available: {', '.join(shown) or 'none'}."
        raise typer.BadParameter(message, param_hint="--column")
    printed = partial(tables.print_board, view=board, shown=column or ())
    tables.print_answer(board, printed, as_json=form == "json")


def _matching_csv_rows(text: str, search: str) -> str:
    if not search:
        return text
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    writer.writerows([head, *(row for row in rows if search.casefold() in row[head.index("team")].casefold())])
    return file.getvalue()


@answers(app, **IDS)
def pick(
    competition: Slug,
    submissions: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="The submissions to pick.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Clear the picks.")] = False,
) -> Answer:
    """Pick the submissions that decide your team's final rank. Without IDs, show the current picks."""
    if clear and submissions:
        raise typer.BadParameter("--clear cannot be combined with submission IDs.")
    path = f"/competitions/{segment(competition)}/picks"
    with open_client() as client:
        changed = clear or bool(submissions)
        picks = client.put(path, {"submissions": submissions or []}) if changed else client.get(path)
    return Answer(picks, partial(tables.print_final_picks, view=picks))
