"""A team: created, joined by invitation, and ranked as one."""

import pytest

from kennel_client.errors import Refused
from tests.factories import noise_images
from tests.stories.conftest import RunningService


def test_two_people_become_one_team_on_the_board(live: RunningService) -> None:
    slug, ada, bob = live.competition(max_team_size=2), live.person("ada"), live.person("bob")
    handle = bob.api.get("/me")["handle"]
    ada.api.post(f"/competitions/{slug}/teams", {"name": "The pack"})
    ada.api.post(f"/competitions/{slug}/team/invitations", {"handle": handle})
    (invitation,) = bob.api.get(f"/competitions/{slug}/invitations")["invitations"]
    bob.api.call("PUT", f"/competitions/{slug}/invitations/{invitation['id']}/answer", json={"accept": True})
    entry = live.scored(bob, slug, noise_images(10))
    assert [place.team for place in ada.leaderboard(slug).places] == ["The pack"]
    assert ada.entry(entry).id == entry
    with pytest.raises(Refused) as refused:
        ada.api.post(f"/competitions/{slug}/team/invitations", {"handle": "admin"})
    assert refused.value.status == 409
