"""Decided labels, and early labels."""

from api.http.dependencies import DbSession, Now, Organizer
from api.routing import Router
from api.schemas.review.review_queue import GuessView, LabelView, NewGuess, NewLabel
from scorer.competitions.competition_state import state_of
from scorer.review import early_labels, reviews

router = Router(tags=["reviews"])


@router.put("/competitions/{slug}/submissions/{submission_id}/label")
def decide(slug: str, submission_id: str, body: NewLabel, session: DbSession, author: Organizer, now: Now) -> LabelView:
    """Set the decided label of an entry; a later one replaces it, the same again changes nothing. Organizers only."""
    state = state_of(session, slug, now)
    label = reviews.decide(session, state, submission_id, **body.model_dump(), author=author, now=now)
    return LabelView(submission_id=submission_id, label=body.label, note=label.note, created_at=label.created_at)


@router.put("/submissions/{submission_id}/coarse-label")
def guess(submission_id: str, body: NewGuess, session: DbSession, author: Organizer, now: Now) -> GuessView:
    """Give an entry an early label, for comparing extractors. The newest one counts; it never becomes a decision.
    Organizers only."""
    label = early_labels.record_early_label(session, submission_id, body.label, author=author, now=now)
    return GuessView.model_validate(label, from_attributes=True)
