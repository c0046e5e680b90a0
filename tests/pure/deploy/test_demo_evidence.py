"""The demo's summary of evidence: signs found, signs missing, false alarms and failures."""

from typing import Any

import httpx
from rich.console import Console

from deploy.demo import evidence
from deploy.demo.entries import ENTRIES
from kennel_client.steps import Operation, Request
from scorer.findings.signs import SIGNS
from scorer.lifecycle import TRACK_KINDS

BY_KEY = {entry.key: entry for entry in ENTRIES}


def evidence_with(*signs: str, state: str = "done") -> dict[str, Any]:
    """The evidence of one track."""
    return {"state": state, "signs": [{"name": name, "words": f"The {name} of it."} for name in signs]}


def test_the_table_of_entries_names_existing_signs() -> None:
    assert {name for entry in ENTRIES for name in entry.expected_signs} <= {sign.name for sign in SIGNS}
    honest = {entry.key: entry.expected_signs for entry in ENTRIES if entry.label == "legitimate"}
    assert {key: names for key, names in honest.items() if names} == {}
    assert {BY_KEY[key].expected_signs for key in ("autoencoder", "mirrored-copies")} == {
        ("thumbnail-copies",),
        ("mirrored-copies",),
    }


def test_signs_found_and_signs_missing() -> None:
    keys = ("autoencoder", "gaussian-20", "mirrored-copies", "half-copied", "kernel-wide")
    entries = {key: BY_KEY[key] for key in keys}
    answers = {
        "autoencoder": {"public": evidence_with(), "private": evidence_with("thumbnail-copies", "repeats")},
        "gaussian-20": {"public": evidence_with("repeats"), "private": evidence_with()},
        "mirrored-copies": {"public": evidence_with("near-copies"), "private": evidence_with("near-copies")},
        "half-copied": {
            "public": evidence_with("near-copies", "partly-copied"),
            "private": evidence_with(state="failed"),
        },
        "kernel-wide": {"public": evidence_with("hash-copies", "data-copying"), "private": evidence_with()},
    }
    assert evidence.expected_sign_lines(answers, entries) == [
        "Bottleneck (thumbnail copies): The thumbnail-copies of it.",
        "Half & Half (near copies): The near-copies of it.",
        "Half & Half (partly copied): The partly-copied of it.",
        "Long Leash (hash copies): The hash-copies of it.",
    ]
    assert evidence.unexpected_evidence(answers, entries) == [
        "Gaussian Kennels: it is honest, but its evidence shows repeats",
        "Mirror, Mirror: its evidence does not show mirrored-copies",
        "Half & Half: its private evidence is failed",
    ]
    console = Console(width=110, record=True)
    console.print(evidence.evidence_table(answers, entries))
    text = console.export_text()
    assert "thumbnail copies, repeats" in text
    assert "failed" in text


class Client:
    """A client that gets the state "running" for two requests, and then "done"."""

    def __init__(self) -> None:
        self.requests = 0
        self.paths: list[str] = []

    def run(self, operation: Operation[Any]) -> Any:
        """Take the steps of an operation without pauses."""
        outcome = None
        while True:
            try:
                step = operation.send(outcome)
            except StopIteration as end:
                return end.value
            outcome = self._answer(step.path) if isinstance(step, Request) else None

    def _answer(self, path: str) -> httpx.Response:
        self.requests += 1
        self.paths.append(path)
        assert path.startswith("/submissions/s")
        return httpx.Response(200, json=evidence_with(state="running" if self.requests <= 2 else "done"))


def test_the_demo_waits_for_all_evidence() -> None:
    client: Any = Client()
    answers = evidence.wait_for_evidence(client, ["s1"], TRACK_KINDS, console=Console(quiet=True))
    assert answers["s1"]["private"]["state"] == "done"
    assert client.requests == 4


def test_the_demo_polls_one_unfinished_entry_at_a_time() -> None:
    """Polling all of them every second would exceed the service's rate limit."""
    client: Any = Client()
    answers = evidence.wait_for_evidence(client, ["s1", "s2", "s3"], TRACK_KINDS, console=Console(quiet=True))
    assert set(answers) == {"s1", "s2", "s3"}
    assert [path.split("/")[2] for path in client.paths] == ["s1"] * 4 + ["s2"] * 2 + ["s3"] * 2
