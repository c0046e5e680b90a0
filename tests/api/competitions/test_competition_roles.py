"""Roles in a competition: naming people, and that judging and playing do not mix."""

from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime
from typing import Any

from scorer.accounts import second_factors
from scorer.acting import Acting
from scorer.competitions import competition_roles
from scorer.competitions.competition_state import state_of
from scorer.db.tables import Account, AuditEntry
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service, slug_of
from tests.factories import noise_images, zip_of

__all__ = ["terminal"]


def offer(service: Service, slug: str, who: str, role: str = "reviewer", *, author: str = "organizer") -> Any:
    return service.call(author, "PUT", f"/competitions/{slug}/roles/{who}", json={"role": role})


def accept(service: Service, slug: str, who: str) -> Any:
    return service.call(who, "PUT", f"/competitions/{slug}/role")


def opens_review_queue(service: Service, slug: str, who: str) -> bool:
    answer = service.call(who, "GET", f"/competitions/{slug}/review-queue")
    assert answer.status_code in {200, 403}
    return bool(answer.status_code == 200)


def test_a_role_is_not_offered_to_whoever_cannot_have_it(service: Service) -> None:
    slug = service.competition()
    assert slug_of(offer(service, slug, "nobody")) == (404, "no-account")
    assert slug_of(offer(service, slug, "admin")) == (409, "is-admin")
    assert offer(service, slug, "bob", "king").status_code == 422
    assert slug_of(accept(service, slug, "bob")) == (404, "no-role")


def test_a_role_is_offered_accepted_changed_and_ended(service: Service) -> None:
    slug = service.competition()
    roles = f"/competitions/{slug}/roles"
    offered = offer(service, slug, "bob").json()
    assert (offered["role"], offered["offered_by"], offered["accepted_at"]) == ("reviewer", "organizer", None)
    assert offer(service, slug, "bob").json() == offered
    told = service.call("bob", "GET", "/notices").json()["notices"]
    assert [(each["subject"], each["link"]) for each in told] == [
        ("You are asked to review the entries of A competition", f"/competitions/{slug}/role")
    ]
    assert not opens_review_queue(service, slug, "bob"), "not before it is accepted"
    assert service.call("bob", "GET", f"/competitions/{slug}/role").json() == offered
    assert service.call("bob", "GET", roles).status_code == 403

    assert accept(service, slug, "bob").json()["accepted_at"] is not None
    assert accept(service, slug, "bob").status_code == 200
    assert opens_review_queue(service, slug, "bob")
    assert service.call("bob", "GET", f"/competitions/{slug}/audit").status_code == 403
    assert offer(service, slug, "bob", "organizer").json()["accepted_at"] is not None, "what they may see they have"
    assert service.call("bob", "GET", f"/competitions/{slug}/audit").status_code == 200
    assert [(each["handle"], each["role"]) for each in service.call("bob", "GET", roles).json()["roles"]] == [
        ("organizer", "organizer"),
        ("bob", "organizer"),
    ]
    assert service.call("organizer", "DELETE", f"{roles}/bob").status_code == 204
    assert slug_of(service.call("organizer", "DELETE", f"{roles}/bob")) == (404, "no-role")
    assert not opens_review_queue(service, slug, "bob")
    with service.context.sessions() as session:
        acts = session.query(AuditEntry.action).filter(AuditEntry.action.like("role.%")).order_by(AuditEntry.id)
        assert [act for (act,) in acts] == ["role.offered", "role.accepted", "role.offered", "role.ended"]


def test_the_last_organizer_stays_where_no_admin_could_decide(service: Service) -> None:
    """An admin who became one after having entered judges nothing there."""
    slug = service.competition()
    roles = f"/competitions/{slug}/roles"
    service.scored("ada", slug, noise_images(10))
    with service.context.sessions.begin() as session:
        session.query(Account).filter_by(handle="admin").one().role = "participant"
        session.query(Account).filter_by(handle="ada").one().role = "admin"
    assert slug_of(service.call("organizer", "DELETE", f"{roles}/organizer")) == (409, "last-organizer")
    offer(service, slug, "bob", "organizer")
    assert slug_of(service.call("organizer", "DELETE", f"{roles}/organizer")) == (409, "last-organizer"), "only offered"
    accept(service, slug, "bob")
    assert service.call("organizer", "DELETE", f"{roles}/organizer").status_code == 204
    other = f"/competitions/{service.competition()}/roles/organizer"
    assert service.call("organizer", "DELETE", other).status_code == 204, "the admin has not entered that one"


def only_organizer(service: Service) -> str:
    """A competition that one organizer decides alone: the only admin has competed in it before they became one."""
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    with service.context.sessions.begin() as session:
        session.query(Account).filter_by(handle="admin").one().role = "participant"
        session.query(Account).filter_by(handle="ada").one().role = "admin"
    return slug


def test_an_offer_of_a_lesser_role_does_not_take_the_last_organizer(service: Service) -> None:
    slug = only_organizer(service)
    refused = offer(service, slug, "organizer", "reviewer")
    assert slug_of(refused) == (409, "last-organizer")
    assert "A competition" in refused.text, "it says where"
    held = service.call("organizer", "GET", f"/competitions/{slug}/roles").json()["roles"]
    assert [(each["handle"], each["role"]) for each in held] == [("organizer", "organizer")]
    offer(service, slug, "bob", "organizer")
    accept(service, slug, "bob")
    assert offer(service, slug, "organizer", "reviewer").json()["role"] == "reviewer"


def test_the_last_organizer_is_suspended_once_somebody_else_decides(service: Service) -> None:
    slug = only_organizer(service)
    service.competition()  # ada, an admin, organizes this one
    suspension = {"json": {"suspended": True, "reason": "Abuse."}}
    refused = service.browse("ada", "PUT", "/admin/accounts/organizer/suspension", **suspension)
    assert slug_of(refused) == (409, "last-organizer")
    assert opens_review_queue(service, slug, "organizer"), "nothing of it has happened"
    assert service.browse("ada", "PUT", "/accounts/eve/role", json={"role": "admin"}).status_code == 200
    assert service.browse("ada", "PUT", "/admin/accounts/organizer/suspension", **suspension).is_success


def test_the_last_admin_who_has_not_competed_stays_without_organizers(service: Service) -> None:
    """Another admin, who has competed there, decides nothing."""
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    assert service.browse("admin", "PUT", "/accounts/ada/role", json={"role": "admin"}).is_success
    assert service.call("organizer", "DELETE", f"/competitions/{slug}/roles/organizer").status_code == 204
    suspension = {"json": {"suspended": True, "reason": ""}}
    demoted = service.browse("ada", "PUT", "/accounts/admin/role", json={"role": "participant"})
    assert slug_of(demoted) == (409, "last-organizer")
    assert slug_of(service.browse("ada", "PUT", "/admin/accounts/admin/suspension", **suspension)) == (
        409,
        "last-organizer",
    )
    assert opens_review_queue(service, slug, "admin")
    offer(service, slug, "bob", "organizer", author="admin")
    accept(service, slug, "bob")
    assert service.browse("ada", "PUT", "/accounts/admin/role", json={"role": "participant"}).is_success
    refused = service.browse("ada", "PUT", "/admin/accounts/bob/suspension", **suspension)
    assert slug_of(refused) == (409, "last-organizer")


def test_of_two_organizers_who_go_at_once_the_second_stays(service: Service) -> None:
    """One ends their role while an admin who has competed there suspends the other."""
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
            assert not suspension.done(), "it waits for the end of the role"
        assert slug_of(suspension.result()) == (409, "last-organizer")


def test_what_nobody_decides_already_hinders_nothing(service: Service) -> None:
    """An installation of an earlier version may have such a competition: other people's roles do not hang on it."""
    slug = only_organizer(service)
    with service.context.sessions.begin() as session:
        session.query(Account).filter_by(handle="organizer").one().suspended_at = datetime.now(UTC)
    suspended = service.browse("ada", "PUT", "/admin/accounts/bob/suspension", json={"suspended": True, "reason": ""})
    assert suspended.is_success
    service.browse("ada", "PUT", "/accounts/eve/role", json={"role": "admin"})
    assert opens_review_queue(service, slug, "eve"), "another admin mends it"


def test_a_role_counts_in_its_own_competition_alone(service: Service) -> None:
    slug = service.competition()
    draft = service.competition(opens_at=None)
    entry = service.scored("ada", slug, noise_images(10))["id"]
    service.browse("admin", "PUT", "/accounts/eve/role", json={"role": "organizer"})
    body = {"slug": "eves", "title": "E", "public": {"extractor": "tiny"}, "private": {"extractor": "tiny"}}
    assert service.call("eve", "POST", "/competitions", json=body).status_code == 403, "her token is a participant's"
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
        assert slug_of(answer) == expected, path
    listed = service.browse("eve", "GET", "/competitions").json()["competitions"]
    assert [each["slug"] for each in listed] == ["eves", slug]
    board = service.browse("eve", "GET", f"/competitions/{slug}/leaderboard").json()
    assert board["entries"][0]["submission_id"] is None


def enters(service: Service, slug: str, who: str) -> list[tuple[int, str] | int]:
    """How each way into a competition is refused, or that it is open."""
    answers = [
        service.submit(who, slug, zip_of(noise_images(20))),
        service.call(who, "POST", f"/competitions/{slug}/teams", json={"name": f"Team of {who}"}),
        service.call(who, "POST", f"/competitions/{slug}/team/invitations", json={"handle": "eve"}),
    ]
    return [answer.status_code if answer.is_success else slug_of(answer) for answer in answers]


def test_whoever_judges_or_has_judged_does_not_enter(service: Service) -> None:
    slug = service.competition()
    refused = [(403, "judges-here")] * 3
    assert enters(service, slug, "organizer") == enters(service, slug, "admin") == refused
    offer(service, slug, "bob")
    accept(service, slug, "bob")
    assert enters(service, slug, "bob") == refused
    service.call("bob", "DELETE", f"/competitions/{slug}/role")
    assert enters(service, slug, "bob") == refused, "what was seen stays seen"
    # A team asks somebody who judges, and somebody who is asked to: the first answer decides.
    offer(service, slug, "eve")
    invited = {}
    for who in ("bob", "eve"):
        path = f"/competitions/{slug}/team/invitations"
        invited[who] = service.call("ada", "POST", path, json={"handle": who}).json()["id"]
    joining = {"json": {"accept": True}}
    path = f"/competitions/{slug}/invitations"
    assert slug_of(service.call("bob", "PUT", f"{path}/{invited['bob']}/answer", **joining)) == (403, "judges-here")
    assert service.call("eve", "PUT", f"{path}/{invited['eve']}/answer", **joining).status_code == 200
    assert slug_of(accept(service, slug, "eve")) == (409, "competes")
    assert service.submit("organizer", slug, zip_of(noise_images(21)), benchmark="A line").status_code == 202


def test_whoever_has_been_in_a_team_judges_nothing(service: Service) -> None:
    slug = service.competition()
    service.call("ada", "POST", f"/competitions/{slug}/teams", json={"name": "Alone"})
    assert slug_of(offer(service, slug, "ada")) == (409, "competes")
    assert service.call("ada", "DELETE", f"/competitions/{slug}/team/membership").status_code == 204
    assert slug_of(offer(service, slug, "ada", "organizer")) == (409, "competes"), "nor after they have left it"


def test_admins_are_organizers_where_they_have_not_competed(service: Service) -> None:
    slug, other = service.competition(), service.competition()
    service.scored("ada", slug, noise_images(10))
    assert service.browse("admin", "PUT", "/accounts/ada/role", json={"role": "admin"}).status_code == 200
    for path in ("review-queue", "leaderboard?track=private", "audit", "roles"):
        assert service.call("ada", "GET", f"/competitions/{slug}/{path}").status_code == 403, path
        assert service.call("ada", "GET", f"/competitions/{other}/{path}").status_code == 200, path
    log = service.call("ada", "GET", "/admin/audit").json()["entries"]
    assert {each["subject"].partition("/")[0] for each in log} & {f"competition:{slug}", f"track:{slug}"} == set()
    assert f"competition:{other}" in {each["subject"] for each in log}
    # Who was an admin has seen everything but the competitions that they were in.
    assert service.browse("admin", "PUT", "/accounts/ada/role", json={"role": "participant"}).status_code == 200
    assert service.submit("ada", slug, zip_of(noise_images(11))).status_code == 202
    assert slug_of(service.submit("ada", other, zip_of(noise_images(11)))) == (403, "judges-here")


def test_a_named_organizer_needs_what_organizers_need(service: Service) -> None:
    slug = service.competition()
    assert service.browse("bob", "POST", "/tokens", json={"name": "t", "scopes": ["organize"]}).status_code == 422
    offer(service, slug, "bob", "organizer")
    accept(service, slug, "bob")
    assert service.browse("bob", "POST", "/tokens", json={"name": "t", "scopes": ["organize"]}).status_code == 201
    with service.context.sessions() as session:
        bob, eve = (session.query(Account).filter_by(handle=who).one() for who in ("bob", "eve"))
        assert [second_factors.is_required(who, "organizers") for who in (bob, eve)] == [True, False]
        told = competition_roles.organizers_of(session, state_of(session, slug, datetime.now(UTC)).competition)
        assert [account.handle for account in told] == ["organizer", "bob", "admin"]


def test_a_token_of_an_earlier_role_does_not_serve_a_new_one(service: Service) -> None:
    slug, other = service.competition(), service.competition()
    offer(service, slug, "bob")
    accept(service, slug, "bob")
    made = service.browse("bob", "POST", "/tokens", json={"name": "t", "scopes": ["read", "organize"]})
    service.tokens["bob"] = made.json()["token"]
    service.browse("bob", "DELETE", f"/competitions/{slug}/role")
    offer(service, other, "bob")
    assert service.browse("bob", "PUT", f"/competitions/{other}/role").status_code == 200
    assert service.call("bob", "GET", "/me").json()["scopes"] == ["read"]


def test_a_token_gives_up_a_role_with_the_scope_organize_only(service: Service) -> None:
    slug = service.competition()
    offer(service, slug, "bob")
    assert service.call("bob", "DELETE", f"/competitions/{slug}/role").status_code == 204, "an offer"
    offer(service, slug, "bob")
    accept(service, slug, "bob")
    assert slug_of(service.call("bob", "DELETE", f"/competitions/{slug}/role")) == (403, "wrong-scope")
    made = service.browse("bob", "POST", "/tokens", json={"name": "t", "scopes": ["organize"]})
    service.tokens["bob"] = made.json()["token"]
    assert service.call("bob", "DELETE", f"/competitions/{slug}/role").status_code == 204


def test_the_command_names_people(service: Service, terminal: CliTerminal) -> None:
    slug = service.competition()
    asked = terminal.run("admin", "role", "offer", slug, "bob", "reviewer", who="organizer")
    assert asked.out.startswith(f"bob: reviewer of {slug}, asked at"), asked.err
    assert terminal.run("admin", "role", "decline", slug, who="bob").out == f"You have no role in {slug}.\n"
    assert terminal.run("admin", "role", "accept", slug, who="bob").status == 3, "the offer is gone"
    terminal.run("admin", "role", "offer", slug, "bob", "reviewer", who="organizer")
    assert "since" in terminal.run("admin", "role", "accept", slug, who="bob").out
    assert "reviewer" in terminal.run("admin", "role", "list", slug, who="organizer").out
    assert terminal.run("admin", "role", "end", slug, "bob", who="organizer").status == 0
    assert "bob" not in terminal.run("admin", "role", "list", slug, who="organizer").out
