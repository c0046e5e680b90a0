"""Figures of a competition for each role, as data, CSV and images."""

import io
import itertools
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from PIL import Image

from api.http.rate_limits import FIGURE_COST, RateLimiter
from deploy.standalone.ephemeral import Servers
from scorer.insights.figures import FIGURES, groups_by_label
from tests.api.conftest import Service, refused, running_service
from tests.api.import_export.files import load, table
from tests.conftest import fresh_settings
from tests.factories import make_zip, noise_images

PUBLIC = ("distances", "fid", "fid-distance")
SVG = "{http://www.w3.org/2000/svg}"


_count = itertools.count(1)


@pytest.fixture(scope="module")
def service(servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for this module. Every test has its own competition."""
    with fresh_settings(servers, tmp_path_factory.mktemp("insights")) as settings, running_service(settings) as started:
        yield started


def figure(service: Service, who: str | None, slug: str, name: str, **params: str) -> Any:
    """Request a figure."""
    return service.call(who, "GET", f"/competitions/{slug}/insights/{name}", params=params)


@pytest.fixture
def old(service: Service) -> str:
    """An imported competition of six entries."""
    rows: list[tuple[Any, ...]] = [
        ("1", "", "", 20.0, 30.0, 0.30, 0.40, "non-mem"),
        ("2", "", "", 10.0, 12.0, 0.05, 0.20, "mgan"),
        ("3", "", "", 25.0, 31.0, 0.35, 0.45, ""),
        ("4", "", "", 22.0, 28.0, 0.31, 0.41, "non-mem"),
        ("5", "", "", 11.0, 15.0, 0.20, 0.21, "ae"),
        ("6", "", "", 12.0, 14.0, 0.10, 0.22, "aug"),
    ]
    slug = f"old-{next(_count)}"
    assert load(service, slug, table(*rows), title="=Old & older").status_code == 201
    return slug


def test_unpublished_figures_are_only_for_organizers(service: Service, old: str) -> None:
    for who in (None, "ada"):
        listed = service.call(who, "GET", f"/competitions/{old}/insights").json()["figures"]
        assert [figure["figure"] for figure in listed] == [*PUBLIC]
        for name in FIGURES:
            answer = figure(service, who, old, name)
            assert answer.status_code == (200 if name in PUBLIC else 403), name
            assert figure(service, who, old, name, track="private").status_code == 403
        data = figure(service, who, old, "distances").json()
        assert data["columns"] == ["fid", "distance", "score", "penalised"]
        assert (data["groups"], data["statistics"]) == ([], {"count": 6})
        refused(figure(service, who, old, "fid", label="mgan"), 422, "no-labels")
        for path in ("gallery", "twins"):
            assert service.call(who, "GET", f"/competitions/{old}/{path}").status_code in {401, 403}
    for name in FIGURES:
        assert figure(service, "organizer", old, name, track="private").status_code == 200
    assert figure(service, "organizer", old, "distances").json()["columns"][:3] == ["entry", "team", "label"]


def test_published_figures_show_everything_except_names(service: Service, old: str) -> None:
    service.publish(old)
    for name in FIGURES:
        data = figure(service, None, old, name, track="private").json()
        assert "entry" not in data["columns"]
        assert ("team" in data["columns"]) == (name == "shake-up"), "boards name teams, labels do not"
    assert {row[0] for row in figure(service, None, old, "fid").json()["rows"]} == {
        "legitimate",
        "mgan",
        "ae",
        "aug",
        None,
    }


def test_labels_do_not_change_the_figures_for_outsiders(service: Service, old: str) -> None:
    def etags(who: str | None) -> list[str]:
        return [figure(service, who, old, name).headers["etag"] for name in PUBLIC]

    entry = figure(service, "organizer", old, "fid").json()["rows"][2][0]
    before = etags(None), etags("organizer")
    body = {"label": "sup", "note": "seen"}
    assert service.call("organizer", "PUT", f"/competitions/{old}/submissions/{entry}/label", json=body).is_success
    assert etags(None) == before[0], "outsiders cannot see labels yet"
    assert etags("organizer") != before[1]
    known = service.call(None, "GET", f"/competitions/{old}/insights/fid", headers={"If-None-Match": before[0][1]})
    assert (known.status_code, known.content) == (304, b"")


def test_unused_parameters_do_not_change_the_etag(service: Service, old: str) -> None:
    """Otherwise random parameters would make the service compute every figure again."""

    def etag(name: str, **params: str) -> str:
        return str(figure(service, "organizer", old, name, **params).headers["etag"])

    assert etag("fid", shown="nothing") == etag("fid")
    assert etag("ranks", track="private") == etag("ranks")
    assert etag("fid", track="private") != etag("fid")
    pages = [service.http.get(f"/competitions/{old}/insights{query}") for query in ("", "?shown=nothing")]
    assert pages[0].headers["etag"] == pages[1].headers["etag"]


def test_statistics_of_all_entries_are_computed_once(
    service: Service, old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take longer than the first rows. A CSV has none."""
    asked = []

    def counted(*inputs: Any) -> Any:
        asked.append(inputs)
        return groups_by_label(*inputs)

    monkeypatch.setattr("scorer.insights.figures.groups_by_label", counted)
    assert figure(service, "organizer", old, "fid", format="csv").status_code == 200
    assert not asked
    answers = [figure(service, "organizer", old, "fid").json() for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(asked) == 1
    entry = answers[0]["rows"][2][0]
    body = {"label": "sup", "note": "seen"}
    assert service.call("organizer", "PUT", f"/competitions/{old}/submissions/{entry}/label", json=body).is_success
    groups = {group["label"]: group["count"] for group in figure(service, "organizer", old, "fid").json()["groups"]}
    assert (groups["sup"], len(asked)) == (1, 2)


def test_newly_drawn_figures_count_as_several_requests(
    service: Service, old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []

    def hit(_: RateLimiter, name: str, *__: object, cost: int = 1) -> None:
        counted.extend([cost] * (name == "request"))

    def count_requests(path: str) -> int:
        counted.clear()
        assert service.http.get(path).status_code == 200
        return sum(counted)

    monkeypatch.setattr(RateLimiter, "hit", hit)
    one, page = f"/api/v1/competitions/{old}/insights/fid", f"/competitions/{old}/insights"
    assert [count_requests(one) for _ in range(2)] == [FIGURE_COST, 1]
    assert [count_requests(f"{page}?seed={seed}") for seed in (1, 1, 2)] == [len(PUBLIC) * FIGURE_COST, 1, 1]


def test_statistics_cover_the_chosen_entries(service: Service, old: str) -> None:
    data = figure(service, "organizer", old, "public-private", label="legitimate").json()
    assert [row[3:] for row in data["rows"]] == [[20.0, 30.0], [22.0, 28.0]]
    assert data["statistics"] == {"count": 2, "spearman": pytest.approx(-1), "pearson": pytest.approx(-1)}
    ranks = figure(service, "organizer", old, "ranks", label="memorising").json()
    assert ranks["statistics"] == {"count": 3, "mean_rank_difference": pytest.approx(2 / 3), "leaders_in_common": 3}
    private = figure(service, "organizer", old, "distances", track="private").json()
    assert private["statistics"]["auc"] == 1.0
    margin = private["statistics"]["methods"]["margin"]
    assert margin["tau"] == pytest.approx(0.31)
    assert margin["confusion"]["true_positives"] == 3
    one = figure(service, "organizer", old, "distances", label="mgan").json()["statistics"]
    assert one["methods"]["margin"]["tau"] is None
    assert "all labelled entries are memorising" in one["methods"]["margin"]["why"]
    nobody = figure(service, "organizer", old, "fid-distance", label="other").json()
    assert (nobody["rows"], nobody["statistics"]["pearson"]) == ([], None)
    assert nobody["told"] == "Nothing to show yet."


def test_csv_and_images_are_downloads(service: Service, old: str) -> None:
    answer = figure(service, "organizer", old, "fid", track="private", label="memorising", format="csv")
    assert answer.headers["content-disposition"] == f'attachment; filename="{old}-fid-private-memorising.csv"'
    lines = answer.text.splitlines()
    assert lines[0] == "entry,team,label,fid,distance,score,penalised"
    assert len(lines) == 4
    for name in FIGURES:
        answer = figure(service, "organizer", old, name, format="svg")
        assert answer.headers["content-type"] == "image/svg+xml"
        assert "style-src 'unsafe-inline'; sandbox" in answer.headers["content-security-policy"]
        root = ET.fromstring(answer.text)
        assert root.tag == f"{SVG}svg"
        assert "=Old & older" in [element.text for element in root.iter(f"{SVG}text")]
        for part in ("http:", "https:", "url(", "<script"):
            assert part not in answer.text.replace("http://www.w3.org/2000/svg", "")
        dots = root.findall(f".//{SVG}circle[@data-row]")
        assert len(dots) == (0 if name == "distances" else 6)
    refused(figure(service, "organizer", old, "fid", label="other", format="svg"), 404, "nothing-to-draw")
    assert figure(service, "organizer", old, "nothing").status_code == 422


def test_every_page_also_has_summaries_in_words(service: Service, old: str) -> None:
    for who, figures in (("organizer", FIGURES), (None, PUBLIC)):
        headers = {"Authorization": f"Bearer secret-of-{who}"} if who else {}
        for query in ("", "?track=private&label=memorising", "?label=other"):
            page = service.http.get(f"/competitions/{old}/insights{query}", headers=headers)
            if who is None and query:
                assert page.status_code in {403, 422}
                continue
            assert page.status_code == 200
            for name in figures:
                assert f'id="{name}-summary"' in page.text
            again = service.http.get(
                f"/competitions/{old}/insights{query}", headers=headers | {"If-None-Match": page.headers["etag"]}
            )
            assert again.status_code == 304
    assert f"/competitions/{old}/insights" in service.http.get(f"/competitions/{old}").text


def test_an_empty_competition_has_empty_figures(service: Service) -> None:
    slug = service.competition()
    for name in FIGURES:
        data = figure(service, "organizer", slug, name).json()
        assert (data["rows"], data["statistics"]["count"]) == ([], 0)
    page = service.http.get(f"/competitions/{slug}/insights", headers={"Authorization": "Bearer secret-of-organizer"})
    assert page.text.count("Nothing to show yet.") == len(FIGURES)


def test_the_gallery_shows_images_of_the_entry(service: Service) -> None:
    slug = service.competition(image_count=120, image_size=16)
    images = noise_images(10, 120)
    own = service.scored("ada", slug, images)
    (exhibit,) = service.call("organizer", "GET", f"/competitions/{slug}/gallery").json()["entries"]
    assert (exhibit["rank"], exhibit["team"], exhibit["submission_id"]) == (1, "Ada", own["id"])
    path = exhibit["images"].removeprefix("/api/v1")
    answer = service.call("organizer", "GET", path)
    strip = np.asarray(Image.open(io.BytesIO(answer.content)))
    tiles = strip.reshape(16, 10, 16, 3).transpose(1, 0, 2, 3)
    known = {image.tobytes() for image in images}
    assert len({tile.tobytes() for tile in tiles} & known) == 10, "ten different images of the entry"
    assert service.call("organizer", "GET", path).content == answer.content, "the same seed draws the same images"
    assert service.call("organizer", "GET", path.replace("seed=0", "seed=1")).content != answer.content
    assert service.call("ada", "GET", path).status_code == 403
    other = service.competition()
    refused(service.call("organizer", "GET", path.replace(slug, other)), 404, "no-submission")
    page = service.http.get(f"/competitions/{slug}/insights", headers={"Authorization": "Bearer secret-of-organizer"})
    assert exhibit["images"] in page.text


def test_an_imported_entry_has_no_images(service: Service, old: str) -> None:
    rows = service.call("organizer", "GET", f"/competitions/{old}/gallery?track=private").json()["entries"]
    assert [(entry["rank"], entry["images"]) for entry in rows] == [(rank, None) for rank in (1, 2, 3, 5)]
    path = f"/competitions/{old}/gallery/{rows[0]['submission_id']}"
    refused(service.call("organizer", "GET", path), 404, "no-sprite")
    page = service.http.get(f"/competitions/{old}/insights", headers={"Authorization": "Bearer secret-of-organizer"})
    assert page.text.count("from a table of results, without images") == 4
    assert service.call("organizer", "GET", f"/competitions/{old}/twins").json()["twins"] == []


def test_equal_zips_and_images_of_teams_are_listed(service: Service) -> None:
    slug = service.competition()
    first, second = noise_images(10), noise_images(11)
    for who, content in (("ada", first), ("ada", first), ("bob", first), ("eve", second)):
        service.submit(who, slug, make_zip(content))
    service.submit("ada", slug, make_zip(second[::-1]))
    service.run_jobs()
    groups = service.call("organizer", "GET", f"/competitions/{slug}/twins").json()["twins"]
    by_kind = {group["same"]: group["entries"] for group in groups}
    assert [entry["team"] for entry in by_kind["zip"]] == ["Ada", "Ada", "Bob"]
    assert [entry["team"] for entry in by_kind["images"]] == ["Eve", "Ada"]
    page = service.http.get(f"/competitions/{slug}/insights", headers={"Authorization": "Bearer secret-of-organizer"})
    assert "Identical entries from different teams" in page.text


def test_figures_leave_out_late_and_benchmark_entries(service: Service) -> None:
    slug = service.competition(late_submissions=True)
    service.scored("ada", slug, noise_images(10))
    service.scored("organizer", slug, noise_images(12), benchmark="Real images")
    service.close(slug)
    service.scored("bob", slug, noise_images(11))
    for name in ("fid", "public-private", "shake-up"):
        assert figure(service, "organizer", slug, name).json()["statistics"]["count"] == 1
