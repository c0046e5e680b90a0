"""The sizes of a competition's zips are summed from an index, without reading entries."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.orm import Session

from deploy.standalone.ephemeral import Servers
from scorer.db.review import zip_removal
from scorer.db.teams import storage
from tests.factories import make_competition, make_submission, make_team
from tests.sql_statements import explained_statements

SUMS: dict[str, Callable[[Session, int], object]] = {
    "usage": lambda session, competition_id: storage.load_competition_usage(session, competition_id, datetime.now(UTC)),
    "stored": zip_removal.stored_zips,
    "removed": zip_removal.removed_zips,
    "largest teams": lambda session, competition_id: storage.largest_teams(session, competition_id, 20),
}


@pytest.fixture
def engine(servers: Servers) -> Iterator[Engine]:
    """An engine with the owner's role."""
    engine = create_engine(servers.postgres.owner_url, connect_args={"options": "-c timezone=utc"})
    yield engine
    engine.dispose()


def drop_other_indexes(session: Session) -> None:
    """Drop the other indexes that begin with the competition, until the transaction is rolled back. With few rows all
    indexes cost the same, and the choice would depend on rows of earlier tests."""
    for constraint in inspect(session.connection()).get_unique_constraints("submissions"):
        session.execute(text(f"ALTER TABLE submissions DROP CONSTRAINT {constraint['name']} CASCADE"))
    session.execute(text("DROP INDEX ix_submissions_competition"))


@pytest.mark.parametrize("name", SUMS)
def test_bytes_are_summed_from_an_index_alone(session: Session, now: datetime, name: str) -> None:
    drop_other_indexes(session)
    state = make_competition(session, now)
    make_submission(session, state, make_team(session, state, now), now=now, status="scored")
    for way in ("seqscan", "bitmapscan"):  # the planner would choose these for few rows
        session.execute(text(f"SET LOCAL enable_{way} = off"))
    with explained_statements(session) as plans:
        SUMS[name](session, state.competition.id)
    of_entries = [plan for plan in plans if " on draws " not in plan]
    assert all("Index Only Scan using ix_submissions_" in plan for plan in of_entries), plans
    assert of_entries
