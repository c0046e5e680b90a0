"""After a competition has closed, the provisional and the final board leak nothing private."""

from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import select, update

from scorer.archive.png_pixels import encode_png
from scorer.blobs import Blobs
from scorer.competitions.competition_state import load_state
from scorer.db.submissions import submissions
from scorer.db.tables import ReferenceSet, Submission
from scorer.lifecycle import TRACK_KINDS
from scorer.review.review_entry import near_share
from tests.factories import make_zip, noise_images, set_tau
from tests.privacy import crawler
from tests.privacy.canaries import COMPETING, SLUG, TAU, publish
from tests.privacy.canary_values import number_canary, text_canary
from tests.privacy.crawler import crawl, walk_routes
from tests.privacy.environment import NOW, Environment

SHOWN_TRACK = frozenset({"shown-track", "shown-value-own", "shown-error-own"})
"""Values that participants see with the final board."""


def seen_against(track: str) -> set[str]:
    """The values that a team may see if its entry is penalised on this track."""
    return {f"{name}-{track}" for name in ("pair", "sheet", "finding")}


@pytest.fixture
def penalised(world: Environment, put_back: None, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Close the competition and penalise the insider's entry on both tracks. Returns the names of the planted secrets.

    On each track, one of the entry's images matches a training image, and another one matches an image of a hidden set.
    """
    secrets = []
    with world.rewriting() as session:
        state = load_state(session, SLUG, NOW)
        state.competition.closes_at = NOW - timedelta(minutes=1)
        set_tau(session, state, "public", 0.612, NOW)
        entry = session.scalars(select(Submission).where(Submission.id == world.planted.ids["scored own"])).one()
        images = noise_images(5, state.competition.image_count, state.competition.image_size)
        entry.blob_key, blobs = "pairs/entry.zip", Blobs(world.settings.blob_url)
        for name in (entry.blob_key, "pairs/reference.zip"):
            blobs.write(name, make_zip(images))
        session.execute(update(ReferenceSet).values(blob_key="pairs/reference.zip"))
        for place, kind in enumerate(TRACK_KINDS):
            tau, number = ((0.612, 0.0517293), (TAU, 0.0618457))[place]
            track = state.tracks[kind]
            measured = submissions.newest_measurement(session, entry.ref, track.id)
            assert measured is not None
            assert track.preparation is not None
            track.preparation.key = f"key-{kind}"  # receipts have it
            measured.provenance = {"reference": track.preparation.key}
            measured.histogram = {"low": 0.0, "high": 2.0, "counts": [31, 27, 16]}
            hidden = {"image": 0, "reference": len(images), "reference_name": "hidden/0.png", "distance": number / 3}
            shown = {"image": place, "reference": place, "reference_name": "train/0.png", "distance": number}
            measured.closest_pairs = [hidden, shown]
            sheet = encode_png(np.concatenate([images[place], images[place]])).decode("latin-1")
            secrets += [
                number_canary(f"hidden-pair-{kind}", "evidence", number / 3),
                number_canary(f"pair-{kind}", "pair", number),
                text_canary(f"sheet-{kind}", "pair", sheet),
                text_canary(f"finding-{kind}", "pair", near_share(measured.histogram, tau / 2)),
            ]
    monkeypatch.setattr(world.planted, "secrets", [*world.planted.secrets, *secrets])
    return {secret.name for secret in secrets}


def test_after_the_close_a_penalised_team_sees_its_public_evidence(world: Environment, penalised: set[str]) -> None:
    result = crawl(world, roles=COMPETING, safe=True)
    assert not result.broken
    assert not [str(leak) for leak in result.leaks]
    assert penalised & result.seen["insider"] == seen_against("public")
    assert not penalised & (result.seen["visitor"] | result.seen["outsider"])


def test_publication_only_shows_scores_and_evidence(world: Environment, put_back: None) -> None:
    with world.rewriting() as session:
        publish(session, NOW)
    result = crawl(world, roles=COMPETING[:2], shown={"score"}, safe=True)
    own = crawl(world, roles=COMPETING[2:], shown={"score", "recovery"}, safe=True)
    assert not result.broken + own.broken
    assert not [str(leak) for leak in result.leaks + own.leaks]
    on_the_board = {f"private-{what}-{owner}" for what in ("fid", "distance", "score") for owner in ("own", "other")}
    assert on_the_board | {"private-tau", "private-extractor", "private-epsilon"} <= result.seen["visitor"]
    assert SHOWN_TRACK | {"shown-value-other", "shown-error-other"} <= result.seen["visitor"]
    assert {"private-se-own", "recovery-sentence", "recovery-gap"} <= own.seen["insider"]
    assert "private-se-own" not in result.seen["outsider"]
    assert {f"{what}-{track}-own" for what in ("found", "sentence") for track in ("public", "private")} <= (
        result.seen["visitor"]
    )
    assert {"example-public-own", "example-private-own"} <= own.seen["insider"]


def test_a_receipt_has_private_numbers_once_they_are_published(
    world: Environment, put_back: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This also applies to receipts for organizers, because a receipt is meant to be shown to anybody."""
    receipts = [
        route for route in walk_routes(world.app) if str(route) == "GET /api/v1/submissions/{submission_id}/receipt"
    ]
    monkeypatch.setattr(crawler, "walk_routes", lambda _: receipts)
    numbers = {"private-fid-own", "private-distance-own", "private-score-own", "private-tau"}
    before = crawl(world)
    assert "zip-scored" in before.seen["insider"] & before.seen["organizer"]
    assert not set().union(*before.seen.values()) & numbers
    with world.rewriting() as session:
        publish(session, NOW)
    after = crawl(world, shown={"score"})
    assert not before.leaks + after.leaks
    assert numbers <= after.seen["insider"] & after.seen["organizer"]
    assert not after.seen["visitor"]


def test_a_provisional_board_shows_scores_and_its_evidence_to_a_team(world: Environment, penalised: set[str]) -> None:
    with world.rewriting() as session:
        publish(session, NOW, final=False)
    result = crawl(world, roles=COMPETING[:2], shown={"score"}, safe=True)
    own = crawl(world, roles=COMPETING[2:], shown={"score", "recovery"}, safe=True)
    assert not result.broken + own.broken
    assert not [str(leak) for leak in result.leaks + own.leaks]
    on_the_board = {f"private-{what}-{owner}" for what in ("fid", "distance", "score") for owner in ("own", "other")}
    assert on_the_board | {"private-tau", "private-extractor", "private-epsilon"} <= result.seen["visitor"]
    evidence = {f"{what}-{track}-own" for what in ("found", "sentence") for track in ("public", "private")}
    assert not evidence & (result.seen["visitor"] | result.seen["outsider"]), (
        "other teams see the evidence with the final board"
    )
    assert evidence <= own.seen["insider"]
    assert penalised & own.seen["insider"] == seen_against("public") | seen_against("private")
    assert not penalised & (result.seen["visitor"] | result.seen["outsider"])
    assert not SHOWN_TRACK & (result.seen["visitor"] | result.seen["outsider"] | own.seen["insider"])
