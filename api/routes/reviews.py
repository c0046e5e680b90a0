"""Decided labels."""

from fastapi import APIRouter

from api.deps import DbSession, Now, Organizer
from api.schemas import LabelView, NewLabel
from scorer import reviews
from scorer.competitions import state_of

router = APIRouter(tags=["reviews"])


@router.put("/competitions/{slug}/submissions/{submission_id}/label")
def decide(slug: str, submission_id: str, body: NewLabel, session: DbSession, author: Organizer, now: Now) -> LabelView:
    """Store the decided manual-review label of an entry; a later one replaces it. Organizers only."""
    state = state_of(session, slug, now)
    label = reviews.decide(session, state, submission_id, **body.model_dump(), author=author, now=now)
    return LabelView(submission_id=submission_id, label=body.label, note=body.note, created_at=label.created_at)
