"""The columns of the tables of a data release, with their meanings.

A release has only the columns listed here. No name, handle, address, note, reason or file name is among them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from scorer.ranking.awards import MEDALS

ColumnKind = Literal["text", "int", "float", "bool", "time", "ints"]
CHOICE_NUMBERS = ("memorization_margin", "auc", "cohens_d", "held_out_distance")
"""The statistics of a choice of tau that are in a release."""
CONFUSION = ("true_positives", "false_negatives", "false_positives", "true_negatives")


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, the kind of its values, and their meaning."""

    name: str
    kind: ColumnKind
    meaning: str
    nullable: bool = False
    pseudonym_kind: str | None = None
    """The kind of thing that the values are pseudonyms of (:meth:`scorer.import_export.release_tables.Pseudonyms.of`);
    None if they are no pseudonyms."""


def _nullable(name: str, kind: ColumnKind, meaning: str, *, pseudonym_kind: str | None = None) -> Column:
    return Column(name, kind, meaning, nullable=True, pseudonym_kind=pseudonym_kind)


SUBMISSION = Column("submission", "text", "Pseudonym of the entry.", pseudonym_kind="submission")
TEAM = Column("team", "text", "Pseudonym of the entry's team, after merges.", pseudonym_kind="team")
COUNTS = Column("counts", "bool", "Whether it counts, because it is the newest of its kind.")
TRACK = Column("track", "text", "public or private.")
FID_SPREAD = _nullable("fid_spread", "float", "Standard deviation of fid over draws. Null for one draw, and for a zip.")

TABLES: Mapping[str, tuple[Column, ...]] = MappingProxyType(
    {
        "submissions": (
            SUBMISSION,
            TEAM,
            Column("benchmark", "bool", "Whether it is a benchmark entry of the organizers, which has no rank."),
            Column("status", "text", "scored, rejected, failed or cancelled. Any other value: not finished."),
            Column("late", "bool", "Whether it is a late entry, which only the board of late entries shows."),
            Column("picked", "bool", "Whether it is a final pick of the team."),
            Column("accepted_at", "time", "When its last byte arrived."),
            Column("bytes", "int", "Size of its zip."),
            _nullable("images", "text", "Pseudonym of its pixels, equal for equal images.", pseudonym_kind="images"),
            _nullable("exact_copies", "int", "Images that equal a training image, pixel by pixel."),
            _nullable("mirrored_copies", "int", "Images that equal a mirrored training image."),
            _nullable("copied_share", "float", "Share of its images that equal an upright or mirrored training image."),
            _nullable("label", "text", "Decided label: legitimate, mgan, sup, ae, aug or other. Null: none."),
            _nullable("ruling", "text", "Newest ruling: keep, disqualify or waive (the penalty). Null: none."),
        ),
        "measurements": (
            SUBMISSION,
            TRACK,
            Column("extractor", "text", "Extractor of the compared features, name@version."),
            Column("scorer_version", "text", "Version of the scorer that measured it."),
            COUNTS,
            Column("fid", "float", "Frechet distance between the features of the entry and of the reference."),
            Column("memorization_distance", "float", "Mean cosine distance to the nearest training image, 0 to 2."),
            _nullable("distance_se", "float", "Standard error of the memorization distance."),
            FID_SPREAD,
            _nullable("tau", "float", "Threshold that applies to it, 0 for benchmarks. Null if it does not count."),
            _nullable("copy", "bool", "Whether it is a copy, which has no score. Null if it does not count."),
            _nullable("penalised", "bool", "Whether its distance is below tau. Null if it does not count."),
            _nullable("mifid", "float", "Score; lower is better. Null for a copy, or if it does not count."),
            _nullable("histogram_low", "float", "Lower end of the histogram of nearest distances, one per image."),
            _nullable("histogram_high", "float", "Upper end of the histogram."),
            _nullable("histogram_counts", "ints", "Number of images in each of the equal bins between the two ends."),
            _nullable("weights_sha256", "text", "SHA-256 of the extractor's weights."),
            _nullable("reference", "text", "Key of the prepared reference, equal for equal inputs."),
            _nullable("device", "text", "Device that computed it."),
            _nullable("precision", "text", "Arithmetic of the extractor."),
            Column("measured_at", "time", "When it was measured."),
        ),
        "evidence": (
            SUBMISSION,
            TRACK,
            COUNTS,
            Column("test", "text", "Test method."),
            Column("name", "text", "Quantity of the test method."),
            _nullable("value", "float", "Value of the quantity. Null if there were too few images."),
            Column("unit", "text", "Unit of the value."),
            Column("direction", "text", "The values of a good entry, and those that indicate copying."),
            _nullable("standard_error", "float", "Standard error of the value. Null if it has none."),
            _nullable("error_kind", "text", "sampling: spread over new images. Null: spread by chance alone."),
            _nullable("p_value", "float", "p-value as described by the method. Null if it has none."),
            Column("found_at", "time", "When the evidence was computed."),
        ),
        "cells": (
            SUBMISSION,
            TRACK,
            COUNTS,
            Column("cell", "int", "Number of the region in the feature space of the training images, from 1."),
            Column("generated", "int", "Number of the entry's images in the region."),
            Column("held_out", "int", "Number of held-out images in the region."),
            _nullable("z", "float", "Rank-sum z of the distances to the training images. Far below 0: copying."),
            _nullable("p_value", "float", "One-sided p-value for copying."),
            Column("copied", "bool", "Whether its images are closer to the training images than chance explains."),
            Column("excess", "float", "z of the number of its images in the region. Above 0: more than expected."),
        ),
        "shown_measurements": (
            SUBMISSION,
            Column("name", "text", "Name of the shown track, which does not affect ranks."),
            Column("metric", "text", "Metric, such as fid or kid."),
            Column("constants", "text", "Constants of the metric, as JSON."),
            Column("extractor", "text", "Extractor of the compared features, name@version."),
            Column("better", "text", "Whether lower or higher values are better."),
            Column("reference", "text", "Track of the references that it was computed against: public or private."),
            Column("scorer_version", "text", "Version of the scorer that measured it."),
            COUNTS,
            _nullable("value", "float", "Value of the metric. Null if there is none, as for the MiFID of a copy."),
            _nullable("standard_error", "float", "Standard error over the choice of images. Null if unknown."),
            _nullable("weights_sha256", "text", "SHA-256 of the extractor's weights."),
            Column("measured_at", "time", "When it was measured."),
        ),
        "labels": (
            SUBMISSION,
            Column("source", "text", "decided (the label that counts), review (by one reviewer) or early."),
            _nullable("reviewer", "text", "Pseudonym of the reviewer, for reviews.", pseudonym_kind="person"),
            Column("label", "text", "legitimate, mgan, sup, ae, aug or other."),
            _nullable("intent", "text", "Intent in a review: intended, unintended or unclear."),
            COUNTS,
            Column("given_at", "time", "When the label was given."),
        ),
        "thresholds": (
            TRACK,
            Column("tau", "float", "Threshold. Entries with a memorization distance below it are penalised."),
            Column("method", "text", "Method that chose it."),
            *(_nullable(name, "float", f"{name} as computed by the method.") for name in CHOICE_NUMBERS),
            *(_nullable(name, "int", f"{name} according to the decided labels at that time.") for name in CONFUSION),
            COUNTS,
            Column("chosen_at", "time", "When it was chosen."),
        ),
        "rulings": (
            SUBMISSION,
            Column("ruling", "text", "keep, disqualify or waive (the penalty)."),
            _nullable("memorising", "bool", "Whether an entry labelled `other` counts as memorising for tau."),
            COUNTS,
            Column("appealed", "bool", "Whether the team appealed against it."),
            _nullable("granted", "bool", "Whether the rebuttal was granted. Null: no rebuttal, or no answer."),
            Column("ruled_at", "time", "When the ruling was made."),
        ),
        "ranks": (
            TRACK,
            Column("rank", "int", "Rank from 1. Teams without a score have no row."),
            TEAM,
            SUBMISSION,
            Column("score", "float", "MiFID, rounded as in the ranking; lower is better."),
            Column("fid", "float", "Frechet distance of the entry."),
            FID_SPREAD,
            Column("memorization_distance", "float", "Memorization distance of the entry."),
            Column("penalised", "bool", "Whether the entry is penalised."),
            _nullable("medal", "text", "On the private track: gold, silver or bronze."),
            _nullable("standard_error", "float", "Standard error of the score. Null if unknown or beyond rank 500."),
            _nullable("first_rank", "int", "First rank of the 95 % interval of the rank."),
            _nullable("last_rank", "int", "Last rank of the 95 % interval of the rank."),
            *(_nullable(f"{medal}_probability", "float", f"Probability of a {medal} medal.") for medal in MEDALS),
        ),
        "ratings": (
            Column("study", "int", "Number of the rating study in the competition, from 1."),
            Column("kind", "text", "realism (of one image) or diversity (of a grid of images)."),
            Column("item", "int", "Number of the item in the study, from 1."),
            SUBMISSION,
            Column("image_indexes", "ints", "Indices of the images shown, from 0 in the order of their names."),
            Column("rater", "text", "Pseudonym of the rater.", pseudonym_kind="rater"),
            Column("rater_kind", "text", "member (has an account) or invited (by a link)."),
            Column("value", "int", "Rating from 1 (not at all) to 5 (entirely)."),
            Column("rated_at", "time", "When the rating was given."),
        ),
    }
)
