"""``kennel admin review``: flagged entries, and what reviewers say of them."""

from typing import Annotated, Literal, cast

import typer

from kennel_client.admin.reviews import QueueState
from kennel_client.cli.connection import open_admin
from kennel_client.cli.options import IDS, EntryId, Label, Slug
from kennel_client.cli.output import Answer, Listing, View, answers, columns

app = typer.Typer(no_args_is_help=True, help="The review queue: list, claim, show, review.")


@app.command("list")
@answers
def list_flagged(
    competition: Slug,
    state: Annotated[
        list[str] | None, typer.Option(help="Only open, waiting, disputed, unruled or decided ones; may be repeated.")
    ] = None,
) -> Listing:
    """List the flagged entries, most decisive first."""
    with open_admin() as admin:
        entries = admin.reviews.queue(competition, cast(list[QueueState], state) if state else None)
    shown = columns("entry=submission_id", "team", "state", "reviews", "label") | {"reasons": _reasons}
    return Listing(entries, shown, "No entry is flagged.")


def _reasons(flagged: View) -> list[str]:
    return [reason["words"] for reason in flagged["reasons"]]


@app.command("next")
@answers
def claim_next(
    competition: Slug,
    skip: Annotated[int, typer.Option(min=0, help="Pass over so many.")] = 0,
) -> Answer:
    """Claim the most decisive entry that you have still to review, for some minutes."""
    with open_admin() as admin:
        claimed = admin.reviews.claim_next(competition, skip)
    if claimed["entry"] is None:
        return Answer(claimed, "There is no entry for you to review.")
    text = f"{_flagged_text(claimed['entry'])}\nOthers are given others first until {claimed['claimed_until']}."
    return Answer(claimed, text)


def _flagged_text(flagged: View) -> str:
    return "\n  - ".join([f"{flagged['submission_id']} of {flagged['team']}: {flagged['state']}", *_reasons(flagged)])


@app.command(**IDS)
@answers
def show(submission: EntryId) -> Answer:
    """Show what helps to judge an entry: its reasons, reviews and case; everything as JSON."""
    with open_admin() as admin:
        view = admin.reviews.get(submission)
    flagged = view["flagged"]
    lines = [_flagged_text(flagged) if flagged else f"{view['entry']['id']} of {view['entry']['team']}: not flagged"]
    lines += [
        f"{(each['same_zip'] and 'same zip') or 'same images'}: {each['submission_id']}" for each in view["doubles"]
    ]
    lines.append(_opinions_text(view["opinions"]))
    return Answer(view, "\n".join(lines))


def _opinions_text(opinions: View) -> str:
    own = [opinions["own"]] if opinions["own"] else []
    lines = [f"{opinions['count']} reviews" + (", complete" if opinions["complete"] else "")]
    lines += [f"  {each['reviewer']}: {each['label']} {each['note']}".rstrip() for each in [*own, *opinions["others"]]]
    if opinions["decided"]:
        lines.append(f"decided: {opinions['decided']['label']}")
    return "\n".join(lines)


@app.command(**IDS)
@answers
def submit(
    submission: EntryId,
    label: Label,
    intent: Annotated[
        Literal["intended", "unintended", "unclear"] | None,
        typer.Option(help="Whether copying was meant; none for a legitimate entry."),
    ] = None,
    note: Annotated[str, typer.Option(help="For the other reviewers.")] = "",
) -> Answer:
    """Review an entry; until a second review closes it, a later one of yours replaces this."""
    with open_admin() as admin:
        opinions = admin.reviews.review(submission, label, intent, note)
    return Answer(opinions, _opinions_text(opinions))


@app.command()
@answers
def twins(competition: Slug) -> Listing:
    """List entries of different teams with the same zip or the same images."""
    with open_admin() as admin:
        groups = admin.reviews.twins(competition)
    shown = columns("same") | {
        "entries": lambda group: [each["id"] for each in group["entries"]],
        "teams": lambda group: [each["team"] for each in group["entries"]],
    }
    return Listing(groups, shown, "No entries are alike.")
