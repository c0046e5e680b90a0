"""One sentence on an entry's evidence on a track that a reviewer can act on, by a fixed rule.

1. Where single images look like training images (the signs of :data:`IMAGES_OF`): *copies*, with the largest share,
   beyond what chance makes, that such a sign tells of, and whether they are exact, mirrored or altered.
2. Else, where the images as a whole keep too close to the training images: *closeness*.
3. Else, where the entry repeats its own images: *repetition*.
4. Else: *none*.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from scorer.findings.formatting import format_percent
from scorer.findings.signs import Sign

Verdict = Literal["copies", "closeness", "repetition", "none"]

VERDICTS: tuple[Verdict, ...] = ("copies", "closeness", "repetition", "none")
"""The gravest first."""
IMAGES_OF: Mapping[str, str] = MappingProxyType(
    {
        "near-copies": "near_copies",
        "mirrored-copies": "near_copies",
        "thumbnail-copies": "thumbnail",
        "hash-copies": "hash",
        "partly-copied": "partly_copied",
        "relative-copies": "relative",
    }
)
"""The signs about single images, each with the prefix of the columns that have its share."""
CLOSENESS = frozenset({"data-copying", "membership", "not-authentic"})
MOST = 0.5
"""The part of the copies from which on they are called exact, or mirrored."""


@dataclass(frozen=True)
class Summary:
    """The evidence on a track in one sentence, made by a fixed rule from its signs. The verdict is `copies` of single
    training images, `closeness` to the training images as a whole, `repetition` of its own images, or `none`; `share`
    of the images are copies, null with any other verdict."""

    verdict: Verdict
    share: float | None
    words: str


def summary_of(
    signs: Sequence[Sign],
    numbers: Mapping[str, float | None],
    findings: Sequence[Mapping[str, Any]],
    *,
    images: int,
    shown: int = 0,
) -> Summary:
    """Of the evidence of an entry of so many ``images``: its signs, the columns by name, and the findings. So many
    examples of copies are ``shown`` beside it."""
    shares = {sign.name: _share(sign, numbers) for sign in signs if sign.name in IMAGES_OF}
    if shares:
        share = max(shares.values())
        count = f"about {round(share * images):,} of {images:,} images ({format_percent(share)})"
        how = _how(share, numbers, findings, images=images)
        see = f"; see {'1' if shown == 1 else f'1 to {shown}'}" if shown else ""
        return Summary("copies", share, f"Copies: {count} are training images, {how}{see}.")
    names = {sign.name for sign in signs}
    if names & CLOSENESS:
        return Summary(
            "closeness",
            None,
            "Closeness: as a whole the images keep closer to the training images than photographs do, and no single one"
            " tells why.",
        )
    if names:
        return Summary(
            "repetition", None, "Repetition: the entry repeats its own images; no copies of training images were found."
        )
    return Summary("none", None, "No copies were found.")


def gravity(verdict: Verdict, share: float | None) -> tuple[int, float]:
    """What a summary is ordered by, the gravest first: its verdict, and among copies the larger share."""
    return VERDICTS.index(verdict), -(share or 0.0)


def _share(sign: Sign, numbers: Mapping[str, float | None]) -> float:
    share, expected = (numbers.get(f"{IMAGES_OF[sign.name]}_{column}") or 0.0 for column in ("share", "expected"))
    return max(0.0, (share - expected) / (1.0 - expected))


def _how(
    share: float, numbers: Mapping[str, float | None], findings: Sequence[Mapping[str, Any]], *, images: int
) -> str:
    pixels = next((each["value"] for each in findings if each["name"] == "pixel_copies"), None) or 0.0
    mirrored = max(numbers.get(f"{prefix}_mirrored") or 0 for prefix in ("near_copies", "thumbnail", "hash")) / images
    exact = "pixel by pixel" if pixels >= MOST * share else "altered"
    return f"{exact}, at least half of them mirrored" if mirrored >= MOST * share else exact
