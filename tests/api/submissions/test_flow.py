"""From upload to score through the API, with the worker's code."""

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from scorer.competitions import competition_state, preparations
from scorer.competitions.preparations import FeatureSpace
from scorer.db import competitions
from scorer.extractors import ExtractorOptions, load
from scorer.metrics.memorization import memorization_distance
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images, with_a_wrong_image
from tests.sql_statements import counted_statements

pytestmark = pytest.mark.usefixtures("one_day")


def board(service: Service, slug: str, who: str | None = None, **params: Any) -> Any:
    """Return the leaderboard as JSON."""
    answer = service.call(who, "GET", f"/competitions/{slug}/leaderboard", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_entry_gets_a_score_and_a_place(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10), note="first try")
    assert entry["status"] == "scored"
    assert entry["note"] == "first try"
    (public,) = entry["measurements"]
    assert public["track"] == "public"
    assert public["fid"] > 0
    assert 0 < public["memorization_distance"] < 1
    assert public["rank"] == 1
    assert sum(public["histogram"]["counts"]) == 8
    leaderboard = board(service, slug)
    assert [(place["rank"], place["team"], place["entries"]) for place in leaderboard["entries"]] == [(1, "Ada", 1)]
    assert leaderboard["entries"][0]["score"] == pytest.approx(public["mifid"], abs=1e-5)


def test_each_track_is_measured_against_its_reference_set(service: Service) -> None:
    slug = service.competition()
    entry = service.scored("ada", slug, noise_images(10))
    seen = service.call("organizer", "GET", f"/submissions/{entry['id']}").json()
    public, private = seen["measurements"]
    assert (public["track"], private["track"]) == ("public", "private")
    assert (public["provenance"]["reference_images"], private["provenance"]["reference_images"]) == (40, 50)
    assert public["fid"] != private["fid"]
    assert len(public["closest_pairs"]) == 8
    nearest = [pair["distance"] for pair in public["closest_pairs"]]
    assert nearest == sorted(nearest)


def features_file(features: NDArray[np.float32]) -> bytes:
    """Return a features file in the format of the 2019 competition's authors."""
    file = io.BytesIO()
    np.savez(file, features=features, m=features.mean(axis=0), s=np.cov(features, rowvar=False))
    return file.getvalue()


def test_features_can_replace_a_tracks_reference_images(service: Service) -> None:
    """They replace the private track's images for its extractor. Another extractor uses the images again."""
    slug = service.competition()
    path = f"/competitions/{slug}"
    features = load("tiny", options=ExtractorOptions()).features(noise_images(7, 60))
    address = f"{path}/references/private_features"
    refused = service.call("organizer", "PUT", address, content=make_zip(noise_images(7, 6)))
    assert (refused.status_code, refused.json()["type"].rpartition(":")[2]) == (422, "bad-features")
    sent = service.call("organizer", "PUT", address, content=features_file(features))
    assert sent.status_code == 200, sent.text
    assert service.call("organizer", "POST", f"{path}/tracks/private/preparation").status_code == 202
    service.run_jobs()
    prepared = service.call("organizer", "GET", f"{path}/tracks/private/preparation").json()
    assert (prepared["state"], prepared["images"]) == ("done", 60)
    entry = service.scored("ada", slug, noise_images(10))
    public, private = service.call("organizer", "GET", f"/submissions/{entry['id']}").json()["measurements"]
    assert public["provenance"]["reference_images"] == 40
    own = load("tiny", options=ExtractorOptions()).features(noise_images(10))
    assert private["memorization_distance"] == pytest.approx(memorization_distance(own, features), rel=1e-9)
    assert private["fid"] == pytest.approx(frechet_distance(statistics_of(own), statistics_of(features)), rel=1e-6)
    assert "/row " in private["closest_pairs"][0]["reference_name"]
    assert service.call("organizer", "GET", f"/submissions/{entry['id']}/pairs/private").status_code == 404
    with service.context.sessions.begin() as session:
        state = competition_state.load_state(session, slug, datetime.now(UTC))
        for extractor, expected in (("tiny@1", True), ("inception_2015@1", False)):
            space = FeatureSpace(extractor, signed=False, weights_sha256=None)
            preparation = preparations.find_or_create_preparation(
                session, state, "private", space=space, now=datetime.now(UTC)
            )
            sets = competitions.reference_sets(session, preparation.reference_set_ids)
            assert [reference_set.holds_features for reference_set in sets] == [*[True][: int(expected)], False, False]


def test_the_first_threshold_is_half_the_held_out_distance(service: Service) -> None:
    slug = service.competition()
    prepared = service.call("organizer", "GET", f"/competitions/{slug}/tracks/public/preparation").json()
    assert prepared["state"] == "done"
    assert prepared["images"] == 40
    (first,) = service.call("organizer", "GET", f"/competitions/{slug}/tracks/public/thresholds").json()["thresholds"]
    assert first["method"] == "held_out"
    assert first["tau"] == prepared["held_out_distance"] / 2


def test_copies_and_mirrored_copies_are_listed_without_a_score(service: Service) -> None:
    slug = service.competition()
    training = noise_images(1, 40, 16)
    service.scored("ada", slug, training[:8])
    mirrored = service.scored("bob", slug, training[8:16, :, ::-1])
    service.scored("eve", slug, noise_images(11))
    assert mirrored["measurements"][0]["copy"] is True
    assert mirrored["measurements"][0]["mifid"] is None
    leaderboard = board(service, slug)
    assert [place["team"] for place in leaderboard["entries"]] == ["Eve"]
    assert {copy["team"]: copy["reason"] for copy in leaderboard["copies"]} == {
        "Ada": "100% of its images are training images, pixel by pixel (8 as they are, 0 mirrored).",
        "Bob": "100% of its images are training images, pixel by pixel (0 as they are, 8 mirrored).",
    }


def test_an_invalid_image_is_named_and_uses_no_slot(service: Service) -> None:
    slug = service.competition(daily_limit=1)
    images = noise_images(10)
    entry = service.submit("ada", slug, with_a_wrong_image(images)).json()
    service.run_jobs()
    seen = service.call("ada", "GET", f"/submissions/{entry['id']}").json()
    assert seen["status"] == "rejected"
    assert len(seen["faults"]) == 1
    assert "3.png" in seen["faults"][0]
    assert "15x16" in seen["faults"][0]
    assert service.submit("ada", slug, make_zip(images)).status_code == 202, "the rejected entry uses no slot"


def test_a_new_threshold_changes_the_next_board_without_a_job(service: Service) -> None:
    slug = service.competition()
    near = np.clip(noise_images(1, 40, 16)[:8].astype(int) + 20, 0, 255).astype(np.uint8)
    close = service.scored("ada", slug, near)
    far = service.scored("bob", slug, noise_images(11))
    distances = {
        who: entry["measurements"][0]["memorization_distance"] for who, entry in (("ada", close), ("bob", far))
    }
    assert distances["ada"] < distances["bob"]
    path = f"/competitions/{slug}/tracks/public/thresholds"
    for entry, label in ((close, "aug"), (far, "legitimate")):
        answer = service.call(
            "organizer", "PUT", f"/competitions/{slug}/submissions/{entry['id']}/label", json={"label": label}
        )
        assert answer.status_code == 200, answer.text
    before = board(service, slug)
    preview = service.call("organizer", "POST", path, json={"preview": True})
    assert preview.status_code == 200
    assert board(service, slug) == before
    applied = service.call("organizer", "POST", path, json={"reason": "after labelling"})
    assert applied.status_code == 201
    strip = {"preview", "threshold_id"}
    previewed, done = preview.json(), applied.json()
    assert {k: v for k, v in previewed.items() if k not in strip} == {k: v for k, v in done.items() if k not in strip}
    assert distances["ada"] < done["tau"] < distances["bob"]
    confusion = done["choice"]["confusion"]
    assert confusion == {"true_positives": 1, "false_negatives": 0, "false_positives": 0, "true_negatives": 1}
    after = board(service, slug)
    assert {place["team"]: place["penalised"] for place in after["entries"]} == {"Ada": True, "Bob": False}
    assert after["tau"] == done["tau"]


def test_methods_without_their_inputs_are_refused(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    path = f"/competitions/{slug}/tracks/public/thresholds"
    answer = service.call("organizer", "POST", path, json={"method": "margin", "reason": "now"})
    assert answer.status_code == 422
    assert answer.json()["type"] == "urn:kennel:problem:no-labels"
    assert (
        service.call("organizer", "POST", path, json={"method": "manual", "tau": 0.1})
        .json()["type"]
        .endswith("no-reason")
    )


def test_the_board_returns_304_until_it_changes(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    path = f"/competitions/{slug}/leaderboard"
    first = service.call(None, "GET", path)
    known = {"If-None-Match": first.headers["etag"]}
    assert service.call(None, "GET", path, headers=known).status_code == 304
    service.call(
        "organizer",
        "POST",
        f"/competitions/{slug}/tracks/public/thresholds",
        json={"method": "manual", "tau": 0.001, "reason": "try"},
    )
    assert service.call(None, "GET", path, headers=known).status_code == 200


def test_the_board_is_available_as_csv(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    answer = service.call(None, "GET", f"/competitions/{slug}/leaderboard", params={"format": "csv"})
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert (row["rank"], row["team"]) == ("1", "Ada")
    assert answer.headers["content-type"].startswith("text/csv")


def test_the_private_board_is_hidden_until_publication(service: Service) -> None:
    slug = service.competition(closes_at=(datetime.now(UTC) + timedelta(days=1)))
    entry = service.scored("ada", slug, noise_images(10))
    for who in (None, "ada", "bob"):
        assert service.call(who, "GET", f"/competitions/{slug}/leaderboard?track=private").status_code == 403
    assert [track["kind"] for track in service.call("ada", "GET", f"/competitions/{slug}").json()["tracks"]] == [
        "public"
    ]
    assert "private" not in str(entry["measurements"])
    assert board(service, slug, "organizer", track="private")["entries"][0]["team"] == "Ada"
    publication = f"/competitions/{slug}/publication"
    early = service.call("organizer", "POST", publication, json={"published": True, "reason": "done"})
    assert early.json()["type"].endswith("not-closed")


def test_only_organizers_add_benchmarks_which_have_no_rank(service: Service) -> None:
    slug = service.competition()
    refused = service.submit("ada", slug, make_zip(noise_images(2)), benchmark="Held-out")
    assert refused.status_code == 403
    service.scored("organizer", slug, noise_images(2), benchmark="Held-out")
    leaderboard = board(service, slug)
    assert leaderboard["entries"] == []
    assert [line["team"] for line in leaderboard["benchmarks"]] == ["Held-out"]


def test_references_are_shared_by_content_and_fixed_by_the_first_entry(service: Service) -> None:
    first, second = service.competition(), service.competition()
    prepared = [
        service.call("organizer", "GET", f"/competitions/{slug}/tracks/public/preparation").json()
        for slug in (first, second)
    ]
    assert prepared[0] == prepared[1]
    service.scored("ada", first, noise_images(10))
    refused = service.call(
        "organizer", "PUT", f"/competitions/{first}/references/train", content=make_zip(noise_images(4, 40))
    )
    assert refused.status_code == 409
    assert refused.json()["type"].endswith("references-fixed")


def test_new_held_out_images_change_only_an_automatic_threshold(service: Service) -> None:
    slug = service.competition()
    thresholds, public = f"/competitions/{slug}/tracks/public/thresholds", f"/competitions/{slug}/tracks/public"

    def prepared_with(seed: int) -> Any:
        content = make_zip(noise_images(seed, 12))
        service.call("organizer", "PUT", f"/competitions/{slug}/references/held_out", content=content)
        service.call("organizer", "POST", f"{public}/preparation")
        service.run_jobs()
        return service.call("organizer", "GET", f"{public}/preparation").json()["held_out_distance"]

    distance = prepared_with(77)
    assert service.call("organizer", "GET", thresholds).json()["thresholds"][0]["tau"] == distance / 2
    service.call("organizer", "POST", thresholds, json={"method": "manual", "tau": 0.07, "reason": "mine"})
    prepared_with(78)
    assert service.call("organizer", "GET", thresholds).json()["thresholds"][0]["tau"] == 0.07


def test_longer_lists_take_no_more_queries(service: Service) -> None:
    slug = service.competition()
    for number, who in enumerate(("ada", "bob", "ada")):
        service.submit(who, slug, make_zip(noise_images(number)), note=f"number {number}")
    service.run_jobs()
    service.submit("bob", slug, make_zip(noise_images(3)))
    counts = set()
    for limit in (2, 4):
        with counted_statements() as statements:
            page = service.call("organizer", "GET", f"/competitions/{slug}/submissions?limit={limit}").json()
        counts.add(len(statements))
    assert len(counts) == 1
    waiting, *scored = page["submissions"]
    assert (waiting["status"], waiting["queue_position"], waiting["measurements"]) == ("received", 1, [])
    assert [(entry["note"], entry["private_state"]) for entry in scored] == [
        (f"number {number}", "done") for number in (2, 1, 0)
    ]
    for entry in page["submissions"]:
        alone = service.call("organizer", "GET", f"/submissions/{entry['id']}").json()
        for measurement in alone["measurements"]:
            measurement |= {"rank": None, "would_be_rank": None}
        assert entry == alone
