"""One sentence on an entry's evidence on a track that a reviewer can act on, made by a fixed rule.

1. If single images look like training images (the signs of :data:`IMAGE_COLUMNS`): *copies*. The sentence has the
   largest share of such images beyond chance, and says whether they are exact, mirrored or altered.
2. Otherwise, if the images as a whole are too close to the training images: *closeness*.
3. Otherwise, if the entry repeats its own images: *repetition*.
4. Otherwise: *none*.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from scorer.findings.formatting import format_percent
from scorer.findings.signs import Sign

Verdict = Literal["copies", "closeness", "repetition", "none"]

VERDICTS: tuple[Verdict, ...] = ("copies", "closeness", "repetition", "none")
"""The most serious first."""
IMAGE_COLUMNS: Mapping[str, str] = MappingProxyType(
    {
        "near-copies": "near_copies",
        "mirrored-copies": "near_copies",
        "thumbnail-copies": "thumbnail",
        "hash-copies": "hash",
        "partly-copied": "partly_copied",
        "relative-copies": "relative",
    }
)
"""The signs about single images, each with the prefix of the columns of its share."""
CLOSENESS = frozenset({"data-copying", "membership", "not-authentic"})
MOST = 0.5
"""If at least this share of the copies is exact, or mirrored, the sentence calls them so."""


@dataclass(frozen=True)
class Summary:
    """The evidence on a track in one sentence, made from its signs by a fixed rule. The verdict is `copies` of single
    training images, `closeness` to the training images as a whole, `repetition` of its own images, or `none`. `share`
    is the share of the images that are copies; it is null for any other verdict."""

    verdict: Verdict
    share: float | None
    words: str


def summarise_evidence(
    signs: Sequence[Sign],
    numbers: Mapping[str, float | None],
    findings: Sequence[Mapping[str, Any]],
    *,
    images: int,
    shown: int = 0,
) -> Summary:
    """Summarise the evidence of an entry with this number of ``images``, with ``shown`` examples of copies on the page.
    ``numbers`` has the columns by name."""
    shares = {sign.name: _share(sign, numbers) for sign in signs if sign.name in IMAGE_COLUMNS}
    if shares:
        share = max(shares.values())
        count = f"about {round(share * images):,} of {images:,} images ({format_percent(share)})"
        how = _how(share, numbers, findings, images=images)
        see = f" See {'example 1' if shown == 1 else f'examples 1 to {shown}'}." if shown else ""
        return Summary("copies", share, f"Copies: {count} are {how}.{see}")
    names = {sign.name for sign in signs}
    if names & CLOSENESS:
        return Summary(
            "closeness",
            None,
            "Closeness: as a whole, the images are closer to the training images than held-out images are. No single"
            " image explains why.",
        )
    if names:
        return Summary(
            "repetition", None, "Repetition: the entry repeats its own images. No copies of training images were found."
        )
    return Summary("none", None, "No copies were found.")


def gravity(verdict: Verdict, share: float | None) -> tuple[int, float]:
    """The sort key of a summary, the most serious first: its verdict, then the larger share of copies."""
    return VERDICTS.index(verdict), -(share or 0.0)


def _share(sign: Sign, numbers: Mapping[str, float | None]) -> float:
    share, expected = (numbers.get(f"{IMAGE_COLUMNS[sign.name]}_{column}") or 0.0 for column in ("share", "expected"))
    return max(0.0, (share - expected) / (1.0 - expected))


def _how(
    share: float, numbers: Mapping[str, float | None], findings: Sequence[Mapping[str, Any]], *, images: int
) -> str:
    pixels = next((finding["value"] for finding in findings if finding["name"] == "pixel_copies"), None) or 0.0
    mirrored = max(numbers.get(f"{prefix}_mirrored") or 0 for prefix in ("near_copies", "thumbnail", "hash")) / images
    copies = f"{'exact' if pixels >= MOST * share else 'altered'} copies of training images"
    return f"{copies}, at least half of them mirrored" if mirrored >= MOST * share else copies
