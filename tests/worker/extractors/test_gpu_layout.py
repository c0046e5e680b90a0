"""How a network is laid out on a GPU: on the CPU, where it must give what it gives otherwise."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from scorer.extractor_catalogue import find_extractor
from scorer.extractors import ExtractorOptions, load, torch_extractor
from scorer.extractors.gpu_layout import GpuLayout, PointwiseProduct, lay_out
from scorer.extractors.networks import unfilled_network
from tests.worker.extractors.host_gpu import HostGpu

CPU = ExtractorOptions(device="cpu", threads=1)


def separable(*, stride: int = 1, padding: int = 0, groups: int = 1) -> nn.Sequential:
    """A depthwise convolution, then one of 1 x 1."""
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Conv2d(8, 8, 3, groups=8, padding=1), nn.Conv2d(8, 12, 1, stride=stride, padding=padding, groups=groups)
    )


def values(height: int = 7) -> Tensor:
    return torch.randn(2, 8, height, 6, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("stride", [1, 2])
@torch.inference_mode()
def test_a_convolution_of_one_pixel_is_a_product(stride: int) -> None:
    network = separable(stride=stride)
    expected = network(values())
    assert lay_out(network) is GpuLayout.POINTWISE_PRODUCTS
    assert isinstance(network[1], PointwiseProduct)
    found = network(values().contiguous(memory_format=torch.channels_last))
    assert found.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("network", [separable(padding=1), separable(groups=2)], ids=["padded", "in groups"])
@torch.inference_mode()
def test_other_convolutions_stay(network: nn.Sequential) -> None:
    expected = network(values())
    assert lay_out(network) is GpuLayout.POINTWISE_PRODUCTS
    assert isinstance(network[1], nn.Conv2d)
    torch.testing.assert_close(network(values()), expected)


@pytest.mark.parametrize(
    ("name", "layout", "products"),
    [
        ("inception_v3", GpuLayout.CHANNELS_FIRST, 0),
        ("inception_2015", GpuLayout.CHANNELS_FIRST, 0),
        ("nasnetalarge", GpuLayout.POINTWISE_PRODUCTS, 267),
        ("efficientnet_lite0", GpuLayout.POINTWISE_PRODUCTS, 32),
    ],
)
def test_networks_of_the_catalogue(name: str, layout: GpuLayout, products: int) -> None:
    network = unfilled_network(find_extractor(name))
    before = [each for each in network.modules() if isinstance(each, nn.Conv2d) and each.kernel_size == (1, 1)]
    assert lay_out(network) is layout
    made = [each for each in network.modules() if isinstance(each, PointwiseProduct)]
    assert len(made) == (len(before) if products else 0)
    assert len(made) == products


def test_a_gpu_has_the_cpus_features_and_says_how(monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.random.default_rng(2).integers(0, 256, (3, 64, 64, 3), dtype=np.uint8)
    expected = load("efficientnet_lite0", options=CPU).features(images)
    monkeypatch.setattr(torch_extractor, "gpu_of", lambda _: HostGpu())
    extractor = load("efficientnet_lite0", options=replace(CPU, batch_size=2))
    assert extractor.provenance["convolutions"] == "pointwise-products"
    difference = np.linalg.norm(extractor.features(images) - expected, axis=1) / np.linalg.norm(expected, axis=1)
    assert difference.max() < 1e-5
