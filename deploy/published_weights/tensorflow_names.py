"""Names and layouts of the tensors of ``inception_2015`` and ``nasnetalarge`` in TensorFlow's graphs.

The names of ``inception_2015`` come from ``classify_image_graph_def.pb`` (2015-12-05), those of ``nasnetalarge`` from
TF-slim (``nets/nasnet``). In the graphs, convolutions have the layout (height, width, in, out), depthwise ones (height,
width, channels, 1), matrices (in, out).
"""

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from scorer.errors import Invalid

Shapes = Mapping[str, Sequence[int]]
"""The shapes of an extractor's tensors by name."""
Arrays = Mapping[str, NDArray[np.float32]]

_NORM = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
_STEM_2015 = ("Conv2d_1a_3x3", "Conv2d_2a_3x3", "Conv2d_2b_3x3", "Conv2d_3b_1x1", "Conv2d_4a_3x3")
_BLOCKS_2015 = ("5b", "5c", "5d", "6a", "6b", "6c", "6d", "6e", "7a", "7b", "7c")
_TOWERS_2015 = {
    "branch5x5": "tower",
    "branch7x7": "tower",
    "branch3x3": "tower",
    "branch3x3dbl": "tower_1",
    "branch7x7dbl": "tower_1",
    "branch7x7x3": "tower_1",
    "branch_pool": "tower_2",
}
_LAYERS_NASNET = {
    "conv_1x1.conv": "1x1",
    "conv_1x1.bn": "beginning_bn",
    "conv_prev_1x1.conv": "prev_1x1",
    "conv_prev_1x1.bn": "prev_bn",
    "path_1.conv": "path1_conv",
    "path_2.conv": "path2_conv",
    "final_path_bn": "final_path_bn",
}


def rename_graph_arrays(extractor: str, constants: Arrays, shapes: Shapes) -> dict[str, NDArray[np.float32]]:
    """A graph's constants with the names and axes of an extractor's tensors.

    A classifier that the graph lacks is omitted. All names of a graph may have a common scope. Raises ``Invalid``:
    ``no-graph-names`` for an extractor without a TensorFlow graph, ``bad-graph`` with the first missing tensor.
    """
    if extractor not in _NAMES:
        raise Invalid("no-graph-names", f"{extractor} does not come from a TensorFlow graph; {', '.join(_NAMES)} do.")
    to_name = _NAMES[extractor]
    names = {name: to_name(name, shapes) for name in shapes if not name.endswith("num_batches_tracked")}
    scope = _scope(constants, next(iter(names.values())))
    arrays = {}
    for name, graph_name in names.items():
        found = constants.get(scope + graph_name)
        if found is None and name.startswith(("fc.", "last_linear.")):
            continue
        if found is None:
            raise Invalid(
                "bad-graph", f"The graph has no constant {scope}{graph_name}, which is {name} of {extractor}."
            )
        arrays[name] = np.ascontiguousarray(_turned(name, found, shapes[name]))
    return arrays


def _scope(constants: Arrays, name: str) -> str:
    """The common scope of the graph's names: empty, or ending with a slash."""
    scopes = (
        constant.removesuffix(name) for constant in constants if constant == name or constant.endswith(f"/{name}")
    )
    return min(scopes, key=len, default="")


def _turned(name: str, array: NDArray[np.float32], shape: Sequence[int]) -> NDArray[np.float32]:
    """An array with the axes of torch, without the additional background class of TF-slim's classifier."""
    if array.ndim == 4:
        return array.transpose((2, 3, 0, 1) if "depthwise" in name else (3, 2, 0, 1))
    turned = array.T
    return turned[1:] if name.startswith("last_linear.") and len(turned) == shape[0] + 1 else turned


def _name_2015(name: str, _shapes: Shapes) -> str:
    """``Mixed_7b.branch3x3_2a.bn.bias`` is ``mixed_9/tower/mixed/conv/batchnorm/beta``."""
    layer, _, value = name.rpartition(".")
    if layer == "fc":
        return "softmax/weights" if value == "weight" else "softmax/biases"
    place, kind = layer.rsplit(".", 1)
    within = "conv2d_params" if kind == "conv" else f"batchnorm/{_NORM[value]}"
    return f"{_place_2015(place)}/{within}"


def _place_2015(place: str) -> str:
    """The scope of a convolution with its batch norm."""
    if place in _STEM_2015:
        return _counted("conv", _STEM_2015.index(place))
    block, branch = place.removeprefix("Mixed_").split(".")
    scope = _counted("mixed", _BLOCKS_2015.index(block))
    parts = re.fullmatch(r"(branch_pool|branch\d+x\d+(?:x\d+|dbl)?)(?:_(\d)([ab])?)?", branch)
    assert parts is not None, branch  # noqa: S101 - the library's names are known
    kind, number, half = parts.groups()
    if number is None and kind != "branch_pool":
        return f"{scope}/conv"  # the branch of one convolution
    tower = "tower" if block == "6a" else _TOWERS_2015[kind]
    if half:
        return f"{scope}/{tower}/mixed/{_counted('conv', 'ab'.index(half))}"
    return f"{scope}/{tower}/{_counted('conv', int(number or 1) - 1)}"


def _counted(name: str, index: int) -> str:
    return f"{name}_{index}" if index else name


def _name_nasnet(name: str, shapes: Shapes) -> str:
    """``cell_0.comb_iter_1_left.bn_sep_2.bias`` is ``cell_0/comb_iter_1/left/bn_sep_5x5_2/beta``."""
    layer, _, value = name.rpartition(".")
    if layer == "last_linear":
        return "final_layer/FC/weights" if value == "weight" else "final_layer/FC/biases"
    if layer in {"conv0.conv", "conv0.bn"}:
        return "conv0/weights" if layer == "conv0.conv" else f"conv0_bn/{_NORM[value]}"
    cell, _, rest = layer.partition(".")
    if rest in _LAYERS_NASNET:
        return f"{cell}/{_LAYERS_NASNET[rest]}/{'weights' if rest.endswith('conv') else _NORM[value]}"
    branch, part, *step = rest.split(".")
    iteration, _, side = branch.rpartition("_")
    kernel = shapes[f"{cell}.{branch}.separable_1.depthwise_conv2d.weight"][-1]
    layer_name, _, number = part.rpartition("_")
    within = f"{step[0].removesuffix('_conv2d')}_weights" if step else _NORM[value]
    return f"{cell}/{iteration}/{side}/{layer_name}_{kernel}x{kernel}_{number}/{within}"


_NAMES: Mapping[str, Callable[[str, Shapes], str]] = {"inception_2015": _name_2015, "nasnetalarge": _name_nasnet}
