"""The demo in the running service, while visitors use it."""

import io
import re
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console

from deploy.demo import competition, report, run
from deploy.demo.photographs import Photographs
from deploy.demo.plan import DemoPlan
from deploy.demo.tiles import Rectangle, Tiles
from deploy.standalone.service import RunningService as Standalone
from tests.factories import make_zip, noise_images
from tests.stories.conftest import RunningService, submit
from tests.web.html import parse_html

IMAGES = 50
SIGN_IN = re.compile(r"sign in: (\S+)")


def tiles(seed: int, count: int) -> Tiles:
    """Tiles of noise."""
    images = noise_images(seed, count, 64)
    return Tiles(images, ("noise",) * count, (Rectangle(0, 0, 64, 64),) * count)


@pytest.fixture
def visited(live: RunningService, monkeypatch: pytest.MonkeyPatch) -> str:
    """The demo's terminal output, while a visitor reads the board and submits the last entry."""
    monkeypatch.setattr(competition, "PUBLIC", "tiny")
    monkeypatch.setattr(competition, "PRIVATE", "tiny")
    prepare_and_submit, print_report = competition.prepare_and_submit, report.print_report
    entries: list[str] = []
    visitor = live.person("visitor")

    def submit_with_visitor(running: Any, organizer: Any, slug: str, **others: Any) -> Any:
        submitted = prepare_and_submit(running, organizer, slug, **others)
        entries.append(submit(visitor, slug, make_zip(noise_images(9, IMAGES, 64)))["id"])
        assert httpx.get(f"{live.url}/competitions/{slug}", trust_env=False).status_code == 200
        return submitted

    def report_with_visitor(*arguments: Any, **named: Any) -> bool:
        visitor.wait(entries[0])
        return print_report(*arguments, **named)

    monkeypatch.setattr(competition, "prepare_and_submit", submit_with_visitor)
    monkeypatch.setattr(report, "print_report", report_with_visitor)
    pictures = Photographs(tiles(1, 60), tiles(2, IMAGES), tiles(3, 20))
    plan = DemoPlan(folder=Path("photographs"), images=IMAGES, entries=3, full=False)
    console = Console(file=io.StringIO(), record=True, force_terminal=True, width=200)
    running = Standalone(live.url, live.settings)
    assert run.run_competition(running, pictures, plan, console=console, start=time.monotonic(), leave=False)
    return console.export_text()


@pytest.mark.heavy
def test_the_demo_survives_visitors_and_its_links_sign_them_in(visited: str, live: RunningService) -> None:
    assert "a visitor's" in visited
    assert "All 4 entries ended as expected." in visited
    scores = re.findall(r" \d+ s  (public|private) ", visited)
    assert sorted(scores) == ["private"] * 4 + ["public"] * 4
    links = SIGN_IN.findall(visited)
    assert len(links) == 5
    for link in links:
        page, _, secret = link.partition("#")
        with httpx.Client(
            base_url=live.url, follow_redirects=True, trust_env=False, headers={"Accept": "text/html"}
        ) as browser:
            form = parse_html(browser.get(page).text).one("form", action="/signin/link")
            fields = {field.attributes["name"]: field.attributes["value"] for field in form.all("input", type="hidden")}
            opened = browser.post("/signin/link", data={**fields, "link": secret})
        assert opened.status_code == 200, link
        assert f"{opened.url.path}" == fields["next"]
