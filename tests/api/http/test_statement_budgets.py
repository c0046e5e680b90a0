"""Budgets of SQL statements for requests to the real application."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.api.conftest import Service
from tests.factories import noise_images, zip_of
from tests.sql_statements import counted_statements

MAX_OF_UPLOAD = 25
MAX_OF_RETUNE = 18
MAX_OF_WARM_BOARD = 3
MAX_OF_BOARD_AFTER_RETUNE = 8
MAX_OF_ENTRY = 8
MAX_OF_LIST = 10


def require_at_most(request: Callable[[], Any], most: int) -> None:
    """Require that a request succeeds with at most this many statements."""
    with counted_statements() as statements:
        answer = request()
    assert answer.is_success, answer.text
    assert len(statements) <= most, "\n\n".join(statements)


def test_requests_stay_within_their_statement_budgets(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    service.scored("bob", slug, noise_images(11))
    content = zip_of(noise_images(12))
    require_at_most(lambda: service.submit("ada", slug, content), MAX_OF_UPLOAD)
    entries = f"/competitions/{slug}/submissions"
    service.run_jobs()

    def board(limit: int) -> Any:
        return service.call(None, "GET", f"/competitions/{slug}/leaderboard?limit={limit}")

    board(limit=10)  # ranks the board; every limit is a new page for the response cache
    require_at_most(lambda: board(limit=11), MAX_OF_WARM_BOARD)
    thresholds, tau = f"/competitions/{slug}/tracks/public/thresholds", {"method": "manual", "tau": 0.3, "reason": "x"}
    require_at_most(lambda: service.call("organizer", "POST", thresholds, json=tau), MAX_OF_RETUNE)
    require_at_most(lambda: board(limit=12), MAX_OF_BOARD_AFTER_RETUNE)
    for who in ("ada", "organizer"):
        require_at_most(partial(service.call, who, "GET", entries), MAX_OF_LIST)
    newest = service.call("ada", "GET", entries).json()["submissions"][0]["id"]
    require_at_most(lambda: service.call("ada", "GET", f"/submissions/{newest}"), MAX_OF_ENTRY)
