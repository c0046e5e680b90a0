"""Rulings on entries, and the rebuttals of their teams."""

from api.http.dependencies import ActingOrganizer, ActingReader, ActingSubmitter, RowId
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
    ruling_view,
)
from scorer.competitions.competition_state import load_state
from scorer.db.review.rulings import Appeal, open_rebuttals
from scorer.review import rebuttals, ruling_impact, rulings
from scorer.submissions import access

router = ApiRouter(tags=["rulings"])


@router.post("/submissions/{submission_id}/rulings", status_code=201)
def rule(submission_id: str, body: NewRuling, acting: ActingOrganizer) -> RulingView:
    """Rule on a submission: keep it as scored, disqualify it, or waive its penalty. The team sees the reason. The
    ruling takes effect immediately and replaces an earlier one. Organizers only."""
    ruling = rulings.rule(acting, submission_id, **body.model_dump())
    return ruling_view(ruling, inside=True)


@router.post("/competitions/{slug}/teams/{team_id}/rulings", status_code=201)
def rule_on_team(slug: str, team_id: RowId, body: NewTeamRuling, acting: ActingOrganizer) -> list[RulingView]:
    """Rule on all scored submissions of a team in one step. The team gets a single notice. Organizers only."""
    state = load_state(acting.session, slug, acting.now)
    made = rulings.rule_on_team(acting, state, team_id, kind=body.kind, reason=body.reason)
    return [ruling_view(ruling, inside=True) for ruling in made]


@router.get("/submissions/{submission_id}/rulings")
def show(submission_id: str, acting: ActingReader) -> CaseView:
    """List the rulings on a submission and the rebuttals of its team. For its team, reviewers and organizers."""
    submission, inside = access.find_with_rulings(acting.session, submission_id, acting.actor)
    return case_view(
        acting.session, load_state(acting.session, submission.competition.slug, acting.now), submission, inside=inside
    )


@router.get("/submissions/{submission_id}/rulings/stakes")
def stakes_of(submission_id: str, acting: ActingOrganizer, wanted: Paging) -> StakePage:
    """Preview how another ruling on a submission would change the boards. Organizers only."""
    submission, _ = access.find_with_rulings(acting.session, submission_id, acting.actor)
    state = load_state(acting.session, submission.competition.slug, acting.now)
    page = wanted.slice_all(ruling_impact.compute_ruling_impacts(acting.session, state, submission))
    return StakePage(stakes=page.rows, next_after=page.next_after)


@router.post("/submissions/{submission_id}/rebuttals", status_code=201)
def rebut(submission_id: str, body: NewRebuttal, acting: ActingSubmitter) -> RebuttalView:
    """Appeal against the disqualification or penalty of your submission. You can appeal once against each, while
    appeals are open."""
    rebuttal = rebuttals.rebut(acting, submission_id, body.text)
    return rebuttal_view(access.find_submission(acting.session, submission_id, acting.actor), Appeal(rebuttal, None))


@router.get("/competitions/{slug}/rebuttals")
def unanswered(slug: str, acting: ActingOrganizer, wanted: Paging) -> RebuttalPage:
    """List unanswered rebuttals, oldest first. Organizers only."""
    state = load_state(acting.session, slug, acting.now)
    after, limit = wanted.after or 0, wanted.one_more
    waiting = open_rebuttals(acting.session, state.competition.id, after=after, limit=limit)
    page = wanted.slice_following(waiting, lambda row: row[0].id)
    views = [rebuttal_view(submission, Appeal(rebuttal, None)) for rebuttal, submission in page.rows]
    return RebuttalPage(rebuttals=views, next_after=page.next_after)


@router.post("/rebuttals/{rebuttal_id}/answer", status_code=201)
def answer(rebuttal_id: RowId, body: NewAnswer, acting: ActingOrganizer) -> AnswerView:
    """Answer a rebuttal once: grant it together with a new ruling, or refuse it. Organizers only."""
    decision = rebuttals.answer(acting, rebuttal_id, ruling=body.ruling, text=body.answer)
    return AnswerView.model_validate(decision)
