"""A service with one scored entry, for tests of what becomes of its score."""

import pytest

from tests.api.conftest import Service
from tests.api.kept_state import KeptState, kept_fixtures
from tests.factories import noise_images


def with_an_entry(service: Service) -> str:
    """A competition with one scored entry."""
    slug = service.competition()
    service.scored("ada", slug, noise_images(11))
    return slug


kept, service = kept_fixtures(with_an_entry)


@pytest.fixture
def slug(kept: KeptState[str]) -> str:
    """Its slug."""
    return kept.result
