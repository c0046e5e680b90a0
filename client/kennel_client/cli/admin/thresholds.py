"""``kennel admin threshold``: choosing the tau of a track."""

from typing import Annotated, Literal

import typer

from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, Listing, View, answers, columns

app = typer.Typer(no_args_is_help=True, help="Tau of a track: preview, retune, undo, history.")
Track = Annotated[Literal["public", "private"], typer.Argument(help="The track.")]
Method = Annotated[
    Literal["margin", "heldout", "otsu", "accuracy", "paper", "manual"], typer.Option(help="How tau is chosen.")
]
Alpha = Annotated[float, typer.Option(help="For margin: the share of legitimate entries it may penalise.")]
Tau = Annotated[float | None, typer.Option(help="For the method manual.")]
Reason = Annotated[str, typer.Option(help="Kept in the history.")]


@app.command("list")
@answers
def list_thresholds(
    competition: Slug,
    track: Track,
) -> Listing:
    """List the choices of tau, newest first."""
    with open_admin() as admin:
        history = admin.thresholds.history(competition, track)
    shown = columns(
        "id", "tau", "method", "standing", "penalised=penalised_count", "freed=freed_count", "by=author",
        "at=created_at", "reason",
    )  # fmt: skip
    return Listing(history, shown, "No tau was chosen yet.")


@app.command()
@answers
def changes(
    competition: Slug, track: Track, threshold: Annotated[int, typer.Argument(help="Its id, as `list` shows it.")]
) -> Listing:
    """List the entries that a choice of tau penalised or freed."""
    with open_admin() as admin:
        entries = admin.thresholds.changes(competition, track, threshold)
    shown = columns("entry=submission_id", "team", "distance=memorization_distance", "label")
    return Listing(entries, shown, "It penalised and freed none.")


@app.command()
@answers
def choices(competition: Slug, track: Track, alpha: Alpha = 0.0) -> Listing:
    """List what every automatic method would choose now, or what it lacks."""
    with open_admin() as admin:
        options = admin.thresholds.choices(competition, track, alpha)
    shown = columns("method", "tau") | {"lacks": lambda option: option["lacks"] and option["lacks"]["message"]}
    return Listing(options, shown, "There is no method.")


@app.command()
@answers
def preview(competition: Slug, track: Track, method: Method = "margin", tau: Tau = None, alpha: Alpha = 0.0) -> Answer:
    """Say what a choice of tau would change, and change nothing."""
    with open_admin() as admin:
        return _answer(admin.thresholds.preview(competition, track, method, tau=tau, alpha=alpha))


@app.command()
@answers
def retune(
    competition: Slug,
    track: Track,
    method: Method = "margin",
    tau: Tau = None,
    alpha: Alpha = 0.0,
    reason: Reason = "",
) -> Answer:
    """Choose a track's tau, and say what that changes."""
    with open_admin() as admin:
        return _answer(admin.thresholds.retune(competition, track, method, tau=tau, alpha=alpha, reason=reason))


@app.command()
@answers
def undo(competition: Slug, track: Track, reason: Reason) -> Answer:
    """Take the newest choice of tau back."""
    with open_admin() as admin:
        return _answer(admin.thresholds.undo(competition, track, reason))


def _answer(retuning: View) -> Answer:
    counts = retuning["counts"]
    former = "none" if retuning["previous_tau"] is None else f"{retuning['previous_tau']:.6g}"
    lines = [
        f"{retuning['track']}: tau {retuning['tau']:.6g} by {retuning['method']}, before {former}",
        f"{counts['penalised']:,} of {counts['entries']:,} entries penalised, {counts['freed']:,} freed, "
        f"{counts['borderline']:,} near tau",
        f"{counts['moves']:,} teams move, {counts['medals']:,} medals and {counts['prizes']:,} prizes change",
    ]
    if retuning["preview"]:
        lines.append("Nothing was changed.")
    return Answer(retuning, "\n".join(lines))
