"""The written algorithm from secrets to latents: stored vectors, and what a coordinate depends on."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scorer.generators import seeds
from scorer.generators.latents import Latent
from scorer.generators.onnx_files import Distribution

SECRET, OTHER = bytes(range(32)), bytes(32)
NETWORK = "ab" * 32
VECTORS = json.loads((Path(__file__).parent / "draw_vectors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_stored_vectors_hold(vector: dict[str, Any]) -> None:
    latent, secret = Latent(**vector["latent"]), bytes.fromhex(vector["secret"])
    if vector["track"] == "public":
        digest = seeds.public_digest(
            secret,
            network_sha256=vector["network_sha256"],
            latent=latent,
            team_id=vector["team"],
            number=vector["draw"],
        )
    else:
        digest = seeds.private_digest(secret, vector["draw"])
    assert digest.hex() == vector["digest"]
    drawn = seeds.latents(digest, latent, start=vector["start"], stop=vector["stop"])
    assert drawn.dtype == np.float32
    np.testing.assert_array_equal(drawn, np.array(vector["latents"], np.float32))


def test_a_public_draw_depends_on_network_space_team_and_number() -> None:
    base: dict[str, Any] = {"network_sha256": NETWORK, "latent": Latent(4), "team_id": 1, "number": 1}
    changes: list[dict[str, Any]] = [
        {"network_sha256": "cd" * 32},
        {"latent": Latent(5)},
        {"latent": Latent(4, "uniform")},
        {"latent": Latent(4, classes=2)},
        {"team_id": 2},
        {"number": 2},
    ]
    digests = {seeds.public_digest(SECRET, **(base | change)) for change in [{}, *changes]}
    assert len({*digests, seeds.public_digest(OTHER, **base)}) == len(changes) + 2


def test_a_private_coordinate_does_not_depend_on_the_other_coordinates() -> None:
    digest = seeds.private_digest(SECRET, 2)
    few, many = (seeds.latents(digest, Latent(dimension), stop=50) for dimension in (3, 70))
    np.testing.assert_array_equal(many[:, :3], few)
    with_class = seeds.latents(digest, Latent(3, classes=5), stop=50)
    np.testing.assert_array_equal(with_class[:, :3], few)
    np.testing.assert_array_equal(
        with_class[:, 3:], seeds.latents(digest, Latent(9, "uniform", classes=5), stop=50)[:, 9:]
    )
    np.testing.assert_array_equal(seeds.latents(digest, Latent(3), start=20, stop=50), few[20:])


@pytest.mark.parametrize(
    ("distribution", "cdf"),
    [
        ("normal", stats.norm.cdf),
        ("uniform", stats.uniform(-1, 2).cdf),
        ("truncated-normal", stats.truncnorm(-2, 2).cdf),
    ],
)
def test_coordinates_have_the_declared_distribution(distribution: Distribution, cdf: Any) -> None:
    drawn = seeds.latents(seeds.private_digest(SECRET, 1), Latent(64, distribution), stop=1000)
    assert stats.kstest(drawn.ravel(), cdf).pvalue > 1e-3
    assert abs(np.corrcoef(drawn.T) - np.eye(64)).max() < 0.2


def test_classes_are_equally_likely_and_one_hot() -> None:
    drawn = seeds.latents(seeds.private_digest(SECRET, 1), Latent(1, classes=4), stop=4000)[:, 1:]
    np.testing.assert_array_equal(drawn.sum(axis=1), 1.0)
    assert stats.chisquare(drawn.sum(axis=0)).pvalue > 1e-3


def test_a_seed_is_a_digest_or_any_text() -> None:
    digest = seeds.private_digest(SECRET, 1)
    assert seeds.digest_of_seed(digest.hex()) == seeds.digest_of_seed(digest.hex().upper()) == digest
    for text in ("1", "", "é", digest.hex()[1:]):
        assert seeds.digest_of_seed(text) == hashlib.sha256(text.encode()).digest()
