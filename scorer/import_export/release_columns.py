"""The columns of the tables of a data release, with their meanings.

No name, handle, address, note, reason or file name is in them: a release holds only the columns listed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from scorer.ranking.awards import MEDALS

ColumnKind = Literal["text", "int", "float", "bool", "time", "ints"]
CHOICE_NUMBERS = ("memorization_margin", "auc", "cohens_d", "held_out_distance")
"""The statistics of a choice of tau that a release holds."""
CONFUSION = ("true_positives", "false_negatives", "false_positives", "true_negatives")


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, the kind of its values, and their meaning."""

    name: str
    kind: ColumnKind
    meaning: str
    nullable: bool = False
    pseudonym_of: str | None = None
    """What its values are pseudonyms of (:meth:`scorer.import_export.release_tables.Pseudonyms.of`), if they are."""


def _nullable(name: str, kind: ColumnKind, meaning: str, *, pseudonym_of: str | None = None) -> Column:
    return Column(name, kind, meaning, nullable=True, pseudonym_of=pseudonym_of)


SUBMISSION = Column("submission", "text", "Pseudonym of the entry.", pseudonym_of="submission")
TEAM = Column("team", "text", "Pseudonym of the team that the entry belongs to, after merges.", pseudonym_of="team")
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
            _nullable(
                *("images", "text", "Pseudonym of its pixels: equal for entries with the same images."),
                pseudonym_of="images",
            ),
            _nullable("exact_copies", "int", "Images that equal a training image, pixel by pixel."),
            _nullable("mirrored_copies", "int", "Images that equal a mirrored training image."),
            _nullable("copied_share", "float", "Share of its images that are one of the two."),
            _nullable("label", "text", "Decided label: legitimate, mgan, sup, ae, aug or other; null: not reviewed."),
            _nullable("ruling", "text", "Newest ruling: keep, disqualify or waive (the penalty); null: none."),
        ),
        "measurements": (
            SUBMISSION,
            TRACK,
            Column("extractor", "text", "Extractor whose features were compared, name@version."),
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
            _nullable("weights_sha256", "text", "SHA-256 of the extractor's weights."),
            _nullable("reference", "text", "Address of the prepared reference: equal for equal inputs."),
            _nullable("device", "text", "What it was computed on."),
            _nullable("precision", "text", "Arithmetic of the extractor."),
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
            _nullable("error_kind", "text", "sampling: its spread over new images; null: its spread by chance."),
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
        "shown_measurements": (
            SUBMISSION,
            Column("name", "text", "Of the shown track: a number beside the ranked ones, which ranks nothing."),
            Column("metric", "text", "What was computed, such as fid or kid."),
            Column("constants", "text", "Its constants, as JSON."),
            Column("extractor", "text", "Extractor whose features were compared, name@version."),
            Column("better", "text", "Which values are better: lower or higher."),
            Column("reference", "text", "Track whose references it was computed against: public or private."),
            Column("scorer_version", "text", "Version of the code that measured."),
            COUNTS,
            _nullable("value", "float", "The number; null where the metric gives none, as the MiFID of a copy."),
            _nullable("standard_error", "float", "Over the choice of the generated images; null where unknown."),
            _nullable("weights_sha256", "text", "SHA-256 of the extractor's weights."),
            Column("measured_at", "time", "When."),
        ),
        "labels": (
            SUBMISSION,
            Column("source", "text", "decided (what counts), review (one reviewer's) or early (an early label)."),
            _nullable("reviewer", "text", "Pseudonym of the reviewer, for reviews.", pseudonym_of="person"),
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
                *("standard_error", "float"),
                "Of the score, over new images, penalised or not as measured; null beyond the first 500 ranks, too.",
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
            Column("rater", "text", "Pseudonym of the rater.", pseudonym_of="rater"),
            Column("rater_kind", "text", "member (has an account) or invited (by a link)."),
            Column("value", "int", "1 (not at all) to 5 (entirely)."),
            Column("rated_at", "time", "When."),
        ),
    }
)
