"""Nothing private leaks: every route, every role, every canary, and whether a thing of another team exists."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from api.main import create_app
from scorer.db.tables import (
    Account,
    CodeAttachment,
    Delivery,
    GeneratorFile,
    Mail,
    Notice,
    PickSet,
    Submission,
    TeamInvitation,
    Upload,
    Webhook,
)
from scorer.settings import Settings
from tests import sql_statements
from tests.privacy import access_table
from tests.privacy.access_table import FILE
from tests.privacy.canaries import COMPETING
from tests.privacy.crawler import (
    CrawlResult,
    RouteAnswer,
    answers_of,
    crawl,
    differences,
    distinguishable_answers,
    routes_of,
)
from tests.privacy.environment import NOW, Environment, change_what_is_private
from tests.sql_statements import recorded_statements


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
        assert sql_statements.read_whole(connection, statements) == {}


def test_every_act_of_office_is_written_down(whole_crawl: CrawlResult) -> None:
    acts = access_table.acts_of_office(whole_crawl.statuses)
    assert acts - whole_crawl.recorded == set(access_table.NOT_WRITTEN_DOWN)


def test_what_is_private_changes_nothing_that_competitors_see(
    world: Environment, before: Answers, put_back: None
) -> None:
    with world.rewriting() as session:
        change_what_is_private(session)
    assert not differences(before, answers_of(world, COMPETING))


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


def test_every_route_has_its_row_and_every_row_its_route(tmp_path: Path) -> None:
    addresses = {"database_url": "postgresql://x/x", "redis_url": "redis://x", "blob_url": tmp_path.as_uri()}
    routes = {str(route) for route in routes_of(create_app(Settings.model_validate(addresses)))}
    rows = {line.split("`")[1] for line in FILE.read_text().splitlines() if line.startswith("| `")}
    assert routes - rows == set(), "new: `make test-all` says what their rows are"
    assert rows - routes == set(), "gone"


@pytest.mark.parametrize("role", ["visitor", "outsider", "neighbour", "reviewer"])
def test_what_is_anothers_looks_like_nothing(world: Environment, role: str) -> None:
    assert not distinguishable_answers(world, [role])
