"""SQL for checked generators and the draws of their images."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from scorer.db.tables import CheckedGenerator, Draw, Submission
from scorer.db.teams import merges


def load_checked(session: Session, submission_ref: int) -> CheckedGenerator:
    """A generator that has passed its check."""
    return session.get_one(CheckedGenerator, submission_ref)


def load_draws(session: Session, submission_ref: int, kind: str) -> Sequence[Draw]:
    """The draws of a submission on a track, by number."""
    drawn = select(Draw).where(Draw.submission_ref == submission_ref, Draw.track_kind == kind)
    return session.scalars(drawn.order_by(Draw.number)).all()


def team_generators(session: Session, submission: Submission) -> Sequence[CheckedGenerator]:
    """The checked generators of a submission's team, and of teams merged into it, that are each the first of their
    kind, oldest first."""
    team = merges.current_team(session, submission.team_id)
    firsts = (
        select(CheckedGenerator)
        .join(Submission, Submission.ref == CheckedGenerator.submission_ref)
        .where(
            Submission.competition_id == submission.competition_id,
            merges.belongs_to_team(team.id),
            CheckedGenerator.submission_ref != submission.ref,
            CheckedGenerator.same_as_ref.is_(None),
        )
    )
    return session.scalars(firsts.order_by(CheckedGenerator.submission_ref)).all()


class GeneratorEntry(NamedTuple):
    checked: CheckedGenerator
    same_as: str | None
    """The public id of the team's first entry with nearly the same images."""
    public_draws: int
    """The public draws, failed ones included, of all entries of the team that are nearly the same generator."""
    private_fault: str | None


def load_generators(session: Session, refs: Collection[int]) -> dict[int, GeneratorEntry]:
    """The generators among these submissions that have passed their check, by ref."""
    first = func.coalesce(CheckedGenerator.same_as_ref, CheckedGenerator.submission_ref)
    bought = (
        select(first.label("first"), func.count().label("draws"))
        .join(Draw, Draw.submission_ref == CheckedGenerator.submission_ref)
        .where(Draw.track_kind == "public")
        .group_by(first)
        .subquery()
    )
    fault = (
        select(Draw.fault)
        .where(Draw.submission_ref == CheckedGenerator.submission_ref, Draw.track_kind == "private")
        .where(Draw.fault.is_not(None))
        .scalar_subquery()
    )
    query = (
        select(CheckedGenerator, Submission.id, func.coalesce(bought.c.draws, 0), fault)
        .outerjoin(Submission, Submission.ref == CheckedGenerator.same_as_ref)
        .outerjoin(bought, bought.c.first == first)
        .where(CheckedGenerator.submission_ref.in_(refs))
    )
    return {row[0].submission_ref: GeneratorEntry(*row) for row in session.execute(query)}
