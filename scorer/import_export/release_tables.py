"""The tables of a data release: their columns with meanings, and their rows under pseudonyms.

No name, handle, address, note, reason or file name is in them: a release holds only the columns listed here.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState
from scorer.db.data_release import entry_rows, judgement_rows
from scorer.import_export.pseudonyms import Pseudonyms
from scorer.leaderboard.rows import rows_of
from scorer.leaderboard.uncertainty import UncertainPlace, uncertain_places
from scorer.lifecycle import TRACK_KINDS
from scorer.ranking.awards import MEDALS, award_of

ColumnKind = Literal["text", "int", "float", "bool", "time", "ints"]
TableRow = tuple[Any, ...]
CHOICE_NUMBERS = ("memorization_margin", "auc", "cohens_d", "heldout_distance")
"""The statistics of a choice of tau that a release holds."""
CONFUSION = ("true_positives", "false_negatives", "false_positives", "true_negatives")


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, the kind of its values, and their meaning."""

    name: str
    kind: ColumnKind
    meaning: str
    nullable: bool = False


def _nullable(name: str, kind: ColumnKind, meaning: str) -> Column:
    return Column(name, kind, meaning, nullable=True)


SUBMISSION = Column("submission", "text", "Pseudonym of the entry.")
TEAM = Column("team", "text", "Pseudonym of the team that the entry belongs to, after merges.")
COUNTS = Column("counts", "bool", "Whether it is the newest of its kind, the one that counts.")
TRACK = Column("track", "text", "public or private.")

TABLES: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {
        "submissions": (
            SUBMISSION,
            TEAM,
            Column("benchmark", "bool", "Whether it is a reference line of the organizers, unranked."),
            Column("status", "text", "scored, rejected, failed or cancelled; otherwise still in work."),
            Column("late", "bool", "Begun after the close: on the board of late entries alone."),
            Column("picked", "bool", "Whether the team picked it to be ranked by in the end."),
            Column("accepted_at", "time", "When its last byte had arrived."),
            Column("bytes", "int", "Of its zip."),
            _nullable("images", "text", "Pseudonym of its pixels: equal for entries with the same images."),
            _nullable("exact_copies", "int", "Images that equal a training image, pixel by pixel."),
            _nullable("mirrored_copies", "int", "Images that equal a mirrored training image."),
            _nullable("copied_share", "float", "Share of its images that are one of the two."),
            _nullable("label", "text", "Decided label: legitimate, mgan, sup, ae, aug or other; null: not reviewed."),
            _nullable("ruling", "text", "Newest ruling: keep, disqualify or waive (the penalty); null: none."),
        ),
        "measurements": (
            SUBMISSION,
            TRACK,
            Column("extractor", "text", "Network whose features were compared, name@version."),
            Column("scorer_version", "text", "Version of the code that measured."),
            COUNTS,
            Column("fid", "float", "Frechet distance between the features of the entry and of the reference."),
            Column("memorization_distance", "float", "Mean cosine distance to the nearest training image, 0 to 2."),
            _nullable("distance_se", "float", "Standard error of that mean."),
            _nullable("tau", "float", "Threshold that it is judged with; only where it counts. 0 for benchmarks."),
            _nullable("copy", "bool", "Whether it is a copy, which has no score; only where it counts."),
            _nullable("penalised", "bool", "Whether its distance is below tau; only where it counts."),
            _nullable("mifid", "float", "Score, lower is better; null for a copy, or where it does not count."),
            _nullable("histogram_low", "float", "Lower end of the histogram of nearest distances, one per image."),
            _nullable("histogram_high", "float", "Upper end of that histogram."),
            _nullable("histogram_counts", "ints", "Images in equal bins between the two."),
            _nullable("weights_sha256", "text", "SHA-256 of the network's weights."),
            _nullable("reference", "text", "Address of the prepared reference: equal for equal inputs."),
            _nullable("device", "text", "What it was computed on."),
            _nullable("precision", "text", "Arithmetic of the network."),
            Column("measured_at", "time", "When."),
        ),
        "evidence": (
            SUBMISSION,
            TRACK,
            COUNTS,
            Column("test", "text", "Method that found it."),
            Column("name", "text", "What is found: one number of the method."),
            _nullable("value", "float", "That number; null where there were too few images or photographs."),
            Column("unit", "text", "Its unit."),
            Column("direction", "text", "What a good entry has, and what copying looks like."),
            _nullable("standard_error", "float", "Of that number; null where it has none."),
            _nullable("error_kind", "text", "sampling: its spread over fresh images; null: its spread by chance."),
            _nullable("p_value", "float", "As the method describes it; null where it has none."),
            Column("found_at", "time", "When."),
        ),
        "cells": (
            SUBMISSION,
            TRACK,
            COUNTS,
            Column("cell", "int", "Which region of the training images' features, from 1."),
            Column("generated", "int", "Images of the entry in it."),
            Column("held_out", "int", "Held-out photographs in it."),
            _nullable("z", "float", "Rank sum of their distances to the training images; far below 0 is copying."),
            _nullable("p_value", "float", "One-sided, for copying."),
            Column("copied", "bool", "Whether its images are closer to the training images than chance explains."),
            Column("excess", "float", "Z of the number of the entry's images in it; above 0 is too many."),
        ),
        "labels": (
            SUBMISSION,
            Column("source", "text", "decided (what counts), review (one reviewer's) or coarse (an early guess)."),
            _nullable("reviewer", "text", "Pseudonym of the reviewer, for reviews."),
            Column("label", "text", "legitimate, mgan, sup, ae, aug or other."),
            _nullable("intent", "text", "Of a review: intended, unintended or unclear."),
            COUNTS,
            Column("given_at", "time", "When."),
        ),
        "thresholds": (
            TRACK,
            Column("tau", "float", "Entries whose memorization distance is below it are penalised."),
            Column("method", "text", "How it was chosen."),
            *(_nullable(name, "float", f"{name} as the method found it.") for name in CHOICE_NUMBERS),
            *(_nullable(name, "int", f"{name} against the decided labels of that time.") for name in CONFUSION),
            COUNTS,
            Column("chosen_at", "time", "When."),
        ),
        "rulings": (
            SUBMISSION,
            Column("ruling", "text", "keep, disqualify or waive (the penalty)."),
            _nullable("memorising", "bool", "What a label `other` means for the choice of tau."),
            COUNTS,
            Column("appealed", "bool", "Whether the team appealed against it."),
            _nullable("granted", "bool", "Whether the appeal was granted; null: none, or not answered."),
            Column("ruled_at", "time", "When."),
        ),
        "ranks": (
            TRACK,
            Column("rank", "int", "From 1; teams without a score have no row."),
            TEAM,
            SUBMISSION,
            Column("score", "float", "MiFID, rounded as it is ranked; lower is better."),
            Column("fid", "float", "Frechet distance of that entry."),
            Column("memorization_distance", "float", "Memorization distance of that entry."),
            Column("penalised", "bool", "Whether it is penalised."),
            _nullable("medal", "text", "On the private track: gold, silver or bronze."),
            _nullable(
                "standard_error", "float", "Of the score, over fresh images; null beyond the first 500 ranks, too."
            ),
            _nullable("first_rank", "int", "Where the 95 % interval of the rank begins."),
            _nullable("last_rank", "int", "Where it ends."),
            *(_nullable(f"{each}_probability", "float", f"Probability of a {each} medal.") for each in MEDALS),
        ),
        "ratings": (
            Column("study", "int", "Which of the competition's rating studies, from 1."),
            Column("kind", "text", "realism (of one image) or diversity (of a grid of images)."),
            Column("item", "int", "Which thing of the study, from 1."),
            SUBMISSION,
            Column("image_indexes", "ints", "Images shown, counted from 0 in the order of their names."),
            Column("rater", "text", "Pseudonym of the rater."),
            Column("rater_kind", "text", "member (has an account) or invited (by a link)."),
            Column("value", "int", "1 (not at all) to 5 (entirely)."),
            Column("rated_at", "time", "When."),
        ),
    }
)


def table_rows(session: Session, state: CompetitionState, table: str, names: Pseudonyms) -> Iterator[TableRow]:
    """The rows of a table, always in the same order, each with the columns of ``TABLES``."""
    return _READERS[table](session, state, names)


def _submissions(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in entry_rows.submissions(session, state.competition.id):
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
    for row in entry_rows.measurements(session, state.competition.id):
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
    for row in judgement_rows.evidence(session, state.competition.id):
        subject = names.of("submission", row.submission_ref), row.track, row.counts
        for quantity in row.findings:
            fields = ("test", "name", "value", "unit", "direction", "standard_error", "error_kind", "p_value")
            yield *subject, *(quantity.get(name) for name in fields), row.created_at


def _cells(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in judgement_rows.evidence(session, state.competition.id):
        subject = names.of("submission", row.submission_ref), row.track, row.counts
        for cell in row.cells or ():
            values = (cell[name] for name in ("generated", "held_out", "z", "p", "copied", "excess"))
            yield *subject, cell["cell"] + 1, *values


def _labels(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in judgement_rows.labels(session, state.competition.id):
        reviewer = names.of_optional("person", row.reviewer_id)
        submission = names.of("submission", row.submission_ref)
        yield submission, row.source, reviewer, row.label, row.intent, row.counts, row.created_at


def _thresholds(session: Session, state: CompetitionState, _: Pseudonyms) -> Iterator[TableRow]:
    for row in judgement_rows.thresholds(session, state.competition.id):
        statistics = [row.choice.get(name) for name in CHOICE_NUMBERS]
        confusion = [(row.choice.get("confusion") or {}).get(name) for name in CONFUSION]
        yield row.track, row.tau, row.method, *statistics, *confusion, row.counts, row.created_at


def _rulings(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    for row in judgement_rows.rulings(session, state.competition.id):
        submission = names.of("submission", row.submission_ref)
        yield submission, row.kind, row.memorising, row.counts, row.appealed, row.granted, row.created_at


def _ranks(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    competition = state.competition
    for kind in TRACK_KINDS:
        certain = {place.rank: place for place in uncertain_places(session, state, kind)}
        for rank, row in enumerate(rows_of(session, competition, state.tracks, kind).stream(), start=1):
            award = award_of(rank, kind, medals=competition.medals, prizes=())
            medal = award.medal if kind == "private" else None
            team, entry = names.of("team", row.team_id), names.of("submission", row.ref)
            values = row.score, row.fid, row.memorization_distance, row.penalised, medal
            yield kind, rank, team, entry, *values, *_uncertainty(certain.get(rank))


def _uncertainty(place: UncertainPlace | None) -> TableRow:
    if place is None:
        return (None,) * (3 + len(MEDALS))
    medals = (None if place.medals is None else place.medals.get(medal) for medal in MEDALS)
    return place.standard_error, place.first_rank, place.last_rank, *medals


def _ratings(session: Session, state: CompetitionState, names: Pseudonyms) -> Iterator[TableRow]:
    studies: dict[int, int] = {}
    items: dict[int, dict[int, int]] = {}
    for row in entry_rows.ratings(session, state.competition.id):
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
        "labels": _labels,
        "thresholds": _thresholds,
        "rulings": _rulings,
        "ranks": _ranks,
        "ratings": _ratings,
    }
)
