"""Extractors with signed features (DINOv2, CLIP, SSCD): networks and preprocessing compared with published code."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from numpy.typing import NDArray
from PIL import Image
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional
from torch_fidelity.feature_extractor_clip import VisionTransformer as ClipTower

from benchmarks.harness.networks import seeded
from deploy.cli.score import EvidenceOptions, score_files
from scorer.archive import write_images
from scorer.extractor_catalogue import find_extractor
from scorer.extractors import ExtractorOptions, load
from scorer.extractors.networks import build_trunk, unfilled_network
from scorer.extractors.preprocessing import Preprocessing
from scorer.metrics.sample_quality.frechet import frechet_distance, statistics_of
from tests.factories import noise_images
from tests.pure.oracles import nearest_by_definition
from tests.worker.extractors.openai_clip import openai_state

SIGNED = ("dinov2", "clip", "sscd")
TRANSFORMERS = ("dinov2", "clip")
CPU = ExtractorOptions(device="cpu", batch_size=2, threads=1)
WIDTH = 1024
BLOCK = 12 * WIDTH**2 + 13 * WIDTH
"""Parameters of a ViT-L block: two norms, attention, and a layer of four times the width."""


def parameters(patch: int, side: int, *, more: int, of_blocks: int = 0) -> int:
    """Parameters of a ViT-L: patches, class token, positions, 24 blocks, the last norm, and ``more``."""
    embedding = 3 * patch**2 * WIDTH + WIDTH * (2 + (side // patch) ** 2)
    return embedding + 24 * (BLOCK + of_blocks) + 2 * WIDTH + more


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("dinov2", parameters(14, 518, more=WIDTH, of_blocks=2 * WIDTH)),  # a bias of the patches, two layer scales
        ("clip", parameters(14, 336, more=2 * WIDTH + 768 * WIDTH + 768)),  # a first norm, a projection
        ("sscd", 25_557_032 - 1000 * 2049 + 512 * 2049),  # ResNet-50 with 512 outputs instead of 1,000 classes
    ],
)
def test_a_network_has_the_published_shape(name: str, numbers: int) -> None:
    module = unfilled_network(find_extractor(name))
    assert sum(parameter.numel() for parameter in module.parameters()) == numbers


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_images_are_normalised_as_published(name: str) -> None:
    spec = find_extractor(name)
    published: Any = timm.get_pretrained_cfg(str(spec.architecture))
    assert (published.mean, published.std, published.interpolation) == (spec.mean, spec.std, "bicubic")
    assert published.input_size[-1] == (518 if name == "dinov2" else spec.input_size)


@pytest.mark.parametrize(("name", "clipped"), [("dinov2", True), ("clip", False), ("sscd", False)])
@pytest.mark.parametrize("size", [64, 500])
def test_resizing_matches_the_published_code(name: str, clipped: bool, size: int) -> None:
    """Pillow in float. dgm-eval's resizer does the same and clips. CMMD's code uses jax.image.resize, which has the
    same filter and does not clip."""
    image = np.random.default_rng(1).integers(0, 256, (size, size, 3), dtype=np.uint8)
    spec = find_extractor(name)
    side = (spec.input_size, spec.input_size)
    method = Image.Resampling.BILINEAR if name == "sscd" else Image.Resampling.BICUBIC
    channels = [np.asarray(Image.fromarray(image[..., c].astype(np.float32)).resize(side, method)) for c in range(3)]
    resized = np.clip(np.stack(channels), 0, 255) if clipped else np.stack(channels)
    beyond = (resized < -1).any() or (resized > 256).any()
    assert beyond == (name == "clip")
    mean, std = (np.array(values)[:, None, None] for values in (spec.mean, spec.std))
    prepared = Preprocessing(spec, (size, size))(torch.from_numpy(image[None]))[0]
    np.testing.assert_allclose(prepared.numpy(), (resized / 255 - mean) / std, rtol=0, atol=1e-4)


def with_depth(depth: int) -> Callable[..., Any]:
    """timm's factory for transformers with this number of blocks."""
    return partial(_created, timm.create_model, depth)


def _created(create: Callable[..., Any], depth: int, architecture: str, **options: Any) -> Any:
    return create(architecture, **(options if architecture == "resnet50" else {"depth": depth, **options}))


@pytest.fixture
def shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformers with one of their 24 blocks, otherwise unchanged."""
    monkeypatch.setattr(timm, "create_model", with_depth(1))


def with_weights(name: str, folder: Path) -> dict[str, Tensor]:
    """Write seeded weights to a folder."""
    state = seeded(unfilled_network(find_extractor(name)).state_dict())
    if name == "clip":
        state["head.bias"].zero_()  # the published projection has no bias
    save_file(state, folder / f"{name}.safetensors")
    return state


def resampled_by_definition(positions: NDArray[np.float64], old: int, new: int) -> NDArray[np.float64]:
    """Resample the rows (old^2, d) of a grid at (i + 1/2) old / (new + 0.1) - 1/2, by cubic convolution (Keys 1981)
    with a = -0.75 and repeated edges."""
    weights = np.zeros((new, old))
    for row in range(new):
        place = (row + 0.5) * old / (new + 0.1) - 0.5
        for tap in range(int(np.floor(place)) - 1, int(np.floor(place)) + 3):
            x, a = abs(place - tap), -0.75
            inner = (a + 2) * x**3 - (a + 3) * x**2 + 1
            outer = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
            weights[row, np.clip(tap, 0, old - 1)] += inner if x <= 1 else outer
    grid = positions.reshape(old, old, -1)
    resampled: NDArray[np.float64] = np.einsum("ia,jb,abd->ijd", weights, weights, grid).reshape(new * new, -1)
    return resampled


def one_block_by_definition(state: dict[str, Tensor], x: Tensor) -> Tensor:
    """The class token of a transformer with one block (Dosovitskiy et al. 2021, eqs. 1 to 4) in float64, with DINOv2's
    layer scale if the weights have one."""
    w = {name: value.double() for name, value in state.items()}
    patch = w["patch_embed.proj.weight"].shape[-1]
    old, new = int((w["pos_embed"].shape[1] - 1) ** 0.5), x.shape[-1] // patch
    tokens = functional.conv2d(x, w["patch_embed.proj.weight"], w["patch_embed.proj.bias"], stride=patch)
    tokens = torch.cat([w["cls_token"].expand(len(x), 1, -1), tokens.flatten(2).transpose(1, 2)], dim=1)
    grid = w["pos_embed"][0, 1:].numpy()
    grid = grid if old == new else resampled_by_definition(grid, old, new)
    tokens = tokens + torch.cat([w["pos_embed"][0, :1], torch.from_numpy(grid)])

    def norm(y: Tensor, which: str) -> Tensor:
        return functional.layer_norm(y, (WIDTH,), w[f"{which}.weight"], w[f"{which}.bias"], 1e-6)

    def scale(which: str) -> Tensor | float:
        return w.get(f"blocks.0.{which}.gamma", 1.0)

    def linear(y: Tensor, which: str) -> Tensor:
        return functional.linear(y, w[f"blocks.0.{which}.weight"], w[f"blocks.0.{which}.bias"])

    projected = linear(norm(tokens, "blocks.0.norm1"), "attn.qkv")
    query, key, value = projected.reshape(*projected.shape[:2], 3, 16, 64).permute(2, 0, 3, 1, 4)
    attention = torch.softmax(query @ key.transpose(2, 3) / 8.0, dim=-1) @ value
    tokens = tokens + scale("ls1") * linear(attention.transpose(1, 2).flatten(2), "attn.proj")
    hidden = functional.gelu(linear(norm(tokens, "blocks.0.norm2"), "mlp.fc1"))
    tokens = tokens + scale("ls2") * linear(hidden, "mlp.fc2")
    token: Tensor = norm(tokens, "norm")[:, 0]
    return token


def prepared(name: str, images: NDArray[np.uint8]) -> Tensor:
    x: Tensor = Preprocessing(find_extractor(name), images.shape[1:3])(torch.from_numpy(images))
    return x.double()


def assert_near(features: NDArray[np.float32], expected: Tensor) -> None:
    relative = np.linalg.norm(features - expected.numpy()) / np.linalg.norm(expected.numpy())
    assert relative < 1e-5
    assert features.min() < 0, "features are signed"


@pytest.mark.usefixtures("shallow")
def test_features_match_the_papers_equations(tmp_path: Path) -> None:
    state = with_weights("dinov2", tmp_path)
    images = noise_images(1, 3)
    extractor = load("dinov2", options=replace(CPU, weights_dir=tmp_path))
    features = extractor.features(images)
    assert features.shape == (3, 1024)
    assert_near(features, one_block_by_definition(state, prepared("dinov2", images)))
    assert extractor.logits(features) is None
    assert (tmp_path / "dinov2.sha256").read_text().split()[0] == extractor.provenance["weights_sha256"]


@pytest.mark.usefixtures("shallow")
def test_clips_features_match_its_published_network(tmp_path: Path) -> None:
    """OpenAI's module from torch-fidelity, with the same weights under its names. Rows have unit length, as in CMMD."""
    state = with_weights("clip", tmp_path)
    tower = ClipTower(input_resolution=336, patch_size=14, width=WIDTH, layers=1, heads=16, output_dim=768)
    tower.load_state_dict(openai_state(state), strict=True)
    images = noise_images(2, 2)
    with torch.inference_mode():
        expected = functional.normalize(tower.double().eval()(prepared("clip", images)))
    features = load("clip", options=replace(CPU, weights_dir=tmp_path)).features(images)
    assert_near(features, expected)
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1.0, rtol=1e-6)


def test_sscds_features_match_its_published_formula(tmp_path: Path) -> None:
    """A generalised mean with p = 3, a linear layer, unit length (facebookresearch/sscd-copy-detection, model.py)."""
    state = with_weights("sscd", tmp_path)
    images = noise_images(3, 2)
    with torch.device("meta"):
        plain: Any = timm.create_model("resnet50", num_classes=512)
    plain.load_state_dict(state, assign=True)
    with torch.inference_mode():
        final = plain.eval().forward_features(prepared("sscd", images).float()).double()
    assert final.shape == (2, 2048, 10, 10)
    pooled = final.clamp(min=1e-6).pow(3).flatten(2).mean(dim=2).pow(1 / 3)
    descriptor = pooled @ state["fc.weight"].double().T + state["fc.bias"].double()
    features = load("sscd", options=replace(CPU, weights_dir=tmp_path)).features(images)
    assert features.shape == (2, 512)
    assert_near(features, descriptor / descriptor.norm(dim=1, keepdim=True))


def test_attention_uses_no_fused_kernel() -> None:
    """The extractor's settings decide its precision and determinism; a fused kernel would decide for itself."""
    for name in TRANSFORMERS:
        trunk = build_trunk(unfilled_network(find_extractor(name)), find_extractor(name))
        fused = [module.fused_attn for module in trunk.modules() if hasattr(module, "fused_attn")]
        assert fused == 24 * [False]


@pytest.mark.usefixtures("shallow")
def test_an_entry_is_scored_in_a_signed_space(tmp_path: Path) -> None:
    """From zips to evidence, with the memorization distance from signed cosines."""
    with_weights("dinov2", tmp_path)
    generated, training, held_out = noise_images(4, 12), noise_images(5, 16), noise_images(6, 12)
    for name, images in {"generated": generated, "training": training, "held-out": held_out}.items():
        with (tmp_path / f"{name}.zip").open("wb") as file:
            write_images(images, file)
    report = score_files(
        tmp_path / "generated.zip",
        tmp_path / "training.zip",
        "dinov2",
        tau=1.9,
        epsilon=1e-15,
        weights=tmp_path,
        evidence=EvidenceOptions(tmp_path / "held-out.zip"),
        progress=lambda _stage, _share: None,
    )
    extractor = load("dinov2", options=replace(CPU, weights_dir=tmp_path))
    own, other = extractor.features(generated), extractor.features(training)
    distance, _ = nearest_by_definition(own, other, signed=True)
    assert report["memorization_distance"] == pytest.approx(distance.mean(), rel=1e-5)
    assert report["fid"] == pytest.approx(frechet_distance(statistics_of(own), statistics_of(other)), rel=1e-4)
    assert report["penalised"]
    assert report["mifid"] >= report["fid"]
    findings = {finding["name"]: finding for finding in report["evidence"]["findings"]}
    assert findings["repeats"]["value"] is not None
    assert findings["inception_score"]["value"] is None
