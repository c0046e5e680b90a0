"""Schemas of evidence, and how responses are made."""

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
from scorer.findings.signs import sentence_of
from scorer.findings.summary import Summary
from scorer.lifecycle import JobState, TrackKind
from scorer.review.review_queue import FlagReason


class FindingView(BaseModel):
    """One quantity of one test, and a sentence about it."""

    test: str = Field(description="The method: docs/explanation/evidence.md lists them.", examples=["data-copying"])
    name: str = Field(examples=["c_t"])
    value: float | None = Field(description="null where the test could not be made: the sentence says why.")
    unit: str = Field(examples=["standard deviations"])
    direction: str = Field(examples=["0 is best; far below 0 is copying"])
    sentence: str
    standard_error: float | None = Field(description="null where there is none.")
    error_kind: ErrorKind | None = Field(
        description="What the standard error is the spread of. sampling: the value over new images of the same"
        " generator. null: the value around what chance makes, if the test's hypothesis holds.",
    )
    interval_coverage: float | None = Field(description=INTERVAL_COVERAGE)
    p_value: float | None


class MatchView(BaseModel):
    """An image of the entry and a training image; in `repeats`, `identical` and `mirrored-twins`, two images of the
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
    held_out: int = Field(description="Held-out images in it.")
    z: float | None = Field(description="The rank sum in standard deviations; null where there are too few images.")
    p_value: float | None
    copied: bool = Field(description="Whether its images are too close to the training images.")
    excess: float = Field(description="Z of the number of the entry's images in it; above 0 is too many.")
    examples: MatchesView | None


class EvidenceView(BaseModel):
    """The findings of every test on an entry and track."""

    submission_id: str
    track: TrackKind
    state: Literal["none", "waiting", "running", "done", "failed"] = Field(
        description="Of the newest job for it; earlier findings are shown meanwhile."
    )
    stage: str | None = Field(description="Of a running job.")
    fraction: float | None
    error: str | None = Field(description="Why the job failed; for organizers and reviewers.")
    found_at: datetime | None
    outdated: bool = Field(description="Whether it belongs to an earlier measurement than the newest.")
    seed: int | None = Field(description="Of all random draws.")
    summary: Summary | None = Field(description="null where there is no evidence.")
    signs: list[FlagReason] = Field(description="The signs of copying in it, the strongest first.")
    findings: list[FindingView]
    cells: list[CellView]
    matches: list[MatchesView] = Field(description="The images concerned; for reviewers, organizers and the team.")
    shown: list[ShownNumberView] = Field(
        description="The entry's numbers on shown tracks with this track's references that you may see."
    )


def evidence_view(
    session: Session, submission: Submission, kind: TrackKind, *, account: Account | None
) -> EvidenceView:
    """The evidence of an entry on a track, for a person who may see it at all."""
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
            "findings": [FindingView.model_validate(each) for each in evidence.findings] if evidence else [],
            "cells": [_cell(each, matches) for each in cells],
            "matches": [each for name, each in matches.items() if not name.startswith("cell-")],
            "shown": [each for each in shown if each.reference == kind],
        }
    )


def _signs(visible: VisibleEvidence) -> list[FlagReason]:
    findings = visible.evidence.findings if visible.evidence is not None else ()
    return [FlagReason(sign.name, sentence_of(sign, findings)) for sign in visible.signs]


def _matches(visible: VisibleEvidence, name: str, group: Sequence[ExamplePair]) -> MatchesView:
    pairs = [
        MatchView(generated=each.image, other=each.other, distance=each.distance, mirrored=each.mirrored)
        for each in group
    ]
    picture = f"/api/v1/submissions/{visible.submission.id}/evidence/{visible.track}/{name}{_version(visible)}"
    return MatchesView(name=name, pairs=pairs, picture=picture)


def _version(visible: VisibleEvidence) -> str:
    """A query that makes the picture's address change with the evidence: browsers cache pictures for ever."""
    return f"?of={visible.evidence.id}" if visible.evidence is not None else ""


def _cell(cell: Mapping[str, Any], matches: Mapping[str, MatchesView]) -> CellView:
    number = cell["cell"] + 1
    more = {"number": number, "p_value": cell["p"], "examples": matches.get(f"cell-{number}")}
    return CellView.model_validate({**cell, **more})
