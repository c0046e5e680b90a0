"""Zips removed after the final publication: only those that no decision depends on."""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from scorer.competitions.competition_state import CompetitionState, load_state
from scorer.db.tables import AuditEntry, Draw, Publication, Rebuttal, Release, Review, Ruling, Submission, TeamMerge
from scorer.db.tables import Job as JobRow
from scorer.errors import Conflict
from scorer.review import zip_retention
from scorer.submissions.files import stored_zip
from tests.factories import make_competition, make_entry, make_scored, make_submission, make_team, set_label, set_tau

DAYS = 30
ONE_WINNER = {"gold": 1, "silver": 1, "bronze": 1}
LIMIT = 100


@pytest.fixture
def state(session: Session, now: datetime) -> CompetitionState:
    """A competition with one winning place and a board published 40 days ago."""
    made = make_competition(session, now - timedelta(days=60), closes_at=now - timedelta(days=45), medals=ONE_WINNER)
    for kind in made.tracks:
        set_tau(session, made, kind, 0.01, now - timedelta(days=55))
    publish(session, made, now - timedelta(days=40))
    return load_state(session, made.competition.slug, now)


def publish(
    session: Session, state: CompetitionState, at: datetime, *, published: bool = True, final: bool = True
) -> None:
    """Publish or withdraw the board."""
    author = state.competition.created_by
    act = Publication(competition_id=state.competition.id, published=published, reason="-", author_id=author)
    act.final = final
    act.created_at = act.as_of = at
    session.add(act)
    session.flush()


def taken(session: Session, state: CompetitionState, now: datetime, limit: int = LIMIT) -> set[str]:
    """Remove zips and return the ids of their entries."""
    keys = zip_retention.take_zips(session, state.competition.slug, DAYS, now=now, limit=limit)
    session.expire_all()
    gone = session.scalars(select(Submission).where(Submission.zip_removed_at == now)).all()
    assert len(keys) == len(set(keys)) == len(gone)
    return {entry.id for entry in gone}


def make_losing_entry(session: Session, state: CompetitionState, now: datetime) -> Submission:
    """An entry that wins nothing, submitted before the publication."""
    return make_entry(session, state, now - timedelta(days=50), fid=90.0, distance=0.5)


def test_zips_of_entries_that_win_nothing_are_removed(session: Session, state: CompetitionState, now: datetime) -> None:
    winner = make_entry(session, state, now - timedelta(days=50), fid=10.0, distance=0.5)
    winners_other_entry = make_submission(session, state, winner.team, now=now - timedelta(days=50), status="rejected")
    loser = make_losing_entry(session, state, now)
    key, sha256 = loser.blob_key, loser.sha256
    seen = zip_retention.zip_retention(session, state, DAYS, now=now)
    assert (seen.stored.zips, seen.leaving.zips, seen.removed.zips) == (3, 1, 0)
    assert seen.leave_from == now - timedelta(days=10)
    assert zip_retention.competitions_past_retention(session, DAYS, now) == [state.competition.slug]
    assert zip_retention.take_zips(session, state.competition.slug, DAYS, now=now, limit=LIMIT) == [key]
    session.expire_all()
    assert (loser.blob_key, loser.sha256, loser.zip_removed_at) == (None, sha256, now)
    assert stored_zip(winner).key
    assert stored_zip(winners_other_entry).key
    with pytest.raises(Conflict, match=f"The file of {loser.id} was removed on 2026-03-14") as refused:
        stored_zip(loser)
    assert refused.value.slug == "zip-removed"
    seen = zip_retention.zip_retention(session, state, DAYS, now=now)
    assert (seen.stored.zips, seen.leaving.zips, seen.removed.zips, seen.removed.last_at) == (2, 0, 1, now)
    (act,) = session.scalars(select(AuditEntry).where(AuditEntry.action == "zips.removed"))
    assert (act.subject, act.after) == (f"competition:{state.competition.slug}", {"zips": 1, "kept_days": DAYS})
    assert taken(session, state, now + timedelta(seconds=1)) == set()


def reviewed(session: Session, entry: Submission, now: datetime) -> None:
    session.add(
        Review(
            submission_ref=entry.ref,
            reviewer_id=entry.account_id,
            label="other",
            intent="unclear",
            note="",
            created_at=now,
        )
    )


def labelled(session: Session, entry: Submission, now: datetime) -> None:
    set_label(session, entry, "legitimate", now)


def ruled(session: Session, entry: Submission, now: datetime) -> None:
    session.add(Ruling(submission_ref=entry.ref, kind="keep", reason="-", author_id=entry.account_id, created_at=now))


def appealed(session: Session, entry: Submission, now: datetime) -> None:
    session.add(
        Rebuttal(submission_ref=entry.ref, team_id=entry.team_id, author_id=entry.account_id, text="-", created_at=now)
    )


def make_benchmark(session: Session, entry: Submission, now: datetime) -> None:
    entry.team.benchmark = True


def late(session: Session, entry: Submission, now: datetime) -> None:
    entry.accepted_at = now - timedelta(days=DAYS - 1)


def with_job(session: Session, entry: Submission, now: datetime) -> None:
    session.add(job(now, queue="evidence", submission_ref=entry.ref))


def to_be_released(session: Session, entry: Submission, now: datetime) -> None:
    release = Release(
        id="r", competition_id=entry.competition_id, images="all", key=b"k", author_id=entry.account_id, created_at=now
    )
    session.add(release)
    session.flush()
    session.add(job(now, queue="release", release_id=release.id))


def merged_into_winner(session: Session, entry: Submission, now: datetime) -> None:
    state = load_state(session, entry.competition.slug, now)
    winner = make_entry(session, state, now - timedelta(days=50), fid=1.0, distance=0.5)
    merge = {"team_id": entry.team_id, "into_team_id": winner.team_id, "competition_id": entry.competition_id}
    session.add(TeamMerge(**merge, account_id=entry.account_id, created_at=now))


def job(now: datetime, **values: object) -> JobRow:
    """A waiting job."""
    return JobRow(state="waiting", priority=0, turn=0, attempts=0, due_at=now, created_at=now, **values)


@pytest.mark.parametrize(
    "keep",
    [reviewed, labelled, ruled, appealed, make_benchmark, late, with_job, to_be_released, merged_into_winner],
    ids=lambda keep: keep.__name__,
)
def test_zips_needed_for_a_decision_stay(
    keep: Callable[[Session, Submission, datetime], None], session: Session, state: CompetitionState, now: datetime
) -> None:
    make_entry(session, state, now - timedelta(days=50), fid=10.0, distance=0.5)
    entry = make_losing_entry(session, state, now)
    assert zip_retention.zip_retention(session, state, DAYS, now=now).leaving.zips == 1
    keep(session, entry, now)
    session.flush()
    assert entry.id not in taken(session, state, now)


def test_no_zip_is_removed_early(session: Session, state: CompetitionState, now: datetime) -> None:
    entry = make_losing_entry(session, state, now)
    team = make_team(session, state, now)
    assert taken(session, state, now - timedelta(days=10)) == set()
    publish(session, state, now, published=False)
    assert taken(session, state, now) == set()
    assert zip_retention.competitions_past_retention(session, DAYS, now) == []
    publish(session, state, now)
    assert taken(session, state, now) == set()
    assert zip_retention.zip_retention(session, state, None, now=now).leave_from is None
    make_entry(session, state, now - timedelta(days=50), fid=1.0, distance=0.5)
    other = make_submission(session, state, team, now=now, status="failed")
    assert taken(session, state, now + timedelta(days=DAYS + 1)) == {entry.id, other.id}


def test_no_zip_is_removed_while_the_board_is_provisional(
    session: Session, state: CompetitionState, now: datetime
) -> None:
    make_losing_entry(session, state, now)
    assert zip_retention.competitions_past_retention(session, DAYS, now) == [state.competition.slug]
    publish(session, state, now - timedelta(days=39), final=False)
    assert zip_retention.competitions_past_retention(session, DAYS, now) == []
    assert taken(session, state, now) == set()


def test_zips_are_removed_in_batches(session: Session, state: CompetitionState, now: datetime) -> None:
    winner = make_entry(session, state, now - timedelta(days=50), fid=1.0, distance=0.5)
    entries = {make_losing_entry(session, state, now).id for _ in range(3)}
    assert len(taken(session, state, now, limit=2)) == 2
    assert len(taken(session, state, now + timedelta(seconds=1), limit=2)) == 1
    left = session.scalars(select(Submission.id).where(Submission.blob_key.is_not(None))).all()
    assert list(left) == [winner.id]
    assert winner.id not in entries


def test_generators_that_are_final_picks_stay(session: Session, state: CompetitionState, now: datetime) -> None:
    """Others are removed with their draws."""
    state.competition.entries = "generator"
    make_entry(session, state, now - timedelta(days=50), fid=1.0, distance=0.5)
    best = make_losing_entry(session, state, now)
    others = [
        make_scored(session, state, best.team, fid=fid, distance=0.5, now=now - timedelta(days=50))
        for fid in (91.0, 92.0)
    ]
    for entry, (number, key) in product([best, *others], enumerate(("draws/a", "draws/b", None), 1)):
        stored = {"blob_key": f"{key}-{entry.ref}", "bytes": 1000} if key else {"fault": "Too slow.", "bytes": 0}
        made = {"submission_ref": entry.ref, "track_kind": "private", "number": number, "created_at": now}
        session.add(Draw(**made, **stored, provenance={}))
    session.flush()
    seen = zip_retention.zip_retention(session, state, DAYS, now=now)
    last = others[-1]
    keys = {last.blob_key, f"draws/a-{last.ref}", f"draws/b-{last.ref}"}
    assert (seen.leaving.zips, seen.leaving.bytes) == (1, last.bytes + 2000)
    assert set(zip_retention.take_zips(session, state.competition.slug, DAYS, now=now, limit=LIMIT)) == keys
    session.expire_all()
    drawn = session.scalars(select(Draw).where(Draw.removed_at.is_not(None))).all()
    assert {draw.submission_ref for draw in drawn} == {last.ref}
    assert last.zip_removed_at == now


@pytest.mark.parametrize("values", [{"blob_key": None}, {"sha256": None}, {"zip_removed_at": True}])
def test_the_database_requires_a_zip_or_a_removal(
    values: dict[str, object], session: Session, state: CompetitionState, now: datetime
) -> None:
    entry = make_losing_entry(session, state, now)
    for name, value in values.items():
        setattr(entry, name, now if value else None)
    with pytest.raises(IntegrityError, match="ck_submissions_zip"):
        session.flush()
