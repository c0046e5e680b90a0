"""Nothing private leaks: every route, every role, every canary."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from scorer.blobs import Blobs
from scorer.competitions.competition_state import state_of
from scorer.db.submissions import submissions
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
from scorer.evidence.images import png_of
from scorer.lifecycle import TRACK_KINDS
from scorer.review.review_queue import near_share
from tests import growing_tables
from tests.factories import noise_images, set_tau, zip_of
from tests.privacy import access_table, crawler
from tests.privacy.canaries import SLUG, TAU, publish
from tests.privacy.canary_values import number_canary, text_canary
from tests.privacy.crawler import (
    CrawlResult,
    RouteAnswer,
    answers_of,
    crawl,
    differences,
    distinguishable_answers,
    routes_of,
)
from tests.privacy.environment import NOW, Environment
from tests.sql_statements import recorded_statements

RECOVERED: dict[str, Any] = {"findings": [], "errors": {}, "pairs": {}}
COMPETING = ("visitor", "outsider", "insider")
SHOWN_TRACK = frozenset({"shown-track", "shown-value-own", "shown-error-own"})
"""What participants see with the final board."""


def named(world: Environment, *kinds: str) -> set[str]:
    """The names of the planted secrets of these kinds."""
    return {each.name for each in world.planted.secrets if each.kind in kinds}


@pytest.fixture(scope="module")
def before(world: Environment) -> dict[tuple[str, str], RouteAnswer]:
    """The answers that participants get."""
    return answers_of(world, COMPETING)


@pytest.fixture
def put_back(world: Environment) -> Iterator[None]:
    """Whatever a test changes."""
    yield
    world.restore()


def seen_against(track: str) -> set[str]:
    """What the team of an entry that is penalised on a track may see."""
    return {f"{name}-{track}" for name in ("pair", "sheet", "finding")}


@pytest.fixture
def penalised(world: Environment, put_back: None, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The competition has closed, and the insider's entry is penalised on both tracks. On each of them, one of its
    images is a training image and another one is of a hidden set. The names of these secrets."""
    secrets = []
    with world.rewriting() as session:
        state = state_of(session, SLUG, NOW)
        state.competition.closes_at = NOW - timedelta(minutes=1)
        set_tau(session, state, "public", 0.612, NOW)
        entry = session.scalars(select(Submission).where(Submission.id == world.planted.ids["scored own"])).one()
        images = noise_images(5, state.competition.image_count, state.competition.image_size)
        entry.blob_key, blobs = "pairs/entry.zip", Blobs(world.settings.blob_url)
        for name in (entry.blob_key, "pairs/reference.zip"):
            blobs.write(name, zip_of(images))
        session.execute(update(ReferenceSet).values(blob_key="pairs/reference.zip"))
        for place, kind in enumerate(TRACK_KINDS):
            tau, number = ((0.612, 0.0517293), (TAU, 0.0618457))[place]
            track = state.tracks[kind]
            measured = submissions.newest_measurement(session, entry.ref, track.id)
            assert measured is not None
            assert track.preparation is not None
            track.preparation.key = f"key-{kind}"  # receipts have it
            measured.provenance = {"reference": track.preparation.key}
            measured.histogram = {"low": 0.0, "high": 2.0, "counts": [31, 27, 16]}
            hidden = {"image": 0, "reference": len(images), "reference_name": "hidden/0.png", "distance": number / 3}
            shown = {"image": place, "reference": place, "reference_name": "train/0.png", "distance": number}
            measured.closest_pairs = [hidden, shown]
            sheet = png_of(np.concatenate([images[place], images[place]])).decode("latin-1")
            secrets += [
                number_canary(f"hidden-pair-{kind}", "evidence", number / 3),
                number_canary(f"pair-{kind}", "pair", number),
                text_canary(f"sheet-{kind}", "pair", sheet),
                text_canary(f"finding-{kind}", "pair", near_share(measured.histogram, tau / 2)),
            ]
    monkeypatch.setattr(world.planted, "secrets", [*world.planted.secrets, *secrets])
    return {each.name for each in secrets}


@pytest.mark.heavy
def test_after_the_close_a_penalised_team_sees_what_is_against_it_on_the_public_track(
    world: Environment, penalised: set[str]
) -> None:
    result = crawl(world, roles=COMPETING, safe=True)
    assert not result.broken
    assert not [str(each) for each in result.leaks]
    assert penalised & result.seen["insider"] == seen_against("public")
    assert not penalised & (result.seen["visitor"] | result.seen["outsider"])


@pytest.mark.parametrize("role", COMPETING)
def test_no_page_shows_a_competitor_what_is_hidden(world: Environment, role: str) -> None:
    """The quick part of the next test: one role, and the routes that change nothing."""
    result = crawl(world, roles=[role], safe=True)
    assert not result.broken
    assert not [str(each) for each in result.leaks]


@pytest.fixture(scope="module")
def recorded_crawl(world: Environment) -> tuple[CrawlResult, dict[str, Any]]:
    """Every route in every role, and the statements that it took."""
    with recorded_statements() as statements:
        return crawl(world), statements


@pytest.fixture(scope="module")
def whole_crawl(recorded_crawl: tuple[CrawlResult, dict[str, Any]]) -> CrawlResult:
    """Every route in every role."""
    return recorded_crawl[0]


@pytest.mark.heavy
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


@pytest.mark.heavy
def test_who_may_use_which_route_is_as_the_table_says(whole_crawl: CrawlResult, tmp_path: Path) -> None:
    now = access_table.table_of(whole_crawl.statuses)
    (tmp_path / "access_table.md").write_text(now)
    told = f"if what has changed is meant: cp {tmp_path}/access_table.md {access_table.FILE}"
    assert now.splitlines() == access_table.FILE.read_text().splitlines(), told


@pytest.mark.heavy
def test_the_table_of_routes_keeps_its_rules(whole_crawl: CrawlResult) -> None:
    """What no edit of the table may change unseen."""
    assert access_table.broken_rules(whole_crawl.statuses) == []


@pytest.mark.heavy
def test_no_route_reads_a_growing_table_from_end_to_end(
    world: Environment, recorded_crawl: tuple[CrawlResult, dict[str, Any]]
) -> None:
    _, statements = recorded_crawl
    with world.undone() as connection:
        assert growing_tables.read_whole(connection, statements) == {}


@pytest.mark.heavy
def test_every_act_of_office_is_written_down(whole_crawl: CrawlResult) -> None:
    acts = access_table.acts_of_office(whole_crawl.statuses)
    assert acts - whole_crawl.recorded == set(access_table.NOT_WRITTEN_DOWN)


@pytest.mark.heavy
def test_publication_shows_scores_and_nothing_else(world: Environment, put_back: None) -> None:
    with world.rewriting() as session:
        publish(session, NOW)
    result = crawl(world, roles=COMPETING[:2], shown={"score"}, safe=True)
    own = crawl(world, roles=COMPETING[2:], shown={"score", "recovery"}, safe=True)
    assert not result.broken + own.broken
    assert not [str(each) for each in result.leaks + own.leaks]
    on_the_board = {f"private-{what}-{whose}" for what in ("fid", "distance", "score") for whose in ("own", "other")}
    assert on_the_board | {"private-tau", "private-extractor", "private-epsilon"} <= result.seen["visitor"]
    assert SHOWN_TRACK | {"shown-value-other", "shown-error-other"} <= result.seen["visitor"]
    assert {"private-se-own", "recovery-sentence", "recovery-gap"} <= own.seen["insider"]
    assert "private-se-own" not in result.seen["outsider"]
    assert {f"{what}-{track}-own" for what in ("found", "sentence") for track in ("public", "private")} <= (
        result.seen["visitor"]
    )
    assert {"example-public-own", "example-private-own"} <= own.seen["insider"]


def test_a_receipt_has_private_numbers_once_they_are_published(
    world: Environment, put_back: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for it, organizers too: it is made to be shown to anybody."""
    receipts = [each for each in routes_of(world.app) if str(each) == "GET /api/v1/submissions/{submission_id}/receipt"]
    monkeypatch.setattr(crawler, "routes_of", lambda _: receipts)
    numbers = {"private-fid-own", "private-distance-own", "private-score-own", "private-tau"}
    before = crawl(world)
    assert "zip-scored" in before.seen["insider"] & before.seen["organizer"]
    assert not set().union(*before.seen.values()) & numbers
    with world.rewriting() as session:
        publish(session, NOW)
    after = crawl(world, shown={"score"})
    assert not before.leaks + after.leaks
    assert numbers <= after.seen["insider"] & after.seen["organizer"]
    assert not after.seen["visitor"]


@pytest.mark.heavy
def test_a_provisional_board_shows_scores_and_to_its_team_an_entrys_evidence(
    world: Environment, penalised: set[str]
) -> None:
    with world.rewriting() as session:
        publish(session, NOW, final=False)
    result = crawl(world, roles=COMPETING[:2], shown={"score"}, safe=True)
    own = crawl(world, roles=COMPETING[2:], shown={"score", "recovery"}, safe=True)
    assert not result.broken + own.broken
    assert not [str(each) for each in result.leaks + own.leaks]
    on_the_board = {f"private-{what}-{whose}" for what in ("fid", "distance", "score") for whose in ("own", "other")}
    assert on_the_board | {"private-tau", "private-extractor", "private-epsilon"} <= result.seen["visitor"]
    evidence = {f"{what}-{track}-own" for what in ("found", "sentence") for track in ("public", "private")}
    assert not evidence & (result.seen["visitor"] | result.seen["outsider"]), "others wait for the final board"
    assert evidence <= own.seen["insider"]
    assert penalised & own.seen["insider"] == seen_against("public") | seen_against("private")
    assert not penalised & (result.seen["visitor"] | result.seen["outsider"])
    assert not SHOWN_TRACK & (result.seen["visitor"] | result.seen["outsider"] | own.seen["insider"])


@pytest.mark.heavy
def test_what_is_private_changes_nothing_that_competitors_see(
    world: Environment, before: dict[tuple[str, str], RouteAnswer], put_back: None
) -> None:
    with world.rewriting() as session:
        change_what_is_private(session)
    assert not differences(before, answers_of(world, COMPETING))


def change_what_is_private(session: Session) -> None:
    """Other private scores in another order, another tau, another network, other images, more work, other labels."""
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


@pytest.mark.heavy
def test_another_teams_work_changes_nothing_that_others_see(
    world: Environment, before: dict[tuple[str, str], RouteAnswer], put_back: None
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


@pytest.mark.parametrize("role", ["visitor", "outsider", "neighbour", "reviewer"])
def test_what_is_anothers_looks_like_nothing(world: Environment, role: str) -> None:
    assert not distinguishable_answers(world, [role])


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
