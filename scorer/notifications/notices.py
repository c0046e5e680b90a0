"""Notices: messages to people on the site, by mail and by webhook.

``notify`` and its variants write rows in the transaction of the event itself, so nothing leaves before the commit, and
nothing after a rollback; workers send the mails (:mod:`scorer.notifications.outbox`) and webhook deliveries
(:mod:`scorer.notifications.webhooks`).
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
    """The kinds of notices, each with its name on pages; people choose by kind which ones are mailed to them."""

    label: str

    def __new__(cls, value: str, label: str) -> "Kind":
        """A kind with this value, as it is stored."""
        kind = str.__new__(cls, value)
        kind._value_, kind.label = value, label
        return kind

    DEADLINE = "deadline", "A competition closes later, or earlier"
    CHANGE = "change", "Rules, dates, limits, prizes or measurements of a competition change"
    ENTRY_SCORED = "entry-scored", "An entry has its public score"
    ENTRY_REJECTED = "entry-rejected", "An entry was rejected"
    ENTRY_FAILED = "entry-failed", "An entry failed by our fault"
    INVITATION = "invitation", "Invitations to teams"
    PUBLICATION = "publication", "A provisional or final board is published or withdrawn"
    RULING = "ruling", "Rulings, and answers to rebuttals"
    GENERATOR = "generator", "A generator that was handed in cannot be used"
    REVIEW = "review", "For organizers: rebuttals to answer, reviewers who disagree"
    ANNOUNCEMENT = "announcement", "Announcements of the organizers"
    MESSAGE = "message", "Messages of the organizers to your team, and requests for code"
    WEBHOOK = "webhook", "A webhook of yours was stopped"


MAILED_BY_DEFAULT = frozenset(Kind) - {Kind.ENTRY_SCORED}
"""The kinds mailed to people who have not chosen. Scores are not: several come a day, and people watch for them."""
FAREWELL = "\n\nWhich mails you get is yours to choose: see your account."


def notify(
    session: Session, text: NoticeText, now: datetime, *, accounts: Collection[int] = (), teams: Collection[int] = ()
) -> None:
    """Notify accounts, by their ids, and every member of teams."""
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
        Kind.ENTRY_SCORED: ("has its public score", "See how it did."),
        Kind.ENTRY_REJECTED: ("was rejected", f"{reason} It is not counted among your entries of the day."),
        Kind.ENTRY_FAILED: ("failed", reason),
    }
    what, body = endings[kind]
    subject = f"{submission.file_name} {what}"
    body = f"Your entry {submission.file_name} in {title} {what}. {body}"
    text = NoticeText(kind, subject, body, f"/submissions/{submission.id}")
    notify(session, text, now, teams=[merges.current_team(session, submission.team_id).id])


def mark_read(acting: Acting, notice_id: int) -> None:
    """Mark a notice as read; ``NotFound`` if it is not theirs."""
    if not notifications.notice_exists(acting.session, acting.actor.id, notice_id):
        raise NotFound("no-notice", "You have no such notice.")
    notifications.mark_read(acting.session, acting.actor.id, acting.now, only=notice_id)


def mark_all_read(acting: Acting, *, up_to: int) -> None:
    """Mark the notice ``up_to`` and all earlier ones as read."""
    notifications.mark_read(acting.session, acting.actor.id, acting.now, up_to=up_to)


def mail_choices(session: Session, account: Account) -> dict[Kind, bool]:
    """For every kind whether the account gets it by mail."""
    choices = notifications.mail_choices(session, account.id)
    return {kind: choices.get(kind, kind in MAILED_BY_DEFAULT) for kind in Kind}


def choose_mails(session: Session, account: Account, choices: Mapping[Kind, bool]) -> None:
    """Set for some kinds whether they are mailed; the kinds left out keep their setting."""
    for kind, mailed in choices.items():
        notifications.choose_mail(session, account.id, kind, mailed=mailed)
