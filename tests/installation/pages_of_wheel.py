"""Requests every page and static file of the imported installation. Prints its location and the failures as JSON."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import api
import kennel_client
import migrations
from deploy.standalone.database_roles import APP, DATABASE
from deploy.standalone.ephemeral import ephemeral_servers
from tests.privacy.crawler import Route, build_requests, send, walk_routes
from tests.privacy.environment import Environment, planted_environment

STATIC = Path(__file__).parents[2] / "api" / "rendering" / "static"
ROLES = ("organizer", "insider", "reviewer", "admin", "visitor")


def main() -> None:
    """Use the roles, competition and entries of the privacy tests."""
    with TemporaryDirectory() as folder, ephemeral_servers() as servers:
        migrations.upgrade(servers.postgres.owner_url, APP)
        with planted_environment(servers, Path(folder), template=DATABASE) as world:
            pages = [route for route in walk_routes(world.app) if is_page(route)]
            faults = [fault for route in pages for fault in find_faults(world, route)]
            names = [file.name for file in STATIC.iterdir()]
            missing = [name for name in names if world.http.get(f"/static/{name}").status_code != 200]
    places = [str(package.__file__) for package in (api, kennel_client)]
    sys.stdout.write(json.dumps({"places": places, "pages": len(pages), "faults": faults, "missing": missing}))


def is_page(route: Route) -> bool:
    """Whether a browser requests this route."""
    return route.method == "GET" and not route.path.startswith("/api/")


def find_faults(world: Environment, route: Route) -> Iterator[str]:
    """The statuses of a page that no role can see, or that fails for a role. Stops at the first role that sees it."""
    request = next(build_requests(route, world.planted))
    statuses: list[int] = []
    while 200 not in statuses and len(statuses) < len(ROLES):
        statuses.append(send(world, ROLES[len(statuses)], request).status)
    expected = {request.call.fails} if request.call.fails else {200, 302, 303, 307}
    if not expected & set(statuses) or max({0, *statuses} - expected) >= 500:
        yield f"{request}: {statuses}"


if __name__ == "__main__":
    main()
