"""``kennel admin rating``: studies in which people rate images of submissions."""

from typing import Annotated

import typer

from kennel_client.answers import StudySpec
from kennel_client.cli.formatting import terminal_safe
from kennel_client.cli.output import AdminClient, Answer, Listing, Slug, View, answers, columns
from kennel_client.results import format_number

app = typer.Typer()
Study = Annotated[int, typer.Argument(help="The study's ID, as shown by `list`.")]


@answers(app, "list")
def list_studies(admin: AdminClient, competition: Slug) -> Listing:
    """List the rating studies of a competition, newest first."""
    studies = admin.ratings.all(competition)
    shown = columns("id", "state", "entries", "images", "grids", "wanted", "created=created_at", "ended=ended_at")
    return Listing(studies, shown, "There are no rating studies yet.")


@answers(app)
def start(
    admin: AdminClient,
    competition: Slug,
    teams: Annotated[int, typer.Option(help="Rate the best submissions of this many teams.")] = 100,
    submission: Annotated[
        list[str] | None, typer.Option(help="ID of a submission to rate instead of the best ones. Repeatable.")
    ] = None,
    images: Annotated[int, typer.Option(help="Images per submission, rated for realism.")] = 100,
    grids: Annotated[int, typer.Option(help="Image grids per submission, rated for diversity.")] = 10,
    side: Annotated[int, typer.Option(help="Rows and columns of a grid.")] = 5,
    wanted: Annotated[int, typer.Option(help="Number of ratings that each image or grid gets.")] = 5,
) -> Answer:
    """Start a rating study; a worker prepares its images."""
    spec: StudySpec = {"images": images, "grids": grids, "side": side, "wanted": wanted}
    if submission:
        spec["submissions"] = submission
    else:
        spec["teams"] = teams
    return _answer(admin.ratings.start(competition, spec))


@answers(app)
def show(admin: AdminClient, competition: Slug, study: Study) -> Answer:
    """Show the progress of a study and the mean rating of each submission."""
    return _answer(admin.ratings.get(competition, study))


@answers(app)
def end(admin: AdminClient, competition: Slug, study: Study) -> Answer:
    """End a study, so that it accepts no more ratings."""
    return _answer(admin.ratings.end(competition, study))


def _answer(study: View) -> Answer:
    lines = [f"Study {study['id']}: {study['state']}, {study['entries']:,} submissions"]
    lines += [f"{kind['kind']}: {kind['ratings']:,} of {kind['wanted']:,} ratings" for kind in study["kinds"]]
    for mean in study.get("means") or ():
        error = f" ± {format_number(mean['standard_error'])}" if mean["standard_error"] is not None else ""
        lines.append(f"{format_number(mean['mean'])}{error} {mean['kind']}  {terminal_safe(mean['team'])}")
    return Answer(study, "\n".join(lines))


@answers(app)
def invite(
    admin: AdminClient,
    competition: Slug,
    study: Study,
    name: Annotated[str, typer.Argument(help="A name for the rater.")],
) -> Answer:
    """Create a link that lets one person rate without an account."""
    rater = admin.ratings.invite(competition, study, name)
    return Answer(rater, rater["link"])
