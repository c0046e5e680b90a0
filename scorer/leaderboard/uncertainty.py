"""How certain a board's ranks are: standard errors of its scores, intervals of ranks, probabilities of medals."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from pydantic import ConfigDict
from sqlalchemy.orm import Session

from scorer.accounts.roles import is_reviewer
from scorer.competitions.competition_state import CompetitionState, visible_track
from scorer.db import competitions
from scorer.db.evidence import generators
from scorer.db.evidence.evidence import newest_evidence_id
from scorer.db.leaderboard import board_details, standard_errors
from scorer.db.leaderboard.ranked_entries import final_as_of
from scorer.db.tables import Account
from scorer.leaderboard.rows import load_fid_spreads, load_listing
from scorer.leaderboard.standings import change_counts
from scorer.lifecycle import TrackKind
from scorer.ranking.awards import MEDALS, Awards
from scorer.ranking.columns import Flags, Floats, Ints
from scorer.ranking.uncertainty import MeasuredScores, SharedImages, rank_intervals, rank_probabilities, spread_error
from scorer.ranking.vectorised import BoardListing

MAX_PLACES = 500
"""The number of places for which the uncertainty is computed."""
MAX_COMPARED = 1_000
"""The number of entries, from rank 1 on, that they are compared with. Entries further behind cannot affect them."""


@dataclass(frozen=True)
class UncertainPlace:
    """A rank and how certain it is. Fields are null while the standard error of the submission's FID is unknown."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    rank: int
    team: str
    score: float
    standard_error: float | None
    """The standard error of the score, with the penalty as measured: over new draws in a generator competition, and
    otherwise over new images of the same generator, if the submitted ones were not picked."""
    lowest_score: float | None
    """The lower end of the score's 95 % interval; `highest_score` is the upper end. Close to tau, the interval contains
    the scores with and without the penalty."""
    highest_score: float | None
    beside_tau: bool | None
    """Whether the 95 % interval of the memorization distance contains tau."""
    first_rank: int | None
    """The lower end of the rank's 95 % interval; `last_rank` is the upper end."""
    last_rank: int | None
    medals: Mapping[str, float] | None
    """The probability of each medal."""
    other_generator: bool | None = None
    """Whether the team's generator does not produce the submission: it cannot reach the images, or newly drawn images
    look different. Shown to reviewers, and to everybody once the final board is published; null otherwise."""


@dataclass(frozen=True)
class AwardBoundary:
    """The last rank that wins an award, and the difference between its score and that of the next rank."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    rank: int
    awards: Sequence[str]
    """The medal, the prize, or both, that the next rank does not win."""
    difference: float
    standard_error: float
    in_standard_errors: float | None
    """The difference in standard errors; null if the standard error is 0."""
    lowest_difference: float
    """The lower end of the difference's 95 % interval; `highest_difference` is the upper end. For a submission close to
    tau, the interval covers the scores with and without the penalty."""
    highest_difference: float


@dataclass(frozen=True)
class BoardUncertainty:
    """How certain the first ranks of a board currently are."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    competition: str
    track: TrackKind
    teams: int
    """How many teams have a rank."""
    without_error: int
    """How many submissions currently have no standard error of the FID. Comparisons treat their scores as exact."""
    places: Sequence[UncertainPlace]
    boundaries: Sequence[AwardBoundary]
    """The ranks at which medals and prizes are decided, best first."""


def uncertainty_version(session: Session, state: CompetitionState, kind: TrackKind, *, account: Account | None) -> str:
    """A hash of everything that a board's uncertainty depends on, equal for all people who may see it. Raises the
    errors of :func:`board_uncertainty`."""
    track, competition = visible_track(state, kind, account), state.competition
    counts = change_counts(session, state, track)
    evidence = newest_evidence_id(session.connection()), standard_errors.newest_share_id(session)
    audits = generators.newest_recovery_id(session) if _shows_audits(session, state, account) else None
    inputs = (track.id, state.phase, competition.medals, competition.prizes, counts, evidence, audits)
    return hashlib.sha256(repr(inputs).encode()).hexdigest()[:20]


def board_uncertainty(
    session: Session, state: CompetitionState, kind: TrackKind, *, account: Account | None
) -> BoardUncertainty:
    """The uncertainty of a board's first ``MAX_PLACES`` places, without late entries. ``Forbidden`` for the private
    track before publication."""
    visible_track(state, kind, account)
    listing, compared = _first_entries(session, state, kind)
    places = _places(session, state.awards_on(kind), compared)
    if _shows_audits(session, state, account):
        refs = compared.refs[:MAX_PLACES]
        others = generators.load_refs_with_other_generator(session, refs)
        places = [replace(place, other_generator=ref in others) for place, ref in zip(places, refs, strict=True)]
    return BoardUncertainty(
        competition=state.competition.slug,
        track=kind,
        teams=len(listing),
        without_error=int(np.count_nonzero(~compared.known)),
        places=places,
        boundaries=_boundaries(state.awards_on(kind), compared),
    )


def _shows_audits(session: Session, state: CompetitionState, account: Account | None) -> bool:
    """Whether this person sees the results of generator audits: reviewers always do, everybody else with the final
    board."""
    competition_id = state.competition.id
    return competitions.is_final(session, competition_id) or is_reviewer(account, competition_id)


def uncertain_places(session: Session, state: CompetitionState, kind: TrackKind) -> list[UncertainPlace]:
    """The first ``MAX_PLACES`` places of a track's board, without checking who may see them."""
    return _places(session, state.awards_on(kind), _first_entries(session, state, kind)[1])


def award_boundaries(session: Session, state: CompetitionState) -> list[AwardBoundary]:
    """The ranks at which medals and prizes of the private board are decided, best first. Reads only the entries at
    these ranks."""
    listing = load_listing(session, state, "private")
    ranks = {place for rank in _boundary_awards(state.awards) for place in (rank, rank + 1) if place <= len(listing)}
    return _boundaries(
        state.awards, _read(session, state, "private", listing=listing, ranks=np.array(sorted(ranks), np.int64))
    )


@dataclass(frozen=True)
class _Compared:
    """Places of a board, best first, with the scores of their entries and the errors of these scores."""

    ranks: Ints
    refs: Sequence[int]
    shown: Floats
    scores: MeasuredScores
    known: Flags


def _first_entries(session: Session, state: CompetitionState, kind: TrackKind) -> tuple[BoardListing, _Compared]:
    listing = load_listing(session, state, kind)
    return listing, _read(
        session, state, kind, listing=listing, ranks=np.arange(1, min(len(listing), MAX_COMPARED) + 1)
    )


def _read(
    session: Session, state: CompetitionState, kind: TrackKind, *, listing: BoardListing, ranks: Ints
) -> _Compared:
    judged, rows = listing.judged, listing.rows[ranks - 1]
    entry = judged.columns.take(rows)
    refs: list[int] = entry.ref.tolist()
    at = final_as_of(session.connection(), state.competition.id) if kind == "private" else None
    spreads = load_fid_spreads(session, state.competition, state.tracks[kind], refs=refs)
    errors = {ref: spread_error(*spread) for ref, spread in spreads.items()}
    errors |= standard_errors.load_fid_errors(session, state.tracks[kind].id, refs, at=at)
    fid_se = np.array([errors.get(ref, np.nan) for ref in refs])
    scores = MeasuredScores(
        fid=entry.fid,
        fid_se=np.nan_to_num(fid_se),
        distance=entry.distance,
        distance_se=np.nan_to_num(entry.distance_se),
        tau=judged.tau[rows],
        epsilon=judged.rules.epsilon,
        shared=shared_images(session, state, kind, refs=refs),
    )
    return _Compared(ranks, refs, judged.score[rows], scores, np.isfinite(fid_se))


def _places(session: Session, awards: Awards, compared: _Compared) -> list[UncertainPlace]:
    shown = slice(0, MAX_PLACES)
    medals = [medal for medal in MEDALS if awards.medals.get(medal)]
    inside = rank_probabilities(compared.scores, [awards.medals[medal] for medal in medals])[shown]
    won = np.diff(inside, axis=1, prepend=0.0).tolist()
    first, last = rank_intervals(compared.scores)
    names = board_details.load_entry_names(session, compared.refs[shown])
    scores = compared.scores
    columns = (
        *(compared.ranks, compared.shown, scores.standard_error, *scores.intervals, scores.borderline),
        *(first, last, compared.known),
    )
    return [
        UncertainPlace(
            rank=rank,
            team=names[ref][1],
            score=score,
            standard_error=error if known else None,
            lowest_score=lowest if known else None,
            highest_score=highest if known else None,
            beside_tau=close if known else None,
            first_rank=first_rank if known else None,
            last_rank=last_rank if known else None,
            medals=dict(zip(medals, chances, strict=True)) if known else None,
        )
        for ref, chances, rank, score, error, lowest, highest, close, first_rank, last_rank, known in zip(
            compared.refs[shown], won, *(column[shown].tolist() for column in columns), strict=True
        )
    ]


def _boundaries(awards: Awards, compared: _Compared) -> list[AwardBoundary]:
    positions = {rank: place for place, rank in enumerate(compared.ranks.tolist())}
    boundaries = []
    for rank, won in sorted(_boundary_awards(awards).items()):
        if rank in positions and rank + 1 in positions:
            apart = compared.scores.separation(positions[rank], positions[rank + 1])
            boundaries.append(
                AwardBoundary(
                    *(rank, won, apart.difference, apart.standard_error, apart.in_standard_errors),
                    *(apart.lowest, apart.highest),
                )
            )
    return boundaries


def _boundary_awards(awards: Awards) -> dict[int, list[str]]:
    """The awards that no later rank wins, by rank."""
    won: dict[int, list[str]] = defaultdict(list)
    for prize in awards.prizes:
        won[int(str(prize["place"]))].append(str(prize["amount"]))
    for medal in MEDALS:
        if last := awards.medals.get(medal):
            won[last].append(medal)
    return won


def shared_images(
    session: Session, state: CompetitionState, kind: TrackKind, *, refs: Sequence[int]
) -> list[SharedImages]:
    """The pairs of entries that share images on a track, as positions in ``refs``: pairs with equal pixel hashes, and
    pairs of different teams found to share some images, possibly altered.

    Each team has public draws of its own, and only private draws are compared. So generators share errors only on the
    private track.
    """
    if state.competition.entries == "generator" and kind == "public":
        return []
    positions = {ref: place for place, ref in enumerate(refs)}
    shares = {
        (positions[later], positions[earlier]): min(1.0, share)
        for (later, earlier), share in standard_errors.load_shares(session, refs).items()
    }
    groups: dict[str, list[int]] = defaultdict(list)
    for ref, pixels in standard_errors.load_pixel_hashes(session, refs).items():
        groups[pixels].append(ref)
    for equal in groups.values():
        shares |= {(positions[one], positions[other]): 1.0 for other, one in combinations(sorted(equal), 2)}
    return [SharedImages(*pair, share) for pair, share in sorted(shares.items())]
