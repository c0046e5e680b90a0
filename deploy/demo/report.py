"""The demo's report: boards, evidence, retuning after labelling, the review of a memoriser above tau, caveats."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from deploy.demo import evidence
from deploy.demo.accounts import REVIEWERS, new_token, reviewer_handle
from deploy.demo.entries import DemoEntry
from deploy.demo.photographs import Photographs
from deploy.demo.plan import DemoPlan
from deploy.demo.scores import SubmittedEntry
from deploy.standalone.service import RunningService
from kennel_client.admin import Rulings, Submissions, Thresholds
from kennel_client.api import ApiClient
from kennel_client.errors import Refused
from scorer.lifecycle import TRACK_KINDS, JobState, Status, TrackKind

RETUNE_REASON = "Demo: after labelling, the largest threshold that penalises no legitimate entry."


def photograph_line(pictures: Photographs) -> str:
    parts = (
        f"{len(getattr(pictures, role))} {role.replace('_', ' ')}" for role in ("train", "held_out", "private_extra")
    )
    sources = {*pictures.train.sources, *pictures.held_out.sources, *pictures.private_extra.sources}
    return f"{', '.join(parts)} tiles of {len(sources)} photographs."


def print_report(
    organizer: ApiClient,
    running: RunningService,
    slug: str,
    *,
    submitted: Sequence[SubmittedEntry],
    console: Console,
    plan: DemoPlan,
) -> bool:
    """Returns True if every entry was scored and, with the built-in photographs, ended as :data:`ENTRIES` expects."""
    judge = plan.folder is None
    entries = {submission.submission_id: submission.entry for submission in submitted if submission.entry is not None}
    console.print()
    for track in TRACK_KINDS:
        console.print(board_table(_board(organizer, slug, track), entries, track))
    tracks = TRACK_KINDS if plan.full else TRACK_KINDS[:1]
    telling = [submission_id for submission_id, entry in entries.items() if plan.full or entry.expected_signs]
    by_entry = evidence.wait_for_evidence(organizer, telling, tracks, console=console)
    surprises = evidence.unexpected_evidence(by_entry, entries) if judge else []
    _print_evidence(by_entry, entries, console)
    for surprise in surprises:
        console.print(f"[bold red]Not as expected:[/] {surprise}")
    for submission_id, entry in entries.items():
        if entry.label is not None and not is_for_reviewers(entry):
            Submissions(organizer).label(slug, submission_id, entry.label, note=entry.description)
    try:
        retuned = {track: Thresholds(organizer).retune(slug, track, reason=RETUNE_REASON) for track in TRACK_KINDS}
    except Refused as refused:  # too few entries to have both kinds
        console.print(f"\nThe threshold was not changed. {refused}")
        return _check_outcomes(organizer, slug, submitted, board=None, console=console) and not surprises
    after = _board(organizer, slug, "private")
    _print_retuning(retuned["private"], console)
    console.print(board_table(after, entries, "private", when="after labelling and margin"))
    console.print()
    _print_caveats(after, entries, console)
    ruled = _review_escaped(organizer, running, slug, entries=entries, before=after, console=console)
    return (
        _check_outcomes(organizer, slug, submitted, board=after if judge else None, console=console)
        and ruled
        and not surprises
    )


def _print_evidence(
    by_entry: Mapping[str, evidence.EvidenceByTrack], entries: Mapping[str, DemoEntry], console: Console
) -> None:
    console.print()
    console.print(evidence.evidence_table(by_entry, entries))
    for line in evidence.expected_sign_lines(by_entry, entries):
        console.print(f"  {line}")


def _review_escaped(
    organizer: ApiClient,
    running: RunningService,
    slug: str,
    *,
    entries: Mapping[str, DemoEntry],
    before: Mapping[str, Any],
    console: Console,
) -> bool:
    """Disqualify the memoriser above tau. Returns True if it then has no rank, or if there is none."""
    escaped = escaped_memoriser(entries, before)
    if escaped is None:
        return True
    review_and_rule(
        organizer, running, slug, submission_id=escaped, label=entries[escaped].label or "other", console=console
    )
    after = _board(organizer, slug, "private")
    console.print(f"  rank changes: {'; '.join(rank_moves(before['entries'], after['entries'])) or 'none'}\n")
    console.print(board_table(after, entries, "private", when="after the ruling"))
    if all(line["submission_id"] != escaped for line in after["entries"]):
        return True
    console.print(f"[bold red]Not as expected:[/] {entries[escaped].team} is disqualified but still has a rank.")
    return False


def _board(organizer: ApiClient, slug: str, track: TrackKind) -> Mapping[str, Any]:
    board: Mapping[str, Any] = organizer.get(f"/competitions/{slug}/leaderboard", track=track)
    return board


def board_table(
    board: Mapping[str, Any], entries: Mapping[str, DemoEntry], track: TrackKind, *, when: str = ""
) -> Table:
    """The board as a terminal table: ranked teams with benchmarks among them, then disqualified teams, then copies."""
    title = f"{track.capitalize()} leaderboard" + (f" {when}" if when else "") + f"   (tau = {board['tau']:.4f})"
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("rank", "score (MiFID)", "FID", "distance"):
        table.add_column(column, justify="right")
    for column in ("penalised", "team", "kind"):
        table.add_column(column)
    lines = [*board["entries"], *(line | {"rank": None} for line in board["benchmarks"])]
    for line in sorted(lines, key=lambda line: (line["score"], line["rank"] or 0)):
        entry = entries.get(line.get("submission_id") or "")
        ranked = line["rank"] is not None
        table.add_row(
            str(line["rank"]) if ranked else "-",
            f"{line['score']:.2f}",
            f"{line['fid']:.2f}",
            f"{line['memorization_distance']:.3f}",
            "yes" if ranked and line["penalised"] else "",
            line["team"],
            entry.kind if entry else "a visitor's" if ranked else "benchmark",
            style=None if ranked else "italic dim",
        )
    for out in board["disqualified"]:
        kind = entries[out["submission_id"]].kind if out["submission_id"] in entries else ""
        table.add_row("out", "", "", "", "", out["team"], kind, style="dim")
    for copy in board["copies"]:
        kind = entries[copy["submission_id"]].kind if copy["submission_id"] in entries else ""
        table.add_row("copy", "", "", f"{copy['memorization_distance']:.3f}", "", copy["team"], kind, style="dim")
    return table


def _print_retuning(retuning: Mapping[str, Any], console: Console) -> None:
    confusion = retuning["choice"]["confusion"]
    memorising = confusion["true_positives"] + confusion["false_negatives"]
    console.print(
        f"\nAfter labelling, [bold]margin[/] moves the private tau from {retuning['previous_tau']:.4f} to "
        f"{retuning['tau']:.4f}. Below it are {confusion['true_positives']} of {memorising} memorising entries "
        f"and {confusion['false_positives']} legitimate ones. No entry was measured again."
    )
    for heading, changes in (("penalised now", retuning["penalised"]), ("no longer penalised", retuning["freed"])):
        if changes:
            console.print(f"  {heading}: {', '.join(change['team'] for change in changes)}")
    moves = [f"{move['team']} {move['before'] or '-'} -> {move['after'] or '-'}" for move in retuning["moves"]]
    if moves:
        console.print(f"  rank changes: {'; '.join(moves)}")


def _print_caveats(board: Mapping[str, Any], entries: Mapping[str, DemoEntry], console: Console) -> None:
    free = [line for line in board["entries"] if not line["penalised"]]
    for line in free:
        entry = entries.get(line["submission_id"])
        if entry is None or entry.expected != "escapes":
            continue
        why = "memorises, but is above tau" if entry.label else "is undecided"
        console.print(f"For manual review: {line['team']} (rank {line['rank']}) {why}. {entry.description}")
    benchmark = next(iter(board["benchmarks"]), None)
    if benchmark is None:
        return
    distance = benchmark["memorization_distance"]
    farther = sum(line["memorization_distance"] > distance for line in board["entries"])
    bias = (
        "With fewer images than features, FID is mostly bias. Compare these numbers only with each other, "
        "never with the literature."
    )
    if farther:
        bias = (
            f"Held-out images have a distance of {distance:.3f}, and {farther} of {len(board['entries'])} ranked "
            "entries are farther from the training images: tiles of a few photographs resemble each other, and "
            f"blurred samples resemble none of them. {bias}"
        )
    console.print(f"\nLimits of such a small set of photographs: {bias}")


def _check_outcomes(
    organizer: ApiClient,
    slug: str,
    submitted: Sequence[SubmittedEntry],
    *,
    board: Mapping[str, Any] | None,
    console: Console,
) -> bool:
    views = organizer.get_list(f"/competitions/{slug}/submissions", "submissions")
    states = {view["id"]: view for view in views}
    surprises = [
        f"{states[submission.submission_id]['team']}: {surprise}"
        for submission in submitted
        if (surprise := _unexpected_outcome(submission, states[submission.submission_id], board))
    ]
    for surprise in surprises:
        console.print(f"[bold red]Not as expected:[/] {surprise}")
    if not surprises:
        console.print(f"\nAll {len(submitted)} entries ended as expected.")
    return not surprises


def _unexpected_outcome(
    submission: SubmittedEntry, state: Mapping[str, Any], board: Mapping[str, Any] | None
) -> str | None:
    if state["status"] != Status.SCORED or state["private_state"] != JobState.DONE:
        return f"it is {state['status']} (private: {state['private_state']}). {state['reason'] or ''}"
    if submission.entry is None or board is None:
        return None
    expected = {"honest": "free", "escapes": "free"}.get(submission.entry.expected, submission.entry.expected)
    status = _find_board_status(submission.submission_id, board)
    return None if status == expected else f"it is {status} where {expected} was expected"


def _find_board_status(submission_id: str, board: Mapping[str, Any]) -> str:
    if any(copy["submission_id"] == submission_id for copy in board["copies"]):
        return "copy"
    for line in board["entries"]:
        if line["submission_id"] == submission_id:
            return "penalised" if line["penalised"] else "free"
    return "nowhere"


REVIEW_NOTE = "Every image is a blurred training image."
DISQUALIFY_REASON = (
    "Both reviewers found training images, passed through an autoencoder. They are not generated, so the entry "
    "breaks the rules although its distance is above tau."
)


def escaped_memoriser(entries: Mapping[str, DemoEntry], board: Mapping[str, Any]) -> str | None:
    """The ID of the best unpenalised entry that is known to memorise; None if there is none."""
    free = (line["submission_id"] for line in board["entries"] if not line["penalised"])
    return next((submission_id for submission_id in free if is_for_reviewers(entries.get(submission_id))), None)


def is_for_reviewers(entry: DemoEntry | None) -> bool:
    """Whether an entry memorises and no threshold is expected to penalise it, so that reviewers must find it."""
    return entry is not None and entry.expected == "escapes" and entry.label is not None


def review_and_rule(
    organizer: ApiClient, running: RunningService, slug: str, *, submission_id: str, label: str, console: Console
) -> None:
    """Two reviewers label the entry independently, and the organizer disqualifies it; prints each step."""
    for number, name in enumerate(REVIEWERS, 1):
        token = new_token(running.settings, reviewer_handle(slug, number), "participant")
        with ApiClient(running.url, token) as reviewer:
            if number == 1:
                _print_flags(reviewer, slug, submission_id, console=console)
            review = reviewer.post(f"/submissions/{submission_id}/reviews", {"label": label, "note": REVIEW_NOTE})
        console.print(f"  {name} says [bold]{label}[/]{_outcome(review)}")
    Rulings(organizer).rule(submission_id, "disqualify", DISQUALIFY_REASON)
    console.print(f"  The organizer disqualifies it: {DISQUALIFY_REASON}")


def _print_flags(reviewer: ApiClient, slug: str, submission_id: str, *, console: Console) -> None:
    queue = reviewer.get(f"/competitions/{slug}/review-queue", limit=200)
    console.print(f"\nThe review queue contains {len(queue['entries'])} flagged entries.")
    for place, entry in enumerate(queue["entries"], 1):
        if entry["submission_id"] == submission_id:
            console.print(f"Number {place} in the queue is {entry['team']}:")
            for reason in entry["reasons"]:
                console.print(f"  {reason['words']}")


def _outcome(review: Mapping[str, Any]) -> str:
    if review["decided"] is not None:
        return ". They agree, so the label is decided."
    return " (the other reviewer cannot see it)."


def rank_moves(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[str]:
    """The teams with changed ranks: ``Team 3 -> 2``, or ``Team 2 -> -`` for a team that no longer has one."""
    ranks = {line["team"]: line["rank"] for line in after}
    return [
        f"{line['team']} {line['rank']} -> {ranks.get(line['team'], '-')}"
        for line in before
        if ranks.get(line["team"]) != line["rank"]
    ]
