"""Announcements: what the organizers tell everybody, on the competition's page, in its feed, by mail and webhook."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.spec import require_few_brackets
from scorer.db import announcements as rows
from scorer.db import notifications
from scorer.db.tables import Account, Announcement
from scorer.errors import Conflict, Invalid
from scorer.lifecycle import Phase
from scorer.notifications import notices

MAX_TITLE_LENGTH = 200
MAX_TEXT_LENGTH = 20_000
MAX_SHOWN = 100
"""Of the newest announcements, on their page and in the feed."""


def announce(
    session: Session, state: CompetitionState, title: str, text: str, *, author: Account, now: datetime
) -> Announcement:
    """Publish an announcement and notify all who take part: members of teams, whoever has accepted the rules, and who
    organizes or reviews. ``Conflict`` in a draft, which nobody else sees."""
    competition = state.competition
    if state.phase is Phase.DRAFT:
        raise Conflict("not-open", "Nobody reads this yet: announce it once the competition is open.")
    if not title.strip() or not text.strip():
        raise Invalid("no-text", "An announcement needs a title and a text.")
    try:
        require_few_brackets(text)
    except ValueError as error:
        raise Invalid("too-many-brackets", str(error)) from None
    announcement = Announcement(
        competition_id=competition.id,
        title=title.strip(),
        text=text.strip(),
        author_id=author.id,
        created_at=now,
    )
    session.add(announcement)
    session.flush()
    audit_log.record_action(
        session,
        "announcement.made",
        f"competition:{competition.slug}",
        actor=author,
        now=now,
        after={"title": announcement.title, "text": announcement.text},
    )
    teams = notifications.competing_teams(session, competition.id)
    people = {*notifications.member_accounts(session, teams), *rows.readers_of(session, competition.id)}
    subject = f"{competition.title}: {announcement.title}"
    link = f"/competitions/{competition.slug}/announcements#a{announcement.id}"
    notices.notify_people(session, people, notices.Kind.ANNOUNCEMENT, subject, announcement.text, link, now)
    return announcement


def list_announcements(
    session: Session, state: CompetitionState, *, before: int | None = None, limit: int = MAX_SHOWN
) -> Sequence[Announcement]:
    """The newest announcements, newest first; ``before``: only those older than the one with this id."""
    return rows.announcements_of(session, state.competition.id, before=before, limit=limit)
