"""Human ratings through the API: blind, balanced, no image twice, and their analysis."""

import base64
import io
from collections import Counter
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from scorer.db.tables import Job, Rating, RatingItem, RatingStudy, Submission
from scorer.submissions.files import stored_zip
from tests.api.conftest import Service
from tests.api.import_export.files import content, release
from tests.api.insights.rating_studies import SIZES, Seat, cached, invited, read_study, service, slug, study
from tests.factories import noise_images
from worker.exports import rating_images
from worker.runtime.preemption import Preempted

__all__ = ["cached", "service", "slug"]  # pytest finds fixtures by their names in this module


def batch(service: Service, seat: Seat, kind: str = "realism", *, limit: int = 50) -> Any:
    answer = seat.call(service, "GET", params={"kind": kind, "limit": limit})
    assert answer.status_code == 200, answer.text
    return answer.json()


def rate(service: Service, seat: Seat, values: dict[int, int], *, status: int = 200, **fields: Any) -> Any:
    body = {"kind": "realism", "ratings": values, **fields}
    answer = seat.call(service, "POST", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


def pixels(item: Any) -> Any:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(item["png"]))))


def test_a_study_has_images_of_teams_without_a_memorising_label(service: Service, slug: str) -> None:
    made = study(service, slug)
    assert (made["state"], made["entries"]) == ("open", 2)
    assert {kind["kind"]: (kind["items"], kind["wanted"]) for kind in made["kinds"]} == {
        "realism": (6, 12),
        "diversity": (4, 8),
    }
    where = invited(service, slug, made["id"])
    honest = {image.tobytes() for seed in (10, 12) for image in noise_images(seed)}
    single = [pixels(item) for item in batch(service, where)["items"]]
    assert len({image.tobytes() for image in single}) == 6
    assert {image.tobytes() for image in single} <= honest
    for item in batch(service, where, "diversity")["items"]:
        grid = pixels(item)
        tiles = [grid[y : y + 16, x : x + 16].tobytes() for y in (0, 16) for x in (0, 16)]
        assert len(set(tiles)) == 4
        assert set(tiles) <= honest
    item = batch(service, where, limit=1)["items"][0]
    picture = where.call(service, "GET", f"/{item['id']}/picture")
    assert base64.b64encode(picture.content).decode() == item["png"]
    assert where.call(service, "GET", "/999999/picture").status_code == 404
    assert set(item) == {"id", "png"}, "the item does not show its team"
    with service.context.sessions() as session:
        items = session.query(RatingItem).order_by(RatingItem.id).all()
        order = [(item.submission_ref, item.kind) for item in items]
        assert order != sorted(order), "ids are in random order"

    (bob,) = [
        entry["id"]
        for entry in service.call("organizer", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
        if entry["team"] == "Bob"
    ]
    assert study(service, slug, submissions=[bob])["entries"] == 1, "organizers can choose the entries"
    for wrong, status in (
        ({"submissions": ["nothing"]}, 422),
        ({"images": 0, "grids": 0}, 422),
        ({"images": 9}, 422),
        ({"side": 3}, 422),
        ({"wanted": 0}, 422),
    ):
        answer = service.call("organizer", "POST", f"/competitions/{slug}/ratings", json=SIZES | wrong)
        assert answer.status_code == status, wrong
    empty = service.competition()
    refused = service.call("organizer", "POST", f"/competitions/{empty}/ratings", json=SIZES)
    assert refused.json()["type"].endswith("nobody-to-rate")


def test_a_preempted_study_resumes(service: Service, slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job yields before each entry. It packs no entry twice, loses no attempt and creates the same items."""
    made: list[str] = []
    yields: list[str] = []
    store = rating_images._store_images

    def preemptible(*_: Any) -> Any:
        def progress(stage: str, _fraction: float) -> None:
            if len(yields) <= len(made):
                yields.append(stage)
                raise Preempted

        return progress

    def stores(context: Any, study: Any, entry: Any, **options: Any) -> Any:
        made.append(entry.id)
        return store(context, study, entry, **options)

    monkeypatch.setattr(rating_images, "preemptible", preemptible)
    monkeypatch.setattr(rating_images, "_store_images", stores)
    disturbed = study(service, slug)
    assert (disturbed["state"], len(made), len(set(made)), len(yields)) == ("open", 2, 2, 2)
    with service.context.sessions() as session:
        assert session.query(Job).filter_by(queue="ratings").one().attempts == 1
        packed = session.query(RatingStudy).one()
        entries = session.query(Submission).filter(Submission.ref.in_(packed.submission_refs))
        whole = [item for entry in entries for item in store(service.context, packed, entry, stored=stored_zip(entry))]
        stored = session.query(RatingItem)
        assert sorted((item.blob_key, item.start, item.length, item.kind, item.images) for item in stored) == sorted(
            (item["blob_key"], item["start"], item["length"], item["kind"], item["images"]) for item in whole
        )


def test_raters_get_items_once_and_the_least_rated_first(service: Service, slug: str) -> None:
    made = study(service, slug)
    one, two, three = (invited(service, slug, made["id"], name) for name in ("A", "B", "C"))
    first = batch(service, one, limit=4)["items"]
    assert rate(service, one, {item["id"]: 3 for item in first})["rated"] == 4
    rest = {item["id"] for item in batch(service, one)["items"]}
    assert len(rest) == 2
    assert not rest & {item["id"] for item in first}
    assert {item["id"] for item in batch(service, two, limit=2)["items"]} == rest, "unrated items come first"
    response = rate(service, two, dict.fromkeys(rest, 5), more=3, at_hand=[first[0]["id"]])
    assert {item["id"] for item in response["items"]} == {item["id"] for item in first[1:]}
    # A second rating by the same rater does not count.
    rate(service, two, dict.fromkeys(rest, 1))
    with service.context.sessions() as session:
        assert Counter(rating.value for rating in session.query(Rating)) == {3: 4, 5: 2}
    rate(service, one, dict.fromkeys(rest, 4))
    assert batch(service, one)["items"] == []
    assert len(batch(service, three)["items"]) == 4, "items with two ratings are done"
    assert len(batch(service, one, "diversity")["items"]) == 4, "the other question is still open"
    for wrong in ({1: 0}, {1: 6}, {999999: 3}):
        rate(service, one, wrong, status=422)
    assert (
        service.call("organizer", "PUT", f"/competitions/{slug}/ratings/{made['id']}/ended").json()["state"] == "ended"
    )
    assert service.call("organizer", "PUT", f"/competitions/{slug}/ratings/{made['id']}/ended").status_code == 409
    rate(service, three, {first[0]["id"]: 3}, status=409)


def test_permissions_of_raters(service: Service, slug: str) -> None:
    made = study(service, slug)
    where = f"/ratings/{made['id']}/items"
    assert len(batch(service, Seat(where, "organizer"))["items"]) == 6
    body = {"kind": "realism", "ratings": {batch(service, Seat(where, "admin"), limit=1)["items"][0]["id"]: 2}}
    assert service.call("admin", "POST", where, json=body).json()["rated"] == 1
    reads_only = service.browse("organizer", "POST", "/tokens", json={"name": "reads", "scopes": ["read"]}).json()[
        "token"
    ]
    service.tokens["reads only"] = reads_only
    assert len(batch(service, Seat(where, "reads only"))["items"]) == 6
    assert service.call("reads only", "POST", where, json=body).status_code == 403
    assert service.call("ada", "GET", where, params={"kind": "realism"}).status_code == 404
    assert service.call(None, "GET", where, params={"kind": "realism"}).status_code == 401
    for seat, status in ((Seat(link="guessed"), 404), (Seat(), 401)):
        assert seat.call(service, "GET", params={"kind": "realism"}).status_code == status
    for who, status in (("ada", 403), (None, 401)):
        for path in (f"/competitions/{slug}/ratings", f"/competitions/{slug}/ratings/{made['id']}"):
            assert service.call(who, "GET", path).status_code == status


def test_the_analysis_of_ratings(service: Service, slug: str) -> None:
    made = study(service, slug)
    with service.context.sessions() as session:
        items = {item.id: item for item in session.query(RatingItem)}
        teams = {item.submission_ref for item in items.values()}
    better = min(teams)
    for name in ("A", "B"):
        where = invited(service, slug, made["id"], name)
        ids = [item["id"] for item in batch(service, where)["items"]]
        values = {}
        for position, number in enumerate(sorted(ids)):
            values[number] = (4 + position % 2) if items[number].submission_ref == better else 1
        rate(service, where, values)
    seen = read_study(service, slug, made["id"])
    means = [(mean["team"], mean["items"], mean["ratings"]) for mean in seen["means"]]
    assert means == [("Ada", 3, 6), ("Eve", 3, 6)]
    ada, eve = seen["means"]
    single = sorted(number for number, item in items.items() if item.kind == "realism")
    ratings = [4 + at % 2 for at, number in enumerate(single) if items[number].submission_ref == better]
    assert ada["mean"] == pytest.approx(np.mean(ratings))
    assert ada["standard_error"] == pytest.approx(np.std(ratings, ddof=1) / np.sqrt(3))
    assert (eve["mean"], eve["standard_error"]) == (1, 0)
    realism, diversity = seen["kinds"]
    assert (realism["ratings"], realism["agreement"], diversity["agreement"]) == (12, 1, None)

    rows = pq.read_table(io.BytesIO(content(service, slug, release(service, slug), "ratings.parquet"))).to_pylist()
    assert len(rows) == 12
    assert {row["rater_kind"] for row in rows} == {"invited"}
    assert len({row["rater"] for row in rows}) == 2
    assert {row["item"] for row in rows} == set(range(1, 7))
    by_team: dict[str, set[int]] = {row["submission"]: set() for row in rows}
    for row in rows:
        by_team[row["submission"]].add(row["value"])
        assert len(row["image_indexes"]) == 1
    assert sorted(map(sorted, by_team.values())) == [[1], sorted(set(ratings))]
