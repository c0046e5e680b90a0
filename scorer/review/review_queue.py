"""The review queue: which submissions need a review and why, most decisive first, and which one a reviewer gets next.

Flags are a query, never stored, so they are always up to date. A reviewer claims a submission for some minutes, so that
others get different ones first.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db import tuning
from scorer.db.evidence import shared_images
from scorer.db.evidence.evidence import Findings, newest_findings
from scorer.db.evidence.shared_images import SharingEntry
from scorer.db.review import claims, flags
from scorer.db.review.flag_query import FlaggedRow, FlagQuery, QueueState, TrackBounds, WinningEntry
from scorer.db.submissions import submissions
from scorer.db.tables import Account, Submission, Track
from scorer.findings.signs import SIGNS, Sign, find_sentence
from scorer.leaderboard.explanations import format_distinct, why_copy
from scorer.leaderboard.rows import load_listing
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.review.shared_images import sharing_sentence
from scorer.submissions.labels import MEMORISING


def _tracks(values: Mapping[str, Any], name: str) -> list[str]:
    return [kind for kind in TRACK_KINDS if values[f"{kind}_{name}"]]


def _medal_sentence(values: Mapping[str, Any]) -> str:
    places = [f"rank {values[f'{kind}_rank']} on the {kind} board" for kind in _tracks(values, "rank")]
    return f"It wins a medal or prize with {' and '.join(places)}."


def _unpenalised_sentence(values: Mapping[str, Any]) -> str:
    kinds = [kind for kind in _tracks(values, "rank") if not values[f"{kind}_penalised"]]
    return (
        f"It wins a medal or prize on the {' and the '.join(kinds)} board without a penalty, despite strong signs "
        "of copying."
    )


def _stake_sentence(values: Mapping[str, Any]) -> str:
    kinds = [kind for kind in _tracks(values, "stake") if not values[f"{kind}_rank"]]
    return f"Without its penalty it would win a medal or prize on the {' and the '.join(kinds)} board."


def _per_track(values: Mapping[str, Any], name: str, sentence: Callable[[str, str, float | None], str]) -> str:
    """A sentence for every track that a reason applies to, from the distance and tau (with enough digits to differ) and
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
            f"when tau was chosen, no entry had a distance between this entry's {distance} and tau = {tau}. "
            "So a tau on the other side of this entry would have changed no other penalty."
        ),
    )


def _copy_sentence(values: Mapping[str, Any]) -> str:
    return why_copy(values["exact_copies"] or 0, values["mirrored_copies"] or 0, values["copied_share"] or 0.0)


def _sharing_sentence(values: Mapping[str, Any]) -> str:
    if values["same_images"]:
        return "Another team has submitted the same images."
    other: SharingEntry = values["sharing"]
    return f"It shares images with entry {other.ref} of {other.team}. {sharing_sentence(other)}"


def _sign_sentence(sign: Sign) -> Callable[[Mapping[str, Any]], str]:
    def sentence(values: Mapping[str, Any]) -> str:
        by_track = {kind: find_sentence(sign, values["evidence"][kind]) for kind in _tracks(values, sign.name)}
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
        "same-zip": lambda _: "Another team has submitted the same zip.",
        "shared-images": _sharing_sentence,
        "recovered": lambda _: "A generator submitted with it reproduces training images better than held-out ones.",
        "penalised": _penalty_sentence,
        "tau-interval": _interval_sentence,
        "copy": lambda values: f"It is a copy and has no score. {_copy_sentence(values)}",
        "near-duplicate": lambda _: "Another flagged entry has the same images.",
        **{sign.name: _sign_sentence(sign) for sign in SIGNS},
    }
)
"""The sentence for each reason, made from an entry's flags, numbers and findings by name."""


STATES: tuple[QueueState, ...] = ("open", "waiting", "disputed", "unruled", "decided")
"""The states of a flagged submission for one reviewer.

``open``: theirs to review. ``waiting``: for another reviewer. ``disputed``: for an organizer to decide. ``unruled``:
labelled as memorising, for an organizer to rule on.
"""
_WEIGHTS: Mapping[str, int] = MappingProxyType(
    {
        # Medals and prizes depend on these.
        "medal-at-stake": 4,
        "medal-place": 4,
        "borderline": 4,
        # Certain copying.
        "copying": 3,
        "same-zip": 3,
        "shared-images": 3,
        "recovered": 3,
        # Decided, or nearly decided, by the threshold.
        "penalised": 2,
        "tau-interval": 2,
        # Signs of copying, by strength. Several often have one cause.
        "near-copies": 2,
        "mirrored-copies": 2,
        "thumbnail-copies": 2,
        "hash-copies": 2,
        "partly-copied": 2,
        "relative-copies": 2,
        "small-support": 2,
        "membership": 1,
        "data-copying": 1,
        "repeats": 1,
        "identical-images": 1,
        "not-authentic": 1,
        # Settled by a rule, or by the review of another submission.
        "copy": 1,
        "near-duplicate": 1,
    }
)
WEIGHTS: Mapping[str, int] = MappingProxyType({"unpenalised-win": sum(_WEIGHTS.values()) + 1, **_WEIGHTS})
"""How decisive each reason is. A submission's weights add up, and the heaviest comes first. A win without a penalty
despite a strong sign of copying outweighs all else, because a penalised entry has already lost what it could win."""
CLAIM_TIME = timedelta(minutes=10)
MAX_RIVALS = 5
"""How many other reviewers may claim an entry during the search for the next one."""


@dataclass(frozen=True)
class FlagReason:
    """Why a submission is flagged: a stable name, and a sentence with the numbers."""

    name: str
    words: str


@dataclass(frozen=True)
class FlaggedEntry:
    """A flagged submission with its reasons, weight and state."""

    ref: int
    submission_id: str
    team: str
    reasons: Sequence[FlagReason]
    weight: int
    state: QueueState
    reviews: int
    label: str | None


@dataclass(frozen=True)
class Goal:
    """How many of the winning places have a reviewed submission."""

    track: TrackKind
    reviewed: int
    places: int


@dataclass(frozen=True)
class FlaggedPage:
    """A page of the flagged submissions, heaviest first. ``counts`` (by state) and ``goals`` are those of all pages."""

    entries: Sequence[FlaggedEntry]
    counts: Mapping[str, int]
    goals: Sequence[Goal]
    more: bool


class NextEntry(NamedTuple):
    """The next submission for a reviewer, and how many of their open ones precede it."""

    entry: FlaggedEntry
    skip: int


def list_flagged(
    session: Session,
    state: CompetitionState,
    reviewer: Account,
    *,
    states: Sequence[QueueState] = STATES,
    after: int = 0,
    limit: int,
) -> FlaggedPage:
    """The flagged submissions in these ``states``, from number ``after + 1`` on."""
    query = _flag_query(session, state, reviewer)
    flagged = flags.flagged_places(session, query)
    counts = Counter(place.state for place in flagged)
    chosen = [place.ref for place in flagged if place.state in states][after:]
    return FlaggedPage(
        entries=_load_flagged_entries(session, state, query, refs=chosen[:limit]),
        counts={name: counts[name] for name in STATES},
        goals=[_goal(kind, [place.state for place in flagged if kind in place.wins]) for kind in TRACK_KINDS],
        more=len(chosen) > limit,
    )


def _goal(kind: TrackKind, states: Sequence[QueueState]) -> Goal:
    """The goal of a track, from the states of its winning entries."""
    return Goal(kind, sum(state in {"unruled", "decided"} for state in states), len(states))


def claim_next(acting: Acting, state: CompetitionState, *, skip: int) -> NextEntry | None:
    """Claim the most decisive submission that this reviewer still has to review, after the first ``skip``. Prefers
    submissions that nobody else has claimed. None if nothing is left."""
    competition_id = state.competition.id
    limit = 1 + len(claims.claimants(acting.session, competition_id, acting.actor.id, now=acting.now)) + MAX_RIVALS
    entries = list_flagged(acting.session, state, acting.actor, states=["open"], after=skip, limit=limit).entries
    if not entries:
        return None
    place = next((place for place, entry in enumerate(entries) if _is_free(acting, state, entry)), 0)
    claims.claim(
        acting.session, competition_id, acting.actor.id, ref=entries[place].ref, expires_at=acting.now + CLAIM_TIME
    )
    return NextEntry(entries[place], skip + place)


def _is_free(acting: Acting, state: CompetitionState, entry: FlaggedEntry) -> bool:
    # If two reviewers look at the same time, the lock makes the second one see the claim of the first.
    submissions.lock_submission(acting.session, entry.ref)
    return entry.ref not in claims.claimants(acting.session, state.competition.id, acting.actor.id, now=acting.now)


def load_entry_flags(
    session: Session, state: CompetitionState, reviewer: Account, *, submission: Submission
) -> FlaggedEntry | None:
    entries = _load_flagged_entries(session, state, _flag_query(session, state, reviewer), refs=[submission.ref])
    return entries[0] if entries else None


def _load_flagged_entries(
    session: Session, state: CompetitionState, query: FlagQuery, *, refs: Sequence[int]
) -> list[FlaggedEntry]:
    """The flagged ones among the entries, in this order. Reads their duplicates, but no other entries."""
    if not refs:
        return []
    of_page = replace(query, only=flags.with_duplicates(session, state.competition.id, refs))
    rows = {row.ref: row for row in flags.flagged_rows(session, of_page)}
    return _with_reasons(session, state, [rows[ref] for ref in refs if ref in rows])


def _flag_query(session: Session, state: CompetitionState, reviewer: Account) -> FlagQuery:
    competition = state.competition
    last = state.awards.last_winning_rank
    return FlagQuery(
        competition_id=competition.id,
        tracks=state.tracks,
        bounds={kind: _bounds(session, state, track, last_rank=last) for kind, track in state.tracks.items()},
        weights=WEIGHTS,
        reviewer_id=reviewer.id,
        images=competition.image_count,
        memorising=MEMORISING,
    )


def _bounds(session: Session, state: CompetitionState, track: Track, *, last_rank: int) -> TrackBounds:
    threshold = tuning.newest_threshold(session, track.id)
    interval = threshold.choice.get("interval") if threshold is not None else None
    low, high = (interval["low"], interval["high"]) if isinstance(interval, dict) else (None, None)
    winners = _winners(session, state, track, last_rank=last_rank)
    score_without_winner = math.inf if last_rank else None
    last_score = winners[-1].score if last_rank and len(winners) == last_rank else score_without_winner
    return TrackBounds(threshold.tau if threshold is not None else None, low, high, winners, last_score)


def _winners(session: Session, state: CompetitionState, track: Track, *, last_rank: int) -> list[WinningEntry]:
    if not last_rank:
        return []
    rows = load_listing(session, state, track.board_kind).page(0, last_rank)
    return [WinningEntry(row.ref, row.rank, row.score) for row in rows]


def _with_reasons(session: Session, state: CompetitionState, rows: Sequence[FlaggedRow]) -> list[FlaggedEntry]:
    """Flagged submissions with their reasons as sentences. Signs of copying use the sentences of their findings."""
    with_signs = [row for row in rows if any(row.found[sign.name] for sign in SIGNS)]
    track_ids = [state.tracks[kind].id for kind in TRACK_KINDS]
    findings = newest_findings(session, [row.ref for row in with_signs], track_ids) if with_signs else {}
    evidence = [{kind: findings.get((row.ref, state.tracks[kind].id), ()) for kind in TRACK_KINDS} for row in rows]
    pairs = shared_images.sharing_entries(session, [row.ref for row in rows if row.found["shares_images"]])
    most = {pair.of: pair for pair in reversed(pairs)}
    return [_flagged_entry(row, by_track, most.get(row.ref)) for row, by_track in zip(rows, evidence, strict=True)]


def _flagged_entry(
    row: FlaggedRow, evidence: Mapping[TrackKind, Findings], sharing: SharingEntry | None
) -> FlaggedEntry:
    values = {**row.found, "evidence": evidence, "sharing": sharing}
    names = sorted((name for name in WEIGHTS if values[name]), key=lambda name: -WEIGHTS[name])
    return FlaggedEntry(
        ref=row.ref,
        submission_id=row.id,
        team=row.team,
        reasons=[FlagReason(name, REASON_SENTENCES[name](values)) for name in names],
        weight=row.weight,
        state=row.state,
        reviews=row.reviews,
        label=row.label,
    )
