"""``kennel admin campaign``: measure submissions again, and apply the new measurements."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, cast

import typer

from kennel_client.admin import CampaignAct, ReferenceRole
from kennel_client.cli.connection import saying
from kennel_client.cli.output import AdminClient, Answer, Listing, Slug, View, answers, columns
from kennel_client.errors import Unreadable
from kennel_client.names import TrackKind

app = typer.Typer()
Number = Annotated[int, typer.Argument(help="The campaign's ID, as shown by `list`.")]
Tau = Annotated[
    float | None, typer.Option(help="The new tau. Default: unchanged, unless the campaign uses another extractor.")
]
Reason = Annotated[str, typer.Option(help="Reason (stored with the campaign).")]
DECISIONS: dict[CampaignAct, str] = {
    "pause": "Pause a campaign: workers start no more of its jobs.",
    "resume": "Resume a campaign: measure its remaining submissions.",
    "cancel": "Cancel a campaign. Its measurements are kept.",
    "undo": "Undo the switch to a campaign's measurements.",
}


@answers(app, "list")
def list_campaigns(admin: AdminClient, competition: Slug) -> Listing:
    """List the rescoring campaigns of a competition."""
    campaigns = admin.campaigns.all(competition)
    shown = columns("id", "track", "state", "extractor", "done", "waiting", "failed", "changed", "by", "reason")
    return Listing(campaigns, shown, "There are no campaigns yet.")


@answers(app)
def start(
    admin: AdminClient,
    competition: Slug,
    track: Annotated[TrackKind, typer.Argument(help="The track to measure.")],
    reason: Reason,
    submission: Annotated[list[str] | None, typer.Option(help="A submission's ID. Default: all scored ones.")] = None,
    extractor: Annotated[str | None, typer.Option(help="Another extractor (not with --submission).")] = None,
    references: Annotated[
        list[str] | None,
        typer.Option(help="Corrected images as ROLE=PATH: a zip or folder for train, held_out or private_extra."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all submissions are measured.")] = False,
) -> Answer:
    """Measure submissions of a track again, when no other jobs are waiting. Boards don't change until you run
    `switch`.
    """
    corrected: dict[str, str] = {}
    for role, file in map(_role_and_path, references or ()):
        corrected[role] = admin.references.attach(competition, role, file, attach=False)["sha256"]
    campaign = admin.campaigns.start(
        competition,
        track,
        reason=reason,
        submissions=submission or None,
        extractor=extractor,
        references=corrected,
    )
    if wait:
        campaign = admin.campaigns.wait(competition, campaign["id"], see=saying(_progress))
    return _answer(campaign)


def _role_and_path(text: str) -> tuple[ReferenceRole, Path]:
    role, equals, path = text.partition("=")
    if not equals:
        raise Unreadable(f"{text} does not have the form ROLE=PATH.")
    return cast(ReferenceRole, role), Path(path)


def _progress(campaign: View) -> str:
    return f"{campaign['state']}: {campaign['done']:,} measured, {campaign['waiting']:,} waiting"


def _answer(campaign: View) -> Answer:
    error = f"\n{campaign['error']}" if campaign["error"] else ""
    allowed = f"\nPossible next steps: {', '.join(campaign['allowed'])}." if campaign["allowed"] else ""
    text = (
        f"Campaign {campaign['id']} on the {campaign['track']} track, {campaign['extractor']}: {campaign['state']}.\n"
        f"{campaign['done']:,} measured, {campaign['waiting']:,} waiting, {campaign['failed']:,} failed; "
        f"{campaign['changed']:,} of {campaign['measured']:,} measurements changed.{error}{allowed}"
    )
    return Answer(campaign, text)


@answers(app)
def show(admin: AdminClient, competition: Slug, number: Number) -> Answer:
    """Show the progress of a campaign and the possible next steps."""
    return _answer(admin.campaigns.get(competition, number))


@answers(app)
def preview(admin: AdminClient, competition: Slug, number: Number, tau: Tau = None) -> Answer:
    """Show which ranks a campaign's measurements would change, without changing anything."""
    impact = admin.campaigns.preview(competition, number, tau)
    lines = [
        f"{board['track']}: {board['moves']:,} teams change rank, {len(board['medals'])} medals and "
        f"{len(board['prizes'])} prizes change; penalised submissions: {board['penalised_before']:,} now, "
        f"{board['penalised_after']:,} afterwards"
        for board in impact["boards"]
    ]
    return Answer(impact, "\n".join(lines) or "No board would change.")


@answers(app)
def switch(admin: AdminClient, competition: Slug, number: Number, reason: Reason, tau: Tau = None) -> Answer:
    """Apply a campaign's measurements to the boards."""
    return _answer(admin.campaigns.decide(competition, number, "switch", reason=reason, tau=tau))


def _decision(decision: CampaignAct) -> Callable[..., Answer]:
    def decide(admin: AdminClient, competition: Slug, number: Number, *, reason: Reason) -> Answer:
        return _answer(admin.campaigns.decide(competition, number, decision, reason=reason))

    return decide


for name, help_text in DECISIONS.items():
    answers(app, name, help=help_text)(_decision(name))
