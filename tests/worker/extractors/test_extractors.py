"""Extractors: they recognise real photographs, are exact and reproducible, and check their weights."""

import hashlib
import os
import pickle
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
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
from safetensors.torch import save, save_file
from skimage.data import cat, coffee
from torch import Tensor, nn

from benchmarks.harness.networks import seeded_state
from scorer import extractor_catalogue
from scorer.errors import Invalid, KennelError, Unavailable
from scorer.extractor_catalogue import EXTRACTORS, find_extractor
from scorer.extractors import Extractor, ExtractorOptions, fingerprint, load, weights
from scorer.extractors.batches import immediate_slots, in_batches
from scorer.extractors.batchnorm_folding import fold
from scorer.extractors.devices import exact_arithmetic
from scorer.extractors.networks import build_network
from scorer.extractors.preprocessing import Preprocessing
from scorer.extractors.tiny import projection
from scorer.extractors.torch_extractor import TorchExtractor
from scorer.extractors.weights import Weights
from scorer.process_resources import keep_freed_memory

# One thread, because other tests run at the same time.
CPU = ExtractorOptions(device="cpu", batch_size=4, threads=1)
LITE = ("efficientnet_lite0", "efficientnet_lite2")
INCEPTION = find_extractor("inception_v3")
# A small network for tests that break it in many ways.
SMALL = replace(INCEPTION, architecture="test_efficientnet.r160_in1k")
EGYPTIAN_CAT, ESPRESSO = 285, 967
PHOTOGRAPHS: dict[int, Callable[[], NDArray[np.uint8]]] = {EGYPTIAN_CAT: cat, ESPRESSO: coffee}


def noise(count: int, size: int = 64, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


def relative(a: NDArray[Any], b: NDArray[Any]) -> float:
    return float(np.linalg.norm(a.astype(np.float64) - b) / np.linalg.norm(b))


def read_message(error: pytest.ExceptionInfo[KennelError]) -> str:
    assert error.value.message.count("\n") == 0
    return error.value.message


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def lite0() -> Extractor:
    return load("efficientnet_lite0", options=CPU)


# Correct


@pytest.mark.parametrize("name", LITE)
@pytest.mark.parametrize("label", [EGYPTIAN_CAT, ESPRESSO])
def test_photographs_are_recognised(name: str, label: int, lite0: Extractor) -> None:
    """Tests the mapping of tensors, the normalisation, the layer and the head together."""
    extractor = lite0 if name == "efficientnet_lite0" else load(name, options=CPU)
    assert isinstance(extractor, TorchExtractor)
    image = PHOTOGRAPHS[label]()
    every = extractor.logits(extractor.features(image[None]))
    assert every is not None
    logits = every[0].astype(np.float64)
    probabilities = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    assert probabilities.argmax() == label
    assert probabilities[label] > 0.6


def test_features_equal_those_of_the_plain_network(lite0: Extractor) -> None:
    """The folded and fused network agrees with timm's network in float64."""
    spec = lite0.spec
    images = noise(3)
    plain = build_network(spec, weights.read_weights(spec, CPU)).trunk.double()
    with torch.inference_mode():
        expected = plain(Preprocessing(spec, (64, 64))(torch.from_numpy(images)).double()).numpy()
    features = lite0.features(images)
    assert features.shape == (3, 1280)
    assert features.dtype == np.float32
    assert features.min() >= 0
    assert relative(features, expected) < 1e-5


def test_folding_changes_no_feature() -> None:
    spec = find_extractor("efficientnet_lite0")
    plain, folded = (build_network(spec, weights.read_weights(spec, CPU)).trunk for _ in range(2))
    fold(folded)
    assert any(isinstance(module, nn.BatchNorm2d) for module in plain.modules())
    assert not any(isinstance(module, nn.BatchNorm2d) for module in folded.modules())
    x = Preprocessing(spec, (64, 64))(torch.from_numpy(noise(2)))
    with torch.inference_mode():
        assert relative(folded(x).numpy(), plain(x).numpy()) < 1e-4


@pytest.mark.parametrize(
    "name",
    [spec.name for spec in EXTRACTORS.values() if spec.architecture and spec.library == "timm" and spec.non_negative],
)
def test_preprocessing_agrees_with_the_model_as_published(name: str) -> None:
    """Size, mean and deviation agree. The filter differs on purpose: bilinear stays within [0, 255], timm's bicubic
    does not (docs/explanation/metrics.md#preprocessing)."""
    spec = find_extractor(name)
    published = timm.get_pretrained_cfg(str(spec.architecture))
    assert published is not None
    assert published.input_size == (3, spec.input_size, spec.input_size)
    assert (published.mean, published.std, published.interpolation) == (spec.mean, spec.std, "bicubic")


def test_an_image_of_the_right_size_is_only_normalised() -> None:
    images = noise(2, size=224)
    expected = (images.transpose(0, 3, 1, 2).astype(np.float32) / 255 - 0.5) / 0.5
    preprocessed = Preprocessing(find_extractor("efficientnet_lite0"), (224, 224))(torch.from_numpy(images))
    np.testing.assert_allclose(preprocessed.numpy(), expected, rtol=0, atol=2e-7)
    assert preprocessed.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(("height", "width"), [(64, 64), (500, 300)])
def test_resizing_is_pillows_in_float(height: int, width: int) -> None:
    """Enlarging and shrinking agree with an independent implementation, without rounding to grey levels."""
    image = np.random.default_rng(1).integers(0, 256, (height, width, 3), dtype=np.uint8)
    spec = find_extractor("efficientnet_lite2")
    side = (spec.input_size, spec.input_size)
    bilinear = Image.Resampling.BILINEAR
    channels = [np.asarray(Image.fromarray(image[..., c].astype(np.float32)).resize(side, bilinear)) for c in range(3)]
    expected = (np.stack(channels) / 255 - 0.5) / 0.5
    prepared = Preprocessing(spec, (height, width))(torch.from_numpy(image[None]))[0]
    np.testing.assert_allclose(prepared.numpy(), expected, rtol=0, atol=5e-5)


def test_floats_and_bytes_give_the_same_features(lite0: Extractor) -> None:
    images = noise(2)
    assert np.array_equal(lite0.features(images), lite0.features(images.astype(np.float32)))


# Reproducible


def test_a_feature_does_not_depend_on_other_images(lite0: Extractor) -> None:
    images = noise(10)
    features = lite0.features(images)
    order = np.random.default_rng(1).permutation(10)
    assert np.array_equal(lite0.features(images[order]), features[order])
    assert np.array_equal(lite0.features(images[5:6])[0], features[5])
    assert np.array_equal(load("efficientnet_lite0", options=CPU).features(images), features)


def test_batch_size_and_threads_change_only_the_last_bits(lite0: Extractor) -> None:
    images = noise(4)
    other = load("efficientnet_lite0", options=replace(CPU, batch_size=3, threads=2))
    assert relative(other.features(images), lite0.features(images)) < 1e-6
    assert (other.provenance["batch_size"], other.provenance["threads"]) == (3, 2)


def test_arithmetic_is_exact_inside_and_unchanged_outside() -> None:
    def state() -> tuple[object, ...]:
        backends: Any = torch.backends
        return (
            torch.get_num_threads(),
            torch.are_deterministic_algorithms_enabled(),
            torch.is_inference_mode_enabled(),
            backends.cudnn.benchmark,
            backends.cudnn.conv.fp32_precision,
            backends.cuda.matmul.fp32_precision,
            backends.mkldnn.conv.fp32_precision,
        )

    before = state()
    with exact_arithmetic(2):
        assert state() == (2, True, True, False, "ieee", "ieee", "ieee")
    assert state() == before


def test_provenance_describes_the_run(lite0: Extractor) -> None:
    provenance = lite0.provenance
    assert provenance["extractor"] == "efficientnet_lite0@1"
    assert provenance["weights_sha256"] == find_extractor("efficientnet_lite0").weights_sha256
    assert (provenance["device"], provenance["precision"]) == ("cpu", "float32")
    assert provenance["torch"] == torch.__version__
    assert provenance["threads"] >= 1
    assert all(isinstance(value, str | int) for value in provenance.values())


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_missing_gpu_is_refused() -> None:
    with pytest.raises(Unavailable) as error:
        load("efficientnet_lite0", options=ExtractorOptions(device="cuda"))
    assert error.value.slug == "no-gpu"


# Batches of images


def test_images_are_read_one_batch_at_a_time_from_a_map(tmp_path: Path) -> None:
    path = tmp_path / "images.npy"
    np.save(path, noise(19))
    mapped = np.load(path, mmap_mode="r")
    seen: list[tuple[int, ...]] = []
    shares: list[float] = []

    def forward(batch: NDArray[Any]) -> NDArray[np.float32]:
        seen.append(batch.shape)
        return batch[:, :2, 0, 0].astype(np.float32) + 1

    features = in_batches(mapped, immediate_slots(forward, mapped, 8), dimension=2, progress=shares.append)
    assert np.array_equal(features, mapped[:, :2, 0, 0].astype(np.float32) + 1)
    assert seen == [(8, 64, 64, 3)] * 3
    assert shares == [8 / 19, 16 / 19, 1.0]


def test_a_memory_map_gives_the_features_of_the_array(lite0: Extractor, tmp_path: Path) -> None:
    images = noise(9)
    np.save(tmp_path / "images.npy", images)
    assert np.array_equal(
        lite0.features(np.load(tmp_path / "images.npy", mmap_mode="r")),
        lite0.features(images),
    )


def test_no_images_no_features(lite0: Extractor) -> None:
    assert lite0.features(noise(0)).shape == (0, 1280)


@pytest.mark.parametrize("name", ["tiny", "efficientnet_lite0"])
def test_images_without_a_direction_are_named(name: str) -> None:
    images = noise(10).astype(np.float32)
    images[[3, 7], 5, 6] = np.nan
    with pytest.raises(Invalid, match="image 3, 7") as error:
        load(name, options=CPU).features(images)
    assert error.value.slug == "degenerate-features"
    assert error.value.extra["rows"] == [3, 7]


def test_a_row_of_zeros_has_no_direction() -> None:
    slots = immediate_slots(lambda batch: np.zeros((len(batch), 4), np.float32), noise(3), 2)
    with pytest.raises(Invalid) as error:
        in_batches(noise(3), slots, dimension=4)
    assert error.value.extra["rows"] == [0, 1, 2]


@pytest.mark.parametrize("images", [noise(1)[0], noise(1)[..., :1], noise(1).astype(np.int64)])
def test_invalid_arrays_are_refused(images: NDArray[Any], lite0: Extractor) -> None:
    with pytest.raises(Invalid) as error:
        lite0.features(images)
    assert error.value.slug == "wrong-images"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux and its glibc")
def test_freed_memory_is_kept_for_the_next_batch() -> None:
    def faults() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(10):
            np.ones(16_000_000, np.float32)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    outside = faults()
    with keep_freed_memory():
        faults()
        inside = faults()
    assert inside < outside / 4
    assert faults() > inside, "memory must be returned afterwards"


# tiny


def test_tiny_is_pinned() -> None:
    spec = find_extractor("tiny")
    assert hashlib.sha256(projection(spec).astype("<f8").tobytes()).hexdigest() == spec.weights_sha256
    features = load("tiny", options=CPU).features(noise(3))
    assert features.shape == (3, 32)
    assert features.dtype == np.float32
    assert features.min() == 0
    assert np.array_equal(load("tiny", options=CPU).features(noise(3)[::-1])[::-1], features)


@pytest.mark.parametrize("level", [0.0, 1.0, 127.5, 255.0])
def test_tiny_has_a_direction_for_a_flat_image(level: float) -> None:
    features = load("tiny", options=CPU).features(np.full((1, 64, 64, 3), level, np.float32))
    assert features.max() >= 0.05


def test_tiny_resizes_as_the_networks_do() -> None:
    photograph = PHOTOGRAPHS[EGYPTIAN_CAT]()[:256, :320]
    channels = [
        np.asarray(Image.fromarray(photograph[..., c].astype(np.float32)).resize((64, 64), Image.Resampling.BILINEAR))
        for c in range(3)
    ]
    tiny = load("tiny", options=CPU)
    assert relative(tiny.features(photograph[None]), tiny.features(np.stack(channels, axis=-1)[None])) < 1e-5


def test_tiny_needs_no_torch() -> None:
    code = (
        "import sys, numpy; sys.modules['torch'] = None\n"
        "from scorer.extractors import ExtractorOptions, fingerprint, load\n"
        "options = ExtractorOptions()\n"
        "print(load('tiny', options=options).features(numpy.ones((1, 64, 64, 3), 'uint8')).shape)\n"
        "fingerprint('efficientnet_lite0', options)\n"
        "try: load('efficientnet_lite0', options=options)\n"
        "except Exception as error: print(error.slug)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["(1, 32)", "no-torch"]


def test_importing_starts_no_torch() -> None:
    """A worker forks after this import, so torch's threads and CUDA must not exist yet."""
    code = "import sys, scorer.extractors; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "False"


# Weights


@pytest.fixture(scope="module")
def inception_state() -> dict[str, Tensor]:
    return seeded_state("inception_v3.tf_in1k")


@pytest.fixture(scope="module")
def inception_folder(inception_state: dict[str, Tensor], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weights")
    save_file(inception_state, folder / "inception_v3.safetensors")
    return folder


def compute_timm_features(timm_model: str, state: dict[str, Tensor], x: Tensor) -> tuple[Tensor, tuple[int, ...]]:
    """The spatial average of timm's last feature map, and the map's size."""
    with torch.device("meta"):
        plain: Any = timm.create_model(timm_model, pretrained=False)
    plain.load_state_dict(state, strict=True, assign=True)
    with torch.inference_mode():
        final = plain.eval().forward_features(x)
    return final.mean(dim=(2, 3)), tuple(final.shape[2:])


def test_inception_from_a_local_file(inception_folder: Path, inception_state: dict[str, Tensor]) -> None:
    extractor = load("inception_v3", options=replace(CPU, weights_dir=inception_folder, batch_size=2))
    images = noise(3)
    features = extractor.features(images)
    x = (torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5
    x = nn.functional.interpolate(x, (299, 299), mode="bilinear", antialias=True)
    expected, final = compute_timm_features("inception_v3.tf_in1k", inception_state, x)
    # 'Valid' padding in the stem takes 299 to 8; 'same' would end at 10.
    assert final == (8, 8)
    assert features.shape == (3, 2048)
    assert features.min() >= 0
    assert relative(features, expected.numpy()) < 1e-4
    recorded = (inception_folder / "inception_v3.sha256").read_text()
    assert recorded.split() == [extractor.provenance["weights_sha256"], "inception_v3.safetensors"]


def test_nasnet_from_a_local_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All layers with fewer channels, because the whole network has 340 MB."""
    create, spec = timm.create_model, find_extractor("nasnetalarge")
    monkeypatch.setattr(timm, "create_model", partial(create, stem_size=8, num_features=24 * 8))
    small = replace(spec, dimension=24 * 8)
    monkeypatch.setattr(extractor_catalogue, "EXTRACTORS", {**EXTRACTORS, spec.name: small})
    state = seeded_state("nasnetalarge.tf_in1k")
    torch.save(state, tmp_path / "nasnetalarge.pth")
    extractor = load("nasnetalarge", options=replace(CPU, weights_dir=tmp_path, batch_size=1))
    features = extractor.features(noise(1))
    x = (torch.from_numpy(noise(1)).permute(0, 3, 1, 2).float() / 255 - 0.5) / 0.5
    x = nn.functional.interpolate(x, (331, 331), mode="bilinear", antialias=True)
    expected, final = compute_timm_features("nasnetalarge.tf_in1k", state, x)
    assert final == (11, 11)
    assert features.shape == (1, small.dimension)
    assert features.min() >= 0
    assert relative(features, expected.numpy()) < 1e-4


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A weights folder with a small file in place of weights."""
    (tmp_path / "inception_v3.pth").write_bytes(b"not a network")
    return tmp_path


def test_the_hash_is_required_after_the_first_load(folder: Path) -> None:
    options = ExtractorOptions(weights_dir=folder)
    path = folder / "inception_v3.pth"
    weights.record_sha256(INCEPTION, options, weights.read_weights(INCEPTION, options))
    assert weights.read_weights(INCEPTION, options).content == b"not a network"
    path.write_bytes(b"another one")
    with pytest.raises(Unavailable, match="SHA-256") as error:
        weights.read_weights(INCEPTION, options)
    assert error.value.slug == "wrong-weights"
    assert str(path) in read_message(error)
    with pytest.raises(Unavailable):
        fingerprint("inception_v3", options)


def test_of_two_first_loads_the_second_must_agree(folder: Path) -> None:
    options = ExtractorOptions(weights_dir=folder)
    first = weights.read_weights(INCEPTION, options)
    weights.record_sha256(INCEPTION, options, Weights(first.path, b"", "0" * 64))
    weights.record_sha256(INCEPTION, options, Weights(first.path, b"", "0" * 64))
    with pytest.raises(Unavailable) as error:
        weights.read_weights(INCEPTION, options)
    assert error.value.slug == "wrong-weights"


def test_the_operators_hash_is_required_and_nothing_is_recorded(folder: Path) -> None:
    right = hashlib.sha256(b"not a network").hexdigest()
    options = ExtractorOptions(weights_dir=folder, weights_sha256={"inception_v3": right.upper()})
    weights.record_sha256(INCEPTION, options, weights.read_weights(INCEPTION, options))
    assert [path.name for path in folder.iterdir()] == ["inception_v3.pth"]
    with pytest.raises(Unavailable) as error:
        weights.read_weights(INCEPTION, ExtractorOptions(weights_dir=folder, weights_sha256={"inception_v3": "0" * 64}))
    assert error.value.slug == "wrong-weights"


def test_a_hash_that_cannot_be_recorded_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    options = ExtractorOptions(weights_dir=folder)
    weights_file = weights.read_weights(INCEPTION, options)
    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(Unavailable, match=weights_file.sha256) as error:
        weights.record_sha256(INCEPTION, options, weights_file)
    assert error.value.slug == "unrecorded-weights"


def test_a_pinned_hash_has_no_exception() -> None:
    spec = find_extractor("efficientnet_lite0")
    options = ExtractorOptions(weights_sha256={"efficientnet_lite0": "0" * 64})
    assert weights.read_weights(spec, options).sha256 == spec.weights_sha256


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (None, "KENNEL_WEIGHTS_DIR"),
        ([], "has no inception_v3.safetensors or inception_v3.pth"),
        (["inception_v3.safetensors", "inception_v3.pth"], "has both"),
    ],
)
def test_missing_weights_are_one_sentence(files: list[str] | None, expected: str, tmp_path: Path) -> None:
    for name in files or []:
        (tmp_path / name).touch()
    options = ExtractorOptions(weights_dir=None if files is None else tmp_path)
    with pytest.raises(Unavailable, match=expected) as error:
        load("inception_v3", options=options)
    assert error.value.slug == "missing-weights"
    read_message(error)


@pytest.mark.parametrize("read", [weights.read_weights, weights.hash_weights])
def test_weights_that_cannot_be_read_are_one_sentence(
    read: Callable[..., object], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(Unavailable, match=r"inception_v3.pth cannot be read \(Permission denied\)") as error:
        read(INCEPTION, ExtractorOptions(weights_dir=folder))
    assert error.value.slug == "unreadable-weights"
    read_message(error)


@pytest.mark.parametrize(("refused", "named"), [("stat", "{folder}"), ("read_text", "{folder}/inception_v3.sha256")])
def test_an_unreadable_folder_or_recorded_hash_is_one_sentence(
    refused: str, named: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    (folder / "inception_v3.sha256").write_text("0" * 64)
    monkeypatch.setattr(Path, refused, refuse)
    expected = f"^{re.escape(named.format(folder=folder))} cannot be read"
    with pytest.raises(Unavailable, match=expected) as error:
        weights.required_sha256(INCEPTION, ExtractorOptions(weights_dir=folder))
    assert error.value.slug == "unreadable-weights"
    read_message(error)


class Payload:
    """A hostile weight file: unpickling it makes a folder."""

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("pwned",)


@pytest.mark.parametrize("suffix", [".pth", ".safetensors"])
@pytest.mark.parametrize(
    "content",
    [b"", b"not a network", b"\xff" * 64, pickle.dumps(Payload())],
    ids=["empty", "text", "bytes", "pickle"],
)
def test_a_file_without_weights_is_refused_and_not_run(
    suffix: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / f"inception_v3{suffix}"
    path.write_bytes(content)
    with pytest.raises(Unavailable) as error:
        load("inception_v3", options=ExtractorOptions(weights_dir=tmp_path, device="cpu"))
    assert error.value.slug == "unfit-weights"
    assert str(path) in read_message(error)
    assert [path.name for path in tmp_path.iterdir()] == [path.name], "no code ran and no hash was recorded"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"classifier.bias": None}, "classifier.bias is missing"),
        ({"classifier.bias": torch.zeros(1008)}, r"classifier.bias has the shape \(1008,\) instead of \(1000,\)"),
        ({"classifier.bias": torch.zeros(1000, dtype=torch.float16)}, "classifier.bias is torch.float16"),
        ({"classifier.bias": torch.full((1000,), torch.inf)}, "classifier.bias has values that are not finite"),
        ({"AuxLogits.fc.bias": torch.zeros(1000)}, "AuxLogits.fc.bias is not part of the network"),
    ],
)
def test_weights_of_another_network_are_refused(change: dict[str, Tensor | None], expected: str) -> None:
    state = seeded_state(str(SMALL.architecture)) | change
    changed = {name: tensor for name, tensor in state.items() if tensor is not None}
    with pytest.raises(Unavailable, match=expected) as error:
        build_network(SMALL, Weights(Path("inception_v3.safetensors"), save(changed), ""))
    assert error.value.slug == "unfit-weights"
    read_message(error)


def test_a_package_with_another_order_of_tensors_is_refused(tmp_path: Path) -> None:
    """Scale and variance of a batch norm have the same shape, so only their order distinguishes them."""
    spec = find_extractor("efficientnet_lite0")
    path = weights.read_weights(spec, CPU).path
    state = dict(torch.load(path, weights_only=True))
    first, second = "_bn0.weight", "_bn0.running_var"
    swapped = {{first: second, second: first}.get(name, name): tensor for name, tensor in state.items()}
    torch.save(swapped, tmp_path / "swapped.pth")
    with pytest.raises(Unavailable, match=r"instead of bn1\.\w+") as error:
        build_network(spec, Weights(path, (tmp_path / "swapped.pth").read_bytes(), ""))
    assert error.value.slug == "unfit-weights"


def test_a_file_without_the_classifier_has_no_logits() -> None:
    """For example a graph cut off at its pool."""
    state = seeded_state(str(SMALL.architecture))
    trunk = {name: tensor for name, tensor in state.items() if not name.startswith("classifier.")}
    loaded = build_network(SMALL, Weights(Path("inception_v3.safetensors"), save(trunk), ""))
    assert loaded.classifier is None
    assert not any(tensor.is_meta for tensor in loaded.trunk.state_dict().values())


def test_older_files_without_counters_load() -> None:
    state = seeded_state(str(SMALL.architecture))
    bare = {name: tensor for name, tensor in state.items() if not name.endswith("num_batches_tracked")}
    assert len(bare) < len(state)
    loaded = build_network(SMALL, Weights(Path("inception_v3.safetensors"), save(bare), ""))
    assert not any(tensor.is_meta for tensor in loaded.trunk.state_dict().values())


# Content addresses


def test_a_fingerprint_depends_only_on_weights_and_preprocessing(folder: Path) -> None:
    options = ExtractorOptions(weights_dir=folder)
    prints = {name: fingerprint(name, options) for name in ("tiny", *LITE, "inception_v3")}
    assert len(set(prints.values())) == 4
    assert fingerprint("tiny@1", options) == prints["tiny"]
    assert fingerprint(LITE[0], ExtractorOptions(batch_size=1, threads=1)) == prints[LITE[0]]
    assert not (folder / "inception_v3.sha256").exists(), "only the hash of a file that loads is recorded"
    (folder / "inception_v3.pth").write_bytes(b"another network")
    assert fingerprint("inception_v3", options) != prints["inception_v3"]


def test_an_unknown_extractor_is_refused() -> None:
    for action in (lambda: load("vgg16", options=CPU), lambda: fingerprint("vgg16", CPU)):
        with pytest.raises(Invalid) as error:
            action()
        assert error.value.slug == "unknown-extractor"
