"""The rows of the tables of a data release, under pseudonyms (:mod:`scorer.import_export.release_columns`)."""

import hashlib
import hmac
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.data_release import release_rows
from scorer.import_export.release_columns import CHOICE_NUMBERS, CONFUSION
from scorer.leaderboard.rows import rows_of
from scorer.leaderboard.uncertainty import UncertainPlace, uncertain_places
from scorer.lifecycle import TRACK_KINDS
from scorer.metrics.metric_catalogue import METRICS
from scorer.ranking.awards import MEDALS


@dataclass(frozen=True)
class Pseudonyms:
    """Pseudonyms that only the holder of ``key`` can compute: HMAC-SHA256, its first 80 bits as hex."""

    key: bytes

    def of(self, what: str, number: int | str) -> str:
        """The pseudonym of a ``team``, a ``submission``, ``images``, a ``person`` or a ``rater``; deterministic."""
        digest = hmac.new(self.key, f"{what}:{number}".encode(), hashlib.sha256)
        return f"{what[0]}-{digest.hexdigest()[:20]}"

    def of_optional(self, what: str, number: int | str | None) -> str | None:
        """The pseudonym as of :meth:`of`; None for None."""
        return None if number is None else self.of(what, number)


TableRow = tuple[Any, ...]


def table_rows(session: Session, state: CompetitionState, table: str, *, names: Pseudonyms) -> Iterator[TableRow]:
    """The rows of a table, always in the same order, each with the columns of ``TABLES``."""
    return _READERS[table](session, state, names)


def _submissions(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in release_rows.submissions(session, state.competition.id):
        yield (
            names.of("submission", row.ref),
            names.of("team", row.team_id),
            row.benchmark,
            row.status,
            row.late,
            row.picked,
            row.accepted_at,
            row.bytes,
            names.of_optional("images", row.pixels_sha256),
            row.exact_copies,
            row.mirrored_copies,
            row.copied_share,
            row.label,
            row.ruling,
        )


def _measurements(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in release_rows.measurements(session, state.competition.id):
        yield (
            names.of("submission", row.submission_ref),
            row.track,
            row.extractor,
            row.scorer_version,
            row.counts,
            row.fid,
            row.memorization_distance,
            row.distance_se,
            row.tau,
            row.copy,
            row.penalised,
            None if row.mifid is None or math.isnan(row.mifid) else row.mifid,
            row.histogram.get("low"),
            row.histogram.get("high"),
            row.histogram.get("counts"),
            *(row.provenance.get(name) for name in ("weights_sha256", "reference", "device", "precision")),
            row.created_at,
        )


def _evidence(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in release_rows.evidence(session, state.competition.id):
        subject = names.of("submission", row.submission_ref), row.track, row.counts
        for quantity in row.findings:
            fields = ("test", "name", "value", "unit", "direction", "standard_error", "error_kind", "p_value")
            yield *subject, *(quantity.get(name) for name in fields), row.created_at


def _cells(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in release_rows.evidence(session, state.competition.id):
        subject = names.of("submission", row.submission_ref), row.track, row.counts
        for cell in row.cells or ():
            values = (cell[name] for name in ("generated", "held_out", "z", "p", "copied", "excess"))
            yield *subject, cell["cell"] + 1, *values


def _shown_measurements(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in release_rows.shown_measurements(session, state.competition.id):
        yield (
            names.of("submission", row.submission_ref),
            row.name,
            row.metric,
            json.dumps(row.constants, sort_keys=True),
            row.extractor,
            METRICS[row.metric].direction,
            row.reference,
            row.scorer_version,
            row.counts,
            row.value,
            row.standard_error,
            row.provenance.get("weights_sha256"),
            row.created_at,
        )


def _labels(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in release_rows.labels(session, state.competition.id):
        reviewer = names.of_optional("person", row.reviewer_id)
        submission = names.of("submission", row.submission_ref)
        yield submission, row.source, reviewer, row.label, row.intent, row.counts, row.created_at


def _thresholds(session: Session, state: CompetitionState, _: Pseudonyms) -> Iterator[TableRow]:
    for row in release_rows.thresholds(session, state.competition.id):
        statistics = [row.choice.get(name) for name in CHOICE_NUMBERS]
        confusion = [(row.choice.get("confusion") or {}).get(name) for name in CONFUSION]
        yield row.track, row.tau, row.method, *statistics, *confusion, row.counts, row.created_at


def _rulings(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in release_rows.rulings(session, state.competition.id):
        submission = names.of("submission", row.submission_ref)
        yield submission, row.kind, row.memorising, row.counts, row.appealed, row.granted, row.created_at


def _ranks(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for kind in TRACK_KINDS:
        certain = {place.rank: place for place in uncertain_places(session, state, kind)}
        for row in rows_of(session, state, kind).stream():
            medal = state.awards_on(kind).of_rank(row.rank).medal
            team, entry = names.of("team", row.team_id), names.of("submission", row.ref)
            values = row.score, row.fid, row.memorization_distance, row.penalised, medal
            yield kind, row.rank, team, entry, *values, *_uncertainty(certain.get(row.rank))


def _uncertainty(place: UncertainPlace | None) -> TableRow:
    if place is None:
        return (None,) * (3 + len(MEDALS))
    medals = (None if place.medals is None else place.medals.get(medal) for medal in MEDALS)
    return place.standard_error, place.first_rank, place.last_rank, *medals


def _ratings(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    studies: dict[int, int] = {}
    items: dict[int, dict[int, int]] = {}
    for row in release_rows.ratings(session, state.competition.id):
        study = studies.setdefault(row.study_id, len(studies) + 1)
        item = items.setdefault(row.study_id, {}).setdefault(row.item_id, len(items.get(row.study_id, {})) + 1)
        submission, rater = names.of("submission", row.submission_ref), names.of("rater", row.rater_id)
        yield study, row.kind, item, submission, row.images, rater, row.rater_kind, row.value, row.created_at


_READERS: Mapping[str, Callable[[Session, CompetitionState, Pseudonyms], Iterator[TableRow]]] = MappingProxyType(
    {
        "submissions": _submissions,
        "measurements": _measurements,
        "evidence": _evidence,
        "cells": _cells,
        "shown_measurements": _shown_measurements,
        "labels": _labels,
        "thresholds": _thresholds,
        "rulings": _rulings,
        "ranks": _ranks,
        "ratings": _ratings,
    }
)
