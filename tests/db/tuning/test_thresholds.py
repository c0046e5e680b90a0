"""Choosing and undoing tau, and the effects."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update
from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions.competition_state import CompetitionState
from scorer.db import tuning
from scorer.db.leaderboard import board_details
from scorer.db.leaderboard.scores import judged_entries
from scorer.db.tables import Account, EarlyLabel, Ruling, Submission, Threshold, Track
from scorer.errors import Conflict, NotFound
from scorer.submissions.labels import load_label_info
from scorer.tuning import threshold_history, thresholds
from scorer.tuning.impact import award_moves
from scorer.tuning.thresholds import Retuning, TrackEntries, TuningRequest
from tests.db.leaderboard.board_oracle import load_board
from tests.examples import examples
from tests.factories import make_account, make_competition, make_scored, make_team, set_label

MOMENT = datetime.fromisoformat("2026-03-14T12:00:00+00:00")
MEDALS = {"gold": 1, "silver": 2, "bronze": 4}

entries = st.lists(
    st.tuples(
        st.integers(0, 5),  # team
        st.sampled_from([0.5, 1.0, 1.000004, 1.000006, 2.0, 7.5]),  # fid, with ties once rounded
        st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.2500001, 0.4, 0.6]),  # distance
        st.sampled_from([None, None, "legitimate", "mgan", "other"]),  # label
        st.integers(0, 2),  # minute
    ),
    min_size=1,
    max_size=14,
)
taus = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.22, 0.25, 0.3, 0.5, 0.7])


def choose(session: Session, state: CompetitionState, author: Account, tau: float) -> tuple[Threshold, Retuning]:
    request = TuningRequest("manual", tau=tau, reason="because")
    return thresholds.retune(Acting(session, author, MOMENT), state, "public", request=request)


def load_entries(session: Session, state: CompetitionState) -> TrackEntries:
    return thresholds.load_entries(session, state, "public")


def compute_preview(session: Session, state: CompetitionState, tau: float) -> Retuning:
    return thresholds.preview(session, load_entries(session, state), TuningRequest("manual", tau=tau))


def made(session: Session, drawn: list[tuple[int, float, float, str | None, int]]) -> CompetitionState:
    state = make_competition(session, MOMENT, medals=MEDALS)
    teams = [make_team(session, state, MOMENT) for _ in range(6)]
    for team, fid, distance, label, minute in drawn:
        at = MOMENT - timedelta(minutes=minute)
        entry = make_scored(session, state, teams[team], fid=fid, distance=distance, now=at)
        if label is not None:
            set_label(session, entry, label, MOMENT)
    return state


def list_effects(retuning: Retuning) -> dict[str, Any]:
    impact = retuning.impact
    numbers = {
        "entries": impact.entries,
        "below": impact.below,
        "reviews": impact.reviews,
        "was": impact.reviews_before,
    }
    return {**numbers, "lists": retuning.lists, "previous": retuning.previous, "choice": retuning.choice}


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries, taus, taus)
def test_a_preview_matches_the_choice(
    session: Session, drawn: list[tuple[int, float, float, str | None, int]], first: float, second: float
) -> None:
    with session.begin_nested() as savepoint:
        state = made(session, drawn)
        author = make_account(session, MOMENT, "organizer")
        choose(session, state, author, first)

        def ranks() -> dict[str, int | None]:
            lines = load_board(session, state).page(0, None)
            names = board_details.load_team_names(session, {line.team_id for line in lines})
            return {names[line.team_id]: line.rank for line in lines}

        def penalised() -> dict[str, bool | None]:
            rows = session.execute(judged_entries(track_id=state.tracks["public"].id))
            return {row.id: row.penalised for row in rows if not row.benchmark and not row.late}

        before, was = ranks(), penalised()
        preview = compute_preview(session, state, second)
        assert ranks() == before
        assert list_effects(choose(session, state, author, second)[1]) == list_effects(preview)
        now = penalised()
        lists: dict[str, Any] = {name: page.rows for name, page in preview.lists.items()}
        assert {entry.submission_id for entry in lists["penalised"]} == {
            id_ for id_ in now if now[id_] and not was[id_]
        }
        assert {entry.submission_id for entry in lists["freed"]} == {id_ for id_ in now if was[id_] and not now[id_]}
        after = ranks()
        assert {(move.team, move.before, move.after) for move in lists["moves"]} == {
            (team, before.get(team), after.get(team))
            for team in before.keys() | after.keys()
            if before.get(team) != after.get(team)
        }
        savepoint.rollback()


def test_medals_and_reviews(session: Session, now: datetime) -> None:
    """Six teams on ranks 1 to 6 at tau 0. The second is labelled as memorising, the fourth as honest."""
    state = make_competition(session, now, medals=MEDALS)
    rows = [(1.0, 0.1), (2.0, 0.2), (3.0, 0.3), (4.0, 0.4), (5.0, 0.5), (6.0, 0.6)]
    entry = [
        make_scored(session, state, make_team(session, state, now), fid=fid, distance=distance, now=now)
        for fid, distance in rows
    ]
    set_label(session, entry[1], "mgan", now)
    set_label(session, entry[3], "legitimate", now)
    author = make_account(session, now, "organizer")
    first = choose(session, state, author, 0.0)[1].impact
    # Places 1 to 4 go to the first, third, fourth and fifth entry; the second is skipped.
    assert vars(first.reviews) == {"places": 4, "looked": 5, "open": 3}
    retuning = choose(session, state, author, 0.15)[1]
    done = retuning.impact
    assert [(move.before, move.after) for move in award_moves(done.moves, done.awards, "medal")] == [
        ("silver", "gold"),
        ("bronze", "silver"),
        (None, "bronze"),
        ("gold", None),
    ]
    moves: Any = retuning.lists["moves"].rows
    assert [(move.before, move.after) for move in moves] == [(2, 1), (3, 2), (4, 3), (5, 4), (6, 5), (1, 6)]
    assert done.reviews_before == first.reviews
    assert vars(done.reviews) == {"places": 4, "looked": 5, "open": 3}
    everybody = choose(session, state, author, 0.25)[1]
    assert vars(everybody.impact.reviews) == {"places": 4, "looked": 4, "open": 3}
    penalised: Any = everybody.lists["penalised"].rows
    assert [change.label for change in penalised] == ["mgan"]


def test_repeated_undo_restores_earlier_choices(session: Session, now: datetime) -> None:
    state = made(session, [(0, 1.0, 0.2, None, 5), (1, 2.0, 0.4, None, 5)])
    author = make_account(session, now, "organizer")

    def undo(after: int | None = None) -> tuple[Threshold, Retuning]:
        return thresholds.undo(Acting(session, author, now), state, "public", reason="no", after=after)

    with pytest.raises(Conflict, match="no earlier tau"):
        undo()
    chosen = [choose(session, state, author, tau)[0] for tau in (0.1, 0.3, 0.5)]
    threshold, back = undo()
    assert (threshold.tau, threshold.method) == (0.3, "undo")
    assert threshold.choice["restores"] == chosen[1].id
    assert len(back.impact.freed) == 1
    assert back.choice.tau == 0.3
    with pytest.raises(Conflict, match="Another tau has been chosen in the meantime"):
        undo(after=chosen[2].id)
    assert undo(after=threshold.id)[0].tau == 0.1
    with pytest.raises(Conflict):
        undo()
    choose(session, state, author, 0.45)
    assert undo()[0].tau == 0.1
    history = threshold_history.threshold_history(session, load_entries(session, state))
    steps = history.steps
    assert (history.total, history.undoable) == (7, False)
    assert [step.threshold.tau for step in steps] == [0.1, 0.45, 0.1, 0.3, 0.5, 0.3, 0.1]
    assert [step.is_effective for step in steps] == [False] * 6 + [True]
    assert [(step.penalised.total, step.freed.total) for step in steps] == [
        (0, 2), (2, 0), (0, 1), (0, 1), (1, 0), (1, 0), (0, 0),
    ]  # fmt: skip


def test_an_entry_that_came_later_is_in_no_earlier_difference(session: Session, now: datetime) -> None:
    state = made(session, [(0, 1.0, 0.2, None, 5)])
    author = make_account(session, now, "organizer")
    choose(session, state, author, 0.3)
    make_scored(session, state, make_team(session, state, now), fid=1, distance=0.1, now=MOMENT + timedelta(hours=1))
    (step,) = threshold_history.threshold_history(session, load_entries(session, state)).steps
    changes: Any = step.penalised.rows
    assert [change.memorization_distance for change in changes] == [0.2]


def test_the_label_other_counts_only_with_a_memorising_ruling(session: Session, now: datetime) -> None:
    state = made(session, [(0, 1.0, 0.2, "other", 5), (1, 2.0, 0.4, "legitimate", 5), (2, 2.0, 0.3, None, 5)])
    refs = sorted(
        submission.ref for submission in session.query(Submission).filter_by(competition_id=state.competition.id)
    )
    author = make_account(session, now, "organizer")

    def memorising() -> list[bool | None]:
        about = load_label_info(session, state.competition.id)
        return [about[ref].memorising if ref in about else None for ref in refs]

    def rule(memorising: bool | None) -> None:
        session.add(
            Ruling(
                submission_ref=refs[0],
                kind="disqualify",
                reason="",
                memorising=memorising,
                author_id=author.id,
                created_at=now,
            )
        )
        session.flush()

    assert memorising() == [None, False, None]
    rule(True)
    assert memorising() == [True, False, None]
    rule(None)
    assert memorising() == [None, False, None]
    session.add(EarlyLabel(submission_ref=refs[2], label="aug", source="hand", author_id=author.id, created_at=now))
    session.add(EarlyLabel(submission_ref=refs[1], label="aug", source="hand", author_id=author.id, created_at=now))
    session.flush()
    assert memorising() == [None, False, None], "an early label decides nothing"
    infos = load_label_info(session, state.competition.id, early_labels=True)
    assert (infos[refs[2]].memorising, infos[refs[2]].early) == (True, True)
    assert (infos[refs[1]].memorising, infos[refs[1]].early) == (False, False)


def test_every_method_has_a_choice_or_a_missing_requirement(session: Session, now: datetime) -> None:
    state = made(session, [(0, 1.0, 0.2, None, 5), (1, 2.0, 0.4, None, 5)])
    options = {option.method: option for option in thresholds.method_options(load_entries(session, state))}
    assert list(options) == ["margin", "held_out", "otsu", "accuracy", "paper"]
    lacks = {method: option.lacks.type for method, option in options.items() if option.lacks}
    assert lacks == {"margin": "no-labels", "accuracy": "no-labels", "held_out": "no-held-out-distance"}
    assert options["otsu"].tau == pytest.approx(0.3)


def test_older_choices_and_changes_are_paged(session: Session, now: datetime) -> None:
    state = made(session, [(team, 1.0 + team, 0.1 + team / 100, None, 5) for team in range(6)])
    author = make_account(session, MOMENT, "organizer")
    ids = [choose(session, state, author, tau)[0].id for tau in (0.125, 0.2, 0.15)]
    entries = load_entries(session, state)
    older = threshold_history.threshold_history(session, entries, before=ids[2], limit=1)
    assert ([step.threshold.id for step in older.steps], older.total) == ([ids[1]], 3)
    pages = [threshold_history.load_step_changes(session, entries, ids[1], after=after, limit=2) for after in (0, 2, 4)]
    distances = [[row.memorization_distance for row in page.rows] for page in pages]
    assert distances == [[pytest.approx(0.13), pytest.approx(0.14)], [pytest.approx(0.15)], []]
    assert [(page.total, page.next_after) for page in pages] == [(3, 2), (3, None), (3, None)]
    with pytest.raises(NotFound):
        threshold_history.load_step_changes(session, entries, ids[2] + 1, after=0, limit=2)


def test_two_choices_can_be_compared_afterwards(session: Session, now: datetime) -> None:
    state = made(session, [(0, 1.0, 0.2, None, 5), (1, 2.0, 0.4, None, 5)])
    author = make_account(session, MOMENT, "organizer")
    first, _ = choose(session, state, author, 0.1)
    _, second = choose(session, state, author, 0.3)
    entries = load_entries(session, state)
    request = TuningRequest("manual", tau=0.3)
    assert thresholds.compute_impact(session, entries, request).lists["moves"].total == 0
    again = thresholds.compute_impact(session, entries, request, previous=first.id)
    assert list_effects(again) == list_effects(second)
    unranked: Any = thresholds.compute_impact(session, entries, request, previous=0).lists["moves"].rows
    assert [(move.before, move.after) for move in unranked] == [(None, 1), (None, 2)]
    with pytest.raises(NotFound):
        thresholds.compare(session, entries, request, previous=first.id - 1)


def test_a_tau_chosen_while_another_is_computed_wins(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compared tau is checked again under the lock, even if the organizer did not send the tau that they saw."""
    state = made(session, [(0, 1.0, 0.2, None, 5), (1, 2.0, 0.4, None, 5)])
    author = make_account(session, MOMENT, "organizer")
    choose(session, state, author, 0.1)
    lock = tuning.lock_track
    meanwhile = [0.2]

    def lock_after_another(session: Session, track_id: int) -> str:
        for tau in meanwhile[:]:
            meanwhile.clear()
            choose(session, state, author, tau)
        return lock(session, track_id)

    monkeypatch.setattr(tuning, "lock_track", lock_after_another)
    with pytest.raises(Conflict, match="Another tau has been chosen in the meantime"):
        choose(session, state, author, 0.3)
    assert [row.tau for row in tuning.load_thresholds(session, state.tracks["public"].id)] == [0.2, 0.1]


def test_a_tau_for_an_extractor_that_was_replaced_meanwhile_is_refused(session: Session) -> None:
    state = made(session, [(0, 1.0, 0.2, None, 5)])
    author = make_account(session, MOMENT, "organizer")
    session.execute(
        update(Track).where(Track.id == state.tracks["private"].id).values(kind="former", replaced_at=MOMENT)
    )
    request = TuningRequest("manual", tau=0.2)
    with pytest.raises(Conflict, match="The track's extractor has been changed in the meantime"):
        thresholds.retune(Acting(session, author, MOMENT), state, "private", request=request)
