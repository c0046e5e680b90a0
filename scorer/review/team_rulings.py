"""A ruling on all entries of a team at once."""

from datetime import datetime

from sqlalchemy.orm import Session

from scorer.competitions import penalty_notices
from scorer.competitions.competition_state import CompetitionState
from scorer.db.submissions import submissions
from scorer.db.tables import Account, Ruling
from scorer.errors import Conflict, Invalid
from scorer.lifecycle import Status
from scorer.notifications import notices
from scorer.review import rulings
from scorer.review.rulings import RulingKind
from scorer.teams.team_messages import find_team


def rule_on_team(
    session: Session,
    state: CompetitionState,
    team_id: int,
    kind: RulingKind,
    *,
    reason: str,
    author: Account,
    now: datetime,
) -> list[Ruling]:
    """Rule on every scored entry of a team, those of teams merged into it included, and notify the team once. Each
    entry gets a ruling of its own, which a rebuttal or a later ruling may replace. ``Conflict`` without any."""
    team = find_team(session, state, team_id)
    if not reason.strip():
        raise Invalid("no-reason", "A ruling needs a reason: it is told to the team.")
    entries = submissions.submissions_of(session, state.competition.id, team_id=team.id, before=None, limit=None)
    scored = [entry for entry in entries if entry.status == Status.SCORED]
    if not scored:
        raise Conflict("no-entries", f"The team {team.name!r} has no scored entry.")
    made = []
    for entry in sorted(scored, key=lambda each: each.ref):
        submissions.lock_submission(session, entry.ref)
        made.append(
            rulings.record_ruling(
                session, entry, kind, reason=reason.strip(), memorising=None, author=author, now=now, notify=False
            )
        )
    title = state.competition.title
    body = f"Each of the {len(made)} scored entries of {team.name} in {title} {rulings.RULING_EFFECTS[kind]}."
    # Disqualified at one moment, they can be appealed until the same.
    appeal = penalty_notices.appeal_words(session, state, scored[0], now) if kind == "disqualify" else ""
    notices.notify_team(
        session,
        team.id,
        notices.Kind.RULING,
        f"{title}: a ruling on all entries of {team.name}",
        f"{body} The reason: {reason.strip()}{appeal}",
        f"/competitions/{state.competition.slug}/entries",
        now,
    )
    return made
