"""The pages for competition roles, as a browser without scripts uses them."""

from tests.api.conftest import Service
from tests.web.html import parse_html
from tests.web.pages import HTML, answer_to, enter, read


def test_an_organizer_offers_a_role_and_a_person_declines(service: Service) -> None:
    slug = service.competition(opens_at=None)
    people, role = f"/competitions/{slug}/people", f"/competitions/{slug}/role"
    enter(service, "bob")
    read(service, people, status=403)
    read(service, role, status=404)
    enter(service, "organizer")
    wrong = answer_to(service, people, f"{people}#ask", handle="nobody", role="reviewer")
    assert (wrong.status_code, parse_html(wrong.text).one("input", id="handle").attributes["value"]) == (404, "nobody")
    assert "No account has the handle 'nobody'." in parse_html(wrong.text).one(role="alert").text
    assert answer_to(service, people, f"{people}#ask", handle="bob").status_code == 422
    assert answer_to(service, people, f"{people}#ask", handle="bob", role="reviewer").status_code == 303
    assert "bob Bob reviewer offered" in read(service, people).one("ul", class_="items").text

    enter(service, "bob")
    assert "After that, you can never enter this competition" in read(service, role).one("main").text
    read(service, f"/competitions/{slug}", status=404)
    declined = service.http.post(
        role, data=find_csrf(service, role) | {"accept": "no"}, headers=HTML, follow_redirects=False
    )
    assert declined.status_code == 303
    read(service, role, status=404)


def test_reviewers_are_not_invited_to_enter(service: Service) -> None:
    slug = service.competition()
    service.hire("rita")
    enter(service, "rita")
    here = f"/competitions/{slug}"
    page = read(service, here).one("main")
    assert "You have a role in this competition, so you can't enter it." in " ".join(page.text.split())
    assert not page.all("a", href=f"{here}/submit")
    assert read(service, f"{here}/role").all("a", href=f"{here}/review-queue")
    service.call("organizer", "PUT", f"{here}/roles/bob", json={"role": "organizer"})
    enter(service, "bob")
    page = read(service, here).one("main")
    assert page.all("a", href=f"{here}/submit")
    assert page.all("a", href=f"{here}/role")
    accepted = service.http.post(
        f"{here}/role",
        data=find_csrf(service, f"{here}/role") | {"accept": "yes"},
        headers=HTML,
        follow_redirects=False,
    )
    assert accepted.headers["location"] == f"{here}/role?done=accepted"
    assert "Role accepted." in read(service, accepted.headers["location"]).text
    refused = service.http.post(f"{here}/role", data={"accept": "no"}, headers=HTML)
    assert refused.status_code == 403, "without a CSRF token"
    given_up = service.http.post(
        f"{here}/role", data=find_csrf(service, f"{here}/role") | {"accept": "no"}, headers=HTML, follow_redirects=False
    )
    assert given_up.status_code == 303
    assert not read(service, here).one("main").all("a", href=f"{here}/submit"), (
        "a former reviewer has seen entries and cannot enter"
    )


def find_csrf(service: Service, page: str) -> dict[str, str]:
    """The CSRF field of a page's form."""
    return {"csrf": read(service, page).all("input", name="csrf")[-1].attributes["value"]}
