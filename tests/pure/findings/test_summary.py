"""The summary of the evidence, which follows a fixed rule."""

from collections.abc import Mapping
from typing import Any

import pytest

from scorer.findings.signs import SIGNS, find_signs
from scorer.findings.summary import CLOSENESS, IMAGE_COLUMNS, VERDICTS, Summary, gravity, summarise_evidence

NEAR = {"near_copies_share": 0.13, "near_copies_expected": 0.01, "near_copies_p": 1e-9, "near_copies_mirrored": 0}
HASHES = {"hash_share": 0.5, "hash_expected": 0.0, "hash_p": 1e-9, "hash_mirrored": 30}
REPEATS = {"repeats_p": 1e-9, "repeats_pairs": 4000}
DATA = {"z_u_p": 1e-9, "u_share": 0.2}
SLIGHT = {"thumbnail_share": 0.9, "thumbnail_expected": 0.01, "thumbnail_p": 0.2}


def summary(numbers: Mapping[str, float], findings: list[dict[str, Any]], *, shown: int = 0) -> Summary:
    return summarise_evidence(find_signs(numbers, 200), numbers, findings, images=200, shown=shown)


def pixels(share: float) -> list[dict[str, Any]]:
    return [{"name": "pixel_copies", "value": share}]


@pytest.mark.parametrize(
    ("numbers", "copied", "verdict", "share", "words"),
    [
        (
            NEAR,
            0.0,
            "copies",
            0.12 / 0.99,
            "Copies: about 24 of 200 images (12 %) are altered copies of training images. See examples 1 to 8.",
        ),
        (
            NEAR,
            0.1,
            "copies",
            0.12 / 0.99,
            "Copies: about 24 of 200 images (12 %) are exact copies of training images. See examples 1 to 8.",
        ),
        (
            NEAR | HASHES,
            0.1,
            "copies",
            0.5,
            "Copies: about 100 of 200 images (50 %) are altered copies of training images. See examples 1 to 8.",
        ),
        (
            HASHES | REPEATS | DATA | {"near_copies_mirrored": 80},
            0.0,
            "copies",
            0.5,
            "Copies: about 100 of 200 images (50 %) are altered copies of training images, at least half of them ",
        ),
        (DATA | REPEATS | SLIGHT, 0.0, "closeness", None, "Closeness: "),
        (REPEATS | SLIGHT, 0.0, "repetition", None, "Repetition: "),
        ({"support_size": 400.0, "support_p": 1e-9}, 0.0, "repetition", None, "Repetition: "),
        (SLIGHT, 0.0, "none", None, "No copies were found."),
        ({}, 0.0, "none", None, "No copies were found."),
    ],
)
def test_the_rule(numbers: Mapping[str, float], copied: float, verdict: str, share: float | None, words: str) -> None:
    made = summary(numbers, pixels(copied), shown=8)
    assert (made.verdict, made.share) == (verdict, None if share is None else pytest.approx(share))
    assert made.words.startswith(words)
    assert made.words.endswith(".")


def test_the_summary_refers_only_to_examples_that_are_shown() -> None:
    assert summary(NEAR, []).words == "Copies: about 24 of 200 images (12 %) are altered copies of training images."
    assert summary(NEAR, [], shown=1).words.endswith("altered copies of training images. See example 1.")


def test_every_sign_has_a_place_in_the_rule() -> None:
    assert {sign.name for sign in SIGNS} - {*IMAGE_COLUMNS} - CLOSENESS == {
        "small-support",
        "repeats",
        "identical-images",
    }
    order = [gravity("copies", 0.5), gravity("copies", 0.1), *(gravity(word, None) for word in VERDICTS[1:])]
    assert order == sorted(order)
