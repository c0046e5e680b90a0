"""The desk in the words of the API. What a reviewer may not see yet is left out by
:mod:`scorer.review.review_queue`."""

import math
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from api.desk_schemas import (
    AgreementView,
    AnswerView,
    CaseView,
    DeskEntryView,
    DeskView,
    DoubleView,
    FlaggedView,
    GoalView,
    GuessView,
    OpinionsView,
    OtherView,
    PairView,
    ReasonView,
    RebuttalView,
    ReviewView,
    RulingView,
    StakeView,
    TurnView,
    WinView,
)
from api.schemas import LabelView
from api.submission_views import view_of
from scorer.competitions.competition_state import CompetitionState
from scorer.db.review.rulings import Appeal
from scorer.db.submissions.duplicates import Duplicate
from scorer.db.tables import Account, Review, Ruling, Submission
from scorer.evidence.closest_pairs import PairImages
from scorer.review import rebuttals, review_queue, rulings
from scorer.review.flags import FlaggedEntry, FlaggedPage
from scorer.review.reviews import Agreement, Opinions
from scorer.review.ruling_impact import RulingImpact


def desk_view(state: CompetitionState, queue: FlaggedPage, agreement: Agreement, *, after: int) -> DeskView:
    """A page of the queue."""
    kappa = None if math.isnan(agreement.kappa) else agreement.kappa
    return DeskView(
        competition=state.competition.slug,
        entries=[flagged_view(each) for each in queue.entries],
        counts=dict(queue.counts),
        goals=[GoalView(**vars(each)) for each in queue.goals],
        agreement=AgreementView(entries=agreement.entries, agreed=agreement.agreed, kappa=kappa),
        next_after=after + len(queue.entries) if queue.more else None,
    )


def flagged_view(flagged: FlaggedEntry) -> FlaggedView:
    """An entry in the queue."""
    fields = vars(flagged) | {"reasons": [ReasonView(**vars(each)) for each in flagged.reasons]}
    return FlaggedView.model_validate(fields)


def entry_view(
    session: Session,
    state: CompetitionState,
    submission: Submission,
    reviewer: Account,
    pairs: Mapping[str, Sequence[PairImages]],
) -> DeskEntryView:
    """An entry as this reviewer may see it."""
    look = review_queue.review_entry_for(session, state, submission, reviewer)
    return DeskEntryView(
        entry=view_of(session, submission, reviewer, ranked=False, desk=True),
        flagged=flagged_view(look.flagged) if look.flagged else None,
        findings=[ReasonView(**vars(each)) for each in look.findings],
        pairs={kind: [pair_view(each) for each in found] for kind, found in pairs.items()},
        doubles=[_double(each) for each in look.doubles],
        others=[_other(each) for each in look.others],
        opinions=opinions_view(submission, look.opinions),
        guesses=[GuessView.model_validate(each, from_attributes=True) for each in look.guesses],
        case=case_view(session, state, submission, inside=True),
    )


def pair_view(pair: PairImages) -> PairView:
    """What is known of a pair of images."""
    return PairView(
        number=pair.number,
        image=pair.place,
        reference_name=pair.reference_name,
        distance=pair.distance,
        difference=pair.difference,
        mirrored_difference=pair.mirrored_difference,
        mirrored=pair.is_mirrored,
    )


def _double(row: Duplicate) -> DoubleView:
    return DoubleView(submission_id=row.id, ref=row.ref, team=row.team, same_zip=row.same_zip)


def _other(other: review_queue.OtherEntry) -> OtherView:
    each, score = other.submission, other.score
    return OtherView.model_validate(
        {
            "submission_id": each.id,
            "ref": each.ref,
            "file_name": each.file_name,
            "status": each.status,
            "memorization_distance": score.memorization_distance if score is not None else None,
            "penalised": score.penalised if score is not None else None,
            "label": other.label,
        }
    )


def opinions_view(submission: Submission, opinions: Opinions) -> OpinionsView:
    """The reviews of an entry as its viewer may see them."""
    decided = opinions.decided
    label = {name: getattr(decided, name) for name in ("label", "note", "created_at")} if decided else None
    return OpinionsView(
        own=_review(opinions.own) if opinions.own else None,
        others=[_review(each) for each in opinions.others],
        count=opinions.count,
        complete=opinions.complete,
        disputed=opinions.disputed,
        decided=LabelView.model_validate(label | {"submission_id": submission.id}) if label else None,
    )


def _review(review: Review) -> ReviewView:
    fields = {name: getattr(review, name) for name in ("label", "intent", "note", "created_at")}
    return ReviewView.model_validate(fields | {"reviewer": review.reviewer.handle})


def case_view(session: Session, state: CompetitionState, submission: Submission, *, inside: bool) -> CaseView:
    """Rulings and rebuttals of an entry; ``inside``: for those who judge, with who has ruled."""
    window = rebuttals.window_of(state)
    return CaseView(
        rulings=[ruling_view(each, inside=inside) for each in rulings.ruling_history(session, submission)],
        rebuttals=[rebuttal_view(submission, each) for each in rebuttals.rebuttal_history(session, submission)],
        rebuttals_from=window.begins,
        rebuttals_until=window.ends,
    )


def ruling_view(ruling: Ruling, *, inside: bool) -> RulingView:
    """A ruling; ``inside``: with who made it and what it says for the choice of tau."""
    fields = {name: getattr(ruling, name) for name in ("id", "kind", "reason", "created_at")}
    extra = {"author": ruling.author.handle, "memorising": ruling.memorising} if inside else {}
    return RulingView.model_validate(fields | extra)


def stake_view(stake: RulingImpact) -> StakeView:
    """What another ruling would do."""
    turns = [
        TurnView(team=turn.team, before=WinView(**turn.before._asdict()), after=WinView(**turn.after._asdict()))
        for turn in stake.turns
    ]
    return StakeView(kind=stake.kind, track=stake.track, before=stake.before, after=stake.after, turns=turns)


def rebuttal_view(submission: Submission, appeal: Appeal) -> RebuttalView:
    """A rebuttal with its answer."""
    written, answered = appeal
    fields = {name: getattr(written, name) for name in ("id", "ruling_id", "text", "created_at")}
    return RebuttalView(
        **fields,
        submission_id=submission.id,
        written_by=written.author.handle,
        answer=AnswerView.model_validate(answered, from_attributes=True) if answered else None,
    )
