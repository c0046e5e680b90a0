"""Evidence of copying: responses, and how they are made."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.schemas.review.review_queue import ReasonView
from scorer.db.tables import Account, Submission
from scorer.evidence import visibility
from scorer.evidence.examples import ExamplePair
from scorer.evidence.visibility import VisibleEvidence
from scorer.findings.signs import sentence_of
from scorer.lifecycle import JobState, TrackKind


class FindingView(BaseModel):
    """One number of one test, and what it says."""

    test: str = Field(description="The method: docs/explanation/evidence.md lists them.", examples=["data-copying"])
    name: str = Field(examples=["c_t"])
    value: float | None = Field(description="null where the test could not be made: the sentence says why.")
    unit: str = Field(examples=["standard deviations"])
    direction: str = Field(examples=["0 is best; far below 0 is copying"])
    sentence: str
    standard_error: float | None = Field(description="As the test's own module describes it; null where it has none.")
    p_value: float | None


class MatchView(BaseModel):
    """An image of the entry, and a training image; of `repeats`, `identical` and `mirrored-twins`, another image of the
    entry."""

    generated: str = Field(description="Its name in the zip.")
    other: str
    distance: float
    mirrored: bool = Field(description="Whether the other image is the match with left and right exchanged.")


class MatchesView(BaseModel):
    """Pairs of images, the most telling first."""

    name: str = Field(examples=["near-copies", "cell-3"])
    pairs: list[MatchView]
    picture: str = Field(
        description="Address of a PNG with all of them, in order: the entry's images above, below each the other one."
    )


class CellView(BaseModel):
    """A region of the training images."""

    number: int = Field(description="From 1.")
    generated: int = Field(description="Images of the entry in it.")
    held_out: int = Field(description="Held-out photographs in it.")
    z: float | None = Field(description="The rank sum in standard deviations; null where there are too few images.")
    p_value: float | None
    copied: bool = Field(description="Whether its images are too close to the training images.")
    excess: float = Field(description="Z of the number of the entry's images in it; above 0 is too many.")
    examples: MatchesView | None


class EvidenceView(BaseModel):
    """What the tests for copying, and those beside them, found of an entry on a track."""

    submission_id: str
    track: TrackKind
    state: Literal["none", "waiting", "running", "done", "failed"] = Field(
        description="Of the newest work on it; what was found before is shown meanwhile."
    )
    stage: str | None = Field(description="Of running work.")
    fraction: float | None
    error: str | None = Field(description="Why the work failed; for organizers and reviewers.")
    found_at: datetime | None
    outdated: bool = Field(description="Whether it is of an earlier measurement than the newest.")
    seed: int | None = Field(description="Of everything that was drawn.")
    signs: list[ReasonView] = Field(description="What of it speaks of copying, the most telling first.")
    findings: list[FindingView]
    cells: list[CellView]
    matches: list[MatchesView] = Field(description="The images that it is about; for the entry's team and at the desk.")


def evidence_view(session: Session, submission: Submission, kind: TrackKind, account: Account | None) -> EvidenceView:
    """The evidence of an entry on a track, for somebody who may see it at all."""
    found = visibility.visible_evidence(session, submission, kind, account)
    matches = {name: _matches(found, name, group) for name, group in found.groups.items()}
    running = found.job if found.state == JobState.RUNNING else None
    evidence = found.evidence
    cells = evidence.details.get("cells", ()) if evidence is not None else ()
    return EvidenceView.model_validate(
        {
            "submission_id": found.submission.id,
            "track": kind,
            "state": found.state,
            "stage": running.stage if running else None,
            "fraction": running.fraction if running else None,
            "error": found.job.error if found.job and found.state == JobState.FAILED and found.inside else None,
            "found_at": evidence.created_at if evidence else None,
            "outdated": found.outdated,
            "seed": evidence.seed if evidence else None,
            "signs": _signs(found),
            "findings": [FindingView.model_validate(each) for each in evidence.findings] if evidence else [],
            "cells": [_cell(each, matches) for each in cells],
            "matches": [each for name, each in matches.items() if not name.startswith("cell-")],
        }
    )


def _signs(found: VisibleEvidence) -> list[ReasonView]:
    if found.evidence is None:
        return []
    return [ReasonView(name=each.name, words=sentence_of(each, found.evidence.findings)) for each in found.signs]


def _matches(found: VisibleEvidence, name: str, group: Sequence[ExamplePair]) -> MatchesView:
    pairs = [
        MatchView(generated=each.image, other=each.other, distance=each.distance, mirrored=each.mirrored)
        for each in group
    ]
    picture = f"/api/v1/submissions/{found.submission.id}/evidence/{found.track}/{name}{_version(found)}"
    return MatchesView(name=name, pairs=pairs, picture=picture)


def _version(found: VisibleEvidence) -> str:
    """Browsers keep a picture for ever: that of other evidence has another address."""
    return f"?of={found.evidence.id}" if found.evidence is not None else ""


def _cell(cell: Mapping[str, Any], matches: Mapping[str, MatchesView]) -> CellView:
    number = cell["cell"] + 1
    return CellView(
        number=number,
        generated=cell["generated"],
        held_out=cell["held_out"],
        z=cell["z"],
        p_value=cell["p"],
        copied=cell["copied"],
        excess=cell["excess"],
        examples=matches.get(f"cell-{number}"),
    )
