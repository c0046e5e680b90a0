"""SQL for shared images: hashed entries, their comparisons, and entries of different teams that share images."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, any_, func, or_, select, union_all
from sqlalchemy.dialects import postgresql
from sqlalchemy.orm import InstrumentedAttribute, Session, aliased

from scorer.db.competitions import load_tracks
from scorer.db.leaderboard.scores import id_list, judged_entries
from scorer.db.tables import CheckedGenerator, HashedEntry, ImageComparison, SharedImages, Submission, Team
from scorer.db.teams import merges
from scorer.findings.signs import MIN_SHARE


def add_hashes(session: Session, submission_ref: int, key: str, *, now: datetime) -> None:
    """Record the blob with the hashes of an entry's images. Has no effect if one is already recorded."""
    row = {"submission_ref": submission_ref, "blob_key": key, "created_at": now}
    session.execute(postgresql.insert(HashedEntry).values(row).on_conflict_do_nothing())


def load_hashes_key(session: Session, submission_ref: int) -> str | None:
    return session.scalar(select(HashedEntry.blob_key).where(HashedEntry.submission_ref == submission_ref))


class HashesOfOther(NamedTuple):
    """A hashed entry of another team. ``team_id`` is its team after merges."""

    ref: int
    team_id: int
    blob_key: str


def load_other_hashes(session: Session, submission: Submission) -> list[HashesOfOther]:
    """The hashed entries of all other teams in the competition, grouped by team."""
    team_id, merged = merges.team_now(Submission.team_id)
    query = (
        select(HashedEntry.submission_ref, team_id.label("team_id"), HashedEntry.blob_key)
        .join(Submission, Submission.ref == HashedEntry.submission_ref)
        .outerjoin(merged, merged.c.team_id == Submission.team_id)
        .where(
            Submission.competition_id == submission.competition_id,
            team_id != merges.current_team(session, submission.team_id).id,
        )
        .order_by(team_id, HashedEntry.submission_ref)
    )
    return [HashesOfOther(*row) for row in session.execute(query)]


def load_other_generators(session: Session, submission: Submission) -> Sequence[CheckedGenerator]:
    """The generators of all other teams in the competition whose images have been hashed."""
    refs = id_list([other.ref for other in load_other_hashes(session, submission)])
    return session.scalars(select(CheckedGenerator).where(CheckedGenerator.submission_ref == any_(refs))).all()


def nearest_generators(session: Session, submission: Submission, *, limit: int) -> Sequence[CheckedGenerator]:
    """The generators of other teams, one of each, whose public FID is nearest to that of an entry."""
    track = load_tracks(session, submission.competition_id)["public"]
    entry = judged_entries(track_id=track.id).subquery("entry").c
    own = select(entry.fid).where(entry.ref == submission.ref).scalar_subquery()
    distance = func.abs(entry.fid - own).label("distance")
    nearest = (
        select(entry.ref, distance)
        .ext(postgresql.distinct_on(entry.team_id))
        .join(CheckedGenerator, CheckedGenerator.submission_ref == entry.ref)
        .where(entry.team_id != merges.current_team(session, submission.team_id).id)
        .order_by(entry.team_id, distance)
        .subquery("nearest")
    )
    query = select(CheckedGenerator).join(nearest, nearest.c.ref == CheckedGenerator.submission_ref)
    return session.scalars(query.order_by(nearest.c.distance, nearest.c.ref).limit(limit)).all()


def add_pairs(session: Session, pairs: Sequence[dict[str, Any]]) -> None:
    """Record pairs, as columns by name. Existing rows do not change."""
    if pairs:
        session.execute(postgresql.insert(SharedImages).on_conflict_do_nothing(), list(pairs))


def add_comparison(session: Session, comparison: dict[str, Any], pairs: Sequence[dict[str, Any]]) -> None:
    """Record a comparison and its pairs, as columns by name. Existing rows do not change."""
    add_pairs(session, pairs)
    session.execute(postgresql.insert(ImageComparison).values(comparison).on_conflict_do_nothing())


class SharingEntry(NamedTuple):
    """An entry of another team (after merges) that shares images with ``of``, an entry of the team ``of_team_id``, or
    that is nearly the same generator."""

    of: int
    of_team_id: int
    id: str
    ref: int
    team_id: int
    team: str
    accepted_at: datetime
    compared_at: datetime
    images: int
    equal: int
    share: float
    same_latents: float | None
    recovered: float | None
    examples: Sequence[Sequence[int]]
    """Pairs of indices of equal images, first in the entry ``of``, then in this one."""


def sharing_entries(session: Session, refs: Collection[int]) -> list[SharingEntry]:
    """The entries of other teams that share images with these entries, the largest share first."""
    if not refs:
        return []
    both = union_all(*(_pairs(column, refs) for column in (SharedImages.submission_ref, SharedImages.other_ref)))
    pair = both.subquery("pair").c
    of, other = aliased(Submission), aliased(Submission)
    entry_team_id, entry_merges = merges.team_now(of.team_id, "merged_of")
    team_id, merged = merges.team_now(other.team_id)
    query = (
        select(pair.of, entry_team_id.label("of_team_id"), other.id, pair.ref, Team.id, Team.name, other.accepted_at)
        .add_columns(pair.created_at, pair.images, pair.equal, pair.share, pair.same_latents)
        .add_columns(pair.recovered, pair.examples)
        .join(of, of.ref == pair.of)
        .outerjoin(entry_merges, entry_merges.c.team_id == of.team_id)
        .join(other, other.ref == pair.ref)
        .outerjoin(merged, merged.c.team_id == other.team_id)
        .join(Team, Team.id == team_id)
        .where(team_id != entry_team_id)
        .order_by(pair.of, func.greatest(pair.share, pair.same_latents, pair.recovered).desc(), pair.ref)
    )
    rows = [SharingEntry(*row) for row in session.execute(query)]
    return [row if row.of > row.ref else row._replace(examples=[pair[::-1] for pair in row.examples]) for row in rows]


def _pairs(of: InstrumentedAttribute[int], refs: Collection[int]) -> Select[Any]:
    """The pairs in which one entry (``of``) is among ``refs``; ``ref`` is the other entry."""
    ref = SharedImages.other_ref if of is SharedImages.submission_ref else SharedImages.submission_ref
    pair: list[Any] = [SharedImages.created_at, SharedImages.images, SharedImages.equal, SharedImages.share]
    generators = SharedImages.same_latents, SharedImages.recovered
    found = select(of.label("of"), ref.label("ref"), *pair, *generators, SharedImages.examples)
    return found.where(of.in_(refs))


def refs_sharing_images(competition_id: int) -> Select[Any]:
    """The refs of entries that share at least :data:`MIN_SHARE` of the images with another team's entry, or are nearly
    the same generator."""
    one, other = aliased(Submission), aliased(Submission)
    team_of_one, merged_one = merges.team_now(one.team_id, "merged_one")
    team_of_other, merged_other = merges.team_now(other.team_id, "merged_other")
    refs = postgresql.array([SharedImages.submission_ref, SharedImages.other_ref])
    generators = SharedImages.same_latents, SharedImages.recovered
    return (
        select(func.unnest(refs).label("ref"))
        .join(one, one.ref == SharedImages.submission_ref)
        .outerjoin(merged_one, merged_one.c.team_id == one.team_id)
        .join(other, other.ref == SharedImages.other_ref)
        .outerjoin(merged_other, merged_other.c.team_id == other.team_id)
        .where(SharedImages.competition_id == competition_id)
        .where(or_(SharedImages.share >= MIN_SHARE, func.num_nonnulls(*generators) > 0))
        .where(team_of_one != team_of_other)
    )
