"""Publishing the private board: the checklist, the act, and restarting failed jobs of the private track."""

from api.http.dependencies import AppSettings, DbSession, Now, Organizer
from api.http.routing import ApiRouter
from api.http.views import AwardBoundaryView, RequeuedView
from api.review.publication.views import (
    ActView,
    ChecklistView,
    ConcernView,
    NewPublication,
    PointView,
    PublicationView,
    ZipRetentionView,
)
from scorer.competitions import competition_state
from scorer.leaderboard import uncertainty
from scorer.review import failed_scores, publication, zip_retention
from scorer.review.checklist import ChecklistPoint, checklist

router = ApiRouter(prefix="/competitions/{slug}/publication", tags=["publication"])


@router.get("")
def show(
    slug: str, session: DbSession, settings: AppSettings, author: Organizer, now: Now, final: bool = True
) -> ChecklistView:
    """The checklist before the final board is published, or the provisional one (`final=false`): each point with the
    number of open cases. With the history of publishing and withdrawing, and which zips leave after the final board.
    Organizers only."""
    state = competition_state.state_of(session, slug, now)
    seen = checklist(session, state, now, final=final)
    acts = publication.publication_history(session, state)
    history = [ActView.model_validate(vars(act) | {"by": act.author.handle}) for act in acts]
    points = [_point(each) for each in seen.points]
    zips = zip_retention.zip_retention(session, state, settings.kept_zip_days, now)
    values = {"published": state.published, "version": seen.version, "ready": not seen.open}
    zips_view = ZipRetentionView.model_validate(zips, from_attributes=True)
    apart = [AwardBoundaryView.model_validate(vars(each)) for each in uncertainty.award_boundaries(session, state)]
    return ChecklistView(**values, points=points, boundaries=apart, history=history, zips=zips_view)


def _point(point: ChecklistPoint) -> PointView:
    concerns = [ConcernView.model_validate(each, from_attributes=True) for each in point.concerns]
    fields = {name: getattr(point, name) for name in ("name", "title", "passed", "count", "words", "link")}
    return PointView(**fields, concerns=concerns)


@router.post("", status_code=201)
def publish(slug: str, body: NewPublication, session: DbSession, author: Organizer, now: Now) -> PublicationView:
    """Publish the private board, provisional or final, or withdraw it. 409 with the open points unless `override` has
    a reason for publishing all the same; 409 if the board is not the one of `after` any more. Organizers only."""
    state = competition_state.state_of(session, slug, now)
    act = publication.publish(session, state, **body.model_dump(), author=author, now=now)
    return PublicationView.model_validate(act, from_attributes=True)


@router.post("/requeue")
def requeue(slug: str, session: DbSession, author: Organizer, now: Now) -> RequeuedView:
    """Queue all failed jobs of the private track again. Organizers only."""
    state = competition_state.state_of(session, slug, now)
    return RequeuedView(requeued=failed_scores.restart_failed(session, author=author, now=now, state=state))
