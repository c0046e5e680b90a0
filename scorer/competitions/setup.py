"""Set-up of competitions: creating and changing them."""

from datetime import UTC, datetime

from sqlalchemy.orm import Session

from scorer import audit_log, extractor_catalogue
from scorer.competitions.spec import CompetitionChanges, CompetitionSpec, fault_of_times
from scorer.db import competitions
from scorer.db.tables import Account, Competition, Track
from scorer.errors import Conflict, Invalid, NotFound
from scorer.lifecycle import TRACK_KINDS
from scorer.notifications import notices


def create(session: Session, spec: CompetitionSpec, *, author: Account, now: datetime) -> Competition:
    """Create a competition with its two tracks; ``Conflict`` if the slug is taken, ``Invalid`` for an unknown
    extractor."""
    extractors = {kind: extractor_catalogue.find_extractor(getattr(spec, kind).extractor) for kind in TRACK_KINDS}
    if competitions.competition_by_slug(session, spec.slug) is not None:
        raise Conflict("slug-taken", f"There is a competition {spec.slug!r} already.")
    values = spec.model_dump(exclude={"public", "private"})
    competition = Competition(**values, created_by=author.id, created_at=now)
    session.add(competition)
    session.flush()
    for kind, extractor in extractors.items():
        session.add(
            Track(
                competition_id=competition.id,
                kind=kind,
                extractor=extractor.identity,
                signed=not extractor.non_negative,
                epsilon=getattr(spec, kind).epsilon,
            )
        )
    session.flush()
    subject = f"competition:{spec.slug}"
    after = spec.model_dump(mode="json")
    audit_log.record_action(session, "competition.created", subject, actor=author, now=now, after=after)
    return competition


def change(session: Session, slug: str, changes: CompetitionChanges, *, author: Account, now: datetime) -> None:
    """Change texts and times of a competition; ``Invalid`` if the new times are not in order."""
    competitions.lock_competition(session, slug, share=False)
    competition = competitions.competition_by_slug(session, slug)
    if competition is None:
        raise NotFound("no-competition", f"There is no competition {slug!r}.")
    wanted = changes.model_dump(exclude_unset=True)
    before = CompetitionChanges.model_construct(**{name: getattr(competition, name) for name in wanted})
    for name, value in wanted.items():
        setattr(competition, name, value)
    fault = fault_of_times(competition.opens_at, competition.team_merge_deadline, competition.closes_at)
    if fault:
        raise Invalid("bad-times", f"The times are not in order: {fault}.")
    session.flush()
    audit_log.record_action(
        session,
        "competition.changed",
        f"competition:{slug}",
        actor=author,
        now=now,
        before=before.model_dump(mode="json", exclude_unset=True),
        after=changes.model_dump(mode="json", exclude_unset=True),
    )
    if "closes_at" in wanted and before.closes_at != competition.closes_at:
        _notify_deadline(session, competition, before.closes_at, now)


def _notify_deadline(session: Session, competition: Competition, before: datetime | None, now: datetime) -> None:
    """Notify all teams that the close has moved; a draft has no teams yet."""
    closes_at = competition.closes_at
    later = closes_at is None or (before is not None and closes_at > before)
    what = "has more time" if later else "closes earlier"
    then = f"It closes {_moment(closes_at)}." if closes_at else "It has no closing date any more."
    was = f" Before, that was to be {_moment(before)}." if before else ""
    link = f"/competitions/{competition.slug}"
    subject = f"{competition.title} {what}"
    kind = notices.Kind.DEADLINE
    notices.notify_competition(session, competition, kind, subject, f"{subject}. {then}{was}", link, now)


def _moment(at: datetime) -> str:
    return f"at {at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
