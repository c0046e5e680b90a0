"""Tau: previewed, chosen, applied immediately, and undone."""

import numpy as np

from tests.factories import noise_images
from tests.stories.conftest import RunningService


def test_a_new_threshold_ranks_the_board_again_immediately(live: RunningService) -> None:
    slug, ada, bob = live.competition(), live.person("ada"), live.person("bob")
    near = np.clip(noise_images(1, 40, 16)[:8].astype(int) + 20, 0, 255).astype(np.uint8)
    live.scored(ada, slug, noise_images(10))
    live.scored(bob, slug, near)
    thresholds = live.admin.admin.thresholds
    thresholds.retune(slug, "public", "manual", tau=0.0, reason="Nobody is penalised.")
    before = ada.leaderboard(slug).places
    distances = sorted(place.memorization_distance for place in before)
    tau = sum(distances) / 2
    assert thresholds.preview(slug, "public", "manual", tau=tau)["counts"]["penalised"] == 1
    thresholds.retune(slug, "public", "manual", tau=tau, reason="Between the two.")
    board = ada.leaderboard(slug)
    assert board.tau == tau
    assert [(place.memorization_distance, place.penalised) for place in board.places] == [
        (distances[1], False),
        (distances[0], True),
    ]
    thresholds.undo(slug, "public", "A trial.")
    assert ada.leaderboard(slug).places == before
