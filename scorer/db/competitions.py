"""SQL for competitions, tracks, reference sets, data files and allowlists."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Select, Text, cast, false, func, literal, literal_column, select, union_all
from sqlalchemy.dialects.postgresql import aggregate_order_by, distinct_on
from sqlalchemy.orm import Session, aliased, contains_eager, joinedload

from scorer.db.newest_rows import newest_ids, newest_rows, only_row
from scorer.db.tables import (
    Account,
    AllowlistEntry,
    Announcement,
    Competition,
    CompetitionReference,
    DataFile,
    DrawSecret,
    Preparation,
    Publication,
    ReferenceSet,
    Threshold,
    Track,
)
from scorer.lifecycle import TrackKind

EXISTING = Competition.deleted_at.is_(None)


class ListedCompetition(NamedTuple):
    """The data for choosing and sorting competitions in lists. ``published`` and ``final`` are those of the newest
    publication; None if there is none."""

    id: int
    slug: str
    title: str
    opens_at: datetime | None
    closes_at: datetime | None
    published: bool | None
    final: bool | None


def list_competitions(session: Session) -> list[ListedCompetition]:
    newest = (
        select(Publication.competition_id, Publication.published, Publication.final)
        .ext(distinct_on(Publication.competition_id))
        .order_by(Publication.competition_id, Publication.id.desc())
        .subquery("newest")
    )
    columns = Competition.id, Competition.slug, Competition.title, Competition.opens_at, Competition.closes_at
    query = select(*columns, newest.c.published, newest.c.final).where(EXISTING)
    query = query.outerjoin(newest, newest.c.competition_id == Competition.id)
    newest_first = (Competition.created_at.desc(), Competition.id.desc())
    return [ListedCompetition(*row) for row in session.execute(query.order_by(*newest_first))]


class TrackSetup(NamedTuple):
    """A track, and the other data that its competition needs before it opens."""

    track: Track
    has_training_images: bool
    method: str | None
    """The method that chose its newest threshold."""


def track_setups_by_slug(session: Session, slug: str) -> Sequence[TrackSetup]:
    """The tracks of a competition, without former ones. Empty if there is no such competition."""
    return _track_setups(session, (Competition.slug == slug) & EXISTING)


def track_setups_by_id(session: Session, ids: Collection[int]) -> Sequence[TrackSetup]:
    return _track_setups(session, Competition.id.in_(ids))


def _track_setups(session: Session, condition: ColumnElement[bool]) -> Sequence[TrackSetup]:
    attached = CompetitionReference.competition_id == Competition.id
    trained = select(CompetitionReference.role).where(attached, CompetitionReference.role == "train").exists()
    newest = select(Threshold.method).where(Threshold.track_id == Track.id).order_by(Threshold.id.desc()).limit(1)
    query = (
        select(Track, trained, newest.correlate(Track).scalar_subquery())
        .join(Track.competition)
        .options(contains_eager(Track.competition))
    )
    return [TrackSetup(*row) for row in session.execute(query.where(Track.kind != "former", condition))]


class Material(NamedTuple):
    publications: tuple[Publication, ...]
    """Every publication of the private board and its withdrawals, newest first."""
    files: tuple[DataFile, ...]
    """The data files that it offers, sorted by name."""
    announcements: tuple[Announcement, ...]
    """The newest ones, newest first."""


def material_by_competition(session: Session, ids: Collection[int], max_announcements: int) -> dict[int, Material]:
    """The content that the organizers of each of these competitions have published, read in one statement."""
    acts = aliased(Publication, select(Publication).where(Publication.competition_id.in_(ids)).subquery("acts"))
    files = aliased(DataFile, _offered_files(ids).subquery("files"))
    newest = select(Announcement).where(
        Announcement.id.in_(newest_ids(Announcement.competition_id, ids, max_announcements))
    )
    announcements = aliased(Announcement, newest.subquery("announcements"))
    authors = [joinedload(table.author, innerjoin=False) for table in (acts, files, announcements)]
    query = (
        select(acts, files, announcements)
        .join_from(acts, files, false(), full=True)
        .join(announcements, false(), full=True)
        .options(*authors)
        .order_by(acts.id.desc(), files.name, announcements.id.desc())
    )
    found: dict[int, tuple[list[Any], ...]] = {id_: ([], [], []) for id_ in ids}
    rows: Iterable[Iterable[Any]] = session.execute(query)
    for row in rows:
        for number, item in enumerate(row):
            if item is not None:
                found[item.competition_id][number].append(item)
    return {id_: Material(*map(tuple, lists)) for id_, lists in found.items()}


def rows_digest(session: Session, ids: Collection[int]) -> str | None:
    """A digest of these competitions and their tracks, with the ids of the newest thresholds and of all publications.
    It differs after any change or addition. None without competitions."""
    tracks = Track.competition_id.in_(ids)
    rows = union_all(
        select(cast(literal_column(Competition.__tablename__), Text).label("row")).where(Competition.id.in_(ids)),
        select(cast(literal_column(Track.__tablename__), Text)).where(tracks),
        select(cast(func.max(Threshold.id), Text))
        .join(Track, Track.id == Threshold.track_id)
        .where(tracks)
        .group_by(Threshold.track_id),
        select(cast(Publication.id, Text)).where(Publication.competition_id.in_(ids)),
    ).subquery("rows")
    return session.scalar(select(func.md5(func.string_agg(rows.c.row, aggregate_order_by(literal("\n"), rows.c.row)))))


def offered_files(session: Session, competition_id: int) -> Sequence[DataFile]:
    return session.scalars(_offered_files([competition_id]).order_by(DataFile.name)).all()


def _offered_files(ids: Collection[int]) -> Select[DataFile]:
    newest = (
        select(DataFile.id, DataFile.offered)
        .ext(distinct_on(DataFile.competition_id, DataFile.name))
        .where(DataFile.competition_id.in_(ids))
        .order_by(DataFile.competition_id, DataFile.name, DataFile.id.desc())
        .subquery("newest")
    )
    return select(DataFile).join(newest, newest.c.id == DataFile.id).where(newest.c.offered)


def is_file_offered(session: Session, sha256: str) -> bool:
    later = aliased(DataFile)
    replaced = select(later.id).where(
        later.competition_id == DataFile.competition_id, later.name == DataFile.name, later.id > DataFile.id
    )
    query = select(func.count()).where(DataFile.sha256 == sha256, DataFile.offered, ~replaced.exists())
    return bool(session.scalar(query))


def is_reference(session: Session, sha256: str, roles: Collection[str]) -> bool:
    attached = (
        select(func.count())
        .select_from(CompetitionReference)
        .join(ReferenceSet, ReferenceSet.id == CompetitionReference.reference_set_id)
    )
    return bool(session.scalar(attached.where(ReferenceSet.sha256 == sha256, CompetitionReference.role.in_(roles))))


def list_allowlist(
    session: Session, competition_id: int, *, before: int | None = None, limit: int | None = None
) -> Sequence[AllowlistEntry]:
    """The invitations older than the id ``before``, newest first."""
    newest = _newest(AllowlistEntry.competition_id == competition_id).subquery("newest")
    query = select(AllowlistEntry).join(newest, newest.c.id == AllowlistEntry.id).where(newest.c.invited)
    if before is not None:
        query = query.where(AllowlistEntry.id < before)
    return session.scalars(query.order_by(AllowlistEntry.id.desc()).limit(limit)).all()


def invited_to(session: Session, ids: Collection[int], account: Account) -> set[int]:
    """The competitions with a person on their allowlist, by account or confirmed email address."""
    by_email = AllowlistEntry.email == func.lower(account.email) if account.email is not None else false()
    person = AllowlistEntry.competition_id.in_(ids) & ((AllowlistEntry.account_id == account.id) | by_email)
    newest = _newest(person).subquery("newest")
    return set(session.scalars(select(newest.c.competition_id).where(newest.c.invited)))


def _newest(condition: ColumnElement[bool]) -> Select[int, int, bool]:
    """The newest row of each account and each email address in each competition."""
    who = (AllowlistEntry.competition_id, AllowlistEntry.account_id, AllowlistEntry.email)
    return (
        select(AllowlistEntry.id, AllowlistEntry.competition_id, AllowlistEntry.invited)
        .ext(distinct_on(*who))
        .where(condition)
        .order_by(*who, AllowlistEntry.id.desc())
    )


def competition_by_slug(session: Session, slug: str) -> Competition | None:
    return session.scalars(select(Competition).where(Competition.slug == slug, EXISTING)).one_or_none()


def is_published(session: Session, competition_id: int, at: datetime | None = None) -> bool:
    """Whether the private board is public, now or at the moment ``at``, as provisional or final board."""
    acts = select(Publication.published).where(Publication.competition_id == competition_id)
    if at is not None:
        acts = acts.where(Publication.created_at <= at)
    return bool(session.scalar(acts.order_by(Publication.id.desc()).limit(1)))


def is_final(session: Session, competition_id: int) -> bool:
    """Whether the newest publication is that of the final board."""
    acts = select(Publication.published & Publication.final).where(Publication.competition_id == competition_id)
    return bool(session.scalar(acts.order_by(Publication.id.desc()).limit(1)))


def load_publications(session: Session, competition_id: int) -> Sequence[Publication]:
    """Every publication of a competition and its withdrawals, newest first."""
    return newest_rows(session, Publication, competition_id=competition_id)


def load_tracks(session: Session, competition_id: int) -> dict[TrackKind, Track]:
    query = select(Track).where(Track.competition_id == competition_id, Track.kind != "former")
    return {track.board_kind: track for track in session.scalars(query)}


class CompetitionBoards(NamedTuple):
    competition: Competition
    tracks: dict[TrackKind, Track]
    published: bool


def load_boards(session: Session, competition: Competition) -> CompetitionBoards:
    """The tracks of a competition and whether its private board is public, in one statement."""
    newest = select(Publication.published).where(Publication.competition_id == competition.id)
    published = newest.order_by(Publication.id.desc()).limit(1).scalar_subquery()
    query = select(Track, published).where(Track.competition_id == competition.id, Track.kind != "former")
    rows = session.execute(query).all()
    tracks = {track.board_kind: track for track, _ in rows}
    return CompetitionBoards(competition, tracks, any(row[1] for row in rows))


def tracks_at(session: Session, tracks: dict[TrackKind, Track], at: datetime) -> dict[TrackKind, Track]:
    """The tracks of a competition at a past moment; ``tracks`` are the current ones."""
    replaced_later = (
        select(Track)
        .where(Track.competition_id == tracks["private"].competition_id, Track.replaced_at > at)
        .order_by(Track.replaced_at)
        .limit(1)
    )
    former = session.scalars(replaced_later).one_or_none()
    return tracks if former is None else tracks | {"private": former}


def extractors_in_use(session: Session) -> Sequence[str]:
    """The extractors of prepared tracks, where entries may be scored."""
    query = select(Track.extractor).join(Preparation, Preparation.id == Track.preparation_id).join(Competition)
    in_use = query.where(Preparation.finished_at.is_not(None), Track.kind != "former", EXISTING)
    return session.scalars(in_use.distinct()).all()


def load_references(session: Session, competition_id: int) -> dict[str, CompetitionReference]:
    attached = session.scalars(
        select(CompetitionReference).where(CompetitionReference.competition_id == competition_id)
    )
    return {reference.role: reference for reference in attached}


def load_draw_secrets(session: Session, competition_ids: Collection[int]) -> dict[int, dict[str, DrawSecret]]:
    """By competition and purpose; none in a competition of images."""
    by_competition: dict[int, dict[str, DrawSecret]] = {id_: {} for id_ in competition_ids}
    if competition_ids:
        for secret in session.scalars(select(DrawSecret).where(DrawSecret.competition_id.in_(competition_ids))):
            by_competition[secret.competition_id][secret.purpose] = secret
    return by_competition


def list_with_draw_secrets(session: Session) -> Sequence[Competition]:
    query = select(Competition).join(DrawSecret).where(DrawSecret.purpose == "public", EXISTING)
    return session.scalars(query.order_by(Competition.id)).all()


def reference_set_by_sha256(session: Session, sha256: str) -> ReferenceSet | None:
    return only_row(session, ReferenceSet, sha256=sha256)


def reference_sets(session: Session, ids: Sequence[int]) -> list[ReferenceSet]:
    """Reference sets in the order of ``ids``."""
    by_id = {row.id: row for row in session.scalars(select(ReferenceSet).where(ReferenceSet.id.in_(ids)))}
    return [by_id[id_] for id_ in ids]


def preparation_by_key(session: Session, key: str) -> Preparation | None:
    return only_row(session, Preparation, key=key)


def tracks_with_preparation(session: Session, preparation_id: int) -> Sequence[Track]:
    return session.scalars(select(Track).where(Track.preparation_id == preparation_id)).all()


def lock_competition(session: Session, slug: str, *, share: bool) -> None:
    """Lock a competition's set-up until the end of the transaction: against changes (``share``), or to change it. Rows
    that refer to the competition can still be inserted."""
    locked = select(Competition.id).where(Competition.slug == slug)
    session.execute(locked.with_for_update(read=share, key_share=not share))
