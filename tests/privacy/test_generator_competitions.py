"""A competition of generators: its private draws, their faults and progress, and its secrets leak nowhere."""

from collections.abc import Iterator

import pytest

from deploy.standalone.ephemeral import Servers
from tests.privacy.canaries import COMPETING, publish
from tests.privacy.crawler import CrawlResult, RouteAnswer, crawl, differences, fetch_answers
from tests.privacy.drawn_entries import change_private_draws, plant_drawn_entries
from tests.privacy.environment import NOW, Environment, change_private_data, planted_environment

REVEALED = {"secret-public", "secret-private"}
DRAWN = {"images-private-own", "fault-own"}
Answers = dict[tuple[str, str], RouteAnswer]


@pytest.fixture(scope="module")
def world(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A service full of canaries, with a competition of generators."""
    with planted_environment(servers, tmp_path_factory.mktemp("draws"), plant=plant_drawn_entries) as planted:
        yield planted


@pytest.fixture(scope="module")
def before(world: Environment) -> Answers:
    return fetch_answers(world, COMPETING)


def crawl_published(world: Environment, *, final: bool) -> tuple[CrawlResult, CrawlResult]:
    """Publish the board. Returns what others and the insider see."""
    with world.rewriting() as session:
        publish(session, NOW, final=final)
    shown = {"score", "draw-secret"} if final else {"score"}
    roles = {"visitor", "outsider"} if final else {"visitor", "outsider", "organizer"}
    others = crawl(world, roles=roles, shown=shown, safe=True)
    own = crawl(world, roles=["insider"], shown=shown | {"recovery"}, safe=True)
    assert not others.broken + own.broken
    return others, own


@pytest.mark.parametrize("role", [*COMPETING, "reviewer", "organizer", "admin"])
def test_no_route_reveals_private_draws_or_secrets(
    world: Environment, before: Answers, caplog: pytest.LogCaptureFixture, role: str
) -> None:
    for logger in ("api", "kennel", "scorer"):
        caplog.set_level("INFO", logger)
    result = crawl(world, roles=[role], known=before)
    assert not result.broken
    assert not [str(leak) for leak in result.leaks]
    if role in {"organizer", "admin"}:
        assert result.seen[role] >= DRAWN | {"same-latents"}
    logged = "".join(str(vars(record)).lower() for record in caplog.records)
    assert logged
    hidden = [secret for secret in world.planted.secrets if secret.kind == "draw-secret" or secret.name in DRAWN]
    assert not [secret.name for secret in hidden if secret.is_in(logged)]


def test_private_draws_change_nothing_that_competitors_see(world: Environment, before: Answers, put_back: None) -> None:
    with world.rewriting() as session:
        change_private_data(session)
        change_private_draws(session, NOW)
    assert not differences(before, fetch_answers(world, COMPETING))


def test_a_provisional_board_shows_private_draws_to_their_team(world: Environment, put_back: None) -> None:
    others, own = crawl_published(world, final=False)
    assert not [str(leak) for leak in others.leaks + own.leaks]
    assert own.seen["insider"] >= DRAWN


def test_a_final_board_reveals_the_secrets_except_the_late_one(world: Environment, put_back: None) -> None:
    others, own = crawl_published(world, final=True)
    assert not [str(leak) for leak in others.leaks + own.leaks]
    assert others.seen["visitor"] & own.seen["insider"] >= REVEALED
