"""Schemas of rulings, their impact and rebuttals."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.http.views import Page, RecordView, Request
from scorer.competitions import appeal_windows
from scorer.competitions.competition_state import CompetitionState
from scorer.db.newest_rows import newest_rows
from scorer.db.review import rulings
from scorer.db.review.rulings import Appeal
from scorer.db.tables import Ruling, Submission
from scorer.lifecycle import TrackKind
from scorer.review.ruling_impact import RulingImpact
from scorer.review.rulings import RulingKind


class NewTeamRuling(Request):
    kind: RulingKind
    reason: str = Field(min_length=1, max_length=5000, description="Shown to the team.")


class NewRuling(Request):
    kind: RulingKind
    reason: str = Field(min_length=1, max_length=5000, description="Shown to the team.")
    memorising: bool | None = Field(
        None,
        description="Whether the label `other` counts as memorising when tau is chosen; null leaves that unchanged.",
    )


class RulingView(RecordView):
    id: int
    kind: RulingKind
    reason: str
    memorising: bool | None = Field(None, description="For organizers only.")
    author: str | None = Field(None, description="For organizers and reviewers only.")
    created_at: datetime


class StakePage(Page):
    stakes: Sequence[RulingImpact]


class NewRebuttal(Request):
    text: str = Field(min_length=1, max_length=10_000)


class NewAnswer(Request):
    ruling: Literal["keep", "waive"] | None = Field(
        None, description="The ruling that grants the rebuttal; null refuses the rebuttal."
    )
    answer: str = Field(min_length=1, max_length=5000, description="Shown to the team.")


class AnswerView(RecordView):
    granted: bool
    answer: str
    ruling_id: int | None
    created_at: datetime


class RebuttalView(RecordView):
    id: int
    submission_id: str
    ruling_id: int | None = Field(description="The newest ruling at the time of the rebuttal; null if there was none.")
    track: TrackKind | None = Field(
        description="The track of the penalty; null for an appeal against a disqualification."
    )
    text: str
    written_by: str
    created_at: datetime
    answer: AnswerView | None


class RebuttalPage(Page):
    rebuttals: list[RebuttalView]


class CaseView(BaseModel):
    """The rulings on a submission and the rebuttals of its team, newest first. The newest ruling counts."""

    rulings: list[RulingView]
    rebuttals: list[RebuttalView]
    rebuttals_from: datetime | None = Field(
        description="Rebuttals are accepted from this time, when the review begins or a provisional board is published."
    )
    rebuttals_until: datetime | None = Field(
        description="Rebuttals are accepted until this time. A later ruling, threshold or measurement extends it."
    )


def case_view(session: Session, state: CompetitionState, submission: Submission, *, inside: bool) -> CaseView:
    """``inside`` is for reviewers and organizers: it adds the authors of rulings."""
    window = appeal_windows.compute_entry_window(session, state, submission)
    made = newest_rows(session, Ruling, submission_ref=submission.ref)
    return CaseView(
        rulings=[ruling_view(ruling, inside=inside) for ruling in made],
        rebuttals=[rebuttal_view(submission, appeal) for appeal in rulings.load_appeals(session, submission.ref)],
        rebuttals_from=window.begins,
        rebuttals_until=window.ends,
    )


def ruling_view(ruling: Ruling, *, inside: bool) -> RulingView:
    """``inside`` adds the author, and whether the label ``other`` counts as memorising."""
    hidden = {} if inside else {"memorising": None}
    return RulingView.of(ruling, author=ruling.author.handle if inside else None, **hidden)


def rebuttal_view(submission: Submission, appeal: Appeal) -> RebuttalView:
    rebuttal, answer = appeal
    handle = rebuttal.author.handle
    return RebuttalView.of(rebuttal, submission_id=submission.id, written_by=handle, answer=answer)
