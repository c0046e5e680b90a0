"""What the tests for copying say of each of the demo's entries, and whether each is flagged for the right reason."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from deploy.client.api import Client
from deploy.demo.entries import DemoEntry
from scorer.lifecycle import TRACK_KINDS, UNFINISHED, JobState

EvidenceByTrack = Mapping[str, Mapping[str, Any]]
"""An entry's evidence by track, as the API gives it."""


def wait_for_evidence(
    organizer: Client, submission_ids: Sequence[str], console: Console, *, every: float = 1.0
) -> dict[str, EvidenceByTrack]:
    """The evidence of every entry, once all of it is there; asked for ``every`` so many seconds."""
    found: dict[str, EvidenceByTrack] = {}
    with console.status("looking for evidence of copying") as status:
        while len(found) < len(submission_ids):
            for each in [each for each in submission_ids if each not in found]:
                here: EvidenceByTrack = {
                    track: organizer.get(f"/submissions/{each}/evidence/{track}") for track in TRACK_KINDS
                }
                if not any(evidence["state"] in UNFINISHED for evidence in here.values()):
                    found[each] = here
            status.update(f"evidence of copying: {len(found)} of {len(submission_ids)} entries")
            time.sleep(every)
    return found


def evidence_table(found: Mapping[str, EvidenceByTrack], entries: Mapping[str, DemoEntry]) -> Table:
    """Each entry with the signs of copying that its evidence shows, and on which track."""
    shown = Table(title="Signs of copying", title_justify="left", title_style="bold")
    for column in ("team", "kind", *TRACK_KINDS):
        shown.add_column(column)
    for submission_id, evidence in found.items():
        signs = [", ".join(_sign_names(each)) or "none" for each in evidence.values()]
        entry = entries[submission_id]
        shown.add_row(entry.team, entry.kind, *signs, style="dim" if signs == ["none", "none"] else None)
    return shown


def _sign_names(evidence: Mapping[str, Any]) -> list[str]:
    if evidence["state"] != JobState.DONE:
        return [evidence["state"]]
    return [sign["name"].replace("-", " ") for sign in evidence["signs"]]


def expected_sign_lines(found: Mapping[str, EvidenceByTrack], entries: Mapping[str, DemoEntry]) -> list[str]:
    """The reason that each entry is expected to be flagged for, in the words of its evidence."""
    lines = []
    for submission_id, evidence in found.items():
        entry, words = entries[submission_id], _sign_sentences(evidence)
        lines += [f"{entry.team} ({name.replace('-', ' ')}): {words[name]}" for name in entry.shows if name in words]
    return lines


def _sign_sentences(evidence: EvidenceByTrack) -> dict[str, str]:
    return {sign["name"]: sign["words"] for each in evidence.values() for sign in each["signs"]}


def unexpected_evidence(found: Mapping[str, EvidenceByTrack], entries: Mapping[str, DemoEntry]) -> list[str]:
    """Entries whose evidence could not be found, that do not show what they should, or that are honest and show
    anything."""
    wrong = []
    for submission_id, evidence in found.items():
        entry, signs = entries[submission_id], _sign_sentences(evidence)
        failed = [track for track, each in evidence.items() if each["state"] != JobState.DONE]
        missing = [name for name in entry.shows if name not in signs]
        wrong += [f"{entry.team}: its {track} evidence is {evidence[track]['state']}" for track in failed]
        wrong += [f"{entry.team}: its evidence does not show {name}" for name in missing]
        if entry.label == "legitimate" and signs:
            wrong.append(f"{entry.team}: it is honest, and its evidence shows {', '.join(signs)}")
    return wrong
