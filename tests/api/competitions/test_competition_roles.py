"""Roles in a competition: offers, and the rule that nobody judges where they compete."""

from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import Any

from scorer.accounts import second_factors
from scorer.acting import Acting
from scorer.competitions import competition_roles
from scorer.competitions.competition_state import load_state
from scorer.db.tables import Account, AuditEntry
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service, read_problem
from tests.factories import make_zip, noise_images

__all__ = ["terminal"]


def offer(service: Service, slug: str, who: str, role: str = "reviewer", *, author: str = "organizer") -> Any:
    return service.call(author, "PUT", f"/competitions/{slug}/roles/{who}", json={"role": role})


def accept(service: Service, slug: str, who: str) -> Any:
    return service.call(who, "PUT", f"/competitions/{slug}/role")


def opens_review_queue(service: Service, slug: str, who: str) -> bool:
    answer = service.call(who, "GET", f"/competitions/{slug}/review-queue")
    assert answer.status_code in {200, 403}
    return bool(answer.status_code == 200)


def test_a_role_is_not_offered_to_admins_or_unknown_people(service: Service) -> None:
    slug = service.competition()
    assert read_problem(offer(service, slug, "nobody")) == (404, "no-account")
    assert read_problem(offer(service, slug, "admin")) == (409, "is-admin")
    assert offer(service, slug, "bob", "king").status_code == 422
    assert read_problem(accept(service, slug, "bob")) == (404, "no-role")


def test_a_role_is_offered_accepted_changed_and_ended(service: Service) -> None:
    slug = service.competition()
    roles = f"/competitions/{slug}/roles"
    offered = offer(service, slug, "bob").json()
    assert (offered["role"], offered["offered_by"], offered["accepted_at"]) == ("reviewer", "organizer", None)
    assert offer(service, slug, "bob").json() == offered
    notices = service.call("bob", "GET", "/notices").json()["notices"]
    assert [(notice["subject"], notice["link"]) for notice in notices] == [
        ("You have been offered the role of reviewer in A competition", f"/competitions/{slug}/role")
    ]
    assert not opens_review_queue(service, slug, "bob"), "the role is not accepted yet"
    assert service.call("bob", "GET", f"/competitions/{slug}/role").json() == offered
    assert service.call("bob", "GET", roles).status_code == 403

    assert accept(service, slug, "bob").json()["accepted_at"] is not None
    assert accept(service, slug, "bob").status_code == 200
    assert opens_review_queue(service, slug, "bob")
    assert service.call("bob", "GET", f"/competitions/{slug}/audit").status_code == 403
    assert offer(service, slug, "bob", "organizer").json()["accepted_at"] is not None, (
        "a change of an accepted role stays accepted"
    )
    assert service.call("bob", "GET", f"/competitions/{slug}/audit").status_code == 200
    assert [(role["handle"], role["role"]) for role in service.call("bob", "GET", roles).json()["roles"]] == [
        ("organizer", "organizer"),
        ("bob", "organizer"),
    ]
    assert service.call("organizer", "DELETE", f"{roles}/bob").status_code == 204
    assert read_problem(service.call("organizer", "DELETE", f"{roles}/bob")) == (404, "no-role")
    assert not opens_review_queue(service, slug, "bob")
    with service.context.sessions() as session:
        acts = session.query(AuditEntry.action).filter(AuditEntry.action.like("role.%")).order_by(AuditEntry.id)
        assert [act for (act,) in acts] == ["role.offered", "role.accepted", "role.offered", "role.ended"]


def test_the_last_organizer_stays_if_no_admin_can_decide(service: Service) -> None:
    """An admin who entered a competition before becoming an admin cannot judge in it."""
    slug = service.competition()
    roles = f"/competitions/{slug}/roles"
    service.scored("ada", slug, noise_images(10))
    with service.context.sessions.begin() as session:
        session.query(Account).filter_by(handle="admin").one().role = "participant"
        session.query(Account).filter_by(handle="ada").one().role = "admin"
    assert read_problem(service.call("organizer", "DELETE", f"{roles}/organizer")) == (409, "last-organizer")
    offer(service, slug, "bob", "organizer")
    assert read_problem(service.call("organizer", "DELETE", f"{roles}/organizer")) == (409, "last-organizer"), (
        "bob has not accepted yet"
    )
    accept(service, slug, "bob")
    assert service.call("organizer", "DELETE", f"{roles}/organizer").status_code == 204
    other = f"/competitions/{service.competition()}/roles/organizer"
    assert service.call("organizer", "DELETE", other).status_code == 204, "the admin has not entered this competition"


def only_organizer(service: Service) -> str:
    """Create a competition with one person who can decide. The only admin entered it before becoming an admin."""
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    with service.context.sessions.begin() as session:
        session.query(Account).filter_by(handle="admin").one().role = "participant"
        session.query(Account).filter_by(handle="ada").one().role = "admin"
    return slug


def test_the_last_organizer_cannot_get_a_lesser_role(service: Service) -> None:
    slug = only_organizer(service)
    refused = offer(service, slug, "organizer", "reviewer")
    assert read_problem(refused) == (409, "last-organizer")
    assert "A competition" in refused.text, "the refusal names the competition"
    held = service.call("organizer", "GET", f"/competitions/{slug}/roles").json()["roles"]
    assert [(role["handle"], role["role"]) for role in held] == [("organizer", "organizer")]
    offer(service, slug, "bob", "organizer")
    accept(service, slug, "bob")
    assert offer(service, slug, "organizer", "reviewer").json()["role"] == "reviewer"


def test_the_last_organizer_can_be_suspended_if_another_admin_can_decide(service: Service) -> None:
    slug = only_organizer(service)
    service.competition()  # ada, an admin, has not entered this competition
    suspension = {"json": {"suspended": True, "reason": "Abuse."}}
    refused = service.browse("ada", "PUT", "/admin/accounts/organizer/suspension", **suspension)
    assert read_problem(refused) == (409, "last-organizer")
    assert opens_review_queue(service, slug, "organizer"), "the suspension had no effect"
    assert service.browse("ada", "PUT", "/accounts/eve/role", json={"role": "admin"}).status_code == 200
    assert service.browse("ada", "PUT", "/admin/accounts/organizer/suspension", **suspension).is_success


def test_without_organizers_the_last_admin_who_can_decide_stays(service: Service) -> None:
    """Another admin, who has competed there, cannot decide."""
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    assert service.browse("admin", "PUT", "/accounts/ada/role", json={"role": "admin"}).is_success
    assert service.call("organizer", "DELETE", f"/competitions/{slug}/roles/organizer").status_code == 204
    suspension = {"json": {"suspended": True, "reason": ""}}
    demoted = service.browse("ada", "PUT", "/accounts/admin/role", json={"role": "participant"})
    assert read_problem(demoted) == (409, "last-organizer")
    assert read_problem(service.browse("ada", "PUT", "/admin/accounts/admin/suspension", **suspension)) == (
        409,
        "last-organizer",
    )
    assert opens_review_queue(service, slug, "admin")
    offer(service, slug, "bob", "organizer", author="admin")
    accept(service, slug, "bob")
    assert service.browse("ada", "PUT", "/accounts/admin/role", json={"role": "participant"}).is_success
    refused = service.browse("ada", "PUT", "/admin/accounts/bob/suspension", **suspension)
    assert read_problem(refused) == (409, "last-organizer")


def test_the_last_two_organizers_cannot_leave_in_parallel(service: Service) -> None:
    """One organizer leaves while an admin who has competed there suspends the other."""
    slug = only_organizer(service)
    offer(service, slug, "bob", "organizer")
    accept(service, slug, "bob")

    def suspend() -> Any:
        return service.browse("ada", "PUT", "/admin/accounts/bob/suspension", json={"suspended": True, "reason": ""})

    with ThreadPoolExecutor(1) as pool:
        with service.context.sessions.begin() as session:
            author = session.query(Account).filter_by(handle="organizer").one()
            competition_roles.end(Acting(session, author, datetime.now(UTC)), slug, "organizer")
            suspension = pool.submit(suspend)
            wait([suspension], timeout=1)
            assert not suspension.done(), "the suspension waits for the end of the role"
        assert read_problem(suspension.result()) == (409, "last-organizer")


def test_a_competition_without_organizers_does_not_block_suspensions(service: Service) -> None:
    """An older installation can have such a competition. Changes of other accounts must still work."""
    slug = only_organizer(service)
    with service.context.sessions.begin() as session:
        session.query(Account).filter_by(handle="organizer").one().suspended_at = datetime.now(UTC)
    suspended = service.browse("ada", "PUT", "/admin/accounts/bob/suspension", json={"suspended": True, "reason": ""})
    assert suspended.is_success
    service.browse("ada", "PUT", "/accounts/eve/role", json={"role": "admin"})
    assert opens_review_queue(service, slug, "eve"), "another admin can take over"


def test_a_role_counts_only_in_its_competition(service: Service) -> None:
    slug = service.competition()
    draft = service.competition(opens_at=None)
    entry = service.scored("ada", slug, noise_images(10))["id"]
    service.browse("admin", "PUT", "/accounts/eve/role", json={"role": "organizer"})
    body = {"slug": "eves", "title": "E", "public": {"extractor": "tiny"}, "private": {"extractor": "tiny"}}
    assert service.call("eve", "POST", "/competitions", json=body).status_code == 403, (
        "her token has a participant's scopes"
    )
    assert service.browse("eve", "POST", "/competitions", json=body).json()["missing"]
    ruling = {"kind": "disqualify", "reason": "A rival."}
    attempts = {
        ("GET", f"/competitions/{slug}/review-queue", None): (403, "wrong-role"),
        ("GET", f"/competitions/{slug}/leaderboard?track=private", None): (403, "not-published"),
        ("PATCH", f"/competitions/{slug}", (("title", "Mine"),)): (403, "wrong-role"),
        ("GET", f"/competitions/{slug}/publication", None): (403, "wrong-role"),
        ("PATCH", f"/competitions/{draft}", (("title", "Mine"),)): (404, "no-competition"),
        ("PATCH", "/competitions/unknown", (("title", "Mine"),)): (404, "no-competition"),
        ("GET", f"/competitions/{draft}", None): (404, "no-competition"),
        ("GET", f"/submissions/{entry}", None): (404, "no-submission"),
        ("GET", f"/submissions/{entry}/review", None): (404, "no-submission"),
        ("POST", f"/submissions/{entry}/rulings", tuple(ruling.items())): (404, "no-submission"),
        ("POST", "/submissions/unknown/rulings", tuple(ruling.items())): (404, "no-submission"),
    }
    for (method, path, fields), expected in attempts.items():
        answer = service.browse("eve", method, path, json=dict(fields) if fields else None)
        assert read_problem(answer) == expected, path
    listed = service.browse("eve", "GET", "/competitions").json()["competitions"]
    assert [competition["slug"] for competition in listed] == ["eves", slug]
    board = service.browse("eve", "GET", f"/competitions/{slug}/leaderboard").json()
    assert board["entries"][0]["submission_id"] is None


def enters(service: Service, slug: str, who: str) -> list[tuple[int, str] | int]:
    """Try each path into a competition. Return each status, with the error's slug if it is refused."""
    answers = [
        service.submit(who, slug, make_zip(noise_images(20))),
        service.call(who, "POST", f"/competitions/{slug}/teams", json={"name": f"Team of {who}"}),
        service.call(who, "POST", f"/competitions/{slug}/team/invitations", json={"handle": "eve"}),
    ]
    return [answer.status_code if answer.is_success else read_problem(answer) for answer in answers]


def test_people_who_judge_or_have_judged_cannot_enter(service: Service) -> None:
    slug = service.competition()
    refused = [(403, "judges-here")] * 3
    assert enters(service, slug, "organizer") == enters(service, slug, "admin") == refused
    offer(service, slug, "bob")
    accept(service, slug, "bob")
    assert enters(service, slug, "bob") == refused
    service.call("bob", "DELETE", f"/competitions/{slug}/role")
    assert enters(service, slug, "bob") == refused, "people who have judged cannot enter later"
    # bob has judged; eve has an offered role. Once eve joins the team, she cannot accept the role.
    offer(service, slug, "eve")
    invited = {}
    for who in ("bob", "eve"):
        path = f"/competitions/{slug}/team/invitations"
        invited[who] = service.call("ada", "POST", path, json={"handle": who}).json()["id"]
    joining = {"json": {"accept": True}}
    path = f"/competitions/{slug}/invitations"
    assert read_problem(service.call("bob", "PUT", f"{path}/{invited['bob']}/answer", **joining)) == (
        403,
        "judges-here",
    )
    assert service.call("eve", "PUT", f"{path}/{invited['eve']}/answer", **joining).status_code == 200
    assert read_problem(accept(service, slug, "eve")) == (409, "competes")
    assert service.submit("organizer", slug, make_zip(noise_images(21)), benchmark="A line").status_code == 202


def test_people_who_have_been_in_a_team_cannot_judge(service: Service) -> None:
    slug = service.competition()
    service.call("ada", "POST", f"/competitions/{slug}/teams", json={"name": "Alone"})
    assert read_problem(offer(service, slug, "ada")) == (409, "competes")
    assert service.call("ada", "DELETE", f"/competitions/{slug}/team/membership").status_code == 204
    assert read_problem(offer(service, slug, "ada", "organizer")) == (409, "competes"), (
        "former team members cannot judge either"
    )


def test_admins_are_organizers_of_competitions_they_have_not_entered(service: Service) -> None:
    slug, other = service.competition(), service.competition()
    service.scored("ada", slug, noise_images(10))
    assert service.browse("admin", "PUT", "/accounts/ada/role", json={"role": "admin"}).status_code == 200
    for path in ("review-queue", "leaderboard?track=private", "audit", "roles"):
        assert service.call("ada", "GET", f"/competitions/{slug}/{path}").status_code == 403, path
        assert service.call("ada", "GET", f"/competitions/{other}/{path}").status_code == 200, path
    log = service.call("ada", "GET", "/admin/audit").json()["entries"]
    assert {entry["subject"].partition("/")[0] for entry in log} & {f"competition:{slug}", f"track:{slug}"} == set()
    assert f"competition:{other}" in {entry["subject"] for entry in log}
    # A former admin has seen everything except the competitions they had entered.
    assert service.browse("admin", "PUT", "/accounts/ada/role", json={"role": "participant"}).status_code == 200
    assert service.submit("ada", slug, make_zip(noise_images(11))).status_code == 202
    assert read_problem(service.submit("ada", other, make_zip(noise_images(11)))) == (403, "judges-here")


def test_an_accepted_organizer_has_an_organizers_scopes_and_duties(service: Service) -> None:
    slug = service.competition()
    assert service.browse("bob", "POST", "/tokens", json={"name": "t", "scopes": ["organize"]}).status_code == 422
    offer(service, slug, "bob", "organizer")
    accept(service, slug, "bob")
    assert service.browse("bob", "POST", "/tokens", json={"name": "t", "scopes": ["organize"]}).status_code == 201
    with service.context.sessions() as session:
        bob, eve = (session.query(Account).filter_by(handle=who).one() for who in ("bob", "eve"))
        assert [second_factors.is_required(who, "organizers") for who in (bob, eve)] == [True, False]
        organizers = competition_roles.load_organizers(
            session, load_state(session, slug, datetime.now(UTC)).competition
        )
        assert [account.handle for account in organizers] == ["organizer", "bob", "admin"]


def test_a_token_of_an_earlier_role_does_not_work_for_a_new_one(service: Service) -> None:
    slug, other = service.competition(), service.competition()
    offer(service, slug, "bob")
    accept(service, slug, "bob")
    made = service.browse("bob", "POST", "/tokens", json={"name": "t", "scopes": ["read", "organize"]})
    service.tokens["bob"] = made.json()["token"]
    service.browse("bob", "DELETE", f"/competitions/{slug}/role")
    offer(service, other, "bob")
    assert service.browse("bob", "PUT", f"/competitions/{other}/role").status_code == 200
    assert service.call("bob", "GET", "/me").json()["scopes"] == ["read"]


def test_giving_up_an_accepted_role_needs_the_scope_organize(service: Service) -> None:
    slug = service.competition()
    offer(service, slug, "bob")
    assert service.call("bob", "DELETE", f"/competitions/{slug}/role").status_code == 204, "an offer needs no scope"
    offer(service, slug, "bob")
    accept(service, slug, "bob")
    assert read_problem(service.call("bob", "DELETE", f"/competitions/{slug}/role")) == (403, "wrong-scope")
    made = service.browse("bob", "POST", "/tokens", json={"name": "t", "scopes": ["organize"]})
    service.tokens["bob"] = made.json()["token"]
    assert service.call("bob", "DELETE", f"/competitions/{slug}/role").status_code == 204


def test_the_role_commands(service: Service, terminal: CliTerminal) -> None:
    slug = service.competition()
    asked = terminal.run("admin", "role", "offer", slug, "bob", "reviewer", who="organizer")
    assert asked.out.startswith(f"bob: reviewer of {slug}, offered at"), asked.err
    assert terminal.run("admin", "role", "decline", slug, who="bob").out == f"You have no role in {slug}.\n"
    assert terminal.run("admin", "role", "accept", slug, who="bob").status == 3, "the offer was declined"
    terminal.run("admin", "role", "offer", slug, "bob", "reviewer", who="organizer")
    assert "since" in terminal.run("admin", "role", "accept", slug, who="bob").out
    assert "reviewer" in terminal.run("admin", "role", "list", slug, who="organizer").out
    assert terminal.run("admin", "role", "end", slug, "bob", who="organizer").status == 0
    assert "bob" not in terminal.run("admin", "role", "list", slug, who="organizer").out
