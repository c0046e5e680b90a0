"""The review desk: the queue, and an entry with all that helps to judge it. Everything works by keyboard, and without
scripts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.http.dependencies import (
    BlobStore,
    Caller,
    KnownCaller,
    Now,
    Organizer,
    Reviewer,
    SignedIn,
    Transaction,
    Transactions,
)
from api.http.forms import Fields, FormFields, text
from api.http.problem_details import status_of
from api.pages.submissions.sections import evidence_sections_of, generator_section_of
from api.rendering.charts.histogram import Histogram, histogram_of
from api.rendering.charts.strip_plot import StripPlot, strip_plot_of
from api.rendering.templates import render_page, see_other
from api.schemas.review.review_queue import DeskEntryView, PairView
from api.schemas.review.review_queue_views import entry_view
from api.schemas.review.rulings import RebuttalId
from api.schemas.submissions.submissions import MeasurementView
from scorer.accounts.roles import is_organizer
from scorer.archive.sprite_sheet import layout_of
from scorer.blobs import Blobs
from scorer.competitions.competition_state import CompetitionState, state_of, visible_state
from scorer.db.review.flag_query import QueueState
from scorer.db.tables import Account
from scorer.errors import Invalid, KennelError
from scorer.evidence import closest_pairs
from scorer.review import flags, rebuttals, review_queue, reviews, ruling_impact, rulings
from scorer.review.reviews import Intent, LabelName
from scorer.review.rulings import RulingKind
from scorer.submissions import access
from scorer.submissions.access import is_own

router = APIRouter(include_in_schema=False)
PAGE_SIZE = 25
MAX_TEXT_LENGTH = 5000
SkipCount = Annotated[int, Query(ge=0, le=1_000_000)]
DoneKey = Annotated[str, Query(pattern=r"^[A-Za-z0-9_-]{0,40}$")]
"""The entry that was reviewed just now."""
QUEUE_TABS: dict[QueueState, str] = {
    "open": "For you",
    "waiting": "Waiting for another",
    "disputed": "Disputed",
    "decided": "Decided",
}


@router.api_route("/competitions/{slug}/desk", methods=["GET", "HEAD"])
def show_queue(
    slug: str,
    begin: Transactions,
    reviewer: Reviewer,
    viewer: KnownCaller,
    now: Now,
    state: QueueState = "open",
    after: SkipCount = 0,
    done: DoneKey = "",
) -> Response:
    """The entries that need eyes and why, and how far the review is."""
    with begin() as session:
        here = visible_state(session, slug, reviewer, now)
        access.require_reviewer(session, here, reviewer)
        found = flags.list_flagged(session, here, reviewer, states=[state], after=after, limit=PAGE_SIZE)
        said: dict[str, Any] = {
            "agreement": reviews.agreement(session, here),
            "rebuttals": rebuttals.unanswered(session, here) if is_organizer(reviewer) else [],
        }
        chosen: dict[str, Any] = {"tabs": QUEUE_TABS, "shown": state, "after": after, "done": done}
        return render_page("review/queue.html", viewer=viewer, now=now, state=here, queue=found, **said, **chosen)


@router.api_route("/competitions/{slug}/desk/next", methods=["GET", "HEAD"])
def go_to_next(slug: str, begin: Transactions, reviewer: Reviewer, now: Now, skip: SkipCount = 0) -> Response:
    """On to the most decisive entry that is this reviewer's to review, without the first ``skip``."""
    with begin() as session:
        state = visible_state(session, slug, reviewer, now)
        access.require_reviewer(session, state, reviewer)
        return see_other(_next(session, state, reviewer, skip))


def _next(session: Session, state: CompetitionState, reviewer: Account, skip: int, done: str = "") -> str:
    found = flags.list_flagged(session, state, reviewer, states=["open"], after=skip, limit=1).entries
    if not found:
        return f"/competitions/{state.competition.slug}/desk?done={done}"
    return f"/submissions/{found[0].submission_id}/desk?skip={skip}&done={done}"


@dataclass(frozen=True)
class ReviewContext:
    """A reviewer before an entry."""

    submission_id: str
    begin: Transaction
    store: Blobs
    viewer: Caller
    now: datetime

    def show(self, *, status: int = 200, skip: int = 0, weigh: bool = False, **told: Any) -> Response:
        """The entry as this reviewer may see it, with what just happened."""
        account = self.viewer.account
        with self.begin() as session:
            submission = access.find_for_review(session, self.submission_id, account)
            state = state_of(session, submission.competition.slug, self.now)
            found = closest_pairs.pairs_of_entry(session, self.store, submission, account)
            view = entry_view(session, state, submission, account, found)
            return render_page(
                "review/submission.html",
                status=status,
                viewer=self.viewer,
                now=self.now,
                state=state,
                view=view,
                tracks=_charts_of_tracks(session, state, view),
                exhibits=evidence_sections_of(session, submission, account),
                generator=generator_section_of(session, submission, account, asked=is_organizer(account), now=self.now),
                partial=is_own(session, submission, account),
                organizes=is_organizer(account),
                size=state.competition.image_size,
                sprite=layout_of(state.competition.image_count, state.competition.image_size),
                labels=get_args(LabelName),
                intents=get_args(Intent),
                kinds=get_args(RulingKind),
                skip=skip,
                stakes=ruling_impact.ruling_impacts_of(session, state, submission)
                if weigh and is_organizer(account)
                else None,
                **{"error": None, "place": None, "done": None, **told},
            )

    def act(self, doing: Callable[[Session], str], *, place: str, skip: int = 0) -> Response:
        """Do it and go where it leads; or show in its ``place`` why it cannot be done."""
        try:
            with self.begin() as session:
                address = doing(session)
        except KennelError as error:
            return self.show(status=status_of(error), skip=skip, error=error.message, place=place)
        return see_other(address)


@dataclass(frozen=True)
class TrackCharts:
    """What is drawn of an entry on one track."""

    measured: MeasurementView
    drawing: Histogram | None
    lanes: StripPlot | None
    pairs: Sequence[PairView]


def _charts_of_tracks(session: Session, state: CompetitionState, view: DeskEntryView) -> list[TrackCharts]:
    return [_charts_of_track(session, state, view, each) for each in view.entry.measurements]


def _charts_of_track(
    session: Session, state: CompetitionState, view: DeskEntryView, measured: MeasurementView
) -> TrackCharts:
    labelled = review_queue.labelled_distances(session, state, measured.track, exclude=view.entry.ref)
    farthest = max((distance for _, distance in labelled), default=0.0)
    drawing = histogram_of(measured.histogram, measured.memorization_distance, measured.tau, reach=farthest)
    lanes = strip_plot_of(labelled, drawing.right) if drawing else None
    return TrackCharts(measured, drawing, lanes, view.pairs.get(measured.track, []))


def review_context(
    submission_id: str, begin: Transactions, store: BlobStore, viewer: KnownCaller, now: Now
) -> ReviewContext:
    """The page as it is for this request."""
    return ReviewContext(submission_id, begin, store, viewer, now)


CurrentReview = Annotated[ReviewContext, Depends(review_context)]


@router.api_route("/submissions/{submission_id}/desk", methods=["GET", "HEAD"])
def show_submission(
    here: CurrentReview, reviewer: Reviewer, skip: SkipCount = 0, done: DoneKey = "", stakes: bool = False
) -> Response:
    """An entry with all that helps to judge it; with ``stakes``, for organizers, what another ruling would do."""
    return here.show(skip=skip, done=done, weigh=stakes)


@router.post("/submissions/{submission_id}/desk")
def submit_review(here: CurrentReview, reviewer: Reviewer, viewer: SignedIn, fields: FormFields) -> Response:
    """Say what an entry is, and go on to the next."""
    skip = int(digits) if (digits := text(fields, "skip", longest=6)).isdecimal() else 0

    def give(session: Session) -> str:
        label, intent = _opinion_of(fields)
        note = text(fields, "note", longest=MAX_TEXT_LENGTH)
        reviews.review(session, here.submission_id, label, intent=intent, note=note, reviewer=reviewer, now=here.now)
        state = state_of(
            session, access.find_for_review(session, here.submission_id, reviewer).competition.slug, here.now
        )
        return _next(session, state, reviewer, skip, here.submission_id)

    return here.act(give, place="review", skip=skip)


def _opinion_of(fields: Fields) -> tuple[LabelName, Intent | None]:
    label, intent = _one_of(fields, "label", LabelName), _one_of(fields, "intent", Intent)
    if label is None:
        raise Invalid("no-label", "Please say what the entry is.")
    return label, None if label == "legitimate" else intent


def _one_of(fields: Fields, name: str, among: Any) -> Any:
    """A field's value, if it is one of those of a ``Literal``; None if it is empty or not there."""
    value = text(fields, name)
    if value and value not in get_args(among):
        raise Invalid("bad-field", f"The field {name} cannot be {value!r}.")
    return value or None


@router.post("/submissions/{submission_id}/desk/label")
def decide_label(here: CurrentReview, author: Organizer, viewer: SignedIn, fields: FormFields) -> Response:
    """Decide the label of an entry alone."""

    def say(session: Session) -> str:
        submission = access.find_for_review(session, here.submission_id, author)
        state = state_of(session, submission.competition.slug, here.now)
        label = _one_of(fields, "label", LabelName)
        note = text(fields, "note", longest=MAX_TEXT_LENGTH)
        reviews.decide(session, state, submission.id, label, note=note, author=author, now=here.now)
        return f"/submissions/{submission.id}/desk#review"

    return here.act(say, place="decision")


@router.post("/submissions/{submission_id}/desk/ruling")
def rule_on_submission(here: CurrentReview, author: Organizer, viewer: SignedIn, fields: FormFields) -> Response:
    """Rule on an entry."""
    memorising = {"yes": True, "no": False}.get(text(fields, "memorising"))

    def say(session: Session) -> str:
        kind = _one_of(fields, "kind", RulingKind)
        reason = text(fields, "reason", longest=MAX_TEXT_LENGTH)
        if kind is None:
            raise Invalid("no-kind", "Please say what shall become of the entry.")
        rulings.rule(
            session, here.submission_id, kind, reason=reason, memorising=memorising, author=author, now=here.now
        )
        return f"/submissions/{here.submission_id}/desk#ruling"

    return here.act(say, place="ruling")


@router.post("/submissions/{submission_id}/desk/rebuttals/{rebuttal_id}/answer")
def answer_rebuttal(
    here: CurrentReview, rebuttal_id: RebuttalId, author: Organizer, viewer: SignedIn, fields: FormFields
) -> Response:
    """Answer a rebuttal: grant it by the ruling that follows, or refuse it."""

    def say(session: Session) -> str:
        said, granted = text(fields, "answer", longest=MAX_TEXT_LENGTH), text(fields, "ruling")
        ruling = _one_of(fields, "ruling", RulingKind) if granted != "refuse" else None
        if not granted:
            raise Invalid("no-answer", "Please say whether the rebuttal is granted.")
        rebuttals.answer(session, rebuttal_id, ruling=ruling, text=said, author=author, now=here.now)
        return f"/submissions/{here.submission_id}/desk#ruling"

    return here.act(say, place="answer")
