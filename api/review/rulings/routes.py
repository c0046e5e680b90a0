"""Rulings on entries, and the rebuttals of their teams."""

from api.http.dependencies import CurrentUser, DbSession, Now, Organizer, RowId, Submitter
from api.http.paging import Paging
from api.http.routing import ApiRouter
from api.review.rulings.views import (
    AnswerView,
    CaseView,
    NewAnswer,
    NewRebuttal,
    NewRuling,
    NewTeamRuling,
    RebuttalPage,
    RebuttalView,
    RulingView,
    StakePage,
    case_view,
    rebuttal_view,
    ruling_impact_view,
    ruling_view,
)
from scorer.competitions.competition_state import state_of
from scorer.db.review.rulings import Appeal
from scorer.review import rebuttals, ruling_impact, rulings
from scorer.submissions import access

router = ApiRouter(tags=["rulings"])


@router.post("/submissions/{submission_id}/rulings", status_code=201)
def rule(submission_id: str, body: NewRuling, session: DbSession, author: Organizer, now: Now) -> RulingView:
    """Keep an entry as it is judged, disqualify it, or waive its penalty. The team is shown the reason, and the board
    is ranked by the ruling from its next read on. A later ruling replaces it. Organizers only."""
    ruling = rulings.rule(session, submission_id, **body.model_dump(), author=author, now=now)
    return ruling_view(ruling, inside=True)


@router.post("/competitions/{slug}/teams/{team_id}/rulings", status_code=201)
def rule_on_team(
    slug: str, team_id: RowId, body: NewTeamRuling, session: DbSession, author: Organizer, now: Now
) -> list[RulingView]:
    """Rule on every scored entry of a team at once; the team is told once. Organizers only."""
    state = state_of(session, slug, now)
    made = rulings.rule_on_team(session, state, team_id, body.kind, reason=body.reason, author=author, now=now)
    return [ruling_view(each, inside=True) for each in made]


@router.get("/submissions/{submission_id}/rulings")
def show(submission_id: str, session: DbSession, account: CurrentUser, now: Now) -> CaseView:
    """The rulings on an entry and the rebuttals against them; for its team, reviewers and organizers."""
    submission, inside = access.find_with_rulings(session, submission_id, account)
    return case_view(session, state_of(session, submission.competition.slug, now), submission, inside=inside)


@router.get("/submissions/{submission_id}/rulings/stakes")
def stakes_of(submission_id: str, session: DbSession, author: Organizer, now: Now, wanted: Paging) -> StakePage:
    """What would change on the boards if the newest ruling on an entry were another. Changes nothing. Organizers
    only."""
    submission, _ = access.find_with_rulings(session, submission_id, author)
    state = state_of(session, submission.competition.slug, now)
    page = wanted.of_all(ruling_impact.ruling_impacts_of(session, state, submission))
    return StakePage(stakes=[ruling_impact_view(each) for each in page.rows], next_after=page.next_after)


@router.post("/submissions/{submission_id}/rebuttals", status_code=201)
def rebut(submission_id: str, body: NewRebuttal, session: DbSession, author: Submitter, now: Now) -> RebuttalView:
    """Appeal against a ruling or a penalty, once against each, while the review lasts."""
    rebuttal = rebuttals.rebut(session, submission_id, body.text, author=author, now=now)
    return rebuttal_view(access.find_submission(session, submission_id, author), Appeal(rebuttal, None))


@router.get("/competitions/{slug}/rebuttals")
def unanswered(slug: str, session: DbSession, author: Organizer, now: Now, wanted: Paging) -> RebuttalPage:
    """The rebuttals without an answer, oldest first. Organizers only."""
    state = state_of(session, slug, now)
    waiting = rebuttals.unanswered(session, state, after=wanted.after or 0, limit=wanted.one_more)
    page = wanted.of_following(waiting, lambda each: each[0].id)
    views = [rebuttal_view(submission, Appeal(rebuttal, None)) for rebuttal, submission in page.rows]
    return RebuttalPage(rebuttals=views, next_after=page.next_after)


@router.post("/rebuttals/{rebuttal_id}/answer", status_code=201)
def answer(rebuttal_id: RowId, body: NewAnswer, session: DbSession, author: Organizer, now: Now) -> AnswerView:
    """Answer a rebuttal, once: grant it with a new ruling, which is made in the same act, or refuse it. Organizers
    only."""
    decision = rebuttals.answer(session, rebuttal_id, ruling=body.ruling, text=body.answer, author=author, now=now)
    return AnswerView.model_validate(decision, from_attributes=True)
