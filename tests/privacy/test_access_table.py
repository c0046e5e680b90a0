"""The table of routes is complete: quickly, without asking any route."""

from pathlib import Path

from api.main import create_app
from scorer.settings import Settings
from tests.privacy.access_table import FILE
from tests.privacy.crawler import routes_of


def test_every_route_has_its_row_and_every_row_its_route(tmp_path: Path) -> None:
    addresses = {"database_url": "postgresql://x/x", "redis_url": "redis://x", "blob_url": tmp_path.as_uri()}
    routes = {str(route) for route in routes_of(create_app(Settings.model_validate(addresses)))}
    rows = {line.split("`")[1] for line in FILE.read_text().splitlines() if line.startswith("| `")}
    assert routes - rows == set(), "new: `make test-all` says what their rows are"
    assert rows - routes == set(), "gone"
