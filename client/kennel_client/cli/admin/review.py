"""``kennel admin review``, ``ruling`` and ``rebuttal``: flagged submissions, reviews and decisions."""

from typing import Annotated, Literal, cast

import typer

from kennel_client.admin import Intent, Label, QueueState, RulingKind
from kennel_client.cli.formatting import format_count, format_time
from kennel_client.cli.output import (
    IDS,
    AdminClient,
    Answer,
    Listing,
    Slug,
    SubmissionId,
    TeamReason,
    View,
    answers,
    columns,
)

app, rulings, rebuttals = typer.Typer(), typer.Typer(), typer.Typer()
LabelArgument = Annotated[Label, typer.Argument(help="How the images were made.")]
RulingArgument = Annotated[RulingKind, typer.Argument(help="The ruling.")]


@answers(app, "list")
def list_flagged(
    admin: AdminClient,
    competition: Slug,
    state: Annotated[
        list[str] | None,
        typer.Option(help="Only this state: open, waiting, disputed, unruled or decided. Repeatable."),
    ] = None,
) -> Listing:
    """List the flagged submissions, highest priority first."""
    entries = admin.reviews.queue(competition, cast(list[QueueState], state) if state else None)
    shown = columns("entry=submission_id", "team", "state", "reviews", "label") | {"reasons": _reasons}
    return Listing(entries, shown, "No submissions are flagged.")


def _reasons(flagged: View) -> list[str]:
    return [reason["words"] for reason in flagged["reasons"]]


@answers(app, "next")
def claim_next(
    admin: AdminClient,
    competition: Slug,
    skip: Annotated[int, typer.Option(min=0, help="Skip this many submissions.")] = 0,
) -> Answer:
    """Claim, for 10 minutes, the highest-priority submission that you have not reviewed."""
    claimed = admin.reviews.claim_next(competition, skip)
    if claimed["entry"] is None:
        return Answer(claimed, "No submissions are waiting for your review.")
    until = format_time(claimed["claimed_until"])
    note = f"Claimed until {until}. Until then, other reviewers get other submissions first."
    return Answer(claimed, f"{_flagged_text(claimed['entry'])}\n{note}")


def _flagged_text(flagged: View) -> str:
    return "\n  - ".join([f"{flagged['submission_id']} of {flagged['team']}: {flagged['state']}", *_reasons(flagged)])


@answers(app, **IDS)
def show(admin: AdminClient, submission: SubmissionId) -> Answer:
    """Show why a submission is flagged, and its reviews. JSON output contains all evidence."""
    view = admin.reviews.get(submission)
    flagged = view["flagged"]
    lines = [_flagged_text(flagged) if flagged else f"{view['entry']['id']} of {view['entry']['team']}: not flagged"]
    lines += [
        f"{(twin['same_zip'] and 'same zip') or 'same images'}: {twin['submission_id']}" for twin in view["doubles"]
    ]
    lines.append(_opinions_text(view["opinions"]))
    return Answer(view, "\n".join(lines))


def _opinions_text(opinions: View) -> str:
    own = [opinions["own"]] if opinions["own"] else []
    lines = [format_count(opinions["count"], "review") + (", complete" if opinions["complete"] else "")]
    lines += [
        f"  {opinion['reviewer']}: {opinion['label']} {opinion['note']}".rstrip()
        for opinion in [*own, *opinions["others"]]
    ]
    if opinions["decided"]:
        lines.append(f"decided: {opinions['decided']['label']}")
    return "\n".join(lines)


@answers(app, **IDS)
def submit(
    admin: AdminClient,
    submission: SubmissionId,
    label: LabelArgument,
    intent: Annotated[
        Intent | None,
        typer.Option(help="Whether the copying was intended. Omit it for a legitimate submission."),
    ] = None,
    note: Annotated[str, typer.Option(help="A note for the other reviewers.")] = "",
) -> Answer:
    """Review a submission. You can replace your review until two reviewers have reviewed the submission."""
    opinions = admin.reviews.review(submission, label, intent, note=note)
    return Answer(opinions, _opinions_text(opinions))


@answers(app)
def twins(admin: AdminClient, competition: Slug) -> Listing:
    """List submissions of different teams that have the same zip or the same images."""
    groups = admin.reviews.twins(competition)
    shown = columns("same") | {
        "entries": lambda group: [entry["id"] for entry in group["entries"]],
        "teams": lambda group: [entry["team"] for entry in group["entries"]],
    }
    return Listing(groups, shown, "No teams have submitted the same zip or images.")


@answers(rulings, "create", **IDS)
def create_ruling(
    admin: AdminClient,
    submission: SubmissionId,
    kind: RulingArgument,
    reason: TeamReason,
    memorising: Annotated[
        bool | None,
        typer.Option(help="Whether the label `other` counts as memorising when tau is chosen. Default: no change."),
    ] = None,
) -> Answer:
    """Keep a submission as scored, disqualify it, or waive its penalty. A later ruling replaces this one."""
    ruling = admin.rulings.rule(submission, kind, reason, memorising=memorising)
    return Answer(ruling, f"{submission}: {ruling['kind']}.")


@answers(rulings, "list", **IDS)
def list_rulings(admin: AdminClient, submission: SubmissionId) -> Listing:
    """List the rulings on a submission. For rebuttals, use `kennel admin rebuttal list`."""
    rulings = admin.rulings.of(submission)["rulings"]
    return Listing(rulings, columns("id", "kind", "reason", "by=author", "at=created_at"), "There are no rulings yet.")


@answers(rulings, **IDS)
def stakes(admin: AdminClient, submission: SubmissionId) -> Listing:
    """Show how another ruling on a submission would change the boards, without changing them."""
    impacts = admin.rulings.stakes(submission)
    shown = columns("kind", "track", "rank before=before", "rank after=after") | {
        "medals and prizes change for": _teams
    }
    return Listing(impacts, shown, "No other ruling would change the boards.")


def _teams(stake: View) -> list[str]:
    return [turn["team"] for turn in stake["turns"]]


@answers(rebuttals, "list")
def list_rebuttals(admin: AdminClient, competition: Slug) -> Listing:
    """List the unanswered rebuttals, oldest first."""
    rebuttals = admin.rebuttals.unanswered(competition)
    shown = columns("id", "entry=submission_id", "track", "by=written_by", "at=created_at", "text")
    return Listing(rebuttals, shown, "No rebuttals are waiting for an answer.")


@answers(rebuttals)
def answer(
    admin: AdminClient,
    rebuttal: Annotated[int, typer.Argument(help="The rebuttal's ID, as shown by `list`.")],
    text: Annotated[str, typer.Argument(help="The answer (shown to the team).")],
    grant: Annotated[
        Literal["keep", "waive"] | None, typer.Option(help="Grant the rebuttal with this ruling. Default: refuse it.")
    ] = None,
) -> Answer:
    """Grant a rebuttal with a new ruling, or refuse it. The answer is final."""
    rebuttals = admin.rebuttals
    decision = rebuttals.grant(rebuttal, grant, text) if grant else rebuttals.refuse(rebuttal, text)
    return Answer(decision, f"Rebuttal {rebuttal} is {'granted' if decision['granted'] else 'refused'}.")
