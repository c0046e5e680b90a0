"""Flagging: which entries need eyes, and why. A query, never a stored mark: whatever changes, flags anew."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db import tuning
from scorer.db.evidence import signs
from scorer.db.review import flags
from scorer.db.review.flag_query import FlaggedRow, FlagQuery, QueueState, TrackBounds, WinningEntry
from scorer.db.tables import Account, Submission, Track
from scorer.db.teams import members
from scorer.findings.signs import SIGNS, Sign, sentence_of
from scorer.leaderboard.explanations import format_distinct, why_copy
from scorer.leaderboard.rows import rows_of
from scorer.lifecycle import TRACK_KINDS, TrackKind

STATES: tuple[QueueState, ...] = ("open", "waiting", "own", "disputed", "decided")
"""What has become of a flagged entry, for one reviewer: theirs to review, waiting for somebody else, of a team of
their own, for an admin to decide, closed."""

WEIGHTS: Mapping[str, int] = MappingProxyType(
    {
        # Who wins something hangs on these.
        "medal-at-stake": 4,
        "medal-place": 4,
        "borderline": 4,
        # These say that somebody has copied.
        "copying": 3,
        "same-zip": 3,
        "same-images": 3,
        "recovered": 3,
        # The threshold speaks already, or has yet to.
        "penalised": 2,
        "tau-interval": 2,
        # Evidence of copying, by what it tells; several signs are often of one thing.
        "near-copies": 2,
        "mirrored-copies": 2,
        "thumbnail-copies": 2,
        "partly-copied": 2,
        "copied-regions": 2,
        "data-copying": 1,
        "repeats": 1,
        "identical-images": 1,
        "not-authentic": 1,
        # Settled by rule, or by another entry's review.
        "copy": 1,
        "near-duplicate": 1,
    }
)
"""How decisive each reason is; an entry's weights add up, and the heaviest comes first."""


@dataclass(frozen=True)
class FlagReason:
    """Why an entry is flagged: a stable name, and a sentence with the numbers in it."""

    name: str
    words: str


@dataclass(frozen=True)
class FlaggedEntry:
    """An entry that needs eyes."""

    ref: int
    submission_id: str
    team_id: int
    team: str
    reasons: Sequence[FlagReason]
    weight: int
    state: QueueState
    reviews: int
    label: str | None


@dataclass(frozen=True)
class Goal:
    """How many of a track's places that win something are reviewed."""

    track: TrackKind
    reviewed: int
    places: int


@dataclass(frozen=True)
class FlaggedPage:
    """A page of the flagged entries, most decisive first; ``counts`` and ``goals`` are of all of them."""

    entries: Sequence[FlaggedEntry]
    counts: Mapping[str, int]
    goals: Sequence[Goal]
    more: bool


def list_flagged(
    session: Session,
    state: CompetitionState,
    reviewer: Account,
    *,
    states: Sequence[QueueState] = STATES,
    after: int = 0,
    limit: int,
    exclude: Submission | None = None,
) -> FlaggedPage:
    """The flagged entries in some ``states`` from number ``after + 1`` on, without the entry ``exclude``."""
    question = _flag_query(session, state, reviewer)
    excluded_ref = exclude.ref if exclude is not None else None
    page = flags.flagged_page(session, question, states=states, after=after, limit=limit + 1, exclude=excluded_ref)
    found = _with_reasons(session, state, page.rows)
    return FlaggedPage(
        entries=found[:limit],
        counts={name: page.totals[f"total_{name}"] for name in STATES},
        goals=[
            Goal(kind, page.totals[f"medals_{kind}_decided"], page.totals[f"medals_{kind}"]) for kind in TRACK_KINDS
        ],
        more=len(found) > limit,
    )


def flags_of_entry(
    session: Session, state: CompetitionState, reviewer: Account, submission: Submission
) -> FlaggedEntry | None:
    """Why one entry is flagged; None if nothing speaks for a look."""
    row = flags.flagged_row(session, _flag_query(session, state, reviewer), submission.ref)
    return None if row is None else _with_reasons(session, state, [row])[0]


def last_winning_rank(state: CompetitionState) -> int:
    """The last rank that wins a medal or a prize."""
    prizes = [prize["place"] for prize in state.competition.prizes]
    return max([*state.competition.medals.values(), *prizes], default=0)


def _flag_query(session: Session, state: CompetitionState, reviewer: Account) -> FlagQuery:
    competition = state.competition
    team = members.team_of(session, competition.id, reviewer.id)
    last = last_winning_rank(state)
    return FlagQuery(
        competition_id=competition.id,
        tracks=state.tracks,
        bounds={kind: _bounds(session, state, track, last) for kind, track in state.tracks.items()},
        weights=WEIGHTS,
        reviewer_id=reviewer.id,
        own_team_id=team.id if team is not None else None,
        images=competition.image_count,
    )


def _bounds(session: Session, state: CompetitionState, track: Track, last_rank: int) -> TrackBounds:
    threshold = tuning.newest_threshold(session, track.id)
    interval = threshold.choice.get("interval") if threshold is not None else None
    low, high = (interval["low"], interval["high"]) if isinstance(interval, dict) else (None, None)
    won = _winners(session, state, track, last_rank)
    free = math.inf if last_rank else None
    last_score = won[-1].score if last_rank and len(won) == last_rank else free
    return TrackBounds(threshold.tau if threshold is not None else None, low, high, won, last_score)


def _winners(session: Session, state: CompetitionState, track: Track, last_rank: int) -> list[WinningEntry]:
    if not last_rank:
        return []
    won = rows_of(session, state.competition, state.tracks, track.kind).page(0, last_rank)
    return [WinningEntry(line.ref, rank, line.score) for rank, line in enumerate(won, start=1)]


def _with_reasons(session: Session, state: CompetitionState, rows: Sequence[FlaggedRow]) -> list[FlaggedEntry]:
    """Flagged entries with their reasons in words: those of the evidence are its own."""
    shown = [row for row in rows if any(row.found[sign.name] for sign in SIGNS)]
    track_ids = [state.tracks[kind].id for kind in TRACK_KINDS]
    findings = signs.newest_findings(session, [row.ref for row in shown], track_ids) if shown else {}
    told = [{kind: findings.get((row.ref, state.tracks[kind].id), ()) for kind in TRACK_KINDS} for row in rows]
    return [_flagged(row, evidence) for row, evidence in zip(rows, told, strict=True)]


def _flagged(row: FlaggedRow, evidence: Mapping[TrackKind, signs.Findings]) -> FlaggedEntry:
    found = {**row.found, "evidence": evidence}
    named = sorted((name for name in WEIGHTS if found[name]), key=lambda name: -WEIGHTS[name])
    return FlaggedEntry(
        ref=row.ref,
        submission_id=row.id,
        team_id=row.team_id,
        team=row.team,
        reasons=[FlagReason(name, _REASON_SENTENCES[name](found)) for name in named],
        weight=row.weight,
        state=row.state,
        reviews=row.reviews,
        label=row.label,
    )


def _tracks(found: Mapping[str, Any], name: str) -> list[str]:
    return [kind for kind in TRACK_KINDS if found[f"{kind}_{name}"]]


def _medal(found: Mapping[str, Any]) -> str:
    places = [f"rank {found[f'{kind}_rank']} of the {kind} board" for kind in _tracks(found, "rank")]
    return f"It holds {' and '.join(places)}, which wins something."


def _stake(found: Mapping[str, Any]) -> str:
    kinds = [kind for kind in _tracks(found, "stake") if not found[f"{kind}_rank"]]
    return f"Without its penalty it would win something on the {' and the '.join(kinds)} board."


def _each(found: Mapping[str, Any], name: str, sentence: Callable[[str, str, float | None], str]) -> str:
    """A sentence for every track that a reason holds on: of its distance and tau, told apart, and its error."""
    told = []
    for kind in _tracks(found, name):
        shown, tau = format_distinct(found[f"{kind}_distance"], found[f"{kind}_tau"], 4)
        told.append(f"{kind.capitalize()}: {sentence(shown, tau, found[f'{kind}_se'])}")
    return " ".join(told)


def _borderline(found: Mapping[str, Any]) -> str:
    return _each(
        found,
        "borderline",
        lambda distance, tau, error: (
            f"its distance {distance} ± {error or 0.0:.4f} is within two standard errors of tau = {tau}."
        ),
    )


def _penalised(found: Mapping[str, Any]) -> str:
    return _each(found, "penalised", lambda distance, tau, _: f"its distance {distance} is below tau = {tau}.")


def _interval(found: Mapping[str, Any]) -> str:
    return _each(
        found,
        "interval",
        lambda distance, tau, _: (
            f"tau = {tau} could be on either side of its distance {distance} without moving any entry that there was"
            " when it was chosen."
        ),
    )


def _copies(found: Mapping[str, Any]) -> str:
    return why_copy(found["exact_copies"] or 0, found["mirrored_copies"] or 0, found["copied_share"] or 0.0)


def _sign(sign: Sign) -> Callable[[Mapping[str, Any]], str]:
    def words(found: Mapping[str, Any]) -> str:
        told = {kind: sentence_of(sign, found["evidence"][kind]) for kind in _tracks(found, sign.name)}
        if len(told) > 1 and len(set(told.values())) == 1:
            return f"Both tracks: {next(iter(told.values()))}"
        return " ".join(f"{kind.capitalize()}: {sentence}" for kind, sentence in told.items())

    return words


_REASON_SENTENCES: Mapping[str, Callable[[Mapping[str, Any]], str]] = MappingProxyType(
    {
        "medal-at-stake": _stake,
        "medal-place": _medal,
        "borderline": _borderline,
        "copying": _copies,
        "same-zip": lambda _: "Another team has handed in the same zip.",
        "same-images": lambda _: "Another team has handed in the same images.",
        "recovered": lambda _: "A generator that was handed in for it makes training images better than fresh ones.",
        "penalised": _penalised,
        "tau-interval": _interval,
        "copy": lambda found: f"It is a copy and has no score. {_copies(found)}",
        "near-duplicate": lambda _: "Another flagged entry has the same images.",
        **{sign.name: _sign(sign) for sign in SIGNS},
    }
)
