"""Teams, their members and invitations."""

from typing import Any

from tests.api.conftest import Service


def create(service: Service, slug: str, who: str, name: str) -> Any:
    """Try to create a team."""
    return service.call(who, "POST", f"/competitions/{slug}/teams", json={"name": name})


def team(service: Service, slug: str, who: str) -> Any:
    """Return a person's team as they see it."""
    return service.call(who, "GET", f"/competitions/{slug}/team").json()


def members(service: Service, slug: str, who: str) -> list[str]:
    """Return the handles in a person's team, the leader first."""
    return [member["handle"] for member in team(service, slug, who)["members"]]


def ask(service: Service, slug: str, who: str, **whom: str) -> Any:
    """Try to invite a person (``handle``) or a team (``team``)."""
    return service.call(who, "POST", f"/competitions/{slug}/team/invitations", json=whom)


def answer(service: Service, slug: str, who: str, invitation: Any, accept: bool = True) -> Any:
    """Try to answer an invitation."""
    path = f"/competitions/{slug}/invitations/{invitation.json()['id']}/answer"
    return service.call(who, "PUT", path, json={"accept": accept})


def join(service: Service, slug: str, leader: str, who: str) -> None:
    """Invite a person and accept for them."""
    done = answer(service, slug, who, ask(service, slug, leader, handle=who))
    assert done.status_code == 200, done.text
