"""The timed ways from a zip to a score: Kennel's, and each peer's as in its documentation.

No contender's time includes loading the network and the reference, or the first forward pass of its process.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import unpack_archive
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch
from zipfile import ZipFile

import numpy as np
import torch
from cleanfid import fid as clean
from cleanfid.resize import make_resizer
from PIL import Image
from pytorch_fid.fid_score import calculate_frechet_distance, compute_statistics_of_path
from torch import Tensor
from torch_fidelity import calculate_metrics, register_feature_extractor
from torch_fidelity.feature_extractor_base import FeatureExtractorBase
from torch_fidelity.metric_fid import KEY_METRIC_FID, fid_features_to_statistics
from torch_fidelity.registry import FEATURE_EXTRACTORS_REGISTRY
from torchmetrics.image.mifid import MemorizationInformedFrechetInceptionDistance
from torchvision.transforms.functional import pil_to_tensor

from benchmarks.harness.isolation import THREADS, Run
from benchmarks.harness.networks import PeerNetwork, find_extractor_spec, load_extractor, outermost_forwards
from benchmarks.speed.tracks import no_progress, worker_context_in
from scorer.archive import ImageSpec, find_training_image_copies
from scorer.blobs import Blobs
from scorer.metrics.mifid import mifid
from scorer.submissions.files import StoredZip
from worker.runtime import decoded_images
from worker.scoring.measure import measure
from worker.scoring.reference_features import load_prepared

TAU = 1.0
"""Above every distance, so the penalty applies to all contenders."""
TORCHMETRICS_BATCH = 32
"""torchmetrics leaves the batch size to its user. Of 8, 16, 32, 50 and 64, this was within 12 % of the best for both
networks in a short trial of the plain networks."""


def kennel(folder: str, network: str, count: int) -> Run:
    """The worker's functions: decode into one mapped array with the deep check, then measure that array."""
    inputs = Path(folder)
    spec = find_extractor_spec(network)
    extractor = load_extractor(spec, inputs)
    reference = load_prepared(worker_context_in(inputs), "reference", signed=False)
    known = [np.load(inputs / f"{name}.npy") for name in ("hashes", "mirrored")]
    images_spec = ImageSpec(count, 64)
    blobs = Blobs(inputs.as_uri())
    stored = StoredZip("submission.zip", blobs.hash_blob("submission.zip").sha256, "submission")
    with TemporaryDirectory() as scratch, outermost_forwards() as forwards:
        start = time.perf_counter()
        path = decoded_images.build_pixels_path(Path(scratch), "submission")
        hashes = decoded_images.decode(blobs, stored, images_spec, path=path, progress=no_progress)
        share = find_training_image_copies(hashes, *known).share
        decoded = time.perf_counter()
        numbers = measure(np.load(path, mmap_mode="r"), extractor, reference, progress=no_progress)
        score = mifid(numbers.fid, numbers.nearest.mean, TAU, copied_share=share)
        end = time.perf_counter()
    stages = {f"{stage}_seconds": seconds for stage, seconds in numbers.seconds.items()}
    return stages | {
        "seconds": end - start,
        "decode_seconds": decoded - start,
        "forward_seconds": forwards.seconds,
        "fid": numbers.fid,
        "distance": numbers.nearest.mean,
        "mifid": score,
    }


def torchmetrics(folder: str, network: str, count: int) -> Run:
    """MiFID with ``feature=`` a module, fed uint8 batches.

    torchmetrics compares real images with fake ones; the paper does the reverse. The submission is therefore its *real*
    set and the reference its *fake* one; FID is symmetric. It stores features and no statistics, so it computes the
    reference's statistics again for each score.
    """
    inputs = Path(folder)
    peer = PeerNetwork(find_extractor_spec(network), inputs, 1 / 255)
    metric = MemorizationInformedFrechetInceptionDistance(feature=peer, cosine_distance_eps=TAU)
    reference = torch.from_numpy(np.load(inputs / "features.npy")).double()
    start = time.perf_counter()
    with ZipFile(inputs / "submission.zip") as archive:
        names = sorted(archive.namelist())
        for first in range(0, count, TORCHMETRICS_BATCH):
            batch = [_pixels(archive, name) for name in names[first : first + TORCHMETRICS_BATCH]]
            metric.update(torch.stack(batch), real=True)
    metric.fake_features = [reference]
    score = float(metric.compute())
    return _measured(start, peer) | {"mifid": score}


def torch_fidelity(folder: str, network: str, count: int) -> Run:  # noqa: ARG001 - counts the files itself
    """``calculate_metrics`` with a registered extractor, its default batch of 64 and 4 loading processes.

    The reference's statistics are in torch-fidelity's cache, under the name of the second input.
    """
    inputs = Path(folder)
    peer = PeerNetwork(find_extractor_spec(network), inputs, 1 / 255)
    name = f"plain-{network}"
    FEATURE_EXTRACTORS_REGISTRY.pop(name, None)
    register_feature_extractor(name, _registered(peer))
    statistics = fid_features_to_statistics(torch.from_numpy(np.load(inputs / "features.npy")))
    torch.save(statistics, inputs / f"reference-{name}-stat-fid-pooled.pt")
    start = time.perf_counter()
    with _unpacked(inputs / "submission.zip") as images:
        metrics = calculate_metrics(
            input1=str(images),
            input2=str(images),
            input2_cache_name="reference",
            cache_root=str(inputs),
            feature_extractor=name,
            fid=True,
            cuda=False,
            verbose=False,
        )
    return _measured(start, peer) | {"fid": metrics[KEY_METRIC_FID]}


def pytorch_fid(folder: str, network: str, count: int) -> Run:  # noqa: ARG001
    """What pytorch-fid's command does with a folder and an .npz: batches of 50, a loading process per core."""
    inputs = Path(folder)
    spec = find_extractor_spec(network)
    peer = _Listed(spec, inputs, 1.0)
    mean, covariance = compute_statistics_of_path(str(inputs / "reference.npz"), None, 50, spec.dimension, "cpu")
    start = time.perf_counter()
    with _unpacked(inputs / "submission.zip") as images:
        statistics = compute_statistics_of_path(str(images), peer, 50, spec.dimension, "cpu", THREADS)
    distance = calculate_frechet_distance(*statistics, mean, covariance)
    return _measured(start, peer) | {"fid": float(distance)}


def clean_fid(folder: str, network: str, count: int) -> Run:  # noqa: ARG001
    """``compute_fid`` of the zip with a custom extractor and custom statistics, in its default batches of 32.

    clean-fid resizes to the network's size by itself (bicubic, per image, in the loading processes). One loading
    process per core replaces its default of 12, as torch recommends.
    """
    inputs = Path(folder)
    spec = find_extractor_spec(network)
    peer = PeerNetwork(spec, inputs, 1 / 255)
    with np.load(inputs / "reference.npz") as statistics:
        reference = statistics["mu"], statistics["sigma"]
    size = (spec.input_size, spec.input_size)
    start = time.perf_counter()
    # clean-fid reads custom statistics from the folder of its installed package, which must not change.
    with patch.object(clean, "get_reference_statistics", lambda *_, **__: reference):
        distance = clean.compute_fid(
            str(inputs / "submission.zip"),
            dataset_name="reference",
            dataset_split="custom",
            custom_feat_extractor=peer,
            custom_fn_resize=make_resizer("PIL", False, "bicubic", size),
            num_workers=THREADS,
            device=torch.device("cpu"),
            verbose=False,
        )
    return _measured(start, peer) | {"fid": float(distance)}


def _measured(start: float, peer: PeerNetwork) -> Run:
    return {"seconds": time.perf_counter() - start, "forward_seconds": peer.watch.seconds}


def _pixels(archive: ZipFile, name: str) -> Tensor:
    with archive.open(name) as member, Image.open(member) as image:
        pixels: Tensor = pil_to_tensor(image.convert("RGB"))
    return pixels


@contextmanager
def _unpacked(path: Path) -> Iterator[Path]:
    """The zip's files in a temporary folder, for peers that cannot read a zip."""
    with TemporaryDirectory() as folder:
        unpack_archive(path, folder)
        yield Path(folder)


class _Listed(PeerNetwork):
    """The module that pytorch-fid expects. It returns a list of feature maps (b, d, 1, 1)."""

    def forward(self, images: Tensor) -> Any:
        return [super().forward(images)[:, :, None, None]]


def _registered(peer: PeerNetwork) -> type[Any]:
    """The extractor class that torch-fidelity expects."""

    class Plain(FeatureExtractorBase):  # type: ignore[misc] # the library has no types
        def __init__(self, name: str, features_list: list[str], **_: object) -> None:
            super().__init__(name, features_list)

        @staticmethod
        def get_provided_features_list() -> tuple[str, ...]:
            return ("pooled",)

        @staticmethod
        def get_default_feature_layer_for_metric(_: str) -> str:
            return "pooled"

        def forward(self, images: Tensor) -> tuple[Tensor, ...]:
            return (peer(images),)

    return Plain
