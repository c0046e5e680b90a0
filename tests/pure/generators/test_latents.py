"""The latent space of an entry, from what its upload, file and competition say."""

from typing import Any

import pytest

from scorer.errors import Invalid
from scorer.generators.latents import Latent, resolve_latent
from scorer.generators.onnx_files import DeclaredLatent

NOTHING = DeclaredLatent()


@pytest.mark.parametrize(
    ("inputs", "declarations", "latent"),
    [
        (8, [], Latent(8)),
        (8, [NOTHING, DeclaredLatent(distribution="uniform")], Latent(8, "uniform")),
        (
            8,
            [DeclaredLatent(8, "truncated-normal"), DeclaredLatent(distribution="uniform")],
            Latent(8, "truncated-normal"),
        ),
        (18, [NOTHING, DeclaredLatent(classes=10)], Latent(8, classes=10)),
        (18, [DeclaredLatent(classes=0), DeclaredLatent(classes=10)], Latent(18)),
        (None, [DeclaredLatent(8), DeclaredLatent(9, "uniform", 2)], Latent(8, "uniform", 2)),
    ],
)
def test_the_first_declaration_decides(inputs: int | None, declarations: list[DeclaredLatent], latent: Latent) -> None:
    assert resolve_latent(inputs, declarations) == latent


@pytest.mark.parametrize(
    ("inputs", "declared", "slug", "text"),
    [
        (None, {}, "wrong-latent", "leaves the latent dimension open"),
        (
            8,
            {"dimension": 9},
            "wrong-latent",
            "takes 8 numbers per image; .* Declare 8 coordinates",
        ),
        (18, {"dimension": 18, "classes": 10}, "wrong-latent", "Declare 8 coordinates with 10 classes"),
        (10, {"classes": 10}, "wrong-latent", "Declare at most 9 classes"),
        (8, {"distribution": "cauchy"}, "bad-latent", "cauchy"),
        (8, {"classes": 1}, "bad-latent", "1 classes"),
        (5000, {}, "bad-latent", "5000"),
    ],
)
def test_a_latent_space_that_does_not_fit_is_refused(
    inputs: int | None, declared: dict[str, Any], slug: str, text: str
) -> None:
    with pytest.raises(Invalid, match=text) as caught:
        resolve_latent(inputs, [DeclaredLatent(**declared)])
    assert caught.value.slug == slug
