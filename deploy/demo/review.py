"""The demo's review: two reviewers label the memoriser that the threshold misses, and the organizer disqualifies it."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from deploy.demo.accounts import REVIEWERS, new_token, reviewer_handle
from deploy.demo.entries import DemoEntry
from deploy.standalone.service import RunningService
from kennel_client.api import ApiClient

REVIEW_NOTE = "Every image has a training image beside it that it blurs."
DISQUALIFY_REASON = (
    "Both reviewers find training images, put through an autoencoder. They are not generated, so the entry breaks the "
    "rules although its distance is above tau."
)


def escaped_memoriser(entries: Mapping[str, DemoEntry], board: Mapping[str, Any]) -> str | None:
    """The id of the best unpenalised entry on the board that is known to memorise; None without one."""
    free = (line["submission_id"] for line in board["entries"] if not line["penalised"])
    return next((each for each in free if is_for_reviewers(entries.get(each))), None)


def is_for_reviewers(entry: DemoEntry | None) -> bool:
    """Whether an entry memorises and no threshold is expected to penalise it, so that reviewers must find it."""
    return entry is not None and entry.expected == "escapes" and entry.label is not None


def review_and_rule(
    organizer: ApiClient, running: RunningService, slug: str, submission_id: str, label: str, console: Console
) -> None:
    """Two reviewers label the entry independently, and the organizer disqualifies it; prints each step."""
    for number, name in enumerate(REVIEWERS, 1):
        token = new_token(running.settings, reviewer_handle(slug, number), "participant")
        with ApiClient(running.url, token) as reviewer:
            if number == 1:
                _print_flags(reviewer, slug, submission_id, console)
            review = reviewer.post(f"/submissions/{submission_id}/reviews", {"label": label, "note": REVIEW_NOTE})
        console.print(f"  {name} says [bold]{label}[/]{_outcome(review)}")
    organizer.post(f"/submissions/{submission_id}/rulings", {"kind": "disqualify", "reason": DISQUALIFY_REASON})
    console.print(f"  The organizer disqualifies it: {DISQUALIFY_REASON}")


def _print_flags(reviewer: ApiClient, slug: str, submission_id: str, console: Console) -> None:
    desk = reviewer.get(f"/competitions/{slug}/desk", limit=200)
    console.print(f"\nAt the review desk {len(desk['entries'])} entries are flagged.")
    for place, entry in enumerate(desk["entries"], 1):
        if entry["submission_id"] == submission_id:
            console.print(f"Number {place} of them is {entry['team']}:")
            for reason in entry["reasons"]:
                console.print(f"  {reason['words']}")


def _outcome(review: Mapping[str, Any]) -> str:
    if review["decided"] is not None:
        return "; they agree, so the label is decided."
    return " (the other one does not see that)."


def rank_moves(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[str]:
    """The teams whose rank differs between two boards: ``Team 3 -> 2``; ``Team 2 -> -`` for one without a rank now."""
    ranks = {line["team"]: line["rank"] for line in after}
    return [
        f"{line['team']} {line['rank']} -> {ranks.get(line['team'], '-')}"
        for line in before
        if ranks.get(line["team"]) != line["rank"]
    ]
