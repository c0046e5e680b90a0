"""The review queue and the review page of an entry. Everything works with the keyboard and without scripts."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Any, get_args

from fastapi import Depends, Query
from fastapi.responses import Response
from sqlalchemy.orm import Session

from api.evidence.sections import build_evidence_sections, build_generator_section
from api.http.dependencies import (
    ActingReviewer,
    KnownViewer,
    Now,
    Organizer,
    Reviewer,
    RowId,
    SignedIn,
    Transactions,
    ZipImages,
)
from api.http.forms import Fields, FormFields, read_choice, refusal_on, text
from api.http.routing import Router
from api.http.views import PairView
from api.rendering.charts.histogram import Histogram, StripPlot, build_histogram, build_strip_plot
from api.rendering.templates import render_page, see_other
from api.review.review_queue.views import ReviewEntryView, entry_view
from api.submissions.views import MeasurementView
from scorer.accounts.roles import is_organizer
from scorer.acting import Acting
from scorer.archive.sprite_sheet import compute_layout
from scorer.competitions.competition_state import CompetitionState, load_state, visible_state
from scorer.db.review.claims import claimants
from scorer.db.review.flag_query import QueueState
from scorer.db.review.reviews import labelled_distances
from scorer.db.review.rulings import open_rebuttals
from scorer.db.teams.merges import current_team
from scorer.errors import Invalid
from scorer.evidence import closest_pairs, code_uploads, generator_uploads
from scorer.review import rebuttals, review_queue, reviews, ruling_impact, rulings
from scorer.review.reviews import Intent, LabelName
from scorer.review.rulings import RulingKind
from scorer.submissions import access

router = Router(include_in_schema=False)
PAGE_SIZE = 25
MAX_TEXT_LENGTH = 5000
TYPED_FIELDS = ("label", "intent", "note", "kind", "reason", "memorising", "ruling", "answer", "days", "text")
"""The fields of the review page's forms. A page with an error shows their values again."""
SkipCount = Annotated[int, Query(ge=0, le=1_000_000)]
DoneKey = Annotated[str, Query(pattern=r"^[A-Za-z0-9_-]{0,40}$")]
"""The id of the entry that was just reviewed."""
QUEUE_TABS: dict[QueueState, str] = {
    "open": "For you",
    "waiting": "Waiting for a second review",
    "disputed": "Disputed",
    "unruled": "Labelled without a ruling",
    "decided": "Decided",
}


@router.api_route("/competitions/{slug}/review-queue", methods=["GET", "HEAD"])
def show_queue(
    slug: str,
    acting: ActingReviewer,
    viewer: KnownViewer,
    state: QueueState = "open",
    after: SkipCount = 0,
    done: DoneKey = "",
) -> Response:
    competition = visible_state(acting, slug)
    access.require_reviewer(competition, acting.actor)
    values = _queue_values(acting, competition, state, after=after)
    return render_page(
        "review/review_queue/list.html", viewer=viewer, now=acting.now, state=competition, done=done, **values
    )


def _queue_values(acting: Acting, state: CompetitionState, shown: QueueState, *, after: int) -> dict[str, Any]:
    organizes = is_organizer(acting.actor, state.competition.id)
    return {
        "queue": review_queue.list_flagged(
            acting.session, state, acting.actor, states=[shown], after=after, limit=PAGE_SIZE
        ),
        "claimants": claimants(acting.session, state.competition.id, acting.actor.id, now=acting.now),
        "agreement": reviews.agreement(acting.session, state),
        "rebuttals": open_rebuttals(acting.session, state.competition.id) if organizes else [],
        "tabs": QUEUE_TABS,
        "shown": shown,
        "after": after,
    }


@router.api_route("/competitions/{slug}/review-queue/next", methods=["GET", "HEAD"])
def go_to_next(slug: str, acting: ActingReviewer, skip: SkipCount = 0) -> Response:
    """Claim the reviewer's next open entry after the first ``skip`` and redirect to it."""
    state = visible_state(acting, slug)
    access.require_reviewer(state, acting.actor)
    return see_other(_next(acting, state, skip))


def _next(acting: Acting, state: CompetitionState, skip: int, *, done: str = "") -> str:
    claimed = review_queue.claim_next(acting, state, skip=skip)
    if claimed is None:
        return f"/competitions/{state.competition.slug}/review-queue?done={done}"
    return f"/submissions/{claimed.entry.submission_id}/review?skip={claimed.skip}&done={done}"


@dataclass(frozen=True)
class ReviewContext:
    submission_id: str
    begin: Transactions
    images: ZipImages
    viewer: KnownViewer
    now: Now

    def show(self, *, skip: int = 0, with_impact: bool = False, **outcome: Any) -> Response:
        """The page for this reviewer. ``with_impact`` adds the impact of other rulings for organizers."""
        account = self.viewer.account
        with self.begin() as session:
            submission = access.find_for_review(session, self.submission_id, account)
            state = load_state(session, submission.competition.slug, self.now)
            pairs = closest_pairs.load_entry_pairs(session, self.images, submission, account=account)
            organizes = is_organizer(account, submission.competition_id)
            view = entry_view(session, state, submission, reviewer=account, pairs=pairs)
            opinions = reviews.opinions(session, submission, account)
            return render_page(
                "review/review_queue/submission.html",
                viewer=self.viewer,
                now=self.now,
                state=state,
                view=view,
                tracks=[
                    _build_track_charts(session, state, view, measured=measured) for measured in view.entry.measurements
                ],
                exhibits=build_evidence_sections(session, submission, account),
                generator=build_generator_section(Acting(session, account, self.now), submission),
                organizes=organizes,
                team_id=current_team(session, submission.team_id).id,
                may_decide=organizes and reviews.may_decide(session, submission, opinions, account=account),
                size=state.competition.image_size,
                sprite=compute_layout(state.competition.image_count, state.competition.image_size),
                labels=get_args(LabelName),
                intents=get_args(Intent),
                kinds=get_args(RulingKind),
                skip=skip,
                claimant=claimants(session, submission.competition_id, account.id, now=self.now).get(submission.ref),
                impacts=with_impact and organizes and ruling_impact.compute_ruling_impacts(session, state, submission),
                **outcome,
            )

    def act(self, action: Callable[[Acting], str], fields: Fields, *, place: str, skip: int = 0) -> Response:
        """Run ``action`` in a transaction and redirect to the path that it returns. After a refusal, show the page with
        the error and the typed values at ``place``."""
        typed = {name: fields.get(name, "") for name in TYPED_FIELDS}
        with refusal_on(self.show, skip=skip, place=place, typed=typed), self.begin() as session:
            address = action(Acting(session, self.viewer.account, self.now))
        return see_other(address)


@dataclass(frozen=True)
class TrackCharts:
    measured: MeasurementView
    histogram: Histogram | None
    strip_plot: StripPlot | None
    pairs: Sequence[PairView]


def _build_track_charts(
    session: Session, state: CompetitionState, view: ReviewEntryView, *, measured: MeasurementView
) -> TrackCharts:
    track_id = state.tracks[measured.track].id
    labelled = labelled_distances(session, state.competition.id, track_id, exclude=view.entry.ref)
    farthest = max((distance for _, distance in labelled), default=0.0)
    histogram = build_histogram(measured.histogram, measured.memorization_distance, measured.tau, reach=farthest)
    strip_plot = build_strip_plot(labelled, histogram.right) if histogram else None
    return TrackCharts(measured, histogram, strip_plot, view.pairs.get(measured.track, []))


CurrentReview = Annotated[ReviewContext, Depends()]


@router.api_route("/submissions/{submission_id}/review", methods=["GET", "HEAD"])
def show_submission(
    page: CurrentReview,
    reviewer: Reviewer,
    skip: SkipCount = 0,
    done: DoneKey = "",
    with_impact: Annotated[bool, Query(alias="stakes")] = False,
) -> Response:
    """The review page of an entry; ``with_impact`` adds the impact of each possible ruling."""
    return page.show(skip=skip, done=done, with_impact=with_impact)


@router.post("/submissions/{submission_id}/review")
def submit_review(page: CurrentReview, reviewer: Reviewer, viewer: SignedIn, fields: FormFields) -> Response:
    skip = int(digits) if (digits := text(fields, "skip", max_length=6)).isdecimal() else 0

    def review(acting: Acting) -> str:
        label, intent = _review_in(fields)
        note = text(fields, "note", max_length=MAX_TEXT_LENGTH)
        reviews.review(acting, page.submission_id, label, intent=intent, note=note)
        submission = access.find_for_review(acting.session, page.submission_id, reviewer)
        state = load_state(acting.session, submission.competition.slug, page.now)
        return _next(acting, state, skip, done=submission.id)

    return page.act(review, fields, place="review", skip=skip)


def _review_in(fields: Fields) -> tuple[LabelName, Intent | None]:
    label = _label_in(fields)
    if label == "legitimate" or not fields.get("intent"):
        return label, None
    return label, read_choice(fields, "intent", Intent, message="Choose whether copying was intended.")


def _label_in(fields: Fields) -> LabelName:
    label: LabelName = read_choice(fields, "label", LabelName, message="Choose a label.")
    return label


@router.post("/submissions/{submission_id}/review/generator")
def audit_generator(page: CurrentReview, reviewer: Reviewer, viewer: SignedIn, fields: FormFields) -> Response:
    """Audit an entry that is a generator."""

    def audit(acting: Acting) -> str:
        generator_uploads.audit_entry(acting, page.submission_id, seed=secrets.randbits(32))
        return f"/submissions/{page.submission_id}/review#generator"

    return page.act(audit, fields, place="generator")


@router.post("/submissions/{submission_id}/review/label")
def decide_label(page: CurrentReview, author: Organizer, viewer: SignedIn, fields: FormFields) -> Response:

    def decide(acting: Acting) -> str:
        submission = access.find_for_review(acting.session, page.submission_id, author)
        state = load_state(acting.session, submission.competition.slug, page.now)
        note = text(fields, "note", max_length=MAX_TEXT_LENGTH)
        reviews.decide(acting, state, submission.id, label=_label_in(fields), note=note)
        return f"/submissions/{submission.id}/review#review"

    return page.act(decide, fields, place="decision")


@router.post("/submissions/{submission_id}/review/ruling")
def rule_on_submission(page: CurrentReview, author: Organizer, viewer: SignedIn, fields: FormFields) -> Response:
    memorising = {"yes": True, "no": False}.get(text(fields, "memorising"))

    def rule(acting: Acting) -> str:
        kind = read_choice(fields, "kind", RulingKind, message="Choose a ruling.")
        reason = text(fields, "reason", max_length=MAX_TEXT_LENGTH)
        rulings.rule(acting, page.submission_id, kind, reason=reason, memorising=memorising)
        return f"/submissions/{page.submission_id}/review#ruling"

    return page.act(rule, fields, place="ruling")


@router.post("/submissions/{submission_id}/review/rebuttals/{rebuttal_id}/answer")
def answer_rebuttal(
    page: CurrentReview, rebuttal_id: RowId, author: Organizer, viewer: SignedIn, fields: FormFields
) -> Response:

    def answer(acting: Acting) -> str:
        answer_text = text(fields, "answer", max_length=MAX_TEXT_LENGTH)
        ruling = None
        if text(fields, "ruling") != "refuse":
            ruling = read_choice(fields, "ruling", RulingKind, message="Choose whether to grant the rebuttal.")
        rebuttals.answer(acting, rebuttal_id, ruling=ruling, text=answer_text)
        return f"/submissions/{page.submission_id}/review#ruling"

    return page.act(answer, fields, place="answer")


@router.post("/submissions/{submission_id}/review/code-request")
def request_code(page: CurrentReview, author: Organizer, viewer: SignedIn, fields: FormFields) -> Response:

    def request(acting: Acting) -> str:
        days, words = text(fields, "days"), text(fields, "text", max_length=code_uploads.MAX_TEXT_LENGTH)
        if not days.isdecimal() or len(days) > 3:
            raise Invalid("bad-deadline", "Enter a deadline from 1 to 365 days.")
        until = page.now + timedelta(days=int(days))
        code_uploads.request_code(acting, page.submission_id, until=until, text=words)
        return f"/submissions/{page.submission_id}/review#team"

    return page.act(request, fields, place="code-request")
