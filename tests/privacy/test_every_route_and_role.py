"""Nothing private leaks: every route, every role, every canary."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from scorer.db.tables import (
    Account,
    CodeAttachment,
    Delivery,
    Evidence,
    GeneratorFile,
    Job,
    Label,
    Mail,
    Measurement,
    Notice,
    PickSet,
    Preparation,
    Recovery,
    ReferenceSet,
    ShownMeasurement,
    ShownTrack,
    Submission,
    TeamInvitation,
    Threshold,
    Track,
    Upload,
    Webhook,
)
from tests import growing_tables
from tests.privacy import access_table
from tests.privacy.canaries import COMPETING, SEARCH
from tests.privacy.crawler import (
    CrawlResult,
    RouteAnswer,
    answers_of,
    crawl,
    differences,
)
from tests.privacy.environment import NOW, Environment
from tests.sql_statements import recorded_statements

RECOVERED: dict[str, Any] = {"findings": [], "errors": {}, "pairs": {}, **SEARCH}


def named(world: Environment, *kinds: str) -> set[str]:
    """The names of the planted secrets of these kinds."""
    return {each.name for each in world.planted.secrets if each.kind in kinds}


Answers = dict[tuple[str, str], RouteAnswer]


@pytest.fixture(scope="module")
def recorded_answers(world: Environment) -> tuple[Answers, dict[str, Any]]:
    """What participants are answered by routes that change nothing, and the statements that it took."""
    with recorded_statements() as statements:
        return answers_of(world, COMPETING), statements


@pytest.fixture(scope="module")
def before(recorded_answers: tuple[Answers, dict[str, Any]]) -> Answers:
    """The answers alone."""
    return recorded_answers[0]


@pytest.mark.parametrize("role", COMPETING)
def test_no_page_shows_a_competitor_what_is_hidden(world: Environment, before: Answers, role: str) -> None:
    """The quick part of the next test: one role, and the routes that change nothing."""
    result = crawl(world, roles=[role], safe=True, known=before)
    assert not result.broken
    assert not [str(each) for each in result.leaks]


@pytest.fixture(scope="module")
def recorded_crawl(
    world: Environment, recorded_answers: tuple[Answers, dict[str, Any]]
) -> tuple[CrawlResult, dict[str, Any]]:
    """Every route in every role, and the statements that it took."""
    before, earlier = recorded_answers
    with recorded_statements() as statements:
        return crawl(world, known=before), statements | earlier


@pytest.fixture(scope="module")
def whole_crawl(recorded_crawl: tuple[CrawlResult, dict[str, Any]]) -> CrawlResult:
    """Every route in every role."""
    return recorded_crawl[0]


def test_no_route_reveals_what_is_hidden(world: Environment, whole_crawl: CrawlResult) -> None:
    result = whole_crawl
    assert not result.broken
    assert not result.unused, "nobody could use these: say in tests/privacy/requests.py how they are called"
    assert not [str(each) for each in result.leaks]
    # The eyes are open: what is to be seen is seen.
    assert named(world, "score") <= result.seen["organizer"]
    assert {"private-reference-count", "held-out-distance", "why-private-tau"} <= result.seen["organizer"]
    assert named(world, "team") - result.seen["insider"] <= {
        "upload", "pixels-scored", "pixels-waiting", "example-public-own", "example-private-own",
    }  # fmt: skip
    assert "code-bytes" in result.seen["reviewer"]


def test_who_may_use_which_route_is_as_the_table_says(whole_crawl: CrawlResult, tmp_path: Path) -> None:
    now = access_table.table_of(whole_crawl.statuses)
    (tmp_path / "access_table.md").write_text(now)
    told = f"if what has changed is meant: cp {tmp_path}/access_table.md {access_table.FILE}"
    assert now.splitlines() == access_table.FILE.read_text().splitlines(), told


def test_the_table_of_routes_keeps_its_rules(whole_crawl: CrawlResult) -> None:
    """What no edit of the table may change unseen."""
    assert access_table.broken_rules(whole_crawl.statuses) == []


def test_no_route_reads_a_growing_table_from_end_to_end(
    world: Environment, recorded_crawl: tuple[CrawlResult, dict[str, Any]]
) -> None:
    _, statements = recorded_crawl
    with world.undone() as connection:
        assert growing_tables.read_whole(connection, statements) == {}


def test_every_act_of_office_is_written_down(whole_crawl: CrawlResult) -> None:
    acts = access_table.acts_of_office(whole_crawl.statuses)
    assert acts - whole_crawl.recorded == set(access_table.NOT_WRITTEN_DOWN)


def test_what_is_private_changes_nothing_that_competitors_see(
    world: Environment, before: Answers, put_back: None
) -> None:
    with world.rewriting() as session:
        change_what_is_private(session)
    assert not differences(before, answers_of(world, COMPETING))


def change_what_is_private(session: Session) -> None:
    """Other private scores in another order, another tau, another extractor, other images, more work, other labels."""
    track = session.scalars(select(Track).where(Track.kind == "private", Track.preparation_id.is_not(None))).one()
    track.extractor = "another"
    track.epsilon = 1e-9
    session.add(Threshold(track_id=track.id, tau=0.05, method="manual", choice={}, reason="", created_at=NOW))
    ranked = session.scalars(select(Measurement).where(Measurement.track_id == track.id)).all()
    for place, measurement in enumerate(sorted(ranked, key=lambda each: each.fid)):
        measurement.fid = 9000.0 - 1000 * place
        measurement.memorization_distance = 0.9
        measurement.histogram = {}
        measurement.provenance = {"a": 1}
        measurement.closest_pairs = []
        session.add(
            Label(
                submission_ref=measurement.submission_ref, label="legitimate", note="", created_at=NOW,
                author_id=session.scalars(select(Account.id)).first(),
            )
        )  # fmt: skip
        session.add(
            Job(
                queue="score", submission_ref=measurement.submission_ref, track_id=track.id, state="waiting",
                priority=1, turn=0, due_at=NOW, attempts=0, created_at=NOW,
            )
        )  # fmt: skip
    session.execute(
        update(Job)
        .where(Job.priority == 1, Job.state == "running")
        .values(state="done", holder=None, finished_at=NOW + timedelta(seconds=5))
    )
    change_shown_tracks(session)
    session.execute(update(Evidence).values(findings=[], details={}, near_copies_share=0.0))
    session.execute(update(Recovery).values(p_value=0.5, gap=-0.1, report={**RECOVERED, "sentence": "Another."}))
    session.execute(update(Preparation).where(Preparation.id == track.preparation_id).values(count=5))
    session.execute(update(ReferenceSet).values(bytes=ReferenceSet.bytes + 1, blob_key="elsewhere"))


def change_shown_tracks(session: Session) -> None:
    """Another number of an entry on the shown track that participants do not see, and one such track more."""
    measured = session.scalars(select(ShownMeasurement).order_by(ShownMeasurement.id).limit(1)).one()
    shown = session.get_one(ShownTrack, measured.shown_track_id)
    of_entry = {"submission_ref": measured.submission_ref, "shown_track_id": shown.id, "created_at": NOW}
    job = Job(**of_entry, queue="rescore", state="done", priority=2, turn=0, due_at=NOW, attempts=1, finished_at=NOW)
    session.add(job)
    session.flush()
    session.add(ShownMeasurement(**of_entry, job_id=job.id, scorer_version="1", value=1.0, provenance={}))
    names = ("competition_id", "metric", "constants", "extractor", "reference", "visibility", "author_id", "created_at")
    session.add(ShownTrack(**{name: getattr(shown, name) for name in names}, name="another"))


def test_another_teams_work_changes_nothing_that_others_see(
    world: Environment, before: Answers, put_back: None
) -> None:
    with world.rewriting() as session:
        change_what_is_the_insiders(session, world)
    after = answers_of(world, COMPETING[:2])
    assert not differences({key: answer for key, answer in before.items() if key in after}, after)


def change_what_is_the_insiders(session: Session, world: Environment) -> None:
    """Other notes, files, code, images, picks, uploads, invitations and addresses, and one entry less in the queue."""
    for name in ("scored own", "waiting own"):
        entry = session.scalars(select(Submission).where(Submission.id == world.planted.ids[name])).one()
        entry.note = "another"
        entry.file_name = "another.zip"
        entry.sha256 = "0" * 64
        entry.bytes = 99
        entry.sprite_key = None
        entry.pixels_sha256 = "0" * 64
        entry.idempotency_key = name
    entry.status = "rejected"
    entry.reason = "A reason of another team."
    session.execute(update(CodeAttachment).values(sha256="0" * 64, bytes=7))
    session.execute(update(GeneratorFile).values(sha256="0" * 64, bytes=7, dimension=9))
    session.execute(update(PickSet).values(submission_refs=[]))
    session.execute(update(Upload).values(note="another", state="ended"))
    session.execute(update(Account).where(Account.handle == "ada").values(email="elsewhere@example.org"))
    session.execute(update(TeamInvitation).values(state="withdrawn", answered_at=NOW, answered_by=entry.account_id))
    for table in (Delivery, Notice):
        session.execute(update(table).values(subject="another"))
    session.execute(update(Webhook).values(url="https://elsewhere.example.org"))


def test_no_message_reveals_what_is_hidden(world: Environment) -> None:
    with world.rewriting() as session:
        rows = [*session.scalars(select(Notice)), *session.scalars(select(Mail)), *session.scalars(select(Delivery))]
        texts = [f"{row.subject} {row.body} {row.link}" for row in rows]
    assert texts
    told_of = {"score", "evidence", "reference", "storage"}
    assert not [
        each.name
        for each in world.planted.secrets
        if each.kind in told_of
        for text in texts
        if each.is_in(text.lower())
    ]
