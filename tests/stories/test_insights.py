"""Insights: the figures of a competition, as data and as CSV."""

from tests.factories import noise_images
from tests.stories.conftest import RunningService


def test_a_scored_entry_is_in_the_figures(live: RunningService) -> None:
    slug = live.competition()
    live.scored(live.person("ada"), slug, noise_images(10))
    figures = live.admin.api.get(f"/competitions/{slug}/insights")
    assert figures
