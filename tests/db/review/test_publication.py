"""Publication: the checklist before a board is published, and restarts of failed jobs."""

import random
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.competitions.setup import change
from scorer.competitions.spec import CompetitionChanges
from scorer.db import competitions, notifications
from scorer.db.jobs import job_queue
from scorer.db.jobs.failed_jobs import failed as failed_rows
from scorer.db.leaderboard import board_details
from scorer.db.review.reviews import review_counts
from scorer.db.tables import (
    AuditEntry,
    Competition,
    Job,
    Measurement,
    Publication,
    Rebuttal,
    RebuttalAnswer,
    Review,
    Ruling,
    Submission,
    TeamMerge,
)
from scorer.errors import Conflict, NotFound
from scorer.jobs import failed_jobs, leases, retries
from scorer.leaderboard.rows import load_listing
from scorer.lifecycle import Queue
from scorer.review import failed_scores, publication
from scorer.review.checklist import MAX_CONCERNS, checklist
from scorer.submissions import outcomes
from scorer.submissions.labels import MEMORISING
from tests.db.claimed_jobs import LEASE, MEASURED, claim, queued
from tests.factories import (
    add_measurement,
    add_shared_images,
    join_team,
    let_time_pass,
    make_account,
    make_competition,
    make_entry,
    make_scored,
    make_submission,
    make_team,
    set_label,
    set_tau,
)


@pytest.fixture
def state(session: Session, now: datetime) -> CompetitionState:
    """A closed competition with medals for two places."""
    made = make_competition(
        session,
        now,
        closes_at=now - timedelta(hours=1),
        review_days=0,
        appeal_days=0,
        medals={"gold": 1, "silver": 2, "bronze": 2},
    )
    set_tau(session, made, "public", 0.01, now)  # without it no team has best public entries
    set_tau(session, made, "private", 0.2, now)
    return made


def open_points(session: Session, state: CompetitionState, now: datetime) -> dict[str, list[str]]:
    """By open item: the ids of its entries."""
    points = checklist(session, state, now).points
    assert all(point.passed == (point.count == 0) for point in points)
    return {point.name: [concern.submission_id for concern in point.concerns] for point in points if not point.passed}


def rule(session: Session, entry: Submission, kind: str, now: datetime, *, memorising: bool | None = None) -> Ruling:
    columns = {"author_id": entry.account_id, "memorising": memorising, "created_at": now}
    ruling = Ruling(submission_ref=entry.ref, kind=kind, reason="-", **columns)
    session.add(ruling)
    session.flush()
    return ruling


def test_no_point_is_open_when_everything_is_done(session: Session, state: CompetitionState, now: datetime) -> None:
    assert open_points(session, state, now) == {}
    best, second, third = (make_entry(session, state, now, fid=fid, distance=0.4) for fid in (10, 20, 30))
    assert open_points(session, state, now) == {"medals": [best.id, second.id]}, "the third place has no medal"
    set_label(session, best, "legitimate", now)
    assert open_points(session, state, now) == {"medals": [second.id]}
    rule(session, second, "keep", now)
    assert open_points(session, state, now) == {}
    assert third.id


def test_places_that_win_prizes_need_a_review(session: Session, now: datetime) -> None:
    prizes = [{"place": 2, "amount": "$10,000"}]
    none: dict[str, int] = {"gold": 0, "silver": 0, "bronze": 0}
    state = make_competition(
        session, now, closes_at=now - timedelta(hours=1), review_days=0, appeal_days=0, medals=none, prizes=prizes
    )
    for kind in ("public", "private"):
        set_tau(session, state, kind, 0.01, now)
    entries = [make_entry(session, state, now, fid=fid, distance=0.4) for fid in (1, 2, 3)]
    assert open_points(session, state, now) == {"medals": [entries[0].id, entries[1].id]}


def test_a_winner_labelled_as_memorising_needs_a_ruling(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    cheater, other, no_winner = (make_entry(session, state, now, fid=fid, distance=0.4) for fid in (1, 2, 3))
    set_label(session, cheater, "legitimate", now)
    set_label(session, other, "other", now)
    set_label(session, no_winner, "sup", now)
    assert open_points(session, state, now) == {}
    set_label(session, cheater, "ae", now)
    assert open_points(session, state, now) == {"unruled": [cheater.id]}
    (point,) = [point for point in checklist(session, state, now).points if point.name == "unruled"]
    assert point.link.endswith("/review-queue?state=unruled")
    author = make_account(session, now, "organizer")
    with pytest.raises(Conflict, match="open items"):
        publication.publish(Acting(session, author, now), state, published=True, reason="Done.")
    rule(session, cheater, "disqualify", now)
    assert open_points(session, state, now) == {"unruled": [no_winner.id]}, "the next entry moves up"
    rule(session, no_winner, "keep", now)
    assert open_points(session, state, now) == {}


def test_a_keep_ruling_before_the_label_settles_nothing(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    """A disqualification before the label does settle it. The newest ruling counts."""
    spared, judged = (make_entry(session, state, now, fid=fid, distance=0.4) for fid in (1, 2))
    before, later = now - timedelta(hours=2), now - timedelta(hours=1)
    rule(session, spared, "disqualify", before)
    rule(session, spared, "keep", before)
    rule(session, judged, "keep", now)
    set_label(session, spared, "ae", later)
    set_label(session, judged, "ae", later)
    assert open_points(session, state, now) == {"unruled": [spared.id]}
    counts = session.execute(review_counts(state.competition.id, 0, MEMORISING)).all()
    assert {row.ref: row.unruled for row in counts} == {spared.ref: True, judged.ref: False}
    rule(session, judged, "disqualify", before)
    rule(session, spared, "keep", now)
    assert open_points(session, state, now) == {}
    assert not any(row.unruled for row in session.execute(review_counts(state.competition.id, 0, MEMORISING)))


def test_a_winning_team_with_a_condemned_entry_needs_a_ruling(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    winner, clean, no_winner = (make_entry(session, state, now, fid=fid, distance=0.4) for fid in (1, 2, 3))
    for entry in (winner, clean):
        set_label(session, entry, "legitimate", now)
    for entry in (winner, no_winner):
        session.refresh(entry)
    merged = make_team(session, state, now)
    others = [
        make_scored(session, state, team, fid=9, distance=0.4, now=now)
        for team in (winner.team, merged, no_winner.team)
    ]
    disqualified, labelled, _ = others
    rule(session, disqualified, "disqualify", now - timedelta(hours=2))
    rule(session, others[2], "disqualify", now)
    set_label(session, labelled, "ae", now)
    points = open_points(session, state, now)
    assert points.pop("unscored"), "they have only public scores"
    assert points == {"team-entries": [winner.id]}, "the third team wins nothing"
    teams = {"team_id": merged.id, "into_team_id": winner.team_id}
    session.add(TeamMerge(competition_id=state.competition.id, **teams, account_id=winner.account_id, created_at=now))
    session.flush()
    [point] = [point for point in checklist(session, state, now).points if point.name == "team-entries"]
    assert [(concern.submission_id, concern.words, concern.evidence) for concern in point.concerns] == [
        (
            winner.id,
            f"rank 1: entry {disqualified.ref} is disqualified",
            f"/submissions/{disqualified.id}/review#ruling",
        ),
        (
            winner.id,
            f"rank 1: entry {labelled.ref} is labelled as memorising",
            f"/submissions/{labelled.id}/review#review",
        ),
    ]
    rule(session, winner, "keep", now - timedelta(hours=1))
    [point] = [point for point in checklist(session, state, now).points if point.name == "team-entries"]
    assert (point.count, point.concerns[0].evidence) == (1, f"/submissions/{labelled.id}/review#review"), (
        "the label is newer than the ruling"
    )
    set_label(session, labelled, "other", now)
    assert "team-entries" not in open_points(session, state, now), "the newest label counts"
    rule(session, labelled, "keep", now, memorising=True)
    assert open_points(session, state, now)["team-entries"] == [winner.id]
    rule(session, winner, "keep", now)
    assert "team-entries" not in open_points(session, state, now)


def test_a_winner_that_shares_images_with_another_team_needs_a_ruling(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    """An entry may repeat images of its team's earlier entries, so the first entry of a team counts."""
    first, second, third = (make_entry(session, state, now, fid=fid, distance=0.4) for fid in (1, 2, 3))
    draft = make_scored(session, state, second.team, fid=9, distance=0.4, now=now)
    for entry, hours in ((draft, 50), (third, 3), (first, 2), (second, 1)):
        set_label(session, entry, "legitimate", now)
        entry.accepted_at = now - timedelta(hours=hours)
    add_shared_images(session, second.ref, first.ref, share=0.4, now=now)
    add_shared_images(session, draft.ref, first.ref, share=0.3, now=now)
    add_shared_images(session, third.ref, second.ref, share=0.04, now=now)
    first.pixels_sha256 = third.pixels_sha256 = "same"
    session.flush()
    [point] = [point for point in checklist(session, state, now).points if point.name == "shared-images"]
    order = f"Entry {draft.ref} of {second.team.name} came first: it was accepted 2 days before entry {first.ref} of"
    in_both = f"in common, 10 of them with equal pixels. {order} {first.team.name}."
    shares = "shares images. The entries have"
    same = f"It has the same images as entry {third.ref} of {third.team.name}, and was accepted 1 hour after it."
    assert {(concern.submission_id, concern.words) for concern in point.concerns} == {
        (first.id, f"rank 1: entry {second.ref} of {second.team.name} {shares} 40 images (40 %) {in_both}"),
        (first.id, f"rank 1: entry {draft.ref} of {second.team.name} {shares} 30 images (30 %) {in_both}"),
        (first.id, f"rank 1: {same}"),
        (second.id, f"rank 2: entry {first.ref} of {first.team.name} {shares} 40 images (40 %) {in_both}"),
    }
    assert {concern.evidence for concern in point.concerns} == {
        f"/submissions/{entry.id}/review#duplicates" for entry in (first, second)
    }
    rule(session, first, "keep", now)
    assert open_points(session, state, now)["shared-images"] == [second.id]
    rule(session, second, "keep", now - timedelta(minutes=1))
    assert open_points(session, state, now)["shared-images"] == [second.id], "the comparison is newer than the ruling"
    rule(session, second, "disqualify", now)
    assert open_points(session, state, now)["shared-images"] == [third.id], "the next entry moves up"
    rule(session, third, "keep", now)
    assert "shared-images" not in open_points(session, state, now)


def test_publishing_while_teams_may_appeal_is_a_point(session: Session, now: datetime) -> None:
    state = make_competition(session, now, closes_at=now - timedelta(days=2), review_days=3, appeal_days=0)
    for kind in ("public", "private"):
        set_tau(session, state, kind, 0.2, now)
    assert open_points(session, state, now) == {"rebuttal-window": []}
    assert open_points(session, state, now + timedelta(days=1)) == {}


def test_the_final_board_waits_for_appeals_against_the_provisional_one(session: Session, now: datetime) -> None:
    state = make_competition(session, now, closes_at=now - timedelta(days=9), review_days=1, appeal_days=3)
    for kind in ("public", "private"):
        set_tau(session, state, kind, 0.2, now)
    author = make_account(session, now, "organizer")

    def publish(days: float, **act: Any) -> None:
        at = now + timedelta(days=days)
        publication.publish(
            Acting(session, author, at), load_state(session, state.competition.slug, at), reason="-", **act
        )

    def open_at(days: float) -> set[str]:
        at = now + timedelta(days=days)
        return set(open_points(session, load_state(session, state.competition.slug, at), at))

    assert open_at(0) == {"appeals"}
    assert checklist(session, state, now, final=False).open == []
    publish(0, published=True, final=False)
    for final in (False, True):
        with pytest.raises(Conflict, match="already published" if not final else "open items"):
            publish(1, published=True, final=final)
    publish(1, published=False)
    assert open_at(9) == {"appeals"}, "the board was withdrawn before the appeal time ended"
    publish(2, published=True, final=False)
    assert open_at(4.9) == {"appeals"}
    assert open_at(5) == set()
    publish(5, published=True)
    with pytest.raises(Conflict, match="final board is already published"):
        publish(6, published=True, final=False)
    publish(6, published=False)
    assert open_at(6) == set(), "the appeal time has passed"


def test_an_open_competition_and_a_missing_threshold_are_points(session: Session, now: datetime) -> None:
    assert open_points(session, make_competition(session, now, appeal_days=0), now) == {"closed": [], "threshold": []}


def test_entries_within_two_standard_errors_of_tau_need_a_ruling(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    """Measurements of the factory have a standard error of 0.001."""
    cases = {"far": (10, 0.2021), "near": (20, 0.2019), "freed": (15, 0.1985), "lost": (99, 0.1985), "below": (12, 0.1)}
    entries = {
        name: make_entry(session, state, now, fid=fid, distance=distance).id for name, (fid, distance) in cases.items()
    }
    # Without their penalty, "freed" would have a medal and "lost" would not.
    assert set(open_points(session, state, now)["borderline"]) == {entries["near"], entries["freed"]}
    rule(session, session.query(Submission).filter_by(id=entries["near"]).one(), "waive", now)
    assert open_points(session, state, now)["borderline"] == [entries["freed"]]


def test_undecided_reviews_and_unanswered_rebuttals_are_points(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    entry = make_scored(session, state, make_team(session, state, now), fid=1, distance=0.4, now=now)
    add_measurement(session, state, entry, fid=1, distance=0.4, now=now, kind="private")
    reviewer = make_account(session, now)
    session.add(
        Review(
            submission_ref=entry.ref, reviewer_id=reviewer.id, label="aug", intent="unclear", note="", created_at=now
        )
    )
    ruling = rule(session, entry, "disqualify", now)
    rebuttal = Rebuttal(
        submission_ref=entry.ref,
        ruling_id=ruling.id,
        team_id=entry.team_id,
        author_id=entry.account_id,
        text="No!",
        created_at=now,
    )
    session.add(rebuttal)
    session.flush()
    assert open_points(session, state, now) == {"reviews": [entry.id], "rebuttals": [entry.id]}
    set_label(session, entry, "aug", now)
    session.add(
        RebuttalAnswer(rebuttal_id=rebuttal.id, granted=False, answer="Yes.", author_id=reviewer.id, created_at=now)
    )
    session.flush()
    assert open_points(session, state, now) == {}


def test_unfinished_jobs_are_listed_by_kind(session: Session, now: datetime) -> None:
    open_ = make_competition(session, now, review_days=0, appeal_days=0)
    for kind in ("public", "private"):
        set_tau(session, open_, kind, 0.2, now)
    team = make_team(session, open_, now)
    entry = queued(session, open_, team, now)
    change(
        Acting(session, make_account(session, now, "organizer"), now),
        open_.competition.slug,
        CompetitionChanges(closes_at=now - timedelta(hours=1)),
    )
    state = load_state(session, open_.competition.slug, now)
    assert open_points(session, state, now) == {"public-jobs": [entry.id]}
    held = claim(session, now)
    assert held is not None
    outcomes.record_measurement(session, held, MEASURED, now=now)
    session.expire_all()
    assert open_points(session, state, now) == {"private-jobs": [entry.id], "unscored": [entry.id]}
    private = claim(session, now)
    assert private is not None
    retries.retry_or_fail(session, private, error="No weights.\nSecond line", now=now, max_attempts=1)
    unmet = {point.name: point for point in checklist(session, state, now).points if not point.passed}
    assert set(unmet) == {"failed-jobs", "unscored"}
    (concern,) = unmet["failed-jobs"].concerns
    assert (concern.submission_id, concern.words) == (entry.id, "No weights.")

    author = make_account(session, now, "organizer")
    assert failed_scores.restart_failed(Acting(session, author, now), state=state) == 1
    assert failed_scores.restart_failed(Acting(session, author, now), state=state) == 0
    again = claim(session, now)
    assert again is not None
    assert (again.job.id, again.job.attempts) == (private.job.id, 1), "the same job, with all its attempts"
    outcomes.record_measurement(session, again, MEASURED, now=now)
    session.flush()
    assert set(open_points(session, state, now)) == {"medals"}
    written = session.query(AuditEntry).filter_by(action="jobs.requeued").one()
    assert written.subject == f"competition:{state.competition.slug}"
    assert written.before == {"failed": {str(private.job.id): "No weights.\nSecond line"}}


def test_late_and_rejected_entries_block_nothing(session: Session, state: CompetitionState, now: datetime) -> None:
    team = make_team(session, state, now)
    for status in ("scored", "queued"):
        make_submission(session, state, team, now=now, status=status).late = True
    make_submission(session, state, team, now=now, status="rejected")
    session.flush()
    assert open_points(session, state, now) == {}


def test_a_failed_entry_waits_again_when_its_job_does(session: Session, now: datetime) -> None:
    state = make_competition(session, now)
    entry = queued(session, state, make_team(session, state, now), now)
    held = claim(session, now)
    assert held is not None
    retries.fail(session, held, error="broken", reason="It broke.", now=now)
    session.refresh(entry)
    assert entry.status == "failed"
    admin = make_account(session, now, "admin")
    failed_jobs.restart(Acting(session, admin, now), held.job.id)
    session.refresh(entry)
    assert (entry.status, entry.reason, entry.finished_at) == ("queued", None, None)
    with pytest.raises(Conflict):
        failed_jobs.restart(Acting(session, admin, now), held.job.id)
    with pytest.raises(NotFound):
        failed_jobs.restart(Acting(session, admin, now), 2**40)
    again = claim(session, now)
    assert again is not None
    # Restarting a running job takes it from its worker; the worker's result is dropped.
    failed_jobs.restart(Acting(session, admin, now), again.job.id)
    assert not outcomes.record_measurement(session, again, MEASURED, now=now)
    last = claim(session, now)
    assert last is not None
    assert outcomes.record_measurement(session, last, MEASURED, now=now)
    session.refresh(entry)
    assert entry.status == "scored"
    assert [
        entry.after and entry.after["queue"] for entry in session.query(AuditEntry).filter_by(action="job.requeued")
    ] == ["score"] * 2


def test_a_failed_job_that_was_replaced_is_no_concern(session: Session, state: CompetitionState, now: datetime) -> None:
    entry = make_entry(session, state, now, fid=1, distance=0.4)
    failed = session.query(Job).filter_by(submission_ref=entry.ref, priority=1).one()
    failed.state = "failed"
    failed.error = "once"
    session.flush()
    assert [row.id for row in failed_rows(session, track_id=state.tracks["private"].id)] == [failed.id]
    add_measurement(session, state, entry, fid=1, distance=0.4, now=now, kind="private")
    assert failed_rows(session, track_id=state.tracks["private"].id) == []
    with pytest.raises(Conflict, match="a later job has replaced it"):
        failed_jobs.restart(Acting(session, make_account(session, now, "admin"), now), failed.id)


def test_queues_have_depth_and_age(session: Session, state: CompetitionState, now: datetime) -> None:
    before = {row.queue: row for row in failed_jobs.read_unfinished(session).queues}
    leases.add_job(session, Queue.PREPARE, now=now)
    later = leases.add_job(session, Queue.PREPARE, now=now)
    later.due_at = job_queue.due_in(timedelta(minutes=5))
    session.flush()
    held = leases.claim_job(session, Queue.PREPARE, holder="h", worker="w", now=now, lease=LEASE)
    assert held is not None
    waiting = leases.add_job(session, Queue.PREPARE, now=now)
    let_time_pass(session, 2 * LEASE)
    row = {row.queue: row for row in failed_jobs.read_unfinished(session).queues}["prepare"]
    assert "prepare" not in before
    assert (row.waiting, row.due, row.oldest_due_at) == (2, 1, waiting.due_at)
    assert (row.running, row.lost) == (1, 1)


def test_publication_with_open_points_needs_a_reason(session: Session, state: CompetitionState, now: datetime) -> None:
    author = make_account(session, now, "organizer")
    entry = make_entry(session, state, now, fid=1, distance=0.4)
    acting = Acting(session, author, now)
    with pytest.raises(Conflict) as refused:
        publication.publish(acting, state, published=True, reason="Done.", override=" ")
    assert refused.value.slug == "open-points"
    assert refused.value.faults == ("All winning places are reviewed: 1 open",)
    publication.publish(acting, state, published=True, reason="Done.", override="Nobody objects.")
    with pytest.raises(Conflict, match="already"):
        publication.publish(acting, state, published=True, reason="Done.")
    publication.publish(acting, state, published=False, reason="A mistake.")
    set_label(session, entry, "legitimate", now)
    publication.publish(acting, state, published=True, reason="Now.")
    final = {"published": True, "final": True}
    written = session.query(AuditEntry).filter(AuditEntry.action.like("board.%")).order_by(AuditEntry.id).all()
    assert [(entry.action, entry.before, entry.after) for entry in written] == [
        (
            "board.published",
            {"published": False},
            final | {"reason": "Done.", "override": "Nobody objects.", "open": {"medals": 1}},
        ),
        ("board.withdrawn", final, {"published": False, "reason": "A mistake."}),
        ("board.published", {"published": False}, final | {"reason": "Now."}),
    ]
    acts = competitions.load_publications(session, state.competition.id)
    assert [act.reason for act in acts] == [
        "Now.",
        "A mistake.",
        "Done.",
    ]


def test_a_deadline_that_moves_gives_all_participants_a_notice(session: Session, now: datetime) -> None:
    state = make_competition(session, now, title="Dogs")
    member = join_team(session, make_team(session, state, now), now)
    author = make_account(session, now, "organizer")
    slug, closes_at = state.competition.slug, state.competition.closes_at
    assert closes_at is not None
    change(Acting(session, author, now), slug, CompetitionChanges(title="Dogs!", closes_at=closes_at))
    assert notifications.notices_page(session, member.id, limit=9) == []
    for days, subject in ((2, "Dogs! has a later deadline"), (-2, "Dogs! has an earlier deadline")):
        moved = closes_at + timedelta(days=days)
        change(Acting(session, author, now), slug, CompetitionChanges(closes_at=moved))
        newest = notifications.notices_page(session, member.id, limit=9)[0]
        assert (newest.kind, newest.subject) == ("deadline", subject)
        assert f"{moved:%Y-%m-%d %H:%M} UTC" in newest.body


def by_definition(session: Session, state: CompetitionState) -> tuple[set[int], set[int]]:
    """The refs of the points ``unscored`` and ``borderline``, computed entry by entry."""
    private = state.tracks["private"].id
    measured = {ref for (ref,) in session.query(Measurement.submission_ref).filter_by(track_id=private)}
    in_time = session.query(Submission).filter_by(status="scored", late=False)
    ruled = {ref for (ref,) in session.query(Ruling.submission_ref)}
    rows = load_listing(session, state, "private").page(0, None)
    last = max(state.competition.medals.values())
    cutoff = max((row.score for row in rows[:last]), default=0.0)
    scores = {
        score.ref: score for row in rows for score in [board_details.load_score(session, private, row.ref)] if score
    }
    near = {
        row.ref
        for row in rows
        if (row.rank or 0) <= last or row.fid < cutoff
        if row.ref not in ruled
        and abs(row.memorization_distance - (scores[row.ref].tau or 0.0)) <= 2 * (scores[row.ref].distance_se or 0.0)
    }
    return {entry.ref for entry in in_time} - measured, near


def test_points_over_columns_match_their_definition(session: Session, state: CompetitionState, now: datetime) -> None:
    draw = random.Random(5)
    state.competition.medals = {"gold": 4, "silver": 8, "bronze": 12}
    for number in range(40):
        team = make_team(session, state, now)
        fid, distance = draw.uniform(1, 20), draw.choice([0.1, 0.1981, 0.2019, 0.2021, 0.4])
        entry = make_scored(session, state, team, fid=fid, distance=distance, now=now)
        entry.late = number % 9 == 8
        if draw.random() < 0.7:
            error = draw.choice([None, 0.001, 0.002])
            numbers: dict[str, Any] = {"fid": fid, "distance": distance, "distance_se": error}
            add_measurement(session, state, entry, **numbers, now=now, kind="private")
        if draw.random() < 0.2:
            rule(session, entry, draw.choice(["keep", "waive"]), now)
    session.flush()
    points = {point.name: point for point in checklist(session, state, now).points}
    unscored, near = by_definition(session, state)
    assert len(unscored) > MAX_CONCERNS
    assert len(near) > 1
    assert (points["unscored"].count, points["borderline"].count) == (len(unscored), len(near))
    ids = {entry.id: entry.ref for entry in session.query(Submission)}
    listed = {name: [ids[concern.submission_id] for concern in points[name].concerns] for name in points}
    assert listed["unscored"] == sorted(unscored)[:MAX_CONCERNS]
    assert set(listed["borderline"]) == near or len(listed["borderline"]) == MAX_CONCERNS


def test_a_board_changed_since_it_was_seen_is_not_published(
    session: Session, state: CompetitionState, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Publication fails after a re-tune since the organizer looked, also if it commits while the checklist is read."""
    entry = make_entry(session, state, now, fid=1, distance=0.4)
    set_label(session, entry, "legitimate", now)
    acting = Acting(session, make_account(session, now, "organizer"), now)
    seen = checklist(session, state, now).version
    late = make_scored(session, state, make_team(session, state, now), fid=1, distance=0.4, now=now)
    late.late = True
    session.flush()
    assert checklist(session, state, now).version == seen, "the final board does not depend on late entries"
    set_tau(session, state, "private", 0.3, now)
    with pytest.raises(Conflict, match="changed since you looked") as refused:
        publication.publish(acting, state, published=True, reason="Done.", after=seen)
    assert refused.value.slug == "board-has-moved"
    seen = checklist(session, state, now).version
    lock = competitions.lock_competition

    def retune_before_the_lock(*arguments: Any, **options: Any) -> None:
        set_tau(session, state, "public", 0.35, now)
        lock(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(competitions, "lock_competition", retune_before_the_lock)
        with pytest.raises(Conflict, match="changed since you looked"):
            publication.publish(acting, state, published=True, reason="Done.", after=seen)
    monkeypatch.setattr(publication, "checklist", counted := Counted(checklist))
    seen = checklist(session, state, now).version
    publication.publish(acting, state, published=True, reason="Done.", after=seen)
    assert counted.calls == 1, "without a change, the checklist is not read again under the lock"


def test_a_competition_that_reopened_is_not_published(
    session: Session, state: CompetitionState, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another organizer gives it more time while the checklist is read."""
    lock = competitions.lock_competition
    moved = update(Competition).where(Competition.id == state.competition.id).values(closes_at=now + timedelta(days=1))

    def move_before_the_lock(*arguments: Any, **options: Any) -> None:
        session.execute(moved, execution_options={"synchronize_session": False})
        lock(*arguments, **options)

    monkeypatch.setattr(competitions, "lock_competition", move_before_the_lock)
    author = make_account(session, now, "organizer")
    with pytest.raises(Conflict, match="has not closed yet"):
        publication.publish(Acting(session, author, now), state, published=True, reason="-", override="-")
    assert session.query(Publication).count() == 0


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.calls = 0

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls += 1
        return self.function(*arguments, **options)
