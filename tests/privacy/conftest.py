"""A planted environment for all crawls of a module. Crawls restore it."""

from collections.abc import Iterator

import pytest

from deploy.standalone.ephemeral import Servers
from tests.privacy.environment import Environment, planted_environment


@pytest.fixture(scope="module")
def world(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    """A service full of canaries."""
    with planted_environment(servers, tmp_path_factory.mktemp("leaks")) as planted:
        yield planted


@pytest.fixture
def put_back(world: Environment) -> Iterator[None]:
    """Undo the changes of a test."""
    yield
    world.restore()
