"""Teams, their members, and those who are asked to join."""

from typing import Any

from tests.api.conftest import Service


def create(service: Service, slug: str, who: str, name: str) -> Any:
    """An attempt to found a team."""
    return service.call(who, "POST", f"/competitions/{slug}/teams", json={"name": name})


def team(service: Service, slug: str, who: str) -> Any:
    """A person's team as they see it."""
    return service.call(who, "GET", f"/competitions/{slug}/team").json()


def members(service: Service, slug: str, who: str) -> list[str]:
    """Who is in a person's team; the leader first."""
    return [each["handle"] for each in team(service, slug, who)["members"]]


def ask(service: Service, slug: str, who: str, **whom: str) -> Any:
    """An attempt to ask a person (``handle``) or a team (``team``) in."""
    return service.call(who, "POST", f"/competitions/{slug}/team/invitations", json=whom)


def answer(service: Service, slug: str, who: str, invitation: Any, accept: bool = True) -> Any:
    """An attempt to answer."""
    path = f"/competitions/{slug}/invitations/{invitation.json()['id']}/answer"
    return service.call(who, "PUT", path, json={"accept": accept})


def join(service: Service, slug: str, leader: str, who: str) -> None:
    """Invite a person, who accepts."""
    done = answer(service, slug, who, ask(service, slug, leader, handle=who))
    assert done.status_code == 200, done.text
