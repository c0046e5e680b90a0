"""SQL for competitions, tracks, reference sets, data files and allowlists."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Select, false, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, aliased

from scorer.db.tables import (
    Account,
    AllowlistEntry,
    Competition,
    CompetitionReference,
    DataFile,
    Preparation,
    Publication,
    ReferenceSet,
    Track,
)
from scorer.lifecycle import TrackKind

EXISTING = Competition.deleted_at.is_(None)


def offered_files(session: Session, competition_id: int) -> Sequence[DataFile]:
    """The data files that a competition offers, in order of name."""
    newest = (
        select(DataFile.id, DataFile.offered)
        .ext(distinct_on(DataFile.name))
        .where(DataFile.competition_id == competition_id)
        .order_by(DataFile.name, DataFile.id.desc())
        .subquery("newest")
    )
    query = select(DataFile).join(newest, newest.c.id == DataFile.id).where(newest.c.offered)
    return session.scalars(query.order_by(DataFile.name)).all()


def newest_file(session: Session, competition_id: int, name: str) -> DataFile | None:
    """The newest row of a data file of a competition, offered or withdrawn."""
    query = select(DataFile).where(DataFile.competition_id == competition_id, DataFile.name == name)
    return session.scalars(query.order_by(DataFile.id.desc()).limit(1)).one_or_none()


def is_file_offered(session: Session, sha256: str) -> bool:
    """Whether any competition offers a data file with this SHA-256."""
    later = aliased(DataFile)
    replaced = select(later.id).where(
        later.competition_id == DataFile.competition_id, later.name == DataFile.name, later.id > DataFile.id
    )
    query = select(func.count()).where(DataFile.sha256 == sha256, DataFile.offered, ~replaced.exists())
    return bool(session.scalar(query))


def is_reference(session: Session, sha256: str, roles: Collection[str]) -> bool:
    """Whether the reference set with this SHA-256 has one of ``roles`` in any competition."""
    attached = (
        select(func.count())
        .select_from(CompetitionReference)
        .join(ReferenceSet, ReferenceSet.id == CompetitionReference.reference_set_id)
    )
    return bool(session.scalar(attached.where(ReferenceSet.sha256 == sha256, CompetitionReference.role.in_(roles))))


def list_allowlist(session: Session, competition_id: int) -> Sequence[AllowlistEntry]:
    """The allowlist of a competition, the newest invitation first."""
    newest = _newest(AllowlistEntry.competition_id == competition_id).subquery("newest")
    query = select(AllowlistEntry).join(newest, newest.c.id == AllowlistEntry.id).where(newest.c.invited)
    return session.scalars(query.order_by(AllowlistEntry.id.desc())).all()


def is_invited(session: Session, competition_id: int, account: Account) -> bool:
    """Whether a person is on a competition's allowlist, by account or by confirmed mail address."""
    by_email = AllowlistEntry.email == func.lower(account.email) if account.email is not None else false()
    person = (AllowlistEntry.competition_id == competition_id) & ((AllowlistEntry.account_id == account.id) | by_email)
    newest = _newest(person).subquery("newest")
    return session.scalar(select(newest.c.id).where(newest.c.invited).limit(1)) is not None


def _newest(condition: ColumnElement[bool]) -> Select[int, bool]:
    """The newest row of each account and each mail address."""
    who = (AllowlistEntry.account_id, AllowlistEntry.email)
    return (
        select(AllowlistEntry.id, AllowlistEntry.invited)
        .ext(distinct_on(*who))
        .where(condition)
        .order_by(*who, AllowlistEntry.id.desc())
    )


def competition_by_slug(session: Session, slug: str) -> Competition | None:
    """A competition by its slug."""
    return session.scalars(select(Competition).where(Competition.slug == slug, EXISTING)).one_or_none()


def all_competitions(session: Session) -> Sequence[Competition]:
    """Every competition, newest first."""
    newest_first = (Competition.created_at.desc(), Competition.id.desc())
    return session.scalars(select(Competition).where(EXISTING).order_by(*newest_first)).all()


def is_published(session: Session, competition_id: int, at: datetime | None = None) -> bool:
    """Whether the private board is public, provisional or final, or was at a past moment: what the newest publication
    says."""
    acts = select(Publication.published).where(Publication.competition_id == competition_id)
    if at is not None:
        acts = acts.where(Publication.created_at <= at)
    return bool(session.scalar(acts.order_by(Publication.id.desc()).limit(1)))


def is_final(session: Session, competition_id: int) -> bool:
    """Whether the final board is public: what the newest publication says."""
    acts = select(Publication.published & Publication.final).where(Publication.competition_id == competition_id)
    return bool(session.scalar(acts.order_by(Publication.id.desc()).limit(1)))


def publications_of(session: Session, competition_id: int) -> Sequence[Publication]:
    """Every publication of a competition and its withdrawals, newest first."""
    publications = select(Publication).where(Publication.competition_id == competition_id)
    return session.scalars(publications.order_by(Publication.id.desc())).all()


def tracks_of(session: Session, competition_id: int) -> dict[TrackKind, Track]:
    """The tracks of a competition by kind, without former ones."""
    tracks = session.scalars(select(Track).where(Track.competition_id == competition_id, Track.kind != "former"))
    return {track.board_kind: track for track in tracks}


def tracks_at(session: Session, tracks: dict[TrackKind, Track], at: datetime) -> dict[TrackKind, Track]:
    """The tracks of a competition at a past moment; ``tracks`` are those of now."""
    replaced_later = (
        select(Track)
        .where(Track.competition_id == tracks["private"].competition_id, Track.replaced_at > at)
        .order_by(Track.replaced_at)
        .limit(1)
    )
    former = session.scalars(replaced_later).one_or_none()
    return tracks if former is None else tracks | {"private": former}


def extractors_in_use(session: Session) -> Sequence[str]:
    """The extractors of prepared tracks, on which entries may be scored."""
    query = select(Track.extractor).join(Preparation, Preparation.id == Track.preparation_id).join(Competition)
    in_use = query.where(Preparation.finished_at.is_not(None), Track.kind != "former", EXISTING)
    return session.scalars(in_use.distinct()).all()


def references_of(session: Session, competition_id: int) -> dict[str, CompetitionReference]:
    """The reference sets of a competition by role."""
    attached = session.scalars(
        select(CompetitionReference).where(CompetitionReference.competition_id == competition_id)
    )
    return {reference.role: reference for reference in attached}


def reference_set_by_sha256(session: Session, sha256: str) -> ReferenceSet | None:
    """A reference set by the SHA-256 of its zip."""
    return session.scalars(select(ReferenceSet).where(ReferenceSet.sha256 == sha256)).one_or_none()


def reference_sets(session: Session, ids: Sequence[int]) -> list[ReferenceSet]:
    """Reference sets in the order of ``ids``."""
    by_id = {row.id: row for row in session.scalars(select(ReferenceSet).where(ReferenceSet.id.in_(ids)))}
    return [by_id[id_] for id_ in ids]


def preparation_by_key(session: Session, key: str) -> Preparation | None:
    """A preparation by the hash of its inputs."""
    return session.scalars(select(Preparation).where(Preparation.key == key)).one_or_none()


def tracks_with_preparation(session: Session, preparation_id: int) -> Sequence[Track]:
    """The tracks that are measured against a preparation."""
    return session.scalars(select(Track).where(Track.preparation_id == preparation_id)).all()


def lock_competition(session: Session, slug: str, *, share: bool) -> None:
    """Lock a competition's set-up to the end of the transaction: against changes (``share``), or to change it. Rows
    that refer to the competition can be inserted meanwhile."""
    locked = select(Competition.id).where(Competition.slug == slug)
    session.execute(locked.with_for_update(read=share, key_share=not share))
