"""Evidence in the words of the API."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from api.desk_schemas import ReasonView
from api.evidence_schemas import CellView, EvidenceView, FindingView, MatchesView, MatchView
from scorer.db.tables import Account, Submission
from scorer.evidence import visibility
from scorer.evidence.examples import ExamplePair
from scorer.evidence.visibility import VisibleEvidence
from scorer.findings.signs import sentence_of
from scorer.lifecycle import JobState, TrackKind


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
