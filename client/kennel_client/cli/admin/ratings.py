"""``kennel admin rating``: studies in which people rate images of entries."""

from typing import Annotated

import typer

from kennel_client.answers.ratings import StudySpec
from kennel_client.cli.connection import open_admin
from kennel_client.cli.formatting import format_number, terminal_safe
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, Listing, View, answers, columns

app = typer.Typer(no_args_is_help=True, help="Human ratings: list and start studies, invite raters, show means.")
Study = Annotated[int, typer.Argument(help="The study's number, as `list` shows it.")]


@app.command("list")
@answers
def list_studies(competition: Slug) -> Listing:
    """List the rating studies of a competition, newest first."""
    with open_admin() as admin:
        studies = admin.ratings.all(competition)
    shown = columns("id", "state", "entries", "images", "grids", "wanted", "created=created_at", "ended=ended_at")
    return Listing(studies, shown, "There are no studies.")


@app.command()
@answers
def start(
    competition: Slug,
    teams: Annotated[int, typer.Option(help="The best entries of so many teams.")] = 100,
    submission: Annotated[list[str] | None, typer.Option(help="An entry's id: these instead of the best.")] = None,
    images: Annotated[int, typer.Option(help="Images of an entry, rated for realism.")] = 100,
    grids: Annotated[int, typer.Option(help="Grids of images of an entry, rated for diversity.")] = 10,
    side: Annotated[int, typer.Option(help="Rows and columns of a grid.")] = 5,
    wanted: Annotated[int, typer.Option(help="Ratings of an item.")] = 5,
) -> Answer:
    """Begin a rating study; a worker cuts its images."""
    spec: StudySpec = {"images": images, "grids": grids, "side": side, "wanted": wanted}
    if submission:
        spec["submissions"] = submission
    else:
        spec["teams"] = teams
    with open_admin() as admin:
        return _answer(admin.ratings.start(competition, spec))


@app.command()
@answers
def show(competition: Slug, study: Study) -> Answer:
    """Show a study: its progress, agreement, and every entry's mean."""
    with open_admin() as admin:
        return _answer(admin.ratings.get(competition, study))


@app.command()
@answers
def end(competition: Slug, study: Study) -> Answer:
    """Take no more ratings."""
    with open_admin() as admin:
        return _answer(admin.ratings.end(competition, study))


def _answer(study: View) -> Answer:
    lines = [f"Study {study['id']}: {study['state']}, {study['entries']:,} entries"]
    lines += [f"{each['kind']}: {each['ratings']:,} of {each['wanted']:,} ratings" for each in study["kinds"]]
    for mean in study.get("means") or ():
        error = f" ± {format_number(mean['standard_error'])}" if mean["standard_error"] is not None else ""
        lines.append(f"{format_number(mean['mean'])}{error} {mean['kind']}  {terminal_safe(mean['team'])}")
    return Answer(study, "\n".join(lines))


@app.command()
@answers
def invite(
    competition: Slug, study: Study, name: Annotated[str, typer.Argument(help="What you call the rater.")]
) -> Answer:
    """Print a link with which one person rates without an account."""
    with open_admin() as admin:
        rater = admin.ratings.invite(competition, study, name)
    return Answer(rater, rater["link"])
