"""No route leaks a canary to a role that must not see it, or reveals whether another team's thing exists."""

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
    crawl,
    differences,
    distinguishable_answers,
    fetch_answers,
    walk_routes,
)
from tests.privacy.environment import NOW, Environment, change_private_data
from tests.sql_statements import recorded_statements


def named(world: Environment, *kinds: str) -> set[str]:
    """The names of the planted secrets of these kinds."""
    return {secret.name for secret in world.planted.secrets if secret.kind in kinds}


Answers = dict[tuple[str, str], RouteAnswer]


@pytest.fixture(scope="module")
def recorded_answers(world: Environment) -> tuple[Answers, dict[str, Any]]:
    """The answers to participants from routes that change nothing, and the SQL statements."""
    with recorded_statements() as statements:
        return fetch_answers(world, COMPETING), statements


@pytest.fixture(scope="module")
def before(recorded_answers: tuple[Answers, dict[str, Any]]) -> Answers:
    return recorded_answers[0]


@pytest.mark.parametrize("role", COMPETING)
def test_no_page_shows_hidden_values_to_competitors(world: Environment, before: Answers, role: str) -> None:
    """A quick part of the next test: one role, and only routes that change nothing."""
    result = crawl(world, roles=[role], safe=True, known=before)
    assert not result.broken
    assert not [str(leak) for leak in result.leaks]


@pytest.fixture(scope="module")
def recorded_crawl(
    world: Environment, recorded_answers: tuple[Answers, dict[str, Any]]
) -> tuple[CrawlResult, dict[str, Any]]:
    """A crawl of every route in every role, and its SQL statements."""
    before, earlier = recorded_answers
    with recorded_statements() as statements:
        return crawl(world, known=before), statements | earlier


@pytest.fixture(scope="module")
def whole_crawl(recorded_crawl: tuple[CrawlResult, dict[str, Any]]) -> CrawlResult:
    return recorded_crawl[0]


def test_no_route_reveals_hidden_values(world: Environment, whole_crawl: CrawlResult) -> None:
    result = whole_crawl
    assert not result.broken
    assert not result.unused, "no role could use these routes: add examples to tests/privacy/requests.py"
    assert not [str(leak) for leak in result.leaks]
    # The crawler finds the secrets that a role may see.
    assert named(world, "score") <= result.seen["organizer"]
    assert {"private-reference-count", "held-out-distance", "why-private-tau"} <= result.seen["organizer"]
    assert named(world, "team") - result.seen["insider"] <= {
        "upload", "pixels-scored", "pixels-waiting", "example-public-own", "example-private-own",
    }  # fmt: skip
    assert "code-bytes" in result.seen["reviewer"]


def test_the_access_table_is_current(whole_crawl: CrawlResult, tmp_path: Path) -> None:
    now = access_table.render_table(whole_crawl.statuses)
    (tmp_path / "access_table.md").write_text(now)
    hint = f"if the change is intended: cp {tmp_path}/access_table.md {access_table.FILE}"
    assert now.splitlines() == access_table.FILE.read_text().splitlines(), hint


def test_the_table_of_routes_follows_its_rules(whole_crawl: CrawlResult) -> None:
    """These rules hold even if the table was edited."""
    assert access_table.broken_rules(whole_crawl.statuses) == []


def test_no_route_reads_a_growing_table_from_end_to_end(
    world: Environment, recorded_crawl: tuple[CrawlResult, dict[str, Any]]
) -> None:
    _, statements = recorded_crawl
    with world.undone() as connection:
        assert sql_statements.read_whole(connection, statements) == {}


def test_every_privileged_act_is_audited(whole_crawl: CrawlResult) -> None:
    acts = access_table.privileged_routes(whole_crawl.statuses)
    assert acts - whole_crawl.recorded == set(access_table.NOT_AUDITED)


def test_private_data_changes_nothing_that_competitors_see(world: Environment, before: Answers, put_back: None) -> None:
    with world.rewriting() as session:
        change_private_data(session)
    assert not differences(before, fetch_answers(world, COMPETING))


def test_another_teams_work_changes_nothing_that_others_see(
    world: Environment, before: Answers, put_back: None
) -> None:
    with world.rewriting() as session:
        change_data_of_the_insider(session, world)
    after = fetch_answers(world, COMPETING[:2])
    assert not differences({key: answer for key, answer in before.items() if key in after}, after)


def change_data_of_the_insider(session: Session, world: Environment) -> None:
    """Change notes, files, code, images, picks, uploads, invitations and addresses. Remove an entry from the queue."""
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


def test_no_message_reveals_hidden_values(world: Environment) -> None:
    with world.rewriting() as session:
        rows = [*session.scalars(select(Notice)), *session.scalars(select(Mail)), *session.scalars(select(Delivery))]
        texts = [f"{row.subject} {row.body} {row.link}" for row in rows]
    assert texts
    hidden = {"score", "evidence", "reference", "storage"}
    assert not [
        secret.name
        for secret in world.planted.secrets
        if secret.kind in hidden
        for text in texts
        if secret.is_in(text.lower())
    ]


def test_every_route_has_its_row_and_every_row_its_route(tmp_path: Path) -> None:
    addresses = {"database_url": "postgresql://x/x", "redis_url": "redis://x", "blob_url": tmp_path.as_uri()}
    routes = {str(route) for route in walk_routes(create_app(Settings.model_validate(addresses)))}
    rows = {line.split("`")[1] for line in FILE.read_text().splitlines() if line.startswith("| `")}
    assert routes - rows == set(), "new routes: `make test-all` shows their rows"
    assert rows - routes == set(), "removed routes"


@pytest.mark.parametrize("role", ["visitor", "outsider", "neighbour", "reviewer"])
def test_things_of_others_look_nonexistent(world: Environment, role: str) -> None:
    assert not distinguishable_answers(world, [role])
