"""Badges and citations: the board's public data for other pages and papers."""

import os
import re
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.api.conftest import Service
from tests.documents import ROOT, blocks
from tests.factories import noise_images
from tests.http_server import serve

GUIDE = (ROOT / "docs" / "how-to" / "verify-a-score.md").read_text()
EXAMPLES = {block.language: block.body for block in blocks(GUIDE)}
SVG = "{http://www.w3.org/2000/svg}"


def badge(service: Service, slug: str, team: str, **query: str) -> Any:
    """Request a team's badge like a visitor's browser."""
    etag = {"If-None-Match": query.pop("etag")} if "etag" in query else {}
    path = f"/competitions/{slug}/leaderboard/badge"
    return service.call(None, "GET", path, params={"team": team, **query}, headers=etag)


def texts(answer: Any) -> list[str]:
    """Parse a badge as XML and return its texts."""
    assert answer.status_code == 200, answer.text
    return [element.text or "" for element in ET.fromstring(answer.content).iter(f"{SVG}text")]


def test_a_badge_shows_place_and_score_and_follows_the_board(service: Service) -> None:
    slug = service.competition(title="Cats <& dogs>")
    entry = service.scored("ada", slug, noise_images(10))
    first = badge(service, slug, entry["team"])
    score = entry["measurements"][0]["mifid"]
    label, message = texts(first)
    assert label == "Cats <& dogs>"
    assert message.startswith("1 of 1 · MiFID ")
    assert abs(float(message.split()[-1].replace(",", "")) - score) < 0.5
    assert first.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert badge(service, slug, entry["team"], etag=first.headers["ETag"]).status_code == 304
    assert texts(badge(service, slug, entry["team"].upper())) == [label, message], (
        "names of teams are compared without case"
    )

    service.scored("bob", slug, noise_images(11))
    second = badge(service, slug, entry["team"], etag=first.headers["ETag"])
    assert " of 2 · " in texts(second)[1]
    assert (badge(service, slug, "Nobody").status_code, badge(service, slug, "Eve").status_code) == (404, 404)


def test_the_private_place_is_shown_after_publication(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    assert badge(service, slug, entry["team"], track="private").status_code == 403
    body = {"closes_at": (datetime.now(UTC) - timedelta(seconds=1)).isoformat()}
    assert service.call("organizer", "PATCH", f"/competitions/{slug}", json=body).status_code == 200
    act = {"published": True, "reason": "done", "override": "a test"}
    assert service.call("organizer", "POST", f"/competitions/{slug}/publication", json=act).status_code == 201
    assert texts(badge(service, slug, entry["team"], track="private"))[1].startswith("1 of 1")


def test_a_draft_has_no_badge_and_no_citation(service: Service) -> None:
    slug = service.competition(opens_at=None)
    assert badge(service, slug, "Ada").status_code == 404
    assert service.call(None, "GET", f"/competitions/{slug}/citation").status_code == 404


def test_competitions_and_entries_have_citations(service: Service) -> None:
    slug = service.competition(title="Cats & dogs")
    entry = service.scored("ada", slug, noise_images(10))
    of_competition = service.call(None, "GET", f"/competitions/{slug}/citation")
    assert of_competition.headers["Content-Type"] == "application/x-bibtex"
    assert of_competition.text.startswith(f"@misc{{kennel-{slug},\n  title = {{{{Cats \\& dogs}}}},\n")
    cited = service.call("ada", "GET", f"/submissions/{entry['id']}/citation").text
    assert f"note = {{public MiFID {entry['measurements'][0]['mifid']:.6g}}}" in cited
    assert service.call("bob", "GET", f"/submissions/{entry['id']}/citation").status_code == 404


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_examples_of_the_guide_work(service: Service, tmp_path: Path) -> None:
    """The guide's badge works. Its commands write both citations with the shown fields."""
    service.competition(slug="dogs", title="Generative dogs")
    entry = service.scored("ada", "dogs", noise_images(10))
    (address,) = re.findall(r"!\[[^]]+\]\(https://kennel\.example\.org(/[^)]+)\)", EXAMPLES["markdown"])
    assert texts(service.http.get(address))[0] == "Generative dogs"
    with serve(service.app) as url:
        variables = {"KENNEL_URL": url, "KENNEL_TOKEN": service.tokens["ada"], "ID": entry["id"]}
        command = ("bash", "-euo", "pipefail", "-c", EXAMPLES["sh"])
        subprocess.run(command, cwd=tmp_path, env={**os.environ, **variables}, check=True)
    written = (tmp_path / "references.bib").read_text()
    of_competition, of_entry = written.split("@misc")[1:]
    assert of_competition.startswith("{kennel-dogs,\n")
    assert _fields(of_entry) == _fields(EXAMPLES["text"].replace("ID", entry["id"]))
    assert "author = {{Ada}}" in of_entry


def _fields(bibtex: str) -> list[str]:
    """Return the key of an entry and the names of its fields."""
    return re.findall(r"\{(kennel-[^,]+),|^  (\w+) = ", bibtex, re.MULTILINE)
