"""The 2015 Inception graph, compared with torch-fidelity's network to the last bits of float32."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3
from torch_fidelity.interpolate_compat_tensorflow import interpolate_bilinear_2d_like_tensorflow1x

from benchmarks.harness.networks import seeded
from scorer.errors import Unavailable
from scorer.extractor_catalogue import find_extractor
from scorer.extractors import ExtractorOptions, load
from scorer.extractors.networks import _UnfilledInception, build_network
from scorer.extractors.preprocessing import Preprocessing
from scorer.extractors.torch_extractor import TorchExtractor
from scorer.extractors.weights import Weights

CPU = ExtractorOptions(device="cpu", batch_size=2, threads=1)
SPEC = find_extractor("inception_2015")


@pytest.fixture(scope="module")
def state() -> dict[str, Tensor]:
    with torch.device("meta"):
        return seeded(_UnfilledInception().state_dict())


@pytest.fixture(scope="module")
def file(state: dict[str, Tensor], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "inception_2015.pth"
    torch.save(state, path)
    return path


def images(size: int = 64) -> Tensor:
    return torch.from_numpy(np.random.default_rng(0).integers(0, 256, (3, size, size, 3), dtype=np.uint8))


@pytest.mark.parametrize("size", [64, 350])
def test_features_equal_the_librarys(file: Path, size: int) -> None:
    library = FeatureExtractorInceptionV3("inception-v3-compat", ["2048"], feature_extractor_weights_path=str(file))
    with torch.inference_mode():
        expected = library(images(size).permute(0, 3, 1, 2))[0].numpy()
    features = load("inception_2015", options=replace(CPU, weights_dir=file.parent)).features(images(size).numpy())
    assert features.shape == (3, 2048)
    assert features.min() >= 0
    assert np.linalg.norm(features - expected) / np.linalg.norm(expected) < 1e-5
    assert np.linalg.norm(expected[0] - expected[1]) / np.linalg.norm(expected) > 1e-3, (
        "images differ by more than the tolerance"
    )


def test_the_first_operations_match_the_graph() -> None:
    """TensorFlow 1 scales by a plain ratio: it reads pixel (x, y) at (x, y) * 64 / 299, without half-pixel centres."""
    ramp = torch.arange(64, dtype=torch.float32).repeat(1, 64, 1)[..., None].expand(1, 64, 64, 3)
    row = Preprocessing(SPEC, (64, 64))(ramp)[0, 0, 0]
    expected = (np.minimum(np.arange(299) * np.float32(64 / 299), 63) - 128) / 128
    np.testing.assert_allclose(row.numpy(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [(64, 64), (350, 120), (299, 299), (1, 2)])
def test_resizing_is_the_librarys_to_the_last_bit(size: tuple[int, int]) -> None:
    pixels = torch.from_numpy(np.random.default_rng(0).integers(0, 256, (2, *size, 3), dtype=np.uint8))
    channels = pixels.permute(0, 3, 1, 2).to(torch.float32)
    resized = interpolate_bilinear_2d_like_tensorflow1x(channels, size=(299, 299), align_corners=False)
    assert torch.equal(Preprocessing(SPEC, size)(pixels), (resized - 128) / 128)


def test_the_last_block_pools_by_maximum(file: Path) -> None:
    """Unlike torchvision's network, the 2015 graph takes the maximum in its last block and the average in the block
    before."""
    trunk = build_network(SPEC, Weights(file, file.read_bytes(), "")).trunk
    assert [name for name, _ in trunk.named_children()][-3:] == ["Mixed_7c", "AvgPool", "flatten"]
    flat = torch.ones(1, 2048, 8, 8)
    peak = flat.clone()
    peak[..., 4, 4] = 10.0
    with torch.inference_mode():
        last: nn.Module = trunk.get_submodule("Mixed_7c")
        before, after = last(flat), last(peak)
    # The last 192 channels are the pooled branch. A maximum spreads one peak evenly over its 3 x 3 neighbourhood.
    changed = (after - before)[0, -192:]
    assert changed.abs().sum() > 0
    assert torch.equal(changed[:, 3:6, 3:6], changed[:, 4:5, 4:5].expand(-1, 3, 3))


def test_logits_match_the_graph(file: Path, state: dict[str, Tensor]) -> None:
    extractor = load("inception_2015", options=replace(CPU, weights_dir=file.parent))
    assert isinstance(extractor, TorchExtractor)
    assert extractor.classifier is not None
    matrix, biases = extractor.classifier
    assert np.array_equal(matrix, state["fc.weight"].numpy())
    assert biases.shape == (1008,)
    features = np.ones((2, 2048), np.float32)
    # The published Inception score uses logits without biases.
    logits = extractor.logits(features)
    assert logits is not None
    assert np.array_equal(logits, features @ matrix.T)


def test_a_file_of_another_network_is_refused(state: dict[str, Tensor], tmp_path: Path) -> None:
    torch.save({name: tensor for name, tensor in state.items() if not name.startswith("Mixed_7c")}, tmp_path / "x.pth")
    with pytest.raises(Unavailable, match="Mixed_7c") as error:
        build_network(SPEC, Weights(tmp_path / "inception_2015.pth", (tmp_path / "x.pth").read_bytes(), ""))
    assert error.value.slug == "unfit-weights"
