"""Publishing the private board: the checklist, the act, and restarting failed jobs of the private track."""

from datetime import datetime

from pydantic import BaseModel, Field

from api.http.dependencies import ActingOrganizer, AppSettings
from api.http.routing import ApiRouter
from api.http.views import RecordView, Request, RequeuedView
from scorer.competitions import competition_state
from scorer.leaderboard import uncertainty
from scorer.leaderboard.uncertainty import AwardBoundary
from scorer.review import failed_scores, publication, zip_retention
from scorer.review.checklist import Concern, checklist
from scorer.review.zip_retention import ZipRetention


class NewPublication(Request):
    published: bool
    final: bool = Field(
        True, description="Whether it is the final board; the provisional one still moves, and teams may appeal."
    )
    reason: str = Field(min_length=1, max_length=2000, description="Shown to everybody who competes.")
    override: str | None = Field(
        None, max_length=2000, description="Why the board is published though points are open; for the audit log."
    )
    after: str | None = Field(
        None,
        max_length=40,
        description="The `version` of the checklist that you have seen: 409 if the board or what is open is another one"
        " by now.",
    )


class PublicationView(RecordView):
    published: bool
    final: bool = Field(description="Whether it is the final board; false: the provisional one.")
    reason: str
    created_at: datetime
    as_of: datetime = Field(description="Nothing newer is on the published final board.")


class PointView(RecordView):
    """A point of the checklist before publication."""

    name: str = Field(examples=["medals"])
    title: str
    passed: bool
    count: int = Field(description="The number of open cases.")
    words: str
    link: str = Field(description="The page for working on it, a path on this site.")
    concerns: list[Concern] = Field(description="The first ten open cases.")


class ActView(PublicationView):
    """An act of publishing or withdrawing the private board."""

    by: str


class ChecklistView(BaseModel):
    """The checklist, the history of publishing and withdrawing, and the retention of zips."""

    published: bool
    version: str = Field(description="Send it as `after` to publish what this shows, and nothing else.")
    ready: bool = Field(description="Whether nothing is open.")
    points: list[PointView]
    boundaries: list[AwardBoundary] = Field(description="What the medals and prizes hang on, best first.")
    history: list[ActView]
    zips: ZipRetention


router = ApiRouter(prefix="/competitions/{slug}/publication", tags=["publication"])


@router.get("")
def show(slug: str, acting: ActingOrganizer, settings: AppSettings, final: bool = True) -> ChecklistView:
    """The checklist before the final board is published, or the provisional one (`final=false`): each point with the
    number of open cases. With the history of publishing and withdrawing, and which zips leave after the final board.
    Organizers only."""
    state = competition_state.state_of(acting.session, slug, acting.now)
    seen = checklist(acting.session, state, acting.now, final=final)
    history = [ActView.of(act, by=act.author.handle) for act in state.publications]
    points = [PointView.model_validate(point) for point in seen.points]
    zips = zip_retention.zip_retention(acting.session, state, settings.kept_zip_days, now=acting.now)
    values = {"published": state.published, "version": seen.version, "ready": not seen.open}
    boundaries = uncertainty.award_boundaries(acting.session, state)
    return ChecklistView(**values, points=points, boundaries=boundaries, history=history, zips=zips)


@router.post("", status_code=201)
def publish(slug: str, body: NewPublication, acting: ActingOrganizer) -> PublicationView:
    """Publish the private board, provisional or final, or withdraw it. 409 with the open points unless `override` has
    a reason for publishing all the same; 409 if the board is not the one of `after` any more. Organizers only."""
    state = competition_state.state_of(acting.session, slug, acting.now)
    act = publication.publish(acting, state, **body.model_dump())
    return PublicationView.model_validate(act)


@router.post("/requeue")
def requeue(slug: str, acting: ActingOrganizer) -> RequeuedView:
    """Queue all failed jobs of the private track again. Organizers only."""
    state = competition_state.state_of(acting.session, slug, acting.now)
    return RequeuedView(requeued=failed_scores.restart_failed(acting, state=state))
