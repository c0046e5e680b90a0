"""Announcements from organizers to all participants: on the competition's page, in its feed, by mail and webhook."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from scorer import audit_log
from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.competitions.spec import require_few_brackets
from scorer.db import announcements as rows
from scorer.db import notifications
from scorer.db.newest_rows import newest_rows
from scorer.db.tables import Announcement
from scorer.errors import Conflict, Invalid
from scorer.lifecycle import Phase
from scorer.notifications import notices
from scorer.notifications.notices import Kind, NoticeText

MAX_TITLE_LENGTH = 200
MAX_TEXT_LENGTH = 20_000
MAX_SHOWN = 100
"""The most announcements on their page and in the feed."""


def announce(acting: Acting, state: CompetitionState, title: str, *, text: str) -> Announcement:
    """Publish an announcement and notify team members, people who have accepted the rules, organizers and reviewers.

    ``Conflict`` in a draft.
    """
    competition = state.competition
    if state.phase is Phase.DRAFT:
        raise Conflict(
            "not-open", "Participants can't see a draft. Publish the announcement after the competition opens."
        )
    if not title.strip() or not text.strip():
        raise Invalid("no-text", "Write a title and a text.")
    try:
        require_few_brackets(text)
    except ValueError as error:
        raise Invalid("too-many-brackets", str(error)) from None
    announcement = Announcement(competition_id=competition.id, title=title.strip(), text=text.strip())
    acting.add(announcement)
    audit_log.record_action(
        acting,
        "announcement.made",
        f"competition:{competition.slug}",
        after={"title": announcement.title, "text": announcement.text},
    )
    teams = notifications.competing_teams(acting.session, competition.id)
    subject = f"{competition.title}: {announcement.title}"
    link = f"/competitions/{competition.slug}/announcements#a{announcement.id}"
    notice = NoticeText(Kind.ANNOUNCEMENT, subject, announcement.text, link)
    readers = rows.load_readers(acting.session, competition.id)
    notices.notify(acting.session, notice, acting.now, accounts=readers, teams=teams)
    return announcement


def list_announcements(
    session: Session, state: CompetitionState, *, before: int | None = None, limit: int = MAX_SHOWN
) -> Sequence[Announcement]:
    """Return announcements, newest first, only those older than the announcement with the id ``before``."""
    return newest_rows(session, Announcement, before=before, limit=limit, competition_id=state.competition.id)
