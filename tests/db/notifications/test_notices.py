"""Notices: who gets them, through which channels, and only once."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db import notifications
from scorer.db.tables import Account, Delivery, Mail, Notice, Team
from scorer.errors import Conflict, Invalid, NotFound
from scorer.jobs import retries, sweeps
from scorer.lifecycle import Phase, Queue
from scorer.notifications import notices, webhooks
from scorer.notifications.notices import Kind, NoticeText
from scorer.review import publication
from scorer.submissions import outcomes
from tests.db.claimed_jobs import LEASE, MEASURED, claim, queued, received
from tests.factories import join_team, let_time_pass, make_account, make_competition, make_submission, make_team

URL = "https://hooks.example.org/kennel"


@pytest.fixture
def state(session: Session, now: datetime) -> CompetitionState:
    return make_competition(session, now)


def add_webhook(session: Session, account: Account, now: datetime) -> int:
    """Register a webhook and return its id."""
    return webhooks.register(Acting(session, account, now), URL, secret="s", local=False).id


def list_notice_kinds(session: Session, account: Account) -> list[str]:
    """The kinds of a person's notices, oldest first."""
    return [notice.kind for notice in reversed(notifications.notices_page(session, account.id, limit=100))]


def send_notice(session: Session, account: Account, kind: Kind, now: datetime) -> None:
    notices.notify(session, NoticeText(kind, "Subject", "Body.", "/somewhere"), now, accounts=[account.id])


def test_a_mail_goes_to_people_who_have_an_address_and_want_it(session: Session, now: datetime) -> None:
    people = {address: make_account(session, now) for address in ("default@x.org", "more@x.org", "less@x.org", "none")}
    for address, account in people.items():
        account.email = address if "@" in address else None
    notices.choose_mails(session, people["more@x.org"], {Kind.ENTRY_SCORED: True})
    notices.choose_mails(session, people["less@x.org"], {Kind.RULING: True})
    notices.choose_mails(session, people["less@x.org"], {Kind.RULING: False})
    for account in people.values():
        for kind in (Kind.ENTRY_SCORED, Kind.RULING):
            send_notice(session, account, kind, now)
        assert list_notice_kinds(session, account) == ["entry-scored", "ruling"]
    sent = [mail.recipient for mail in session.query(Mail).order_by(Mail.recipient)]
    assert sent == ["default@x.org", "more@x.org", "more@x.org"]
    mail = session.query(Mail).first()
    assert mail
    assert (mail.subject, mail.state, mail.link) == ("Subject", "waiting", "/somewhere")
    assert mail.body.startswith("Body.\n\nTo choose which emails you get")
    assert notices.mail_choices(session, people["less@x.org"]) == {
        kind: kind not in {Kind.ENTRY_SCORED, Kind.RULING} for kind in Kind
    }


def test_each_member_gets_one_notice_and_their_webhooks_one(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    team, other = (make_team(session, state, now) for _ in range(2))
    members = [join_team(session, team, now) for _ in range(3)]
    stranger = join_team(session, other, now)
    own = [add_webhook(session, members[1], now) for _ in range(2)]
    add_webhook(session, stranger, now)
    ended = add_webhook(session, members[2], now)
    webhooks.end(Acting(session, members[2], now), ended)
    notices.notify(session, NoticeText(Kind.RULING, "Subject", "Body.", "/x"), now, teams=[team.id])
    assert all(list_notice_kinds(session, member) == ["ruling"] for member in members)
    assert list_notice_kinds(session, stranger) == []
    assert sorted(delivery.webhook_id for delivery in session.query(Delivery)) == own


def test_a_rolled_back_change_sends_no_notice(session: Session, now: datetime) -> None:
    account = make_account(session, now)
    account.email = "a@x.org"
    add_webhook(session, account, now)
    before = session.begin_nested()
    send_notice(session, account, Kind.RULING, now)
    before.rollback()
    assert [session.query(table).count() for table in (Notice, Mail, Delivery)] == [0, 0, 0]


def test_the_public_score_gives_a_notice_and_the_private_one_none(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    team = make_team(session, state, now)
    member = join_team(session, team, now)
    entry = queued(session, state, team, now)
    assert list_notice_kinds(session, member) == []
    for public in (True, False):
        held = claim(session, now)
        assert held
        assert held.public is public
        assert outcomes.record_measurement(session, held, MEASURED, now=now)
        assert not outcomes.record_measurement(session, held, MEASURED, now=now)
        assert list_notice_kinds(session, member) == ["entry-scored"]
    (notice,) = notifications.notices_page(session, member.id, limit=9)
    assert (notice.subject, notice.link) == ("submission.zip has been scored", f"/submissions/{entry.id}")
    assert not any(sign.isdigit() for sign in notice.body), "it contains no number"


def test_a_private_failure_gives_no_participant_a_notice(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    team = make_team(session, state, now)
    member = join_team(session, team, now)
    queued(session, state, team, now)
    public = claim(session, now)
    assert public
    assert outcomes.record_measurement(session, public, MEASURED, now=now)
    private = claim(session, now)
    assert private
    retries.retry_or_fail(session, private, error="no", now=now, max_attempts=1)
    assert list_notice_kinds(session, member) == ["entry-scored"]


def test_the_notice_of_a_rejection_has_its_reason(session: Session, state: CompetitionState, now: datetime) -> None:
    team = make_team(session, state, now)
    member = join_team(session, team, now)
    received(session, state, team, now)
    held = claim(session, now, queue=Queue.CHECK)
    assert held
    assert outcomes.reject(session, held, Invalid("x", "Image 3 is 15x16."), now=now)
    assert not outcomes.reject(session, held, Invalid("x", "Image 3 is 15x16."), now=now)
    (notice,) = notifications.notices_page(session, member.id, limit=9)
    assert notice.kind == "entry-rejected"
    assert "Image 3 is 15x16. The entry does not count" in notice.body


def test_a_service_fault_gives_a_notice_after_all_attempts_failed(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    team = make_team(session, state, now)
    member = join_team(session, team, now)
    queued(session, state, team, now)
    moment = now
    for attempt in range(3):
        assert list_notice_kinds(session, member) == [], attempt
        moment += timedelta(minutes=10)
        let_time_pass(session, timedelta(minutes=10))
        assert claim(session, moment)
        let_time_pass(session, LEASE + timedelta(seconds=1))
        sweeps.free_expired(session, now=moment, max_attempts=3)
    (notice,) = notifications.notices_page(session, member.id, limit=9)
    assert notice.kind == "entry-failed"
    assert retries.OUR_FAULT in notice.body


def test_the_end_of_a_benchmark_gives_no_notice(session: Session, state: CompetitionState, now: datetime) -> None:
    team = make_team(session, state, now)
    team.benchmark = True
    entry = make_submission(session, state, team, now=now, status="scored")
    before = session.query(Notice).count()
    line_team = Team(competition_id=state.competition.id, name="line", benchmark=True, created_at=now)
    session.add(line_team)
    session.flush()
    entry.team_id = line_team.id
    notices.notify_end(session, entry, Kind.ENTRY_SCORED, now=now)
    assert session.query(Notice).count() == before


def test_publication_gives_all_participants_a_notice_and_nobody_else(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    teams = [make_team(session, state, now) for _ in range(3)]
    members = [join_team(session, team, now, f"m{number}@x.org") for number, team in enumerate(teams)]
    elsewhere = join_team(session, make_team(session, make_competition(session, now), now), now, "other@x.org")
    personal = add_webhook(session, members[0], now)
    add_webhook(session, elsewhere, now)
    author = make_account(session, now, "organizer")
    state.competition.closes_at = now - timedelta(days=1)
    session.flush()
    closed = CompetitionState(state.competition, Phase.REVIEW, state.tracks, ())
    publication.publish(Acting(session, author, now), closed, published=True, reason="All is reviewed.", override="-")
    for member in members:
        (notice,) = notifications.notices_page(session, member.id, limit=9)
        assert notice.kind == "publication"
        assert notice.link == f"/competitions/{state.competition.slug}"
    assert list_notice_kinds(session, elsewhere) == list_notice_kinds(session, author) == []
    assert sorted(mail.recipient for mail in session.query(Mail)) == ["m0@x.org", "m1@x.org", "m2@x.org"]
    assert [delivery.webhook_id for delivery in session.query(Delivery)] == [personal]


def test_read_marks_are_personal(session: Session, now: datetime) -> None:
    one, two = (make_account(session, now) for _ in range(2))
    for account in (one, two):
        for kind in (Kind.RULING, Kind.INVITATION, Kind.PUBLICATION):
            send_notice(session, account, kind, now)
    newest, middle, oldest = notifications.notices_page(session, one.id, limit=9)
    notices.mark_read(Acting(session, one, now), middle.id)
    assert notifications.count_unread(session, one.id) == 2
    notices.mark_read(Acting(session, one, now + timedelta(hours=1)), middle.id)
    session.refresh(middle)
    assert middle.read_at == now, "the first reading counts"
    with pytest.raises(NotFound):
        notices.mark_read(Acting(session, two, now), middle.id)
    unread = notifications.notices_page(session, one.id, limit=9, unread=True)
    assert [notice.id for notice in unread] == [
        newest.id,
        oldest.id,
    ]
    older = notifications.notices_page(session, one.id, limit=9, before=newest.id)
    assert [notice.id for notice in older] == [
        middle.id,
        oldest.id,
    ]
    notices.mark_all_read(Acting(session, one, now), up_to=middle.id)
    assert notifications.count_unread(session, one.id) == 1, "newer notices than the page's are still unread"
    assert notifications.count_unread(session, two.id) == 3


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.org/", "https://", "https:///x", "ftp://hooks.example.org", "hooks.example.org",
        "https://user:secret@hooks.example.org/", "https://user@hooks.example.org", "https://[::1", "https://x:99999/",
        "https://x/\n", "https://x/ y", "https://hooks.exämple.org/", "https://x/" + "a" * 2000, "javascript:alert(1)",
        "https://x:22/", "https://x:8080/", "https://x:0/",
    ],
)  # fmt: skip
def test_invalid_webhook_addresses_are_refused(session: Session, now: datetime, url: str) -> None:
    with pytest.raises(Invalid):
        webhooks.register(Acting(session, make_account(session, now), now), url, secret="s", local=False)


def test_webhooks_are_limited_and_personal(session: Session, now: datetime) -> None:
    person, stranger = make_account(session, now), make_account(session, now)
    own = [add_webhook(session, person, now) for _ in range(webhooks.MAX_WEBHOOKS)]
    assert [webhook.id for webhook in notifications.active_webhooks(session, person.id)] == own
    with pytest.raises(NotFound):
        webhooks.end(Acting(session, stranger, now), own[0])
    with pytest.raises(NotFound):
        webhooks.deliveries(session, stranger, own[0], limit=1)
    with pytest.raises(Conflict):
        add_webhook(session, person, now)
    webhooks.end(Acting(session, person, now), own[0])
    assert add_webhook(session, person, now)


def test_a_removed_webhook_gets_no_more_deliveries(session: Session, now: datetime) -> None:
    account = make_account(session, now)
    personal = add_webhook(session, account, now)
    send_notice(session, account, Kind.RULING, now)
    webhooks.end(Acting(session, account, now), personal)
    assert webhooks.claim_deliveries(session, now=now, limit=9) == []
    (delivery,) = session.query(Delivery)
    session.refresh(delivery)
    assert (delivery.state, delivery.error) == ("failed", "The webhook was removed.")
