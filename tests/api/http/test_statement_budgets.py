"""Budgets of SQL statements for requests to the real application."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.api.conftest import Service
from tests.factories import make_zip, noise_images
from tests.sql_statements import counted_statements

MAX_UPLOAD_STATEMENTS = 25
MAX_RETUNE_STATEMENTS = 18
MAX_WARM_BOARD_STATEMENTS = 3
MAX_RETUNED_BOARD_STATEMENTS = 8
MAX_ENTRY_STATEMENTS = 8
MAX_LIST_STATEMENTS = 10


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
    content = make_zip(noise_images(12))
    require_at_most(lambda: service.submit("ada", slug, content), MAX_UPLOAD_STATEMENTS)
    entries = f"/competitions/{slug}/submissions"
    service.run_jobs()

    def board(limit: int) -> Any:
        return service.call(None, "GET", f"/competitions/{slug}/leaderboard?limit={limit}")

    board(limit=10)  # ranks the board; every limit is a new page for the response cache
    require_at_most(lambda: board(limit=11), MAX_WARM_BOARD_STATEMENTS)
    thresholds, tau = f"/competitions/{slug}/tracks/public/thresholds", {"method": "manual", "tau": 0.3, "reason": "x"}
    require_at_most(lambda: service.call("organizer", "POST", thresholds, json=tau), MAX_RETUNE_STATEMENTS)
    require_at_most(lambda: board(limit=12), MAX_RETUNED_BOARD_STATEMENTS)
    for who in ("ada", "organizer"):
        require_at_most(partial(service.call, who, "GET", entries), MAX_LIST_STATEMENTS)
    newest = service.call("ada", "GET", entries).json()["submissions"][0]["id"]
    require_at_most(lambda: service.call("ada", "GET", f"/submissions/{newest}"), MAX_ENTRY_STATEMENTS)
