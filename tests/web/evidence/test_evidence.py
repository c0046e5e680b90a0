"""Evidence from the worker to the page: its access rules, its order and its layout."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser

from deploy.demo.generators import half_copied, mirrored, reconstructed
from deploy.standalone.ephemeral import Servers
from scorer.findings.signs import SIGNS
from tests.api.conftest import Service, running_service
from tests.conftest import fresh_settings
from tests.factories import make_zip
from tests.http_server import serve
from tests.web.browser import LOAD_IMAGES, OVERFLOWING_ELEMENTS, WIDTHS, signed_in, take_pictures
from tests.web.pages import enter, read
from tests.worker.evidence.photographs import COUNT, HELD_OUT, REFERENCES, SIZE, TRAINING, photographs

ENTRIES = {
    "honest": photographs(4, COUNT),
    "half": half_copied(TRAINING, COUNT, np.random.default_rng(0), rank=60),
    "mirrored": mirrored(TRAINING, COUNT, np.random.default_rng(0)),
    "autoencoder": reconstructed(TRAINING, COUNT, np.random.default_rng(0), rank=30),
}
KINDS = ("public", "private")


@pytest.fixture(scope="module")
def service(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all tests of this module."""
    with fresh_settings(servers, tmp_path_factory.mktemp("evidence")) as settings, running_service(settings) as running:
        running.hire("rita")
        yield running


@pytest.fixture(scope="module")
def slug(service: Service) -> str:
    return service.competition(REFERENCES, image_count=COUNT, image_size=SIZE, title="Waves that nobody made")


@pytest.fixture(scope="module")
def entries(service: Service, slug: str) -> dict[str, str]:
    """The IDs of Ada's entries. All but the last have evidence."""
    submissions = {}
    for name, images in ENTRIES.items():
        submissions[name] = service.submit("ada", slug, make_zip(images), note=name).json()["id"]
    service.run_jobs(evidence=True)
    submissions["waiting"] = service.submit("ada", slug, make_zip(photographs(9, COUNT)), note="waiting").json()["id"]
    service.run_jobs()
    return submissions


@pytest.fixture
def published(service: Service, slug: str, entries: dict[str, str]) -> Iterator[dict[str, str]]:
    """The same entries while the final board is published."""
    service.close(slug)
    act = {"published": True, "reason": "Over.", "override": "One entry waits for its evidence."}
    answer = service.call("organizer", "POST", f"/competitions/{slug}/publication", json=act)
    assert answer.status_code == 201, answer.text
    yield entries
    answer = service.call(
        "organizer", "POST", f"/competitions/{slug}/publication", json={"published": False, "reason": "Not yet."}
    )
    assert answer.status_code == 201, answer.text


def evidence(service: Service, who: str | None, entry: str, kind: str = "public") -> Any:
    service.http.cookies.clear()
    return service.call(who, "GET", f"/submissions/{entry}/evidence/{kind}")


def signs(view: Any) -> set[str]:
    """The names of the signs of copying in an answer."""
    return {sign["name"] for sign in view["signs"]}


def test_copies_are_flagged_for_their_reasons_and_an_honest_entry_is_not(
    service: Service, slug: str, entries: dict[str, str]
) -> None:
    wanted = {
        "honest": set[str](),
        "half": {"near-copies", "partly-copied", "thumbnail-copies"},
        "mirrored": {"mirrored-copies"},
        "autoencoder": {"thumbnail-copies"},
    }
    queue = service.call("rita", "GET", f"/competitions/{slug}/review-queue").json()["entries"]
    flagged = {
        entry["submission_id"]: {reason["name"]: reason["words"] for reason in entry["reasons"]} for entry in queue
    }
    for name, expected in wanted.items():
        for kind in KINDS:
            view = evidence(service, "rita", entries[name], kind).json()
            assert view["state"] == "done"
            assert signs(view) >= expected, (name, kind)
            assert expected or not signs(view), (name, kind)
            assert all(sign["words"].endswith(".") for sign in view["signs"])
            assert view["summary"]["verdict"] == ("copies" if expected else "none")
            assert (" See examples 1 to " in view["summary"]["words"]) == bool(expected)
        reasons = flagged.get(entries[name], {})
        assert set(reasons) & {sign.name for sign in SIGNS} >= expected
        assert expected or not set(reasons) & {sign.name for sign in SIGNS}
    words = flagged[entries["half"]]["partly-copied"]
    assert words.startswith(("Public: ", "Both tracks: "))


def test_every_number_has_a_unit_a_direction_and_a_sentence(service: Service, entries: dict[str, str]) -> None:
    view = evidence(service, "rita", entries["half"]).json()
    assert len(view["findings"]) >= 25
    for finding in view["findings"]:
        assert finding["test"]
        assert finding["unit"]
        assert finding["direction"]
        assert finding["sentence"].endswith(".")
    assert {sign["finding"] for sign in map(vars, SIGNS)} - {"support"} <= {
        finding["name"] for finding in view["findings"]
    }
    copied = [cell for cell in view["cells"] if cell["copied"]]
    assert copied
    assert all(cell["z"] < 0 and cell["examples"]["pairs"] for cell in copied)
    described = service.http.get("/api/v1/openapi.json").json()["components"]["schemas"]["FindingView"]["properties"]
    assert set(view["findings"][0]) == set(described)


def test_pictures_show_exactly_the_images(service: Service, entries: dict[str, str]) -> None:
    half, turned = (evidence(service, "rita", entries[name]).json() for name in ("half", "mirrored"))
    for view, name in ((half, "near-copies"), (turned, "near-copies")):
        (group,) = [match for match in view["matches"] if match["name"] == name]
        answer = service.http.get(group["picture"], headers={"Authorization": f"Bearer {service.tokens['rita']}"})
        picture = np.asarray(Image.open(io.BytesIO(answer.content)))
        assert picture.shape == (2 * SIZE, len(group["pairs"]) * SIZE, 3)
        assert (
            picture[:SIZE] == picture[SIZE:]
        ).all()  # copies are equal to their originals, which are shown mirrored if they match that way
        for column, pair in enumerate(group["pairs"]):
            original = TRAINING[int(Path(pair["other"]).stem)]
            below = picture[SIZE:, column * SIZE : (column + 1) * SIZE]
            assert (below == (original[:, ::-1] if pair["mirrored"] else original)).all()
        known = {"Authorization": f"Bearer {service.tokens['rita']}", "If-None-Match": answer.headers["ETag"]}
        assert service.http.get(group["picture"], headers=known).status_code == 304
    cell = next(candidate for candidate in half["cells"] if candidate["copied"])
    answer = service.http.get(
        cell["examples"]["picture"], headers={"Authorization": f"Bearer {service.tokens['rita']}"}
    )
    assert answer.headers["content-type"] == "image/png"
    missing = service.call("rita", "GET", f"/submissions/{entries['honest']}/evidence/public/cell-999")
    assert missing.status_code == 404


def test_before_publication_only_reviewers_see_evidence(service: Service, slug: str, entries: dict[str, str]) -> None:
    entry = entries["half"]
    picture = evidence(service, "rita", entry).json()["matches"][0]["picture"].removeprefix("/api/v1")
    for who in ("ada", "bob", None):
        for kind in KINDS:
            assert evidence(service, who, entry, kind).status_code == 404
        assert service.call(who, "GET", picture).status_code == (401 if who is None else 404)
    enter(service, "ada")
    assert not read(service, f"/submissions/{entry}").all("section", id="evidence")


def test_unfinished_jobs_are_shown(service: Service, entries: dict[str, str]) -> None:
    view = evidence(service, "organizer", entries["waiting"]).json()
    assert (view["state"], view["findings"], view["matches"]) == ("waiting", [], [])
    enter(service, "organizer")
    section = read(service, f"/submissions/{entries['waiting']}/review").one("section", id="copying")
    assert "Waiting for a worker to search for evidence." in section.text


@pytest.mark.parametrize("name", ["half", "honest", "mirrored"])
def test_a_review_page_starts_with_the_most_serious_finding(
    service: Service, entries: dict[str, str], name: str
) -> None:
    enter(service, "rita")
    header = read(service, f"/submissions/{entries[name]}/review").one("header", class_="entry")
    views = [evidence(service, "rita", entries[name], kind).json()["summary"] for kind in KINDS]
    gravest = min(views, key=lambda view: -(view["share"] or 0.0))
    (opening,) = header.all("p", class_="summary")
    assert opening.text == gravest["words"]


def test_the_review_page_shows_the_strongest_findings_first(service: Service, entries: dict[str, str]) -> None:
    enter(service, "rita")
    part = read(service, f"/submissions/{entries['half']}/review").one("section", id="copying")
    public, private = part.all("details", class_="track-evidence")
    assert "open" in public.attributes
    assert "open" not in private.attributes
    assert "signs of copying" in public.all("summary")[0].text
    signs = [line.text for line in public.one("ul", class_="signs").all("li")]
    assert any("look like copies, even if the entry as a whole does not" in sign for sign in signs)
    assert "is copied" in public.all("section", class_="cell")[0].text
    assert public.one("details", class_="all-findings").all("tr")
    honest = read(service, f"/submissions/{entries['honest']}/review").one("section", id="copying")
    for details in honest.all("details", class_="track-evidence"):
        assert "no sign of copying" in details.all("summary")[0].text
    assert all("open" not in details.attributes for details in honest.all("details"))


def look(browser: Browser, service: Service, pages: dict[str, tuple[str, str]], address: str) -> None:
    """Check that every page fits every screen and makes no request to other hosts."""
    for name, (who, path) in pages.items():
        with signed_in(browser, service, address + path, who=who) as tab:
            take_pictures(tab.page, f"{name}-closed")
            tab.page.evaluate("document.querySelectorAll('details').forEach(element => { element.open = true })")
            for width in WIDTHS:
                tab.page.set_viewport_size({"width": width, "height": 800})
                assert tab.page.evaluate(OVERFLOWING_ELEMENTS, width) == [], (name, width)
                assert tab.page.evaluate("document.documentElement.scrollWidth") == width, (name, width)
            tab.page.emulate_media(color_scheme="dark")
            tab.page.evaluate(LOAD_IMAGES)
            tab.page.wait_for_load_state("networkidle")
            take_pictures(tab.page, name)
            assert tab.console_messages == []
            assert all(url.startswith(address) for url in tab.requests)


def test_after_publication_only_the_team_sees_the_images(service: Service, published: dict[str, str]) -> None:
    entry = published["half"]
    for kind in KINDS:
        own, other = (evidence(service, who, entry, kind).json() for who in ("ada", None))
        assert signs(own) == signs(other) >= {"partly-copied"}
        assert own["findings"] == other["findings"]
        assert own["matches"]
        assert any(cell["examples"] for cell in own["cells"])
        assert other["matches"] == [cell["examples"] for cell in other["cells"] if cell["examples"]] == []
    picture = own["matches"][0]["picture"].removeprefix("/api/v1")
    assert service.call("ada", "GET", picture).status_code == 200
    assert service.call("bob", "GET", picture).status_code == 404
    enter(service, "ada")
    part = read(service, f"/submissions/{entry}").one("section", id="evidence")
    assert "signs of copying" in part.text


def test_published_evidence_fits_every_screen(
    browser: Browser, service: Service, slug: str, published: dict[str, str]
) -> None:
    with serve(service.app) as address:
        pages = {
            "review": ("rita", f"/submissions/{published['half']}/review"),
            "mirrored": ("rita", f"/submissions/{published['mirrored']}/review"),
            "queue": ("rita", f"/competitions/{slug}/review-queue"),
            "entry": ("ada", f"/submissions/{published['half']}"),
        }
        look(browser, service, pages, address)


def test_only_training_images_are_shown(service: Service, published: dict[str, str]) -> None:
    names = {f"{place:05}.png" for place in range(len(TRAINING))}
    for name in ENTRIES:
        for kind in KINDS:
            view = evidence(service, "ada", published[name], kind).json()
            groups = [*view["matches"], *(cell["examples"] for cell in view["cells"] if cell["examples"])]
            near = [group for group in groups if group["name"] not in {"repeats", "identical", "mirrored-twins"}]
            assert near
            assert {Path(pair["other"]).name for group in near for pair in group["pairs"]} <= names
    assert len(HELD_OUT) < len(TRAINING)
