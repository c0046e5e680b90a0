"""The review queue, and an entry with all that helps to judge it. Everything works by keyboard, and without scripts."""

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
"""The id of the entry that was reviewed just now."""
QUEUE_TABS: dict[QueueState, str] = {
    "open": "For you",
    "waiting": "Waiting for another",
    "disputed": "Disputed",
    "unruled": "Labelled, not ruled",
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
    """The flagged entries with their reasons, and the progress of the review."""
    with begin() as session:
        competition = visible_state(session, slug, reviewer, now)
        access.require_reviewer(session, competition, reviewer)
        values = _queue_values(session, competition, reviewer, state, after)
        return render_page("review/queue.html", viewer=viewer, now=now, state=competition, done=done, **values)


def _queue_values(
    session: Session, competition: CompetitionState, reviewer: Account, shown: QueueState, after: int
) -> dict[str, Any]:
    return {
        "queue": flags.list_flagged(session, competition, reviewer, states=[shown], after=after, limit=PAGE_SIZE),
        "agreement": reviews.agreement(session, competition),
        "rebuttals": rebuttals.unanswered(session, competition) if is_organizer(reviewer) else [],
        "tabs": QUEUE_TABS,
        "shown": shown,
        "after": after,
    }


@router.api_route("/competitions/{slug}/desk/next", methods=["GET", "HEAD"])
def go_to_next(slug: str, begin: Transactions, reviewer: Reviewer, now: Now, skip: SkipCount = 0) -> Response:
    """Redirect to the most decisive entry that this reviewer has still to review, after the first ``skip``."""
    with begin() as session:
        state = visible_state(session, slug, reviewer, now)
        access.require_reviewer(session, state, reviewer)
        return see_other(_next(session, state, reviewer, skip))


def _next(session: Session, state: CompetitionState, reviewer: Account, skip: int, done: str = "") -> str:
    flagged = flags.list_flagged(session, state, reviewer, states=["open"], after=skip, limit=1).entries
    if not flagged:
        return f"/competitions/{state.competition.slug}/desk?done={done}"
    return f"/submissions/{flagged[0].submission_id}/desk?skip={skip}&done={done}"


@dataclass(frozen=True)
class ReviewContext:
    """A request for an entry's review page: the entry, the viewer, the time."""

    submission_id: str
    begin: Transaction
    store: Blobs
    viewer: Caller
    now: datetime

    def show(self, *, status: int = 200, skip: int = 0, with_impact: bool = False, **outcome: Any) -> Response:
        """The page as this reviewer may see it, with the outcome of what was just done; ``with_impact``: with
        the impact of other rulings."""
        account = self.viewer.account
        with self.begin() as session:
            submission = access.find_for_review(session, self.submission_id, account)
            state = state_of(session, submission.competition.slug, self.now)
            pairs = closest_pairs.pairs_of_entry(session, self.store, submission, account)
            view = entry_view(session, state, submission, account, pairs)
            return render_page(
                "review/submission.html",
                status=status,
                viewer=self.viewer,
                now=self.now,
                state=state,
                view=view,
                tracks=_charts_of_tracks(session, state, view),
                exhibits=evidence_sections_of(session, submission, account),
                generator=generator_section_of(
                    session, submission, account, with_form=is_organizer(account), now=self.now
                ),
                partial=is_own(session, submission, account),
                organizes=is_organizer(account),
                size=state.competition.image_size,
                sprite=layout_of(state.competition.image_count, state.competition.image_size),
                labels=get_args(LabelName),
                intents=get_args(Intent),
                kinds=get_args(RulingKind),
                skip=skip,
                impacts=ruling_impact.ruling_impacts_of(session, state, submission)
                if with_impact and is_organizer(account)
                else None,
                **outcome,
            )

    def act(self, action: Callable[[Session], str], *, place: str, skip: int = 0) -> Response:
        """Run ``action`` in a transaction and redirect to the path that it returns; if it is refused, the page with the
        error at ``place``."""
        try:
            with self.begin() as session:
                address = action(session)
        except KennelError as error:
            return self.show(status=status_of(error), skip=skip, error=error.message, place=place)
        return see_other(address)


@dataclass(frozen=True)
class TrackCharts:
    """The charts and closest pairs of an entry on one track."""

    measured: MeasurementView
    histogram: Histogram | None
    strip_plot: StripPlot | None
    pairs: Sequence[PairView]


def _charts_of_tracks(session: Session, state: CompetitionState, view: DeskEntryView) -> list[TrackCharts]:
    return [_charts_of_track(session, state, view, each) for each in view.entry.measurements]


def _charts_of_track(
    session: Session, state: CompetitionState, view: DeskEntryView, measured: MeasurementView
) -> TrackCharts:
    labelled = review_queue.labelled_distances(session, state, measured.track, exclude=view.entry.ref)
    farthest = max((distance for _, distance in labelled), default=0.0)
    histogram = histogram_of(measured.histogram, measured.memorization_distance, measured.tau, reach=farthest)
    strip_plot = strip_plot_of(labelled, histogram.right) if histogram else None
    return TrackCharts(measured, histogram, strip_plot, view.pairs.get(measured.track, []))


def review_context(
    submission_id: str, begin: Transactions, store: BlobStore, viewer: KnownCaller, now: Now
) -> ReviewContext:
    """The context of this request."""
    return ReviewContext(submission_id, begin, store, viewer, now)


CurrentReview = Annotated[ReviewContext, Depends(review_context)]


@router.api_route("/submissions/{submission_id}/desk", methods=["GET", "HEAD"])
def show_submission(
    page: CurrentReview,
    reviewer: Reviewer,
    skip: SkipCount = 0,
    done: DoneKey = "",
    with_impact: Annotated[bool, Query(alias="stakes")] = False,
) -> Response:
    """An entry with all that helps to judge it; ``with_impact``: for organizers, with the impact of each
    possible ruling."""
    return page.show(skip=skip, done=done, with_impact=with_impact)


@router.post("/submissions/{submission_id}/desk")
def submit_review(page: CurrentReview, reviewer: Reviewer, viewer: SignedIn, fields: FormFields) -> Response:
    """Store a review and go on to the next entry."""
    skip = int(digits) if (digits := text(fields, "skip", max_length=6)).isdecimal() else 0

    def review(session: Session) -> str:
        label, intent = _review_in(fields)
        note = text(fields, "note", max_length=MAX_TEXT_LENGTH)
        reviews.review(session, page.submission_id, label, intent=intent, note=note, reviewer=reviewer, now=page.now)
        submission = access.find_for_review(session, page.submission_id, reviewer)
        state = state_of(session, submission.competition.slug, page.now)
        return _next(session, state, reviewer, skip, submission.id)

    return page.act(review, place="review", skip=skip)


def _review_in(fields: Fields) -> tuple[LabelName, Intent | None]:
    label, intent = _one_of(fields, "label", LabelName), _one_of(fields, "intent", Intent)
    if label is None:
        raise Invalid("no-label", "Please say what the entry is.")
    return label, None if label == "legitimate" else intent


def _one_of(fields: Fields, name: str, among: Any) -> Any:
    """A field's value if the ``Literal`` ``among`` allows it, None if it is empty or missing; else ``Invalid``."""
    value = text(fields, name)
    if value and value not in get_args(among):
        raise Invalid("bad-field", f"The field {name} cannot be {value!r}.")
    return value or None


@router.post("/submissions/{submission_id}/desk/label")
def decide_label(page: CurrentReview, author: Organizer, viewer: SignedIn, fields: FormFields) -> Response:
    """Decide the label of an entry as an organizer, without a second reviewer."""

    def decide(session: Session) -> str:
        submission = access.find_for_review(session, page.submission_id, author)
        state = state_of(session, submission.competition.slug, page.now)
        label = _one_of(fields, "label", LabelName)
        note = text(fields, "note", max_length=MAX_TEXT_LENGTH)
        reviews.decide(session, state, submission.id, label, note=note, author=author, now=page.now)
        return f"/submissions/{submission.id}/desk#review"

    return page.act(decide, place="decision")


@router.post("/submissions/{submission_id}/desk/ruling")
def rule_on_submission(page: CurrentReview, author: Organizer, viewer: SignedIn, fields: FormFields) -> Response:
    """Rule on an entry."""
    memorising = {"yes": True, "no": False}.get(text(fields, "memorising"))

    def rule(session: Session) -> str:
        kind = _one_of(fields, "kind", RulingKind)
        reason = text(fields, "reason", max_length=MAX_TEXT_LENGTH)
        if kind is None:
            raise Invalid("no-kind", "Please say what shall become of the entry.")
        rulings.rule(
            session, page.submission_id, kind, reason=reason, memorising=memorising, author=author, now=page.now
        )
        return f"/submissions/{page.submission_id}/desk#ruling"

    return page.act(rule, place="ruling")


@router.post("/submissions/{submission_id}/desk/rebuttals/{rebuttal_id}/answer")
def answer_rebuttal(
    page: CurrentReview, rebuttal_id: RebuttalId, author: Organizer, viewer: SignedIn, fields: FormFields
) -> Response:
    """Answer a rebuttal: refuse it, or grant it with the ruling that follows."""

    def answer(session: Session) -> str:
        answer_text = text(fields, "answer", max_length=MAX_TEXT_LENGTH)
        granted = text(fields, "ruling")
        ruling = _one_of(fields, "ruling", RulingKind) if granted != "refuse" else None
        if not granted:
            raise Invalid("no-answer", "Please say whether the rebuttal is granted.")
        rebuttals.answer(session, rebuttal_id, ruling=ruling, text=answer_text, author=author, now=page.now)
        return f"/submissions/{page.submission_id}/desk#ruling"

    return page.act(answer, place="answer")
