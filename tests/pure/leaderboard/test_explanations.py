"""The sentence that explains a score."""

import pytest

from scorer.leaderboard.explanations import format_distinct, penalty_sentence


@pytest.mark.parametrize(
    ("fid", "distance", "tau", "says"),
    [
        (
            54.01, 0.15397, 0.2361,
            "Its memorization distance 0.154 is below tau = 0.236, so its FID of 54.0 is multiplied by 6.49.",
        ),
        (
            27.19, 0.0177, 0.2361,
            "Its memorization distance 0.018 is below tau = 0.236, so its FID of 27.2 is multiplied by 56.5.",
        ),
        (
            1530.4, 0.0004, 0.2361,
            "Its memorization distance 0.00040 is below tau = 0.23610, so its FID of 1,530 is multiplied by 2,500.",
        ),
        (
            54.0, 0.29, 0.2361,
            "Its memorization distance 0.290 is not below tau = 0.236,"
            " so it is not penalised and its score is its FID.",
        ),
        (
            54.0, 0.25, 0.25,
            "Its memorization distance 0.250 is exactly tau = 0.250, so it is not penalised and its score is its FID.",
        ),
        (54.0, 0.25, None, "It has no score yet, because the organizers have not chosen the threshold tau."),
    ],
)  # fmt: skip
def test_the_explanation_names_the_numbers(fid: float, distance: float, tau: float | None, says: str) -> None:
    assert penalty_sentence(fid, distance, tau) == says


def test_different_numbers_never_look_equal() -> None:
    assert format_distinct(0.23609, 0.2361, 3) == ("0.23609", "0.23610")
    assert format_distinct(0.2, 0.2, 3) == ("0.200", "0.200")
