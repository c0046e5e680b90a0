"""Rulings, rebuttals and their impact: requests, responses, and how they are made."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Path
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.schemas.base import Request
from scorer.competitions.competition_state import CompetitionState
from scorer.db.review.rulings import Appeal
from scorer.db.tables import Ruling, Submission
from scorer.lifecycle import TrackKind
from scorer.review import rebuttals, rulings
from scorer.review.ruling_impact import RulingImpact
from scorer.review.rulings import RulingKind


class NewRuling(Request):
    """An organizer's word on an entry."""

    kind: RulingKind
    reason: str = Field(min_length=1, max_length=5000, description="Told to the team.")
    memorising: bool | None = Field(
        None, description="What the label `other` shall mean when tau is chosen; null leaves it as it was."
    )


class RulingView(BaseModel):
    """A ruling."""

    id: int
    kind: RulingKind
    reason: str
    memorising: bool | None = Field(None, description="Organizers only.")
    author: str | None = Field(None, description="Organizers and reviewers only.")
    created_at: datetime


class WinView(BaseModel):
    """A rank and what it wins."""

    rank: int | None
    medal: str | None
    prize: str | None


class TurnView(BaseModel):
    """A team that would win something else than now."""

    team: str
    before: WinView
    after: WinView


class StakeView(BaseModel):
    """What another ruling on an entry would do to the board of a track."""

    kind: RulingKind
    track: TrackKind
    before: int | None = Field(description="The rank of the entry's team now; null where it has none.")
    after: int | None
    turns: list[TurnView] = Field(description="The teams that would win something else, by their new ranks.")


class NewRebuttal(Request):
    """A team's appeal."""

    text: str = Field(min_length=1, max_length=10_000)


class NewAnswer(Request):
    """What the organizers say to it."""

    ruling: Literal["keep", "waive"] | None = Field(
        description="Grants the rebuttal: the ruling that follows. null refuses it."
    )
    answer: str = Field(min_length=1, max_length=5000, description="Told to the team.")


class AnswerView(BaseModel):
    """The answer to a rebuttal."""

    granted: bool
    answer: str
    ruling_id: int | None
    created_at: datetime


class RebuttalView(BaseModel):
    """A rebuttal, with its answer if there is one."""

    id: int
    submission_id: str
    ruling_id: int | None = Field(description="The ruling that it is against; null: the penalty.")
    text: str
    written_by: str
    created_at: datetime
    answer: AnswerView | None


class CaseView(BaseModel):
    """Rulings on an entry and rebuttals against them, newest first. The first ruling counts."""

    rulings: list[RulingView]
    rebuttals: list[RebuttalView]
    rebuttals_from: datetime | None = Field(description="The review window: when rebuttals are taken.")
    rebuttals_until: datetime | None


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


RebuttalId = Annotated[int, Path(ge=1, le=2**62)]
