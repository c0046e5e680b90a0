"""Schemas of evidence."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from api.http.views import INTERVAL_COVERAGE, ShownNumberView, shown_numbers
from scorer.db.tables import Account, Submission
from scorer.evidence import visibility
from scorer.evidence.examples import ExamplePair
from scorer.evidence.visibility import VisibleEvidence
from scorer.findings.finding import ErrorKind
from scorer.findings.signs import find_sentence
from scorer.findings.summary import Summary
from scorer.lifecycle import JobState, TrackKind
from scorer.review.review_queue import FlagReason


class FindingView(BaseModel):
    """A quantity of a test, and a sentence about it."""

    test: str = Field(
        description="The method. docs/explanation/evidence.md lists all methods.", examples=["data-copying"]
    )
    name: str = Field(examples=["c_t"])
    value: float | None = Field(description="Null if the test was not possible; `sentence` gives the reason.")
    unit: str = Field(examples=["standard deviations"])
    direction: str = Field(examples=["0 is best; far below indicates copying"])
    sentence: str
    standard_error: float | None = Field(description="Null if there is none.")
    error_kind: ErrorKind | None = Field(
        description="What the standard error measures. `sampling`: how the value varies with new images of the same"
        " generator. `null`: how it varies by chance under the test's null hypothesis.",
    )
    interval_coverage: float | None = Field(description=INTERVAL_COVERAGE)
    p_value: float | None


class MatchView(BaseModel):
    """An image of the submission and a training image; in `repeats`, `identical` and `mirrored-twins`, two images of
    the submission."""

    generated: str = Field(description="The name of the image in the zip.")
    other: str
    distance: float
    mirrored: bool = Field(description="Whether the other image matches with left and right swapped.")


class MatchesView(BaseModel):
    """Pairs of images, strongest evidence first."""

    name: str = Field(examples=["near-copies", "cell-3"])
    pairs: list[MatchView]
    picture: str = Field(
        description="The URL of a PNG with all pairs in order: each image of the submission above its match."
    )


class CellView(BaseModel):
    """A region of the training images."""

    number: int = Field(description="The number of the region, from 1.")
    generated: int = Field(description="The number of the submission's images in the region.")
    held_out: int = Field(description="The number of held-out images in the region.")
    z: float | None = Field(description="The rank sum in standard deviations; null if there are too few images.")
    p_value: float | None
    copied: bool = Field(description="Whether the images are too close to the training images.")
    excess: float = Field(description="The Z of the number of the submission's images; above 0 means too many.")
    examples: MatchesView | None


class EvidenceView(BaseModel):
    """The findings of all tests on a submission and track."""

    submission_id: str
    track: TrackKind
    state: Literal["none", "waiting", "running", "done", "failed"] = Field(
        description="The state of the newest job. Until it is done, earlier findings are shown."
    )
    stage: str | None = Field(description="The stage of a running job.")
    fraction: float | None
    error: str | None = Field(description="Why the job failed. For organizers and reviewers.")
    found_at: datetime | None
    outdated: bool = Field(description="Whether the evidence belongs to an earlier measurement.")
    seed: int | None = Field(description="The seed of all random draws.")
    summary: Summary | None = Field(description="Null without evidence.")
    signs: list[FlagReason] = Field(description="The signs of copying, strongest first.")
    findings: list[FindingView]
    cells: list[CellView]
    matches: list[MatchesView] = Field(description="The matching images. For reviewers, organizers and the team.")
    shown: list[ShownNumberView] = Field(
        description=(
            "The submission's values on the shown tracks that use this track's references, if you can see them."
        )
    )


def evidence_view(
    session: Session, submission: Submission, kind: TrackKind, *, account: Account | None
) -> EvidenceView:
    """The evidence of an entry on a track. The caller checks that the account may see it."""
    visible = visibility.visible_evidence(session, submission, kind, account=account)
    matches = {name: _matches(visible, name, group) for name, group in visible.groups.items()}
    running = visible.job if visible.state == JobState.RUNNING else None
    failed = visible.job if visible.state == JobState.FAILED and visible.inside else None
    evidence = visible.evidence
    cells = evidence.details.get("cells", ()) if evidence is not None else ()
    shown = shown_numbers(session, [submission], account, for_review=visible.inside)[submission.ref]
    return EvidenceView.model_validate(
        {
            "submission_id": visible.submission.id,
            "track": kind,
            "state": visible.state,
            "stage": running.stage if running else None,
            "fraction": running.fraction if running else None,
            "error": failed.error if failed else None,
            "found_at": evidence.created_at if evidence else None,
            "outdated": visible.outdated,
            "seed": evidence.seed if evidence else None,
            "summary": visible.summary,
            "signs": _signs(visible),
            "findings": [FindingView.model_validate(finding) for finding in evidence.findings] if evidence else [],
            "cells": [_cell(cell, matches) for cell in cells],
            "matches": [group for name, group in matches.items() if not name.startswith("cell-")],
            "shown": [number for number in shown if number.reference == kind],
        }
    )


def _signs(visible: VisibleEvidence) -> list[FlagReason]:
    findings = visible.evidence.findings if visible.evidence is not None else ()
    return [FlagReason(sign.name, find_sentence(sign, findings)) for sign in visible.signs]


def _matches(visible: VisibleEvidence, name: str, group: Sequence[ExamplePair]) -> MatchesView:
    pairs = [
        MatchView(generated=pair.image, other=pair.other, distance=pair.distance, mirrored=pair.mirrored)
        for pair in group
    ]
    picture = f"/api/v1/submissions/{visible.submission.id}/evidence/{visible.track}/{name}"
    # Browsers cache the picture forever, so its address changes with the evidence.
    version = f"?of={visible.evidence.id}" if visible.evidence is not None else ""
    return MatchesView(name=name, pairs=pairs, picture=picture + version)


def _cell(cell: Mapping[str, Any], matches: Mapping[str, MatchesView]) -> CellView:
    number = cell["cell"] + 1
    more = {"number": number, "p_value": cell["p"], "examples": matches.get(f"cell-{number}")}
    return CellView.model_validate({**cell, **more})
