"""Storage quotas: the bytes that zips, generators and code of a team and of a competition may use in the store.

The announced length of an upload counts when it is admitted, in addition to stored bytes and to reservations of uploads
in progress (:mod:`scorer.submissions.upload_reservations`). A file sent in one request counts again when it has
arrived, because it may have announced no length.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.db.tables import Competition
from scorer.db.teams import members, storage
from scorer.db.teams.storage import StorageUsage
from scorer.errors import Conflict
from scorer.generators.limits import DEFAULT_LIMITS
from scorer.settings import Settings

LISTED_TEAMS = 20
GIGABYTE = 10**9
SHARE = 4
"""The announcements of all teams together reserve at most the free bytes of the competition, divided by this."""


@dataclass(frozen=True)
class UploadLimits:
    """The operator's limits: bytes of a zip, of a team and of a competition (None: no limit), whether participants need
    a confirmed email address, and bytes of a generator."""

    zip: int
    team: int | None
    competition: int | None
    confirmed_address: bool = False
    generator: int = DEFAULT_LIMITS.file_bytes


def build_upload_limits(settings: Settings) -> UploadLimits:
    return UploadLimits(
        settings.max_upload_bytes,
        settings.max_team_bytes,
        settings.max_competition_bytes,
        settings.require_confirmed_address,
        settings.generator_max_bytes,
    )


def load_usage(acting: Acting, competition: Competition) -> StorageUsage:
    team = members.load_team(acting.session, competition.id, acting.actor.id)
    return storage.load_team_usage(
        acting.session,
        competition.id,
        team.id if team is not None else None,
        account_id=acting.actor.id,
        now=acting.now,
    )


def load_competition_usage(session: Session, competition: Competition, now: datetime) -> StorageUsage:
    return storage.load_competition_usage(session, competition.id, now)


def largest_teams(session: Session, competition: Competition) -> Sequence[tuple[str, int]]:
    return storage.largest_teams(session, competition.id, LISTED_TEAMS)


def require_room(
    acting: Acting, competition: Competition, limits: UploadLimits, *, wanted: int, benchmark: bool
) -> None:
    """``Conflict`` if ``wanted`` more bytes exceed a quota. Benchmarks count only for the competition.

    The competition's quota is locked until the transaction ends.
    """
    if limits.competition is not None and wanted:
        storage.lock_quota(acting.session, competition.id)
    if limits.team is not None and not benchmark:
        used = load_usage(acting, competition).total
        if used + wanted > limits.team:
            raise _refusal("team-storage", "Your team's zips, generators, code and uploads", used, limit=limits.team)
    if limits.competition is not None:
        used = load_competition_usage(acting.session, competition, acting.now).total
        if used + wanted > limits.competition:
            raise _refusal(
                "competition-storage",
                "The zips, generators, code and uploads of all teams",
                used,
                limit=limits.competition,
            )


def bytes_in_share(
    session: Session, competition: Competition, limits: UploadLimits, *, wanted: int, now: datetime
) -> int:
    """Return how many of ``wanted`` more bytes an announcement may reserve.

    The limit leaves most free bytes to uploads that really arrive, even if many accounts announce uploads.
    """
    if limits.competition is None:
        return wanted
    used = load_competition_usage(session, competition, now)
    return max(0, min(wanted, (limits.competition - used.stored) // SHARE - used.staged))


def _refusal(slug: str, owner: str, used: int, *, limit: int) -> Conflict:
    return Conflict(
        slug,
        f"{owner} use {used / GIGABYTE:.2f} of {limit / GIGABYTE:.2f} GB in this competition, which leaves no room for "
        "this upload. Cancelling uploads and removing zips frees space.",
        used=used,
        limit=limit,
    )
