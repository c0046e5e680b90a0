"""The latent space that an upload of a generator declares, in a query, a form or tus's metadata."""

from collections.abc import Mapping
from typing import Annotated, cast

from fastapi import Query

from scorer.errors import Invalid
from scorer.generators.onnx_files import DeclaredLatent, Distribution

DIMENSION = "For a generator: the latent dimension. Default: that of the file."
DISTRIBUTION = (
    "For a generator: the distribution of each coordinate: standard normal, uniform on [-1, 1], or standard normal "
    "truncated to [-2, 2]. Default: that in the file's metadata, or the competition's."
)
CLASSES = (
    "For a generator: the number of classes of a one-hot class after the latent; 0 for no class. Default: as for the "
    "distribution."
)


async def declared_latent(
    latent: Annotated[int | None, Query(description=DIMENSION)] = None,
    distribution: Annotated[Distribution | None, Query(description=DISTRIBUTION)] = None,
    classes: Annotated[int | None, Query(description=CLASSES)] = None,
) -> DeclaredLatent | None:
    return build_latent(latent, distribution, classes)


def parse_latent(fields: Mapping[str, str]) -> DeclaredLatent | None:
    """The latent space in texts. Empty texts count as missing."""
    distribution = cast("Distribution | None", fields.get("distribution", "").strip() or None)
    return build_latent(_parse_integer(fields, "latent"), distribution, _parse_integer(fields, "classes"))


def _parse_integer(fields: Mapping[str, str], name: str) -> int | None:
    digits = fields.get(name, "").strip()
    if digits and (not digits.isdecimal() or len(digits) > 9):
        raise Invalid("bad-latent", f"{name.capitalize()} is {digits[:20]!r}; it must be a whole number.")
    return int(digits) if digits else None


def build_latent(
    dimension: int | None, distribution: Distribution | None, classes: int | None
) -> DeclaredLatent | None:
    """The declared latent space; None if nothing is declared."""
    if dimension is None and distribution is None and classes is None:
        return None
    return DeclaredLatent(dimension, distribution, classes)
