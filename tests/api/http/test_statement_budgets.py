"""How many SQL statements a request takes, on the real application."""

from collections.abc import Callable
from typing import Any

from tests.api.conftest import Service
from tests.factories import noise_images, zip_of
from tests.sql_statements import counted_statements

MAX_OF_UPLOAD = 25


def statements_of(request: Callable[[], Any]) -> list[str]:
    """The statements of a request that succeeds."""
    with counted_statements() as statements:
        answer = request()
    assert answer.is_success, answer.text
    return statements


def test_requests_keep_to_their_budgets_of_statements(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    service.scored("bob", slug, noise_images(11))
    content = zip_of(noise_images(12))
    taken = statements_of(lambda: service.submit("ada", slug, content))
    assert len(taken) <= MAX_OF_UPLOAD, "\n\n".join(taken)
