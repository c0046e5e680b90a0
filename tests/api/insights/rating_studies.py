"""Studies of human ratings in a closed competition, and access for their raters."""

from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.cached_state import CachedState, cached_fixtures
from tests.api.conftest import Service
from tests.factories import noise_images

SIZES = {"images": 3, "grids": 2, "side": 2, "wanted": 2}


def closed_competition(service: Service) -> str:
    """Create a closed competition of three teams. The second one memorises."""
    slug = service.competition()
    for seed, who in ((10, "ada"), (11, "bob"), (12, "eve")):
        entry = service.scored(who, slug, noise_images(seed))["id"]
        if who == "bob":
            body = {"label": "mgan"}
            service.call("organizer", "PUT", f"/competitions/{slug}/submissions/{entry}/label", json=body)
    service.hire("rev")
    service.close(slug)
    return slug


cached, service = cached_fixtures(closed_competition)


@pytest.fixture
def slug(cached: CachedState[str]) -> str:
    return cached.result


def study(service: Service, slug: str, **wanted: Any) -> Any:
    """Create a study and wait for its images."""
    answer = service.call("organizer", "POST", f"/competitions/{slug}/ratings", json=SIZES | wanted)
    assert answer.status_code == 202, answer.text
    service.run_jobs()
    return read_study(service, slug, answer.json()["id"])


def read_study(service: Service, slug: str, study_id: int) -> Any:
    return service.call("organizer", "GET", f"/competitions/{slug}/ratings/{study_id}").json()


@dataclass(frozen=True)
class Seat:
    """A rater's access to items: the path, and a person with a role or a browser with a rating link."""

    path: str = "/rate/items"
    who: str | None = None
    link: str | None = None

    def call(self, service: Service, method: str, rest: str = "", **options: Any) -> Any:
        headers = {"Cookie": f"kennel-rater={self.link}"} if self.link else {}
        return service.call(self.who, method, f"{self.path}{rest}", headers=headers, **options)


def invited(service: Service, slug: str, study_id: int, name: str = "Rita") -> Seat:
    """Invite a rater and return their access."""
    where = f"/competitions/{slug}/ratings/{study_id}/raters"
    link = service.call("organizer", "POST", where, json={"name": name}).json()["link"]
    page, _, secret = link.partition("#")
    assert page.endswith("/rate")
    return Seat(link=secret)
