"""The public board: on its page, as CSV, and as a badge."""

import csv

import httpx

from tests.factories import noise_images
from tests.stories.conftest import RunningService


def test_better_images_rank_higher_in_every_form_of_the_board(live: RunningService) -> None:
    slug = live.competition()
    ada, bob = live.person("ada"), live.person("bob")
    live.scored(ada, slug, noise_images(10))
    live.scored(bob, slug, noise_images(11) // 4)
    first, second = ada.leaderboard(slug).places
    assert (first.rank, second.rank) == (1, 2)
    assert first.score < second.score
    with httpx.Client(base_url=live.url) as visitor:
        page = visitor.get(f"/competitions/{slug}", headers={"Accept": "text/html"}).text
        assert page.index(first.team) < page.index(second.team)
        board = visitor.get(f"/api/v1/competitions/{slug}/leaderboard", headers={"Accept": "text/csv"})
        assert [row["team"] for row in csv.DictReader(board.text.splitlines())] == [first.team, second.team]
        badge = visitor.get(f"/api/v1/competitions/{slug}/leaderboard/badge", params={"team": first.team})
        assert f"{first.score:.2f}" in badge.text
