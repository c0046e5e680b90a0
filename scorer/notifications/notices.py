"""Notices: messages to people on the site, by mail and by webhook.

``notify`` and its variants write rows in the transaction of the event, so a rollback also drops its notices. Workers
send the mails (:mod:`scorer.notifications.outbox`) and webhook deliveries (:mod:`scorer.notifications.webhooks`) after
the commit.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from enum import StrEnum

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.db import accounts, notifications
from scorer.db.notifications import NoticeText as NoticeText  # noqa: PLC0414 - a type for callers
from scorer.db.tables import Account, Competition, Submission
from scorer.db.teams import merges
from scorer.errors import NotFound


class Kind(StrEnum):
    """The kinds of notices, each with its label on pages. People choose the kinds that they get by mail."""

    label: str

    def __new__(cls, value: str, label: str) -> "Kind":
        """Create a kind from its stored value and its label."""
        kind = str.__new__(cls, value)
        kind._value_, kind.label = value, label
        return kind

    DEADLINE = "deadline", "New deadline of a competition"
    CHANGE = "change", "Changes to a competition's rules, dates, limits, prizes or measurements"
    ENTRY_SCORED = "entry-scored", "Public scores of your entries"
    ENTRY_REJECTED = "entry-rejected", "Rejected entries"
    ENTRY_FAILED = "entry-failed", "Entries that failed because of a service error"
    INVITATION = "invitation", "Invitations to teams, competitions and roles"
    PUBLICATION = "publication", "Publication or withdrawal of a provisional or final board"
    RULING = "ruling", "Rulings and answers to rebuttals"
    GENERATOR = "generator", "Submitted generators that cannot be used"
    REVIEW = "review", "For organizers: rebuttals to answer and disagreements between reviewers"
    ANNOUNCEMENT = "announcement", "Announcements from organizers"
    MESSAGE = "message", "Messages and requests for code from organizers"
    WEBHOOK = "webhook", "Stopped webhooks"


MAILED_BY_DEFAULT = frozenset(Kind) - {Kind.ENTRY_SCORED}
"""The kinds mailed to people who have not chosen. There are several scores a day, and people watch for them anyway."""
FAREWELL = "\n\nTo choose which emails you get, go to your account page."


def notify(
    session: Session, text: NoticeText, now: datetime, *, accounts: Collection[int] = (), teams: Collection[int] = ()
) -> None:
    """Notify accounts, by id, and all members of teams."""
    people = {*accounts, *(notifications.member_accounts(session, teams) if teams else ())}
    mailed = text.kind in MAILED_BY_DEFAULT
    notifications.write_notice(session, text, accounts=people, mailed=mailed, farewell=FAREWELL, now=now)


def notify_entrants(session: Session, competition: Competition, text: NoticeText, *, now: datetime) -> None:
    """Notify everybody who competes or has accepted any version of the rules."""
    accepted = accounts.accepting_accounts(session, competition.id)
    notify(session, text, now, accounts=accepted, teams=notifications.competing_teams(session, competition.id))


def notify_end(session: Session, submission: Submission, kind: Kind, *, reason: str = "", now: datetime) -> None:
    """Notify a team of the end of one of its submissions: scored, rejected or failed."""
    title = submission.competition.title
    endings = {
        Kind.ENTRY_SCORED: ("has been scored", "The entry's page shows its public score."),
        Kind.ENTRY_REJECTED: ("was rejected", f"{reason} The entry does not count towards your daily limit."),
        Kind.ENTRY_FAILED: ("failed", reason),
    }
    what, body = endings[kind]
    subject = f"{submission.file_name} {what}"
    body = f"Your entry {submission.file_name} in {title} {what}. {body}"
    text = NoticeText(kind, subject, body, f"/submissions/{submission.id}")
    notify(session, text, now, teams=[merges.current_team(session, submission.team_id).id])


def mark_read(acting: Acting, notice_id: int) -> None:
    """Mark a notice as read; ``NotFound`` if it belongs to somebody else."""
    if not notifications.notice_exists(acting.session, acting.actor.id, notice_id):
        raise NotFound("no-notice", "You have no such notice.")
    notifications.mark_read(acting.session, acting.actor.id, acting.now, only=notice_id)


def mark_all_read(acting: Acting, *, up_to: int) -> None:
    notifications.mark_read(acting.session, acting.actor.id, acting.now, up_to=up_to)


def mail_choices(session: Session, account: Account) -> dict[Kind, bool]:
    """Return for every kind whether the account gets it by mail."""
    choices = notifications.mail_choices(session, account.id)
    return {kind: choices.get(kind, kind in MAILED_BY_DEFAULT) for kind in Kind}


def choose_mails(session: Session, account: Account, choices: Mapping[Kind, bool]) -> None:
    """Set whether kinds are mailed; kinds that are left out keep their setting."""
    for kind, mailed in choices.items():
        notifications.choose_mail(session, account.id, kind, mailed=mailed)
