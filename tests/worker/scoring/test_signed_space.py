"""A signed feature space in the whole service: references, score, penalty and evidence use signed cosines."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from scorer import extractor_catalogue, extractors
from scorer.competitions.spec import TrackSpec
from scorer.extractors import ExtractorOptions, Features, Images
from scorer.extractors.tiny import Tiny
from scorer.metrics.features import Vector
from tests.api.conftest import Service
from tests.factories import noise_images
from tests.pure.oracles import nearest_by_definition

SPEC = replace(extractor_catalogue.find_extractor("tiny"), name="signed", non_negative=False, weights_sha256="5" * 64)


class Signed(Tiny):
    """``tiny`` with features of both signs."""

    def _forward(self, batch: Images) -> Features:
        upper, lower = np.hsplit(super()._forward(batch), 2)
        return np.hstack([upper - lower, upper * lower - upper])


@pytest.fixture(autouse=True)
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    known = MappingProxyType({**extractor_catalogue.EXTRACTORS, SPEC.name: SPEC})
    monkeypatch.setattr(extractor_catalogue, "EXTRACTORS", known)
    monkeypatch.setattr(extractors, "Tiny", lambda spec, options: (Signed if spec == SPEC else Tiny)(spec, options))


def scored(service: Service, training: Images, images: Images) -> tuple[Vector, Mapping[str, Any], Mapping[str, Any]]:
    """An entry's signed distances by definition, its public measurement and its evidence, with tau above their mean."""
    references = {"train": training, "held_out": noise_images(7, 40), "private_extra": noise_images(8, 40)}
    track = TrackSpec(extractor=SPEC.name)
    slug = service.competition(references, public=track, private=track)
    entry = service.scored("ada", slug, images)
    compute = Signed(SPEC, ExtractorOptions()).features
    signed, unsigned = (
        nearest_by_definition(compute(images), compute(training), signed=is_signed)[0] for is_signed in (True, False)
    )
    assert signed.mean() > 1.1 * unsigned.mean()
    body = {"method": "manual", "reason": "because", "tau": 1.1 * signed.mean()}
    chosen = service.call("organizer", "POST", f"/competitions/{slug}/tracks/public/thresholds", json=body)
    assert chosen.status_code == 201, chosen.text
    (public,) = service.call("ada", "GET", f"/submissions/{entry['id']}").json()["measurements"]
    service.run_jobs(evidence=True)
    evidence = service.call("organizer", "GET", f"/submissions/{entry['id']}/evidence/public").json()
    return signed, public, evidence


def test_an_entry_is_scored_and_penalised_with_signed_cosines(service: Service) -> None:
    training = noise_images(1, 40)
    opposite = 255 - training[:8]
    distances, public, evidence = scored(service, training, opposite)
    assert public["memorization_distance"] == pytest.approx(distances.mean(), rel=1e-5)
    assert public["penalised"]
    assert public["mifid"] == pytest.approx(public["fid"] / distances.mean(), rel=1e-5)
    (median,) = (finding for finding in evidence["findings"] if finding["name"] == "distance_50")
    assert median["value"] == pytest.approx(np.median(distances), rel=1e-5)


def test_a_penalty_never_improves_a_score(service: Service) -> None:
    """In signed spaces s can exceed 1, and then 1 / s would improve the score."""
    dark, bright = noise_images(2, 40) // 2, 128 + noise_images(3) // 2
    distances, public, _ = scored(service, dark, bright)
    assert distances.mean() > 1.0
    assert public["memorization_distance"] == pytest.approx(distances.mean(), rel=1e-5)
    assert public["penalised"]
    assert public["mifid"] == public["fid"]
