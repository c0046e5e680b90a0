"""Storage quotas: how many bytes the zips, generators and code of a team, and of a competition, may take in the store.

An upload is measured when it is admitted, by the length that it announces, in addition to what is stored and what the
uploads under way have reserved (:mod:`scorer.submissions.upload_reservations`). A file that is sent in one request is
measured again when it is there: it may have announced nothing.
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
from scorer.settings import Settings

LISTED_TEAMS = 20
GIGABYTE = 10**9
SHARE = 4
"""Announcements of all teams together reserve at most the free bytes of the competition, divided by this."""


@dataclass(frozen=True)
class UploadLimits:
    """The operator's limits in bytes: of a zip, and of all that a team and a competition may have; None: no limit. And
    whether those who enter need a confirmed mail address."""

    zip: int
    team: int | None
    competition: int | None
    confirmed_address: bool = False


def limits_of(settings: Settings) -> UploadLimits:
    """The limits that the operator has set."""
    return UploadLimits(
        settings.max_upload_bytes,
        settings.max_team_bytes,
        settings.max_competition_bytes,
        settings.require_confirmed_address,
    )


def usage_of(acting: Acting, competition: Competition) -> StorageUsage:
    """What an account's team takes in a competition."""
    team = members.team_of(acting.session, competition.id, acting.actor.id)
    return storage.usage_of_team(
        acting.session,
        competition.id,
        team.id if team is not None else None,
        account_id=acting.actor.id,
        now=acting.now,
    )


def usage_of_competition(session: Session, competition: Competition, now: datetime) -> StorageUsage:
    """What a competition takes in all."""
    return storage.usage_of_competition(session, competition.id, now)


def largest_teams(session: Session, competition: Competition) -> Sequence[tuple[str, int]]:
    """The teams whose files take most, with their bytes."""
    return storage.largest_teams(session, competition.id, LISTED_TEAMS)


def require_room(
    acting: Acting, competition: Competition, limits: UploadLimits, *, wanted: int, benchmark: bool
) -> None:
    """``Conflict`` if ``wanted`` more bytes exceed a quota. Benchmarks count for the competition alone. Until the
    transaction ends nobody else takes bytes of the competition's quota."""
    if limits.competition is not None and wanted:
        storage.lock_quota(acting.session, competition.id)
    if limits.team is not None and not benchmark:
        used = usage_of(acting, competition).total
        if used + wanted > limits.team:
            raise _refusal("team-storage", "Your team's zips, generators, code and uploads", used, limit=limits.team)
    if limits.competition is not None:
        used = usage_of_competition(acting.session, competition, acting.now).total
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
    """How many of ``wanted`` more bytes may be reserved by announcing them: so few that most of what is free is left to
    bytes that arrive, however many accounts announce."""
    if limits.competition is None:
        return wanted
    used = usage_of_competition(session, competition, now)
    return max(0, min(wanted, (limits.competition - used.stored) // SHARE - used.staged))


def _refusal(slug: str, whose: str, used: int, *, limit: int) -> Conflict:
    return Conflict(
        slug,
        f"{whose} take {used / GIGABYTE:.2f} of {limit / GIGABYTE:.2f} GB in this competition: there is no room for "
        "this one. Uploads that are cancelled, and zips that are removed, make room.",
        used=used,
        limit=limit,
    )
