"""Evidence of the demo's entries, and whether each entry shows the expected signs of copying."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from deploy.demo.entries import DemoEntry
from kennel_client.api import ApiClient
from kennel_client.waiting import wait_until
from scorer.lifecycle import UNFINISHED, JobState, TrackKind

EvidenceByTrack = Mapping[str, Mapping[str, Any]]
"""An entry's evidence by track, as in the API."""


def wait_for_evidence(
    organizer: ApiClient,
    submission_ids: Sequence[str],
    tracks: Sequence[TrackKind],
    *,
    console: Console,
) -> dict[str, EvidenceByTrack]:
    """Wait for the evidence of these entries on these tracks; returns it by submission ID."""
    by_entry: dict[str, EvidenceByTrack] = {}
    with console.status("waiting for evidence of copying") as status:
        for submission_id in submission_ids:
            by_entry[submission_id] = {
                track: organizer.run(wait_until(f"/submissions/{submission_id}/evidence/{track}", _is_over, every=1.0))
                for track in tracks
            }
            status.update(f"evidence of copying: {len(by_entry)} of {len(submission_ids)} entries")
    return by_entry


def _is_over(evidence: Mapping[str, Any]) -> bool:
    return evidence["state"] not in UNFINISHED


def evidence_table(by_entry: Mapping[str, EvidenceByTrack], entries: Mapping[str, DemoEntry]) -> Table:
    """A table of entries with the signs of copying in their evidence, by track."""
    table = Table(title="Signs of copying", title_justify="left", title_style="bold")
    for column in ("team", "kind", *next(iter(by_entry.values()), ())):
        table.add_column(column)
    for submission_id, evidence in by_entry.items():
        signs = [", ".join(_sign_names(view)) or "none" for view in evidence.values()]
        entry = entries[submission_id]
        table.add_row(entry.team, entry.kind, *signs, style="dim" if set(signs) == {"none"} else None)
    return table


def _sign_names(evidence: Mapping[str, Any]) -> list[str]:
    if evidence["state"] != JobState.DONE:
        return [evidence["state"]]
    return [sign["name"].replace("-", " ") for sign in evidence["signs"]]


def expected_sign_lines(by_entry: Mapping[str, EvidenceByTrack], entries: Mapping[str, DemoEntry]) -> list[str]:
    """For each entry, the sentence in its evidence about each expected sign."""
    lines = []
    for submission_id, evidence in by_entry.items():
        entry = entries[submission_id]
        sentences = _sign_sentences(evidence)
        lines += [
            f"{entry.team} ({name.replace('-', ' ')}): {sentences[name]}"
            for name in entry.expected_signs
            if name in sentences
        ]
    return lines


def _sign_sentences(evidence: EvidenceByTrack) -> dict[str, str]:
    return {sign["name"]: sign["words"] for view in evidence.values() for sign in view["signs"]}


def unexpected_evidence(by_entry: Mapping[str, EvidenceByTrack], entries: Mapping[str, DemoEntry]) -> list[str]:
    """A sentence for each entry with failed evidence, a missing expected sign or, if it is legitimate, another sign."""
    surprises = []
    for submission_id, evidence in by_entry.items():
        entry = entries[submission_id]
        signs = _sign_sentences(evidence)
        failed = [track for track, view in evidence.items() if view["state"] != JobState.DONE]
        missing = [name for name in entry.expected_signs if name not in signs]
        surprises += [f"{entry.team}: its {track} evidence is {evidence[track]['state']}" for track in failed]
        surprises += [f"{entry.team}: its evidence does not show {name}" for name in missing]
        others = [name for name in signs if name not in entry.expected_signs]
        if entry.label == "legitimate" and others:
            surprises.append(f"{entry.team}: it is honest, but its evidence shows {', '.join(others)}")
    return surprises
