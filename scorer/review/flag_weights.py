"""The weights of all flagged entries, computed over the columns of both tracks: which entry needs eyes first.

The definition of flags and weights is the query of :mod:`scorer.db.review.flags`, which also gives the rows of a page;
tests hold the two together.
"""

import weakref
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorer.db.review.flag_query import STRONG_SIGNS, QueueState, TrackBounds
from scorer.db.review.flags import BORDERLINE_STANDARD_ERRORS
from scorer.db.review.reviews import ReviewTallies
from scorer.findings.signs import SIGNS
from scorer.lifecycle import TRACK_KINDS, TrackKind
from scorer.ranking.columns import Flags, Floats, Ints, in_blocks, positions_in
from scorer.ranking.judged_entries import JudgedEntries
from scorer.review.flag_facts import MAX_COMPETITIONS, EqualContents, FlagFacts, SharingPairs

TRACK_REASONS = ("penalised", "medal-at-stake", "borderline", "tau-interval")
"""The reasons that follow from a track's numbers, in the order of their bits."""
STATES: tuple[QueueState, ...] = ("open", "waiting", "disputed", "unruled", "decided")
"""The state of a flagged submission for one reviewer: theirs to review, waiting for another reviewer, disputed
and for an organizer to decide, labelled as memorising and for an organizer to rule on, decided."""
PENALISED_BIT = 1 << TRACK_REASONS.index("penalised")
STRONG_BITS = sum(1 << number for number, sign in enumerate(SIGNS) if sign.name in STRONG_SIGNS)
NO_RANK = (1 << 24) - 1
Bytes = NDArray[np.uint8]


@dataclass(frozen=True)
class FlagWeights:
    """The flagged entries of a competition in the order of ``ref``, one row each."""

    ref: Ints
    weight: Bytes
    rank: NDArray[np.int32]
    """The better of its ranks that win something; ``NO_RANK`` where it has none."""
    winners: Mapping[TrackKind, Flags]
    """Whether the entry holds a rank of the track that wins something."""

    def states(self, tallies: ReviewTallies) -> Bytes:
        """The state of each entry for a reviewer, as its place in ``STATES``."""
        states = np.zeros(len(self.ref), np.uint8)
        states[_rows_of(self.ref, tallies.ref[tallies.mine])] = STATES.index("waiting")
        states[_rows_of(self.ref, tallies.ref[tallies.reviews >= 2])] = STATES.index("disputed")
        states[_rows_of(self.ref, tallies.ref[tallies.decided])] = STATES.index("decided")
        states[_rows_of(self.ref, tallies.ref[tallies.unruled])] = STATES.index("unruled")
        return states

    def heaviest(self, chosen: Flags, after: int, limit: int) -> list[int]:
        """The refs of those of the ``chosen`` entries from number ``after + 1`` on: the greatest weight first, then the
        best rank, then the oldest."""
        rows = np.flatnonzero(chosen)
        keys = (255 - self.weight[rows].astype(np.int64) << 55) | (self.rank[rows].astype(np.int64) << 31) | rows
        count = min(after + limit, len(keys))
        if count < len(keys):
            keys = np.partition(keys, count)[:count]
        refs: list[int] = self.ref[np.sort(keys)[after:] & ((1 << 31) - 1)].tolist()
        return refs


class _Track(NamedTuple):
    """A track's entries, with the reasons that follow from its numbers as bits of ``TRACK_REASONS``."""

    ref: Ints
    bits: Bytes

    def bits_of(self, refs: Ints) -> Bytes:
        """The bits of entries of another track, in the order of their ``refs``; 0 of those that this track lacks."""
        if np.array_equal(refs, self.ref):
            return self.bits
        rows, found = positions_in(refs, self.ref)
        bits = np.zeros(len(refs), np.uint8)
        bits[rows[found]] = self.bits[found]
        return bits


class WeightInputs(NamedTuple):
    """What weights are made of. ``overfitted``: the refs of entries whose generator makes training images."""

    judged: Mapping[TrackKind, JudgedEntries]
    bounds: Mapping[TrackKind, TrackBounds]
    facts: FlagFacts
    overfitted: Sequence[int]
    weights: Mapping[str, int]


class _KeptWeights(NamedTuple):
    """Weights and what they were made of. The entries are not kept alive."""

    judged: Sequence["weakref.ReferenceType[JudgedEntries]"]
    others: WeightInputs
    made: FlagWeights

    @classmethod
    def of(cls, inputs: WeightInputs, made: FlagWeights) -> "_KeptWeights":
        """What is kept of these weights."""
        return cls([weakref.ref(inputs.judged[kind]) for kind in TRACK_KINDS], inputs._replace(judged={}), made)

    def are_of(self, inputs: WeightInputs) -> bool:
        """Whether these inputs make the same."""
        same_entries = all(kept() is inputs.judged[kind] for kept, kind in zip(self.judged, TRACK_KINDS, strict=True))
        values = [(each.bounds, each.overfitted, each.weights) for each in (self.others, inputs)]
        return same_entries and self.others.facts is inputs.facts and values[0] == values[1]


class FlagWeightsCache:
    """The newest weights of the most recently used competitions; safe to use from any thread. While nothing has
    changed, the entries and the facts are the same objects."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._newest: OrderedDict[int, _KeptWeights] = OrderedDict()

    def weights_of(self, competition_id: int, inputs: WeightInputs) -> FlagWeights:
        """:func:`weights_of`, kept until an input changes."""
        with self._lock:
            kept = self._newest.get(competition_id)
        if kept is not None and kept.are_of(inputs):
            return kept.made
        made = weights_of(inputs)
        with self._lock:
            self._newest[competition_id] = _KeptWeights.of(inputs, made)
            self._newest.move_to_end(competition_id)
            while len(self._newest) > MAX_COMPETITIONS:
                self._newest.popitem(last=False)
        return made


def weights_of(inputs: WeightInputs) -> FlagWeights:
    """The flagged entries with their weights."""
    judged, bounds, facts, overfitted, weights = inputs
    public = judged["public"]
    refs = public.columns.ref
    bits = np.zeros(len(refs), np.uint8)
    rank = np.full(len(refs), NO_RANK, np.int32)
    wins_unpenalised = np.zeros(len(refs), np.bool_)
    winners = {}
    for kind in TRACK_KINDS:
        of_track = _track_of(judged[kind], bounds[kind]).bits_of(refs)
        bits |= of_track
        won = bounds[kind].winners
        rows, found = positions_in(refs, np.array([winner.ref for winner in won], np.int64))
        ranks = np.array([winner.rank for winner in won], np.int32)
        rank[rows[found]] = np.minimum(rank[rows[found]], ranks[found])
        winners[kind] = np.zeros(len(refs), np.bool_)
        winners[kind][rows[found]] = True
        wins_unpenalised |= winners[kind] & (of_track & PENALISED_BIT == 0)
    weight, flagged = _weigh(public, bits, rank < NO_RANK, wins_unpenalised, facts, overfitted, weights)
    of_flagged = {kind: won[flagged] for kind, won in winners.items()}
    return FlagWeights(refs[flagged], weight[flagged], rank[flagged], of_flagged)


def _track_of(judged: JudgedEntries, bounds: TrackBounds) -> _Track:
    """The reasons of a track's entries; none of benchmarks."""
    entry = judged.columns
    scored = ~judged.is_copy & ~judged.is_benchmark
    penalised = judged.penalised & scored
    stake = np.zeros(len(entry), np.bool_)
    if bounds.last_score is not None:
        stake = penalised & ~judged.is_disqualified & (entry.fid < bounds.last_score)
        rows, found = positions_in(entry.ref, np.array([winner.ref for winner in bounds.winners], np.int64))
        stake[rows[found]] = False
    borderline = scored & in_blocks(_is_near, entry.distance, judged.tau, entry.distance_se)
    between = np.zeros(len(entry), np.bool_)
    if bounds.low is not None:
        between = scored & (entry.distance > bounds.low)
        if bounds.high is not None:
            between &= entry.distance < bounds.high
    bits = np.zeros(len(entry), np.uint8)
    for number, holds in enumerate((penalised, stake, borderline, between)):
        bits |= holds.view(np.uint8) << number
    return _Track(entry.ref, bits)


def _is_near(distance: Floats, tau: Floats, error: Floats) -> Flags:
    near: Flags = np.abs(distance - tau) <= BORDERLINE_STANDARD_ERRORS * error
    return near


def _weigh(
    public: JudgedEntries,
    bits: Bytes,
    wins: Flags,
    wins_unpenalised: Flags,
    facts: FlagFacts,
    overfitted: Collection[int],
    weights: Mapping[str, int],
) -> tuple[Bytes, Ints]:
    """The weight of each public entry, and the rows of those that are flagged."""
    entry = public.columns
    weight = _sums_of_bits([weights[name] for name in TRACK_REASONS])[bits]
    weight[wins] += weights["medal-place"]
    weight[public.is_copy] += weights["copy"]
    has_strong_sign = (entry.copied_share > 0) & ~public.is_copy
    weight[has_strong_sign] += weights["copying"]
    shared_images = _shared(facts.images, public)
    for name, refs in (
        ("same-zip", _shared(facts.zips, public)),
        ("shared-images", np.union1d(shared_images, _sharing(facts.sharing, public))),
        ("recovered", np.array(sorted(overfitted), np.int64)),
    ):
        rows = _rows_of(entry.ref, refs)
        weight[rows] += weights[name]
        has_strong_sign[rows] = True
    rows, found = positions_in(entry.ref, facts.signs_ref)
    of_signs = _sums_of_bits([weights[sign.name] for sign in SIGNS])
    weight[rows[found]] += of_signs[facts.signs_bits[found]]
    has_strong_sign[rows[found]] |= (facts.signs_bits[found] & STRONG_BITS) != 0
    weight[wins_unpenalised & has_strong_sign] += weights["unpenalised-win"]
    weight[~public.is_competing] = 0
    doubles = _doubles(facts.images, shared_images, entry.ref, weight > 0)
    weight[doubles[public.is_competing[doubles]]] += weights["near-duplicate"]
    return weight, np.flatnonzero(weight)


def _sums_of_bits(weights: Sequence[int]) -> Bytes:
    """The sum of the weights whose bits are set, for every number of so many bits."""
    sums = [sum(weight for bit, weight in enumerate(weights) if bits >> bit & 1) for bits in range(1 << len(weights))]
    return np.array(sums, np.uint8)


def _shared(contents: EqualContents, judged: JudgedEntries) -> Ints:
    """The refs of submissions whose content another team (after merges) has handed in, too."""
    if not len(contents.ref):
        return contents.ref
    team = judged.rules.current_teams(contents.team)
    firsts = np.flatnonzero(np.diff(contents.group, prepend=-1))
    differs = np.minimum.reduceat(team, firsts) != np.maximum.reduceat(team, firsts)
    return np.sort(contents.ref[np.repeat(differs, np.diff(firsts, append=len(team)))])


def _sharing(pairs: SharingPairs, judged: JudgedEntries) -> Ints:
    """The refs of entries that share images with another team's (after merges)."""
    team, other_team = (judged.rules.current_teams(each) for each in (pairs.team, pairs.other_team))
    differs = team != other_team
    return np.concatenate([pairs.ref[differs], pairs.other_ref[differs]])


def _doubles(images: EqualContents, shared: Ints, refs: Ints, flagged: Flags) -> Ints:
    """The rows of entries with the images of another flagged entry that only one team has handed in."""
    rows, found = positions_in(refs, images.ref)
    rows, group = rows[found], images.group[found]
    counts = np.bincount(group, weights=flagged[rows])[group] if len(group) else np.zeros(0)
    return rows[(counts > flagged[rows]) & ~np.isin(refs[rows], shared)]


def _rows_of(refs: Ints, wanted: Ints) -> Ints:
    rows, found = positions_in(refs, wanted)
    return rows[found]
