"""``kennel weights convert``: published files converted to the files that extractors load."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from typer.testing import CliRunner

from benchmarks.harness.networks import seeded
from deploy.cli import weights as command
from deploy.published_weights.frozen_graph import read_constants
from deploy.published_weights.tensorflow_names import rename_graph_arrays
from scorer.errors import Invalid
from scorer.extractor_catalogue import ExtractorSpec, find_extractor
from scorer.extractors.networks import build_network, build_trunk, unfilled_network
from scorer.extractors.weights import Weights
from tests.worker.extractors.graph_definitions import field, graph_definition, node, tensor
from tests.worker.extractors.openai_clip import openai_state

Arrays = dict[str, NDArray[np.float32]]
SMALL = {"stem_size": 8, "num_features": 24 * 8}
"""NASNet's numbers of channels in tests."""
CUT_OFF = graph_definition({"x": np.ones(2, np.float32)})[:-9]
NAMES_2015 = {
    "Conv2d_1a_3x3.conv.weight": "conv/conv2d_params",
    "Conv2d_4a_3x3.bn.running_var": "conv_4/batchnorm/moving_variance",
    "Mixed_5b.branch1x1.conv.weight": "mixed/conv/conv2d_params",
    "Mixed_5c.branch5x5_2.bn.bias": "mixed_1/tower/conv_1/batchnorm/beta",
    "Mixed_5d.branch3x3dbl_3.conv.weight": "mixed_2/tower_1/conv_2/conv2d_params",
    "Mixed_5d.branch_pool.bn.weight": "mixed_2/tower_2/conv/batchnorm/gamma",
    "Mixed_6a.branch3x3.conv.weight": "mixed_3/conv/conv2d_params",
    "Mixed_6a.branch3x3dbl_2.bn.running_mean": "mixed_3/tower/conv_1/batchnorm/moving_mean",
    "Mixed_6e.branch7x7dbl_5.conv.weight": "mixed_7/tower_1/conv_4/conv2d_params",
    "Mixed_6c.branch7x7_3.conv.weight": "mixed_5/tower/conv_2/conv2d_params",
    "Mixed_7a.branch7x7x3_4.conv.weight": "mixed_8/tower_1/conv_3/conv2d_params",
    "Mixed_7a.branch3x3_2.conv.weight": "mixed_8/tower/conv_1/conv2d_params",
    "Mixed_7b.branch3x3_2b.conv.weight": "mixed_9/tower/mixed/conv_1/conv2d_params",
    "Mixed_7c.branch3x3dbl_3a.conv.weight": "mixed_10/tower_1/mixed/conv/conv2d_params",
    "fc.bias": "softmax/biases",
}
"""Names from torch-fidelity's conversion of the 2015 graph (convert_inception_weights.py)."""
NAMES_NASNET = {
    "conv0.conv.weight": "conv0/weights",
    "conv0.bn.weight": "conv0_bn/gamma",
    "cell_stem_0.conv_1x1.bn.bias": "cell_stem_0/beginning_bn/beta",
    "cell_stem_0.comb_iter_1_right.separable_2.depthwise_conv2d.weight": (
        "cell_stem_0/comb_iter_1/right/separable_7x7_2/depthwise_weights"
    ),
    "cell_stem_1.path_2.conv.weight": "cell_stem_1/path2_conv/weights",
    "cell_0.final_path_bn.running_mean": "cell_0/final_path_bn/moving_mean",
    "cell_0.comb_iter_1_left.bn_sep_2.running_var": "cell_0/comb_iter_1/left/bn_sep_5x5_2/moving_variance",
    "cell_11.comb_iter_4_left.separable_1.pointwise_conv2d.weight": (
        "cell_11/comb_iter_4/left/separable_3x3_1/pointwise_weights"
    ),
    "reduction_cell_1.conv_prev_1x1.conv.weight": "reduction_cell_1/prev_1x1/weights",
    "last_linear.bias": "final_layer/FC/biases",
}
"""By name in Cadene's port, which timm uses: TF-slim's scope (nets/nasnet/nasnet_utils.py)."""


def list_shapes(extractor: str) -> dict[str, tuple[int, ...]]:
    state = unfilled_network(find_extractor(extractor)).state_dict()
    return {name: tuple(value.shape) for name, value in state.items()}


class RecordingGraph(dict[str, Any]):
    """A graph that has every constant and records the names that are read."""

    def get(self, name: str, default: object = None) -> Any:
        self[name] = name
        return np.zeros(0, np.float32)


@pytest.mark.parametrize(("extractor", "names"), [("inception_2015", NAMES_2015), ("nasnetalarge", NAMES_NASNET)])
def test_tensors_have_the_published_names(extractor: str, names: Mapping[str, str]) -> None:
    shapes = list_shapes(extractor)
    expected = [name for name in shapes if not name.endswith("num_batches_tracked")]
    graph = RecordingGraph()
    assert list(rename_graph_arrays(extractor, graph, shapes)) == expected
    assert len(graph) == len(expected), "no constant is read for two tensors"
    found = dict(zip(expected, graph, strict=True))
    assert {name: found[name] for name in names} == names


def as_in_tensorflow(name: str, value: Tensor) -> NDArray[np.float32]:
    """Permute a tensor's axes to TensorFlow's order."""
    if value.ndim == 4:
        return value.permute((2, 3, 0, 1) if "depthwise" in name else (2, 3, 1, 0)).numpy()
    return value.T.numpy() if value.ndim == 2 else value.numpy()


def names_read(extractor: str) -> dict[str, str]:
    shapes = list_shapes(extractor)
    graph = RecordingGraph()
    return dict(zip(rename_graph_arrays(extractor, graph, shapes), graph, strict=True))


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(command.app, ["convert", *arguments])
    return done.exit_code, done.stdout + str(done.exception or "")


def features_with(spec: ExtractorSpec, state: Mapping[str, Tensor], images: Tensor) -> Tensor:
    module = unfilled_network(spec)
    nn.Module.load_state_dict(module, state, strict=False, assign=True)
    features: Tensor = build_trunk(module.eval(), spec)(images)
    return features


@pytest.fixture
def small_nasnet(monkeypatch: pytest.MonkeyPatch) -> None:
    """NASNet with all layers and fewer channels, because the whole network has 340 MB."""
    create = timm.create_model

    def small(name: str, **options: Any) -> Any:
        return create(name, **(SMALL if name.startswith("nasnetalarge") else {}) | options)

    monkeypatch.setattr(timm, "create_model", small)


@pytest.mark.usefixtures("small_nasnet", "one_thread")
@pytest.mark.parametrize(
    ("extractor", "scope"), [("inception_2015", ""), ("inception_2015", "FID_Inception_Net/"), ("nasnetalarge", "")]
)
def test_a_graph_becomes_a_loadable_file(extractor: str, scope: str, tmp_path: Path) -> None:
    """The graph is written as TensorFlow freezes it: with a classifier, or under a scope and cut off at the pool.
    TF-slim's classifier has a background class."""
    spec = find_extractor(extractor)
    state = seeded(unfilled_network(spec).state_dict())
    names = {
        tensor_name: published_name
        for tensor_name, published_name in names_read(extractor).items()
        if not (scope and tensor_name.startswith(("fc.", "last_linear.")))
    }
    written = {
        tensor_name: torch.cat([state[tensor_name][:1], state[tensor_name]])
        if tensor_name.startswith("last_linear.")
        else state[tensor_name]
        for tensor_name in names
    }
    constants = {
        scope + published_name: as_in_tensorflow(tensor_name, written[tensor_name])
        for tensor_name, published_name in names.items()
    }
    graph, file = tmp_path / "graph.pb", tmp_path / f"{extractor}.safetensors"
    graph.write_bytes(graph_definition(constants))
    status, output = run(extractor, str(graph), "--folder", str(tmp_path))
    assert status == 0, output
    loaded = load_file(file)
    assert set(loaded) == set(names)
    assert all(torch.equal(loaded[name], state[name]) for name in names)
    images = torch.rand((2, 3, 75, 75), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        features = build_network(spec, Weights(file, file.read_bytes(), "")).trunk(images)
        assert torch.equal(features, features_with(spec, state, images))
    assert not torch.equal(features[0], features[1])


def test_the_background_class_of_tf_slim_is_removed() -> None:
    classifier: Arrays = {"conv0/weights": np.zeros((3, 3, 3, 96), np.float32)}
    classifier["final_layer/FC/weights"] = np.arange(4 * 6, dtype=np.float32).reshape(4, 6)
    classifier["final_layer/FC/biases"] = np.arange(6, dtype=np.float32)
    shapes = {"conv0.conv.weight": (96, 3, 3, 3), "last_linear.weight": (5, 4), "last_linear.bias": (5,)}
    arrays = rename_graph_arrays("nasnetalarge", classifier, shapes)
    assert np.array_equal(arrays["last_linear.weight"], classifier["final_layer/FC/weights"].T[1:])
    assert arrays["last_linear.bias"].tolist() == [1, 2, 3, 4, 5]


def test_constants_are_read_in_every_encoding() -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    alone = field(1, 1) + field(2, b"".join(field(2, field(1, size)) for size in (2, 3)))
    one_value = alone + field(5, np.float32(7).tobytes())
    unpacked = alone + b"".join(b"\x2d" + np.float32(number).tobytes() for number in range(6))  # field 5, 32 bits
    whole = field(1, 3) + field(2, b"") + field(7, 5)  # int32
    given = {"all": tensor(numbers, as_content=True), "same": one_value, "each": unpacked, "whole": whole}
    graph = b"".join(field(1, node(name, "Const", value=field(8, value))) for name, value in given.items())
    constants = read_constants(graph)
    assert list(constants) == ["all", "same", "each"]
    assert np.array_equal(constants["all"], numbers)
    assert np.array_equal(constants["each"], numbers)
    assert np.array_equal(constants["same"], np.full((2, 3), 7))


@pytest.mark.parametrize("content", [b"", b"not a graph", b"\x0a\xff", CUT_OFF])
def test_a_file_without_a_graph_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid) as error:
        read_constants(content)
    assert error.value.slug == "bad-graph"


def test_a_graph_of_another_network_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pb").write_bytes(graph_definition({"conv0/weights": np.zeros((3, 3, 3, 96), np.float32)}))
    status, output = run("inception_2015", str(tmp_path / "x.pb"), "--folder", str(tmp_path))
    assert (status, "has no constant conv/conv2d_params" in output) == (1, True)
    status, output = run("dinov2", str(tmp_path / "x.pb"), "--folder", str(tmp_path))
    assert (status, "does not come from a TensorFlow graph" in output) == (1, True)
    assert [path.name for path in tmp_path.iterdir()] == ["x.pb"]


def test_sscds_published_file_becomes_a_loadable_file(tmp_path: Path) -> None:
    """The file has torchvision's names, which timm shares, under ``backbone``. A program in place of tensors does not
    run."""
    state = seeded(unfilled_network(find_extractor("sscd")).state_dict())
    source = tmp_path / "sscd_disc_mixup.torchvision.pt"
    torch.save({f"backbone.{name}": value for name, value in state.items()}, source)
    assert run("sscd", str(source), "--folder", str(tmp_path))[0] == 0
    loaded = load_file(tmp_path / "sscd.safetensors")
    assert set(loaded) == set(state)
    assert all(torch.equal(loaded[name], state[name].float()) for name in state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "program.pt"))  # type: ignore[no-untyped-call]
    status, output = run("sscd", str(tmp_path / "program.pt"), "--folder", str(tmp_path / "other"))
    assert (status, "cannot be read as a file of tensors." in output) == (1, True)


def test_clips_published_file_becomes_a_loadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CLIP's image tower with one block and the names of OpenAI and OpenCLIP. A checkpoint may wrap its tensors."""
    create = timm.create_model
    monkeypatch.setattr(timm, "create_model", lambda *names, **options: create(*names, depth=1, **options))
    state = seeded(unfilled_network(find_extractor("clip")).state_dict())
    state["head.bias"] = torch.zeros(768)
    published = {f"visual.{name}": value for name, value in openai_state(state).items()}
    published["text_projection"] = torch.zeros(2, 2)
    save_file(published, tmp_path / "open_clip_model.safetensors")
    status, output = run("clip", str(tmp_path / "open_clip_model.safetensors"), "--folder", str(tmp_path))
    assert status == 0, output
    loaded = load_file(tmp_path / "clip.safetensors")
    assert all(torch.equal(loaded[name], value) for name, value in state.items())
    (tmp_path / "wrapped").mkdir()
    torch.save({"model": published}, tmp_path / "checkpoint.pth")
    assert run("clip", str(tmp_path / "checkpoint.pth"), "--folder", str(tmp_path / "wrapped"))[0] == 0
    assert set(load_file(tmp_path / "wrapped" / "clip.safetensors")) == set(state)


DINOV2_BLOCK = ("norm1", "attn.qkv", "attn.proj", "ls1", "norm2", "mlp.fc1", "mlp.fc2", "ls2")


def test_dinov2s_published_file_becomes_a_loadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain tensors of one block with the names of Meta's code (facebookresearch/dinov2, models/vision_transformer.py),
    and its mask token, which timm lacks."""
    create = timm.create_model
    monkeypatch.setattr(timm, "create_model", lambda *names, **options: create(*names, depth=1, **options))
    state = seeded(unfilled_network(find_extractor("dinov2")).state_dict())
    layers = ["patch_embed.proj", "norm", *(f"blocks.0.{layer}" for layer in DINOV2_BLOCK)]
    scaled = [f"{layer}.gamma" for layer in layers if "ls" in layer]
    others = [f"{layer}.{value}" for layer in layers if "ls" not in layer for value in ("weight", "bias")]
    published = {name: state[name] for name in ("cls_token", "pos_embed", *scaled, *others)}
    torch.save({"mask_token": torch.zeros(1, 1024)} | published, tmp_path / "dinov2_vitl14_pretrain.pth")
    status, output = run("dinov2", str(tmp_path / "dinov2_vitl14_pretrain.pth"), "--folder", str(tmp_path))
    assert status == 0, output
    loaded = load_file(tmp_path / "dinov2.safetensors")
    assert set(loaded) == set(state)
    assert all(torch.equal(loaded[name], value) for name, value in state.items())
    assert run("dinov2", str(tmp_path / "dinov2_vitl14_pretrain.pth"), "--folder", str(tmp_path))[0] == 1, (
        "the file already exists"
    )
