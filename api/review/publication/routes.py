"""Publishing the private board: the checklist, publication, and restarting failed jobs of the private track."""

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
        True,
        description="Whether it is the final board. A provisional board can still change, and teams can appeal against"
        " it.",
    )
    reason: str = Field(min_length=1, max_length=2000, description="Shown to all participants.")
    override: str | None = Field(
        None, max_length=2000, description="Why you publish the board despite open items. Only the audit log shows it."
    )
    after: str | None = Field(
        None,
        max_length=40,
        description="The `version` of the checklist that you have seen. If the board or the open items have changed"
        " since then, the request fails with 409.",
    )


class PublicationView(RecordView):
    published: bool
    final: bool = Field(description="Whether it is the final board; false for the provisional board.")
    reason: str
    created_at: datetime
    as_of: datetime = Field(description="The final board shows the state at this time.")


class PointView(RecordView):
    """An item of the checklist."""

    name: str = Field(examples=["medals"])
    title: str
    passed: bool
    count: int = Field(description="The number of open cases.")
    words: str
    link: str = Field(description="The path of the page where you can resolve it.")
    concerns: list[Concern] = Field(description="The first 10 open cases.")


class ActView(PublicationView):
    """A publication or withdrawal of the private board."""

    by: str


class ChecklistView(BaseModel):
    """The checklist, the history of publications and withdrawals, and the retention of zips."""

    published: bool
    version: str = Field(description="Send it as `after` to publish exactly this state.")
    ready: bool = Field(description="Whether the checklist has no open items.")
    points: list[PointView]
    boundaries: list[AwardBoundary] = Field(
        description="How far the last rank of each medal and prize is ahead of the next rank, best rank first."
    )
    history: list[ActView]
    zips: ZipRetention


router = ApiRouter(prefix="/competitions/{slug}/publication", tags=["publication"])


@router.get("")
def show(slug: str, acting: ActingOrganizer, settings: AppSettings, final: bool = True) -> ChecklistView:
    """Get the checklist for publishing the final board, or the provisional one with `final=false`. Each item has its
    number of open cases. The response also has the history of publications and withdrawals, and the zips that are
    deleted after the final board is published. Organizers only."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    seen = checklist(acting.session, state, acting.now, final=final)
    history = [ActView.of(act, by=act.author.handle) for act in state.publications]
    points = [PointView.model_validate(point) for point in seen.points]
    zips = zip_retention.zip_retention(acting.session, state, settings.kept_zip_days, now=acting.now)
    values = {"published": state.published, "version": seen.version, "ready": not seen.open}
    boundaries = uncertainty.award_boundaries(acting.session, state)
    return ChecklistView(**values, points=points, boundaries=boundaries, history=history, zips=zips)


@router.post("", status_code=201)
def publish(slug: str, body: NewPublication, acting: ActingOrganizer) -> PublicationView:
    """Publish the private board as provisional or final, or withdraw it. The request fails with 409 if items are open
    and `override` gives no reason, or if the board has changed since the version in `after`. Organizers only."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    act = publication.publish(acting, state, **body.model_dump())
    return PublicationView.model_validate(act)


@router.post("/requeue")
def requeue(slug: str, acting: ActingOrganizer) -> RequeuedView:
    """Restart all failed jobs of the private track. Organizers only."""
    state = competition_state.load_state(acting.session, slug, acting.now)
    return RequeuedView(requeued=failed_scores.restart_failed(acting, state=state))
