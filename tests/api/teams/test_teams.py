"""Teams: creation, invitations, merges, leaving, and races between them."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from scorer.acting import Acting
from scorer.db.tables import Account
from scorer.notifications import webhooks
from tests.api.conftest import Service, rated, refused
from tests.api.teams.membership import answer, ask, create, join, members, team
from tests.factories import make_zip, noise_images

pytestmark = pytest.mark.usefixtures("one_day")


def leave(service: Service, slug: str, who: str) -> Any:
    return service.call(who, "DELETE", f"/competitions/{slug}/team/membership")


def backdate(service: Service, days: int) -> None:
    """Date all entries so far earlier by a number of days."""
    with service.context.sessions.begin() as session:
        session.execute(text(f"UPDATE submissions SET accepted_at = accepted_at - interval '{days} days'"))


def hook(service: Service, who: str, url: str) -> None:
    """Register a webhook for a person."""
    with service.context.sessions.begin() as session:
        account = session.query(Account).filter_by(handle=who).one()
        webhooks.register(Acting(session, account, service.context.now()), url, secret="s", local=False)


def rows(service: Service, query: str) -> list[Any]:
    """Return the rows of a query."""
    with service.context.sessions() as session:
        return [tuple(row) for row in session.execute(text(query))]


# Creating and naming


def test_the_creator_of_a_team_leads_it(service: Service) -> None:
    slug = service.competition()
    made = create(service, slug, "ada", "  Loose Leash ")
    assert made.status_code == 201
    assert made.json() == {
        "name": "Loose Leash",
        "members": [{"handle": "ada", "name": "Ada", "leader": True}],
        "max_size": 5,
        "invitations": [],
    }
    assert service.entered("ada", slug, make_zip(noise_images(9)))["team"] == "Loose Leash"
    refused(create(service, slug, "ada", "Another"), 409, "in-a-team")
    refused(service.call("bob", "GET", f"/competitions/{slug}/team"), 404, "no-team")


@pytest.mark.parametrize("name", ["LOOSE leash", "Ｌoose Leash"])
def test_names_of_teams_are_unique_in_any_spelling(service: Service, name: str) -> None:
    slug = service.competition()
    create(service, slug, "ada", "Loose Leash")
    refused(create(service, slug, "bob", name), 409, "name-taken")
    assert create(service, service.competition(), "bob", name).status_code == 201, (
        "the name is free in another competition"
    )


@pytest.mark.parametrize("name", ["  ", "a\u202eb", "line\nbreak"])
def test_invisible_names_are_refused(service: Service, name: str) -> None:
    refused(create(service, service.competition(), "ada", name), 422, "bad-name")


def test_the_leader_renames_the_team_and_the_board_follows(service: Service) -> None:
    slug = service.competition()
    create(service, slug, "ada", "Loose Leash")
    join(service, slug, "ada", "bob")
    service.scored("ada", slug, noise_images(10))
    board = f"/competitions/{slug}/leaderboard"
    known = {"If-None-Match": service.call(None, "GET", board).headers["etag"]}

    def rename(who: str, name: str) -> Any:
        return service.call(who, "PATCH", f"/competitions/{slug}/team", json={"name": name})

    refused(rename("bob", "Bob's"), 403, "leader-needed")
    refused(rename("eve", "Eve's"), 404, "no-team")
    assert rename("ada", "loose leash").json()["name"] == "loose leash", "a team can change the case of its name"
    assert rename("ada", "Long Leash").json()["name"] == "Long Leash"
    response = service.call(None, "GET", board, headers=known)
    assert [place["team"] for place in response.json()["entries"]] == ["Long Leash"]
    history = rows(service, "SELECT before, after FROM team_renamings ORDER BY id")
    assert history == [("Loose Leash", "loose leash"), ("loose leash", "Long Leash")]


def test_joining_a_team_requires_accepting_the_rules(service: Service) -> None:
    slug = service.competition(rules="1. One account each.\n")
    refused(create(service, slug, "ada", "Loose Leash"), 403, "rules-not-accepted")
    refused(ask(service, slug, "ada", handle="bob"), 403, "rules-not-accepted")


def test_teams_can_be_created_while_the_competition_is_open(service: Service) -> None:
    now = datetime.now(UTC)
    over = service.competition(closes_at=now - timedelta(minutes=1))
    refused(create(service, over, "ada", "Late"), 409, "closed")
    draft = service.competition(opens_at=None)
    refused(create(service, draft, "ada", "Early"), 404, "no-competition")
    refused(create(service, draft, "organizer", "Early"), 409, "not-open")


# Inviting people


def test_an_invited_person_gets_a_mail_and_joins(service: Service) -> None:
    slug = service.competition()
    with service.context.sessions.begin() as session:
        session.execute(text("UPDATE accounts SET email = 'bob@example.org' WHERE handle = 'bob'"))
    create(service, slug, "ada", "Loose Leash")
    invitation = ask(service, slug, "ada", handle="BOB")
    assert invitation.status_code == 201
    (seen,) = service.call("bob", "GET", f"/competitions/{slug}/invitations").json()["invitations"]
    assert seen == invitation.json()
    assert (seen["kind"], seen["team"], seen["handle"], seen["invited_by"]) == ("join", "Loose Leash", "bob", "ada")
    assert service.call("eve", "GET", f"/competitions/{slug}/invitations").json()["invitations"] == []
    assert ask(service, slug, "ada", handle="bob").json()["id"] == seen["id"], "a repeated invitation is the same"
    ((recipient, body, link),) = rows(service, "SELECT recipient, body, link FROM mails")
    assert (recipient, link) == ("bob@example.org", f"/competitions/{slug}/team")
    assert "Loose Leash" in body
    assert answer(service, slug, "bob", invitation).json()["state"] == "accepted"
    assert answer(service, slug, "bob", invitation).json()["state"] == "accepted", "accepting again changes nothing"
    assert members(service, slug, "bob") == ["ada", "bob"]
    assert team(service, slug, "ada")["invitations"] == []
    refused(answer(service, slug, "bob", invitation, accept=False), 409, "answered")
    refused(ask(service, slug, "ada", handle="bob"), 409, "is-member")


def test_a_person_without_an_address_gets_a_notice_and_webhook(service: Service) -> None:
    slug = service.competition()
    hook(service, "bob", "https://hooks.example.org/bob")
    assert ask(service, slug, "ada", handle="bob").status_code == 201
    assert ask(service, slug, "ada", handle="bob").status_code == 201
    assert rows(service, "SELECT count(*) FROM mails") == [(0,)]
    (notice,) = service.call("bob", "GET", "/notices").json()["notices"]
    assert (notice["kind"], notice["link"]) == ("invitation", f"/competitions/{slug}/team")
    assert notice["body"].startswith('Ada (ada) invites you to join the team "Ada" in the competition')
    sent = rows(
        service, "SELECT url, kind, deliveries.subject FROM deliveries JOIN webhooks ON webhook_id = webhooks.id"
    )
    assert sent == [("https://hooks.example.org/bob", "invitation", "Ada invites you to join the team Ada")]
    assert service.call("ada", "GET", "/notices").json()["notices"] == []
    assert members(service, slug, "ada") == ["ada"], "inviting creates a team of one"


def test_invitations_are_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    slug = service.competition()
    rated(service, monkeypatch, team_invitation="2/hour")
    answers = [ask(service, slug, "ada", handle=who) for who in ("bob", "nobody", "eve")]
    assert [response.status_code for response in answers[:2]] == [201, 404]
    refused(answers[2], 429, "too-often")


def test_only_leaders_invite_and_only_invited_people_answer(service: Service) -> None:
    slug = service.competition()
    join(service, slug, "ada", "bob")
    refused(ask(service, slug, "bob", handle="eve"), 403, "leader-needed")
    refused(ask(service, slug, "ada", handle="nobody"), 404, "no-account")
    invitation = ask(service, slug, "ada", handle="eve")
    for who in ("bob", "ada", "organizer"):
        refused(answer(service, slug, who, invitation), 404, "no-invitation")
    assert members(service, slug, "ada") == ["ada", "bob"]
    for body in ({}, {"handle": "eve", "team": "Eve"}):
        assert ask(service, slug, "ada", **body).status_code == 422


def test_a_declined_or_withdrawn_invitation_stays_closed(service: Service) -> None:
    slug = service.competition()
    declined = ask(service, slug, "ada", handle="bob")
    assert answer(service, slug, "bob", declined, accept=False).json()["state"] == "declined"
    refused(answer(service, slug, "bob", declined), 409, "answered")
    withdrawn = ask(service, slug, "ada", handle="bob")
    assert withdrawn.json()["id"] != declined.json()["id"], "after a refusal, a new invitation is created"
    path = f"/competitions/{slug}/team/invitations/{withdrawn.json()['id']}"
    refused(service.call("bob", "DELETE", path), 404, "no-team")
    for _ in range(2):
        assert service.call("ada", "DELETE", path).status_code == 204
    refused(answer(service, slug, "bob", withdrawn), 409, "answered")
    assert service.call("bob", "GET", f"/competitions/{slug}/invitations").json()["invitations"] == []


def test_joining_ends_a_team_of_one_unless_it_has_entries(service: Service) -> None:
    slug = service.competition()
    create(service, slug, "bob", "Bob alone")
    dangling = ask(service, slug, "bob", handle="eve")
    join(service, slug, "ada", "bob")
    assert members(service, slug, "bob") == ["ada", "bob"]
    refused(answer(service, slug, "eve", dangling), 409, "answered")
    service.submit("eve", slug, make_zip(noise_images(9)))
    invitation = ask(service, slug, "ada", handle="eve")
    problem = refused(answer(service, slug, "eve", invitation), 409, "has-entries")
    assert "merge" in problem["title"]
    assert members(service, slug, "eve") == ["eve"]
    received = service.call("eve", "GET", f"/competitions/{slug}/invitations").json()["invitations"]
    assert [invitation["state"] for invitation in received] == ["open"], "a refused answer changes nothing"


def test_a_member_of_another_team_must_leave_it_first(service: Service) -> None:
    slug = service.competition()
    join(service, slug, "ada", "bob")
    invitation = ask(service, slug, "eve", handle="bob")
    refused(answer(service, slug, "bob", invitation), 409, "in-a-team")
    assert leave(service, slug, "bob").status_code == 204
    assert answer(service, slug, "bob", invitation).status_code == 200
    assert members(service, slug, "bob") == ["eve", "bob"]


def test_the_size_of_a_team_is_limited(service: Service) -> None:
    slug = service.competition(max_team_size=2)
    invitations = [ask(service, slug, "ada", handle=who) for who in ("bob", "eve")]
    assert answer(service, slug, "bob", invitations[0]).status_code == 200
    refused(answer(service, slug, "eve", invitations[1]), 409, "team-full")
    refused(ask(service, slug, "ada", handle="organizer"), 409, "team-full")


# Leaving


def test_members_with_entries_cannot_leave(service: Service) -> None:
    slug = service.competition()
    join(service, slug, "ada", "bob")
    entry = service.submit("ada", slug, make_zip(noise_images(9))).json()
    problem = refused(leave(service, slug, "ada"), 409, "has-entries")
    assert "They stay in the team" in problem["title"]
    assert service.call("bob", "GET", f"/submissions/{entry['id']}").status_code == 200
    assert leave(service, slug, "bob").status_code == 204
    refused(leave(service, slug, "bob"), 404, "no-team")
    refused(service.call("bob", "GET", f"/submissions/{entry['id']}"), 404, "no-submission")
    assert service.entered("bob", slug, make_zip(noise_images(9)))["team"] == "Bob"


def test_the_next_member_leads_after_the_leader_leaves(service: Service) -> None:
    slug = service.competition()
    create(service, slug, "ada", "Loose Leash")
    join(service, slug, "ada", "bob")
    assert leave(service, slug, "ada").status_code == 204
    assert [(member["handle"], member["leader"]) for member in team(service, slug, "bob")["members"]] == [("bob", True)]
    join(service, slug, "bob", "ada")
    assert members(service, slug, "ada") == ["bob", "ada"]
    history = "SELECT a.handle, m.joined FROM memberships m JOIN accounts a ON a.id = m.account_id ORDER BY m.id"
    assert rows(service, history) == [("ada", True), ("bob", True), ("ada", False), ("ada", True)]


# Merging


def test_merged_teams_share_the_board_lists_and_limits(service: Service) -> None:
    slug = service.competition(daily_limit=5)
    for who, seed in (("ada", 10), ("bob", 11), ("eve", 12)):
        service.scored(who, slug, noise_images(seed))
    theirs = service.call("bob", "GET", f"/competitions/{slug}/submissions").json()["submissions"][0]
    board = f"/competitions/{slug}/leaderboard"
    known = {"If-None-Match": service.call(None, "GET", board).headers["etag"]}
    invitation = ask(service, slug, "ada", team="bob")
    assert (invitation.json()["kind"], invitation.json()["invited_team"]) == ("merge", "Bob")
    assert answer(service, slug, "bob", invitation).status_code == 200
    assert members(service, slug, "bob") == ["ada", "bob"]
    leaderboard = service.call(None, "GET", board, headers=known).json()
    assert {place["team"]: place["entries"] for place in leaderboard["entries"]} == {"Ada": 2, "Eve": 1}
    assert leaderboard["teams"] == 2
    assert len(service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]) == 2
    seen = service.call("ada", "GET", f"/submissions/{theirs['id']}")
    assert (seen.status_code, seen.json()["team"]) == (200, "Ada")
    assert service.call("bob", "GET", f"/competitions/{slug}/limits").json()["used_today"] == 2
    assert service.entered("bob", slug, make_zip(noise_images(13)))["team"] == "Ada"
    # A second merge also moves the members who were merged into Ada's team.
    assert answer(service, slug, "ada", ask(service, slug, "eve", team="Ada")).status_code == 200
    assert members(service, slug, "bob") == ["eve", "ada", "bob"]
    service.run_jobs()
    leaderboard = service.call(None, "GET", board).json()
    assert [(place["team"], place["entries"]) for place in leaderboard["entries"]] == [("Eve", 4)]
    assert service.call("ada", "GET", f"/competitions/{slug}/limits").json()["used_today"] == 4
    submitted = "SELECT t.name FROM submissions s JOIN teams t ON t.id = s.team_id ORDER BY s.ref"
    assert rows(service, submitted) == [("Ada",), ("Bob",), ("Eve",), ("Ada",)], "entries keep their original team"


def test_a_proposed_merge_sends_a_notice(service: Service) -> None:
    slug = service.competition()
    create(service, slug, "bob", "Long Leash")
    join(service, slug, "bob", "eve")
    hook(service, "bob", "https://hooks.example.org/bob")
    create(service, slug, "ada", "Loose Leash")
    assert ask(service, slug, "ada", team="Long Leash").status_code == 201
    inboxes = [service.call(who, "GET", "/notices").json()["notices"] for who in ("bob", "eve", "ada")]
    assert [[notice["subject"] for notice in notices][:1] for notices in inboxes] == [
        ["Ada invites your team to merge into Loose Leash"],
        ["Ada invites your team to merge into Loose Leash"],
        [],
    ]
    assert "Only your team's leader, Bob, can accept or decline." in inboxes[1][0]["body"]
    assert rows(service, "SELECT kind, state FROM deliveries") == [("invitation", "waiting")]


def test_only_leaders_propose_merges_with_other_teams(service: Service) -> None:
    slug = service.competition()
    join(service, slug, "ada", "bob")
    invitation = ask(service, slug, "eve", team="Ada")
    received = service.call("bob", "GET", f"/competitions/{slug}/invitations").json()["invitations"]
    assert [view["id"] for view in received] == [invitation.json()["id"]], "all members see the invitation"
    refused(answer(service, slug, "bob", invitation), 403, "leader-needed")
    refused(answer(service, slug, "eve", invitation), 404, "no-invitation")
    refused(ask(service, slug, "bob", team="Eve"), 403, "leader-needed")
    refused(ask(service, slug, "ada", team="Ada"), 409, "same-team")
    refused(ask(service, slug, "ada", team="Nobody"), 404, "no-team")
    service.submit("organizer", slug, make_zip(noise_images(9)), benchmark="Line")
    refused(ask(service, slug, "ada", team="Line"), 404, "no-team")
    crossing = ask(service, slug, "ada", team="Eve")
    assert answer(service, slug, "ada", invitation).status_code == 200
    refused(answer(service, slug, "eve", crossing), 409, "answered")
    refused(ask(service, slug, "eve", team="Ada"), 404, "no-team")
    assert members(service, slug, "eve") == ["eve", "ada", "bob"]


def test_a_merge_respects_the_team_size(service: Service) -> None:
    slug = service.competition(max_team_size=2)
    join(service, slug, "ada", "bob")
    create(service, slug, "eve", "Eve alone")
    refused(ask(service, slug, "eve", team="Ada"), 409, "team-full")
    assert leave(service, slug, "bob").status_code == 204
    invitation = ask(service, slug, "eve", team="Ada")
    join(service, slug, "ada", "bob")
    refused(answer(service, slug, "ada", invitation), 409, "team-full")


def test_a_merge_respects_the_entries_of_one_team(service: Service) -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    slug = service.competition(daily_limit=2, opens_at=today - timedelta(days=1))
    for who in ("ada", "bob"):
        for seed in (10, 11):
            assert service.submit(who, slug, make_zip(noise_images(seed))).status_code == 202
    invitation = ask(service, slug, "ada", team="Bob")
    assert invitation.status_code == 201, "one team could have made 4 entries in 2 days"
    backdate(service, 1)
    assert service.submit("bob", slug, make_zip(noise_images(12))).status_code == 202
    problem = refused(answer(service, slug, "bob", invitation), 409, "too-many-entries")
    tomorrow = today + timedelta(days=1)
    assert "5 entries" in problem["title"]
    assert f"{tomorrow:%Y-%m-%d} 00:00 UTC" in problem["title"]
    assert members(service, slug, "bob") == ["bob"]


def test_todays_entries_of_merged_teams_count_together(service: Service) -> None:
    slug = service.competition(daily_limit=3)
    for who in ("ada", "ada", "bob", "bob"):
        assert service.submit(who, slug, make_zip(noise_images(10))).status_code == 202
    assert answer(service, slug, "bob", ask(service, slug, "ada", team="Bob")).status_code == 200
    limits = service.call("bob", "GET", f"/competitions/{slug}/limits").json()
    assert (limits["used_today"], limits["remaining_today"], limits["refusal"]) == (4, 0, "daily-limit")
    for who in ("ada", "bob"):
        refused(service.submit(who, slug, make_zip(noise_images(11))), 429, "daily-limit")


def test_members_cannot_change_after_the_merge_deadline(service: Service) -> None:
    slug = service.competition()
    invitation = ask(service, slug, "ada", handle="bob")
    create(service, slug, "eve", "Eve alone")
    merge = ask(service, slug, "eve", team="Ada")
    passed = {"team_merge_deadline": (datetime.now(UTC) - timedelta(minutes=1)).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=passed).status_code == 200
    refused(answer(service, slug, "bob", invitation), 409, "merge-deadline")
    refused(answer(service, slug, "ada", merge), 409, "merge-deadline")
    refused(ask(service, slug, "ada", team="Eve alone"), 409, "merge-deadline")
    refused(leave(service, slug, "eve"), 409, "merge-deadline")
    assert answer(service, slug, "bob", invitation, accept=False).status_code == 200, "declining is still possible"
    assert create(service, slug, "bob", "Late Bob").status_code == 201, "creating a team alone is still possible"


# Races


def test_parallel_acceptances_put_a_person_in_one_team(service: Service) -> None:
    for _ in range(5):
        slug = service.competition()
        invitations = [ask(service, slug, who, handle="eve") for who in ("ada", "bob")]
        with ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(partial(answer, service, slug, "eve"), invitations))
        assert sorted(response.status_code for response in answers) == [200, 409]
        member_lists = [members(service, slug, who) for who in ("ada", "bob")]
        assert sorted(map(len, member_lists)) == [1, 2]


def test_parallel_acceptances_do_not_exceed_the_team_size(service: Service) -> None:
    service.tokens["zoe"] = service.browse("admin", "POST", "/admin/accounts", json={"handle": "zoe"}).json()["token"]
    for _ in range(5):
        slug = service.competition(max_team_size=2)
        invitations = {who: ask(service, slug, "ada", handle=who) for who in ("bob", "eve", "zoe")}
        with ThreadPoolExecutor(3) as pool:
            answers = list(pool.map(partial(answer, service, slug), invitations, invitations.values()))
        assert sorted(response.status_code for response in answers) == [200, 409, 409]
        assert len(members(service, slug, "ada")) == 2


def test_a_parallel_entry_and_acceptance_leave_one_team(service: Service) -> None:
    for _ in range(5):
        slug = service.competition()
        invitation = ask(service, slug, "ada", handle="bob")
        with ThreadPoolExecutor(2) as pool:
            entered = pool.submit(service.submit, "bob", slug, make_zip(noise_images(9)))
            accepted = pool.submit(answer, service, slug, "bob", invitation)
        assert entered.result().status_code == 202
        assert accepted.result().status_code in {200, 409}
        expected = ["ada", "bob"] if accepted.result().status_code == 200 else ["bob"]
        assert members(service, slug, "bob") == expected
        assert service.call("bob", "GET", f"/submissions/{entered.result().json()['id']}").status_code == 200


def test_parallel_entries_and_a_merge_keep_the_limit(service: Service) -> None:
    for _ in range(3):
        slug = service.competition(daily_limit=4)
        for who in ("ada", "bob"):
            assert service.submit(who, slug, make_zip(noise_images(9))).status_code == 202
        invitation = ask(service, slug, "ada", team="Bob")
        with ThreadPoolExecutor(9) as pool:
            posts = [pool.submit(service.submit, who, slug, make_zip(noise_images(9))) for who in ("ada", "bob") * 4]
            merged = pool.submit(answer, service, slug, "bob", invitation)
        assert merged.result().status_code == 200
        # Before the merge, each team may have entered 4 times; after it, no more entries are accepted.
        used = service.call("bob", "GET", f"/competitions/{slug}/limits").json()["used_today"]
        assert used == 2 + [post.result().status_code for post in posts].count(202)
        assert 4 <= used <= 8
        for who in ("ada", "bob"):
            refused(service.submit(who, slug, make_zip(noise_images(9))), 429, "daily-limit")
        assert members(service, slug, "bob") == ["ada", "bob"]
