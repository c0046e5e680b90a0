"""Review: two reviewers label a flagged entry, an organizer rules, the team appeals, and the board is published."""

import pytest

from kennel_client.errors import Refused
from tests.factories import noise_images
from tests.stories.conftest import RunningService


def test_a_flagged_entry_is_labelled_ruled_on_and_appealed_in_time(live: RunningService) -> None:
    slug, ada, eve = live.competition(), live.person("ada"), live.person("eve")
    organizer = live.admin.admin
    live.scored(ada, slug, noise_images(10))
    copied = live.scored(eve, slug, noise_images(1, 40, 16)[:8])
    for reviewer in (live.browser("rita"), live.browser("rob")):
        organizer.roles.offer(slug, reviewer.handle, "reviewer")
        reviewer.call("PUT", f"/competitions/{slug}/role")
        reviewer.call("POST", f"/submissions/{copied}/reviews", {"label": "aug", "intent": "intended"})
    (decided,) = organizer.reviews.queue(slug, ["unruled"])
    assert decided["submission_id"] == copied
    live.close(slug)
    organizer.rulings.rule(copied, "disqualify", "It copies the training images.")
    eve.api.post(f"/submissions/{copied}/rebuttals", {"text": "We trained it ourselves."})
    (rebuttal,) = organizer.rebuttals.unanswered(slug)
    organizer.rebuttals.refuse(rebuttal["id"], "The images are equal byte by byte.")
    with pytest.raises(Refused):
        ada.leaderboard(slug, private=True)
    organizer.publication.publish(slug, "All is reviewed.", override="The jury has met.")
    assert [place.team for place in eve.leaderboard(slug, private=True).places] == [ada.entries(slug)[0].view["team"]]
