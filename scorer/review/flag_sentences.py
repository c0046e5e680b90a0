"""The sentences of flags: what each reason for a flag says of an entry, with its numbers."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from scorer.db.evidence.shared_images import SharingEntry
from scorer.findings.duplicates import shared_images_sentence
from scorer.findings.signs import SIGNS, Sign, sentence_of
from scorer.leaderboard.explanations import format_distinct, why_copy
from scorer.lifecycle import TRACK_KINDS


def _tracks(values: Mapping[str, Any], name: str) -> list[str]:
    return [kind for kind in TRACK_KINDS if values[f"{kind}_{name}"]]


def _medal_sentence(values: Mapping[str, Any]) -> str:
    places = [f"rank {values[f'{kind}_rank']} of the {kind} board" for kind in _tracks(values, "rank")]
    return f"It holds {' and '.join(places)}, which wins something."


def _unpenalised_sentence(values: Mapping[str, Any]) -> str:
    kinds = [kind for kind in _tracks(values, "rank") if not values[f"{kind}_penalised"]]
    return f"Without a penalty it wins something on the {' and the '.join(kinds)} board, in spite of strong signs."


def _stake_sentence(values: Mapping[str, Any]) -> str:
    kinds = [kind for kind in _tracks(values, "stake") if not values[f"{kind}_rank"]]
    return f"Without its penalty it would win something on the {' and the '.join(kinds)} board."


def _per_track(values: Mapping[str, Any], name: str, sentence: Callable[[str, str, float | None], str]) -> str:
    """A sentence for every track that a reason holds on, made of distance and tau, with enough digits to differ, and
    the distance's standard error."""
    sentences = []
    for kind in _tracks(values, name):
        distance, tau = format_distinct(values[f"{kind}_distance"], values[f"{kind}_tau"], 4)
        sentences.append(f"{kind.capitalize()}: {sentence(distance, tau, values[f'{kind}_se'])}")
    return " ".join(sentences)


def _borderline_sentence(values: Mapping[str, Any]) -> str:
    return _per_track(
        values,
        "borderline",
        lambda distance, tau, error: (
            f"its distance {distance} ± {error or 0.0:.4f} is within two standard errors of tau = {tau}."
        ),
    )


def _penalty_sentence(values: Mapping[str, Any]) -> str:
    return _per_track(values, "penalised", lambda distance, tau, _: f"its distance {distance} is below tau = {tau}.")


def _interval_sentence(values: Mapping[str, Any]) -> str:
    return _per_track(
        values,
        "interval",
        lambda distance, tau, _: (
            f"tau = {tau} could be on either side of its distance {distance} without moving any entry that there was"
            " when it was chosen."
        ),
    )


def _copy_sentence(values: Mapping[str, Any]) -> str:
    return why_copy(values["exact_copies"] or 0, values["mirrored_copies"] or 0, values["copied_share"] or 0.0)


def _sharing_sentence(values: Mapping[str, Any]) -> str:
    if values["same_images"]:
        return "Another team has handed in the same images."
    other: SharingEntry = values["sharing"]
    sentence = shared_images_sentence(other.images, other.equal, other.share)
    return f"With entry {other.ref} of {other.team} it shares images: {sentence}"


def _sign_sentence(sign: Sign) -> Callable[[Mapping[str, Any]], str]:
    def sentence(values: Mapping[str, Any]) -> str:
        by_track = {kind: sentence_of(sign, values["evidence"][kind]) for kind in _tracks(values, sign.name)}
        if len(by_track) > 1 and len(set(by_track.values())) == 1:
            return f"Both tracks: {next(iter(by_track.values()))}"
        return " ".join(f"{kind.capitalize()}: {text}" for kind, text in by_track.items())

    return sentence


REASON_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = MappingProxyType(
    {
        "unpenalised-win": _unpenalised_sentence,
        "medal-at-stake": _stake_sentence,
        "medal-place": _medal_sentence,
        "borderline": _borderline_sentence,
        "copying": _copy_sentence,
        "same-zip": lambda _: "Another team has handed in the same zip.",
        "shared-images": _sharing_sentence,
        "recovered": lambda _: "A generator that was handed in for it makes training images better than fresh ones.",
        "penalised": _penalty_sentence,
        "tau-interval": _interval_sentence,
        "copy": lambda values: f"It is a copy and has no score. {_copy_sentence(values)}",
        "near-duplicate": lambda _: "Another flagged entry has the same images.",
        **{sign.name: _sign_sentence(sign) for sign in SIGNS},
    }
)
"""By reason: the sentence, made of an entry's marks, numbers and findings by name."""
