"""``kennel admin threshold``, ``extractor`` and ``shown-track``: tau, private extractor, additional metrics."""

import math
from typing import Annotated

import typer

from kennel_client.cli.connection import saying
from kennel_client.cli.output import AdminClient, Answer, Listing, Slug, View, answers, columns
from kennel_client.errors import Unreadable
from kennel_client.names import ThresholdMethod, TrackKind

thresholds, extractors, shown_tracks = typer.Typer(), typer.Typer(), typer.Typer()
TrackName = Annotated[TrackKind, typer.Argument(help="The track.")]
Method = Annotated[ThresholdMethod, typer.Option(help="The method that chooses tau.")]
Alpha = Annotated[float, typer.Option(help="For margin: the largest share of legitimate submissions to penalise.")]
Tau = Annotated[float | None, typer.Option(help="The value of tau, for the method manual.")]
Reason = Annotated[str, typer.Option(help="Reason (shown in `list`).")]
Name = Annotated[str, typer.Argument(help="The shown track's name (see `list`).")]


@answers(thresholds, "list")
def list_thresholds(
    admin: AdminClient,
    competition: Slug,
    track: TrackName,
) -> Listing:
    """List the choices of tau, newest first."""
    history = admin.thresholds.history(competition, track)
    shown = columns(
        "id", "tau", "method", "standing", "penalised=penalised_count", "no longer penalised=freed_count", "by=author",
        "at=created_at", "reason",
    )  # fmt: skip
    return Listing(history, shown, "No tau has been chosen yet.")


@answers(thresholds)
def changes(
    admin: AdminClient,
    competition: Slug,
    track: TrackName,
    threshold: Annotated[int, typer.Argument(help="The choice's ID, as shown by `list`.")],
) -> Listing:
    """List the submissions whose penalty a choice of tau added or removed."""
    entries = admin.thresholds.changes(competition, track, threshold)
    shown = columns("entry=submission_id", "team", "distance=memorization_distance", "label")
    return Listing(entries, shown, "This choice did not add or remove any penalties.")


@answers(thresholds)
def choices(admin: AdminClient, competition: Slug, track: TrackName, alpha: Alpha = 0.0) -> Listing:
    """List the tau that each automatic method would choose now, or why it cannot choose one."""
    options = admin.thresholds.choices(competition, track, alpha)
    shown = columns("method", "tau") | {"problem": lambda option: option["lacks"] and option["lacks"]["message"]}
    return Listing(options, shown, "There are no methods.")


@answers(thresholds)
def preview(
    admin: AdminClient,
    competition: Slug,
    track: TrackName,
    method: Method = "margin",
    tau: Tau = None,
    alpha: Alpha = 0.0,
) -> Answer:
    """Show what a choice of tau would change, without changing anything."""
    return _retuning_answer(admin.thresholds.preview(competition, track, method, tau=tau, alpha=alpha))


@answers(thresholds)
def retune(
    admin: AdminClient,
    competition: Slug,
    track: TrackName,
    method: Method = "margin",
    tau: Tau = None,
    alpha: Alpha = 0.0,
    reason: Reason = "",
) -> Answer:
    """Choose a track's tau, and show what changes."""
    return _retuning_answer(admin.thresholds.retune(competition, track, method, tau=tau, alpha=alpha, reason=reason))


@answers(thresholds)
def undo(admin: AdminClient, competition: Slug, track: TrackName, reason: Reason) -> Answer:
    """Undo the latest choice of tau."""
    return _retuning_answer(admin.thresholds.undo(competition, track, reason))


def _retuning_answer(retuning: View) -> Answer:
    counts = retuning["counts"]
    former = "none" if retuning["previous_tau"] is None else f"{retuning['previous_tau']:.6g}"
    lines = [
        f"{retuning['track']}: tau {retuning['tau']:.6g} with {retuning['method']}, previously {former}",
        f"{counts['penalised']:,} of {counts['entries']:,} submissions penalised, {counts['freed']:,} no longer "
        f"penalised, {counts['borderline']:,} near tau",
        f"{counts['moves']:,} teams change rank, {counts['medals']:,} medals and {counts['prizes']:,} prizes change",
    ]
    if retuning["preview"]:
        lines.append("This is a preview; nothing was changed.")
    return Answer(retuning, "\n".join(lines))


@answers(extractors)
def show(admin: AdminClient, competition: Slug) -> Answer:
    """Show the private track's extractor, and the extractors that you can compare with it."""
    view = admin.private_extractor.get(competition)
    counts = f"{view['scored']:,} submissions scored, {view['waiting']:,} waiting, {view['failed']:,} failed"
    candidates = ", ".join(view["candidates"]) or "none"
    return Answer(
        view, f"The private track uses {view['extractor']}: {counts}.\nYou can compare it with: {candidates}."
    )


@answers(extractors)
def compare(
    admin: AdminClient,
    competition: Slug,
    extractors: Annotated[list[str], typer.Argument(help="Extractors to compare, such as efficientnet_lite2.")],
    early_labels: Annotated[
        bool, typer.Option("--early-labels", help="Use early labels for submissions without a decided label.")
    ] = False,
) -> Answer:
    """Compare how well the private track's extractor and others separate labelled submissions, and wait for the
    result.
    """
    admin.private_extractor.compare(competition, extractors, early_labels=early_labels)
    comparison = admin.private_extractor.wait(competition, see=saying(_comparison_progress))["comparison"]
    return Answer(
        comparison, "\n".join(map(_compared_text, comparison["extractors"])) or "There are no comparisons yet."
    )


def _comparison_progress(extractor: View) -> str:
    compared = extractor["comparison"]["extractors"]
    return "; ".join(f"{other['extractor']}: {other['state']} {other['measured']}" for other in compared)


def _compared_text(compared: View) -> str:
    details = compared["error"] or compared["lacks"]
    if compared["choice"]:
        details = ", ".join(f"{name} {value}" for name, value in compared["choice"].items())
    return f"{compared['extractor']}: {compared['state']}, {compared['measured']:,} measured" + (
        f"; {details}" if details else ""
    )


@answers(extractors)
def choose(
    admin: AdminClient,
    competition: Slug,
    extractor: Annotated[str, typer.Argument(help="An extractor that was compared.")],
    reason: Annotated[str, typer.Option(help="Reason (recorded in the audit log).")],
    tau: Annotated[
        float | None, typer.Option(help="The new tau. Default: half the memorization distance of the held-out images.")
    ] = None,
) -> Answer:
    """Change the private track's extractor, and score all submissions again."""
    chosen = admin.private_extractor.choose(competition, extractor, reason, tau=tau)
    text = f"The private track uses {chosen['extractor']}; {chosen['waiting']:,} submissions are waiting to be scored."
    return Answer(chosen, text)


@answers(shown_tracks, "list")
def list_shown_tracks(admin: AdminClient, competition: Slug) -> Listing:
    """List the shown tracks of a competition with their progress."""
    tracks = admin.shown_tracks.all(competition)
    counts = ("measured", "waiting", "failed", "missing", "error")
    rows = [{**dict.fromkeys(counts), **track, **(track["progress"] or {})} for track in tracks]
    shown = columns("name", "metric", "extractor", "reference", "visibility", "state", *counts)
    return Listing(rows, shown, "There are no shown tracks yet.")


@answers(shown_tracks)
def add(
    admin: AdminClient,
    competition: Slug,
    name: Annotated[str, typer.Argument(help="Name of the column: lower-case letters, digits, underscores.")],
    metric: Annotated[str, typer.Argument(help="The metric, such as fid, kid, cmmd, precision, coverage or vendi.")],
    extractor: Annotated[str, typer.Argument(help="The extractor, such as dinov2.")],
    reference: Annotated[TrackKind, typer.Option(help="The track whose reference set to use.")] = "public",
    everybody: Annotated[
        bool,
        typer.Option(
            "--everybody",
            help="Show it to everybody now. Default: only to organizers and reviewers, until the board is final.",
        ),
    ] = False,
    constant: Annotated[list[str] | None, typer.Option(help="A metric's constant, as NAME=NUMBER. Repeatable.")] = None,
) -> Answer:
    """Show another metric, which does not affect ranks. Submissions are measured when no other jobs are waiting."""
    constants = dict(map(_name_and_number, constant or ()))
    shown = admin.shown_tracks.add(
        competition,
        name,
        metric,
        extractor=extractor,
        reference=reference,
        visibility="everybody" if everybody else "organizers",
        constants=constants,
    )
    return Answer(shown, _shown_text(shown))


def _name_and_number(text: str) -> tuple[str, float]:
    name, _, written = text.partition("=")
    try:
        number = float(written)
    except ValueError:
        number = math.nan
    if not name or not math.isfinite(number):  # JSON cannot represent other numbers
        raise Unreadable(f"{text} does not have the form NAME=NUMBER.")
    return name, number


def _shown_text(shown: View) -> str:
    progress = shown["progress"]
    far = f": {progress['state']}, {progress['waiting']:,} submissions waiting" if progress else ""
    seen = (
        "everybody"
        if shown["visibility"] == "everybody"
        else "organizers and reviewers until the final board is published"
    )
    return f"{shown['name']} ({shown['title']}, {shown['extractor']}) is shown to {seen}{far}."


@answers(shown_tracks)
def remove(admin: AdminClient, competition: Slug, name: Name) -> Answer:
    """Remove a shown track. Its measurements are kept."""
    admin.shown_tracks.remove(competition, name)
    return Answer({"name": name, "removed": True}, f"{name} is no longer shown.")


@answers(shown_tracks)
def measure(admin: AdminClient, competition: Slug, name: Name) -> Answer:
    """After a failure, measure the submissions that have no value on a shown track."""
    queued = admin.shown_tracks.measure_missing(competition, name)
    return Answer(
        queued, f"{queued['entries']:,} submissions are queued; they are measured when no other jobs are waiting."
    )
