"""Flags: which entries the query flags, and why."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db.tables import Account, EarlyLabel, Evidence, Ruling, Submission, TeamMerge, Threshold
from scorer.findings import signs
from scorer.review import review_queue, reviews
from scorer.review.review_queue import FlaggedEntry
from tests.factories import (
    SIGNS,
    add_evidence,
    add_measurement,
    add_shared_images,
    give_role,
    make_account,
    make_competition,
    make_scored,
    make_team,
    set_label,
    set_tau,
)

TAU = 0.25


@pytest.fixture
def state(session: Session, now: datetime) -> CompetitionState:
    """A competition with one medal and a threshold on both tracks."""
    made = make_competition(session, now, medals={"gold": 1, "silver": 1, "bronze": 1})
    for kind in ("public", "private"):
        set_tau(session, made, kind, TAU, now)
    return made


@pytest.fixture
def reviewer(session: Session, now: datetime) -> Account:
    return make_account(session, now)


def entry(session: Session, state: CompetitionState, now: datetime, **numbers: Any) -> Submission:
    """An entry of a new team on the public track; ordinary except for ``numbers``."""
    team = numbers.pop("team", None) or make_team(session, state, now)
    return make_scored(session, state, team, **{"fid": 50.0, "distance": 0.4, "now": now, **numbers})


def flagged(session: Session, state: CompetitionState, reviewer: Account, **filters: Any) -> dict[str, FlaggedEntry]:
    """The flagged entries by id, most decisive first."""
    flagged_entries = review_queue.list_flagged(session, state, reviewer, limit=100, **filters)
    return {entry.submission_id: entry for entry in flagged_entries.entries}


def names(flagged_entry: FlaggedEntry) -> set[str]:
    return {reason.name for reason in flagged_entry.reasons}


def test_every_reason_for_a_flag(session: Session, state: CompetitionState, reviewer: Account, now: datetime) -> None:
    winner = entry(session, state, now, fid=10)
    ordinary = entry(session, state, now)
    penalised = entry(session, state, now, distance=0.2)
    stake = entry(session, state, now, distance=0.2, fid=5)
    border = entry(session, state, now, distance=0.2519)  # the standard error is 0.001
    beyond = entry(session, state, now, distance=0.2521)
    copying = entry(session, state, now, copied_share=0.1)
    copying.exact_copies = 1
    copied = entry(session, state, now, copied_share=0.9, distance=0.1, fid=1)
    private = entry(session, state, now)
    add_measurement(session, state, private, fid=50, distance=0.1, now=now, kind="private")
    entries = flagged(session, state, reviewer)
    assert {id_: names(entries[id_]) for id_ in entries} == {
        winner.id: {"medal-place"},
        penalised.id: {"penalised"},
        stake.id: {"penalised", "medal-at-stake"},
        border.id: {"borderline"},
        copying.id: {"copying"},
        copied.id: {"copy"},
        private.id: {"penalised", "medal-place"},  # nobody else is on the private board
    }
    assert ordinary.id not in entries
    assert beyond.id not in entries
    weights = [entry.weight for entry in entries.values()]
    assert weights == sorted(weights, reverse=True)
    words = {reason.name: reason.words for reason in entries[stake.id].reasons}
    assert words["penalised"] == "Public: its distance 0.2000 is below tau = 0.2500."
    assert words["medal-at-stake"] == "Without its penalty it would win a medal or prize on the public board."
    assert "± 0.0010" in entries[border.id].reasons[0].words
    assert "10% of its images" in entries[copying.id].reasons[0].words


def test_an_unpenalised_winner_with_a_strong_sign_precedes_the_penalised(
    session: Session, state: CompetitionState, reviewer: Account, now: datetime
) -> None:
    winner = entry(session, state, now, fid=10)
    penalised = entry(session, state, now, fid=5, distance=0.2, copied_share=0.1)
    other = entry(session, state, now)
    penalised.sha256 = other.sha256
    penalised.pixels_sha256 = other.pixels_sha256 = f"{7:064x}"
    add_measurement(session, state, penalised, fid=1e9, distance=0.1, now=now, kind="private")
    every_sign = {name: value for numbers in SIGNS.values() for name, value in numbers.items()}
    add_evidence(session, state, penalised, now=now, **every_sign)
    add_evidence(session, state, winner, now=now, **SIGNS["repeats"])
    first, *_ = flagged(session, state, reviewer)
    assert first == penalised.id, "a weak sign has little weight"
    add_evidence(session, state, winner, now=now, **SIGNS["hash-copies"])
    entries = flagged(session, state, reviewer)
    assert next(iter(entries)) == winner.id
    assert entries[winner.id].reasons[0].words == (
        "It wins a medal or prize on the public board without a penalty, despite strong signs of copying."
    )
    assert "unpenalised-win" not in names(entries[penalised.id])


def test_entries_within_the_tau_interval_are_flagged(
    session: Session, state: CompetitionState, reviewer: Account, now: datetime
) -> None:
    track = state.tracks["public"].id
    choice = {"interval": {"low": 0.2, "high": 0.3}}
    session.add(Threshold(track_id=track, tau=TAU, method="margin", choice=choice, reason="", created_at=now))
    entry(session, state, now, fid=1)  # takes the medal
    inside = entry(session, state, now, distance=0.29)
    edge = entry(session, state, now, distance=0.3)
    entries = flagged(session, state, reviewer)
    assert names(entries[inside.id]) == {"tau-interval"}
    assert edge.id not in entries


def test_the_same_zip_and_the_same_images(
    session: Session, state: CompetitionState, reviewer: Account, now: datetime
) -> None:
    entry(session, state, now, fid=1)
    one, other, own, apart = (entry(session, state, now) for _ in range(4))
    other.sha256 = one.sha256
    for same in (one, own):
        same.pixels_sha256 = "ab" * 32
    merged = TeamMerge(
        competition_id=state.competition.id,
        team_id=own.team_id,
        into_team_id=one.team_id,
        account_id=reviewer.id,
        created_at=now,
    )
    session.flush()
    entries = flagged(session, state, reviewer)
    assert names(entries[one.id]) == {"same-zip", "shared-images"}
    assert names(entries[other.id]) == {"same-zip"}
    assert names(entries[own.id]) == {"shared-images"}
    session.add(merged)  # now one team has the images twice: a duplicate of a flagged entry
    session.flush()
    entries = flagged(session, state, reviewer)
    assert names(entries[one.id]) == {"same-zip"}
    assert names(entries[own.id]) == {"near-duplicate"}
    assert apart.id not in entries


def test_shared_images_of_two_teams(
    session: Session, state: CompetitionState, reviewer: Account, now: datetime
) -> None:
    """Both are flagged, with the entry that shares most. Few images, and images of the same team, are no reason."""
    entry(session, state, now, fid=1)
    one, other, most, few, mate = (entry(session, state, now) for _ in range(5))
    for ref, share in ((other.ref, 0.05), (most.ref, 0.3), (few.ref, 0.0499)):
        add_shared_images(session, one.ref, ref, share=share, now=now)
    add_shared_images(session, few.ref, mate.ref, share=0.9, now=now)
    merged = {"team_id": mate.team_id, "into_team_id": few.team_id}
    made = {"competition_id": state.competition.id, "account_id": reviewer.id, "created_at": now}
    session.add(TeamMerge(**merged, **made))
    session.flush()
    entries = flagged(session, state, reviewer)
    reasons = {id_: [(one.name, one.words) for one in entries[id_].reasons] for id_ in entries}
    team = entries[most.id].team
    assert reasons[one.id] == [
        ("shared-images", f"It shares images with entry {most.ref} of {team}. The entries have 30 images (30 %) in"
         " common, 10 of them with equal pixels.")
    ]  # fmt: skip
    assert {id_ for id_ in entries if names(entries[id_]) == {"shared-images"}} == {one.id, other.id, most.id}
    assert not {few.id, mate.id} & set(entries)


def test_nearly_equal_generators_of_two_teams(
    session: Session, state: CompetitionState, reviewer: Account, now: datetime
) -> None:
    """Even if no image is nearly equal."""
    one, other, neither = (entry(session, state, now) for _ in range(3))
    add_shared_images(session, one.ref, other.ref, share=0.0, same_latents=0.75, now=now)
    entries = flagged(session, state, reviewer)
    words = f"It shares images with entry {other.ref} of {entries[other.id].team}. At 75 % of equal latents, both"
    words += " generators draw nearly the same image."
    assert ("shared-images", words) in [(reason.name, reason.words) for reason in entries[one.id].reasons]
    assert "shared-images" in names(entries[other.id])
    assert neither.id not in entries or "shared-images" not in names(entries[neither.id])


def test_late_entries_and_benchmarks_are_not_flagged(
    session: Session, state: CompetitionState, reviewer: Account, now: datetime
) -> None:
    late = entry(session, state, now, distance=0.1)
    late.late = True
    line = make_team(session, state, now)
    line.benchmark = True
    make_scored(session, state, line, fid=1, distance=0.1, now=now)
    session.flush()
    assert flagged(session, state, reviewer) == {}


def test_the_states_of_a_flagged_entry(session: Session, state: CompetitionState, now: datetime) -> None:
    ann, ben = (make_account(session, now) for _ in range(2))
    for person in (ann, ben):
        give_role(session, state.competition.id, person, "reviewer", now)
    one = entry(session, state, now, distance=0.1)
    two = entry(session, state, now, distance=0.12)

    def states(who: Account) -> dict[str, str]:
        return {id_: entry.state for id_, entry in flagged(session, state, who).items()}

    assert states(ann) == {one.id: "open", two.id: "open"}
    reviews.review(Acting(session, ann, now), one.id, "legitimate", intent=None, note="")
    assert (states(ann)[one.id], states(ben)[one.id]) == ("waiting", "open")
    reviews.review(Acting(session, ben, now), one.id, "ae", intent=None, note="")
    assert states(ann)[one.id] == states(ben)[one.id] == "disputed"
    set_label(session, one, "ae", now)
    assert states(ann)[one.id] == "unruled"
    session.add(Ruling(submission_ref=one.ref, kind="keep", reason="-", author_id=ann.id, created_at=now))
    session.flush()
    assert states(ann)[one.id] == "decided"
    session.add(EarlyLabel(submission_ref=two.ref, label="ae", source="hand", author_id=ann.id, created_at=now))
    session.flush()
    assert states(ann)[two.id] == "open"  # an early label decides nothing
    assert list(flagged(session, state, ann, states=["open"])) == [two.id]
    counts = review_queue.list_flagged(session, state, ann, states=["disputed"], limit=5).counts
    assert counts == {"open": 1, "waiting": 0, "disputed": 0, "unruled": 0, "decided": 1}


def test_the_goal_counts_winning_places(session: Session, now: datetime, reviewer: Account) -> None:
    made = make_competition(
        session, now, medals={"gold": 1, "silver": 1, "bronze": 2}, prizes=[{"place": 3, "amount": "a bone"}]
    )
    set_tau(session, made, "public", TAU, now)
    entries = [entry(session, made, now - timedelta(hours=hours), fid=10 + hours) for hours in range(5)]
    set_label(session, entries[1], "legitimate", now)
    state = load_state(session, made.competition.slug, now)
    public, private = review_queue.list_flagged(session, state, reviewer, limit=5).goals
    assert (public.reviewed, public.places) == (1, 3)  # the third place wins a prize
    assert (private.reviewed, private.places) == (0, 0)


SLIGHT: list[dict[str, Any]] = [
    {"near_copies_share": 0.04, "near_copies_p": 1e-9, "near_copies_mirrored": 0},
    {"near_copies_share": 0.5, "near_copies_p": 0.02, "near_copies_mirrored": 0},
    {"partly_copied_share": 0.04, "partly_copied_p": 1e-9},
    {"c_t": -9, "c_t_error": 1.0, "copied_cells": 1, "copied_cells_share": 1.0},
    {"hash_share": 0.04, "hash_p": 1e-9},
    {"relative_share": 0.09, "relative_expected": 0.05, "relative_p": 1e-9},
    {"relative_share": 0.5, "relative_expected": 0.05, "relative_p": 0.02},
    {"membership_auc": 0.59, "membership_auc_p": 1e-9},
    {"membership_auc": 0.9, "membership_auc_p": 0.02},
    {"membership_share": 0.9, "membership_p": 1e-9},
    {"z_u_p": 1e-9, "u_share": 0.46},
    {"thumbnail_share": 0.04, "thumbnail_p": 1e-9},
    {"support_size": 100_001.0, "support_p": 1e-9},
    {"support_size": 5.0, "support_p": 2e-4},
    {"repeats_pairs": 1, "repeats_p": 1e-9},
    {"authenticity_p": 1e-9, "authenticity_share": 0.76, "authenticity_expected": 0.8},
]
"""Values that are either certain or large, never both."""


def finding(name: str, value: float | None = None) -> dict[str, Any]:
    about = {"test": name, "name": name, "value": value, "unit": "share", "direction": "lower is better"}
    return about | {"sentence": f"The {name} of it.", "standard_error": None, "p_value": None}


def test_each_sign_of_copying_flags(
    session: Session, state: CompetitionState, reviewer: Account, now: datetime
) -> None:
    entry(session, state, now, fid=1)  # takes the medal
    findings = [finding(sign.finding) for sign in signs.SIGNS]
    entries = {}
    for name, numbers in SIGNS.items():
        entries[name] = entry(session, state, now)
        add_evidence(session, state, entries[name], now=now, findings=findings, **numbers)
    for numbers in [*SLIGHT, {}]:
        add_evidence(session, state, entry(session, state, now), now=now, **numbers)
    again = entries["data-copying"]
    add_evidence(session, state, entry(session, state, now), now=now)
    both = entry(session, state, now)
    add_measurement(session, state, both, fid=5000, distance=0.5, now=now, kind="private")
    add_measurement(session, state, entry(session, state, now), fid=1, distance=0.5, now=now, kind="private")
    for kind in ("public", "private"):
        add_evidence(session, state, both, now=now, kind=kind, findings=findings, **SIGNS["repeats"])
    flagged_names = {id_: names(entry_) - {"medal-place"} for id_, entry_ in flagged(session, state, reviewer).items()}
    expected = {entry.id: {name} for name, entry in entries.items()} | {both.id: {"repeats"}}
    assert {id_: reasons for id_, reasons in flagged_names.items() if reasons} == expected
    (words,) = [reason.words for reason in flagged(session, state, reviewer)[both.id].reasons]
    assert words == "Both tracks: The repeats of it."
    add_evidence(session, state, again, now=now, findings=findings)  # the newest counts
    assert again.id not in flagged(session, state, reviewer)
    for name, submission in entries.items():
        alone = review_queue.load_entry_flags(session, state, reviewer, submission=submission)
        assert (alone is None) == (submission is again)
        assert alone is None or names(alone) == {name}


def test_signs_of_numbers_and_of_columns_agree() -> None:
    for name, numbers in SIGNS.items():
        assert [sign.name for sign in signs.find_signs({**_nothing(), **numbers}, 8)] == [name]
    for numbers in [*SLIGHT, {}]:
        assert not signs.find_signs({**_nothing(), **numbers}, 8)


def _nothing() -> dict[str, float | None]:
    return dict.fromkeys((column.key for column in Evidence.__table__.columns), None) | {
        "identical": 0,
        "mirrored_twins": 0,
    }
