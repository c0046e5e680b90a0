"""ONNX files for tests: exported by torch, or assembled with faults."""

import io
import warnings
from collections.abc import Sequence

import numpy as np
import onnx
import torch
from numpy.typing import ArrayLike
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional

from scorer.generators.onnx_files import export_command

DIMENSION, SIDE = 8, 16


def export_generator(generator: nn.Module, dimension: int = DIMENSION, command: str | None = None) -> bytes:
    """Export a generator with the command that refusals recommend, apart from the file name."""
    written = io.BytesIO()
    line = (command or export_command(dimension)).replace('"generator.onnx"', "written")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch deprecates its older exporter, but only that writes one file
        exec(line, {"torch": torch, "generator": generator, "written": written})
    return written.getvalue()


def dcgan(dimension: int = DIMENSION) -> nn.Module:
    """A small DCGAN: transposed convolutions and batch normalisation."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Unflatten(1, (dimension, 1, 1)),
        nn.ConvTranspose2d(dimension, 8, 4),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 8, 4, 2, 1, bias=False),
        nn.LeakyReLU(0.2),
        nn.Upsample(scale_factor=2, mode="bicubic"),
        nn.Conv2d(8, 3, 3, padding=1),
        nn.Tanh(),
    ).eval()


class Styled(nn.Module):
    """A generator like StyleGAN: a mapping network, a learnt constant, styles that scale and normalise channels."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.mapping = nn.Sequential(nn.Linear(DIMENSION, 16), nn.LeakyReLU(0.2))
        self.constant = nn.Parameter(torch.randn(1, 8, 4, 4))
        self.weight = nn.Parameter(torch.randn(8, 8, 3, 3))
        self.style = nn.Linear(16, 8)
        self.colours = nn.Conv2d(8, 3, 1)

    def forward(self, z: Tensor) -> Tensor:
        styles = self.style(self.mapping(z * torch.rsqrt(z.square().mean(1, keepdim=True) + 1e-8)))
        x = self.constant.expand(z.shape[0], -1, -1, -1)
        for _ in range(2):
            x = functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            scaled = self.weight[None] * styles[:, None, :, None, None]
            by = torch.rsqrt(scaled.square().sum([2, 3, 4]) + 1e-8)[:, :, None, None]
            x = functional.leaky_relu(functional.conv2d(x * styles[:, :, None, None], self.weight, padding=1) * by, 0.2)
        return torch.tanh(self.colours(x))


class Decoder(nn.Module):
    """A VAE's decoder: attention, several normalisations, shuffled pixels, grey images in [0, 1]."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.first = nn.Linear(DIMENSION, 128)
        self.layer = nn.LayerNorm(128)
        self.group = nn.GroupNorm(2, 8)
        self.instance = nn.InstanceNorm2d(8, affine=True)
        self.inner = nn.Conv2d(8, 8, 3)
        self.last = nn.Conv2d(2, 1, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, z: Tensor) -> Tensor:
        x = self.layer(self.first(z)).view(z.size(0), 8, 4, 4)
        tokens = x.flatten(2)
        x = x + (tokens @ torch.softmax(tokens.transpose(1, 2) @ tokens / 8**0.5, -1)).view_as(x)
        x = functional.silu(self.group(self.inner(functional.pad(x, (1, 1, 1, 1), mode="reflect"))))
        x = functional.interpolate(self.shuffle(functional.gelu(self.instance(x))), size=(SIDE, SIDE), mode="nearest")
        return torch.sigmoid(self.last(x))


def weight(name: str, values: ArrayLike, dtype: type = np.float32) -> TensorProto:
    """A stored tensor."""
    return numpy_helper.from_array(np.asarray(values, dtype), name)


def build_model(
    nodes: Sequence[onnx.NodeProto],
    weights: Sequence[TensorProto] = (),
    *,
    latent: Sequence[int | str] = ("n", DIMENSION),
    outputs: Sequence[str] = ("images",),
    opset: int = 17,
) -> onnx.ModelProto:
    """A model of these nodes from ``z`` to ``images``. It is valid if the nodes are."""
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    taken = [helper.make_tensor_value_info("z", TensorProto.FLOAT, latent)]
    graph = helper.make_graph(nodes, "generator", taken, made, initializer=weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def linear_model(side: int = 2, **changes: object) -> onnx.ModelProto:
    """A valid linear generator of ``side`` x ``side`` pixels: z times a matrix, reshaped, then tanh."""
    matrix = np.random.default_rng(0).standard_normal((DIMENSION, 3 * side**2)) * 0.3
    nodes = [
        helper.make_node("MatMul", ["z", "matrix"], ["flat"]),
        helper.make_node("Reshape", ["flat", "shape"], ["raw"]),
        helper.make_node("Tanh", ["raw"], ["images"]),
    ]
    stored = [weight("matrix", matrix), weight("shape", [-1, 3, side, side], np.int64)]
    return build_model(nodes, stored, **changes)  # type: ignore[arg-type]


def image_to_image_model() -> onnx.ModelProto:
    """A valid image-to-image network of 2 x 2 pixels: tanh of every value."""
    return build_model([helper.make_node("Tanh", ["z"], ["images"])], latent=("n", 3, 2, 2))
