"""Encoders uploaded beside a generator: what is read of them, what is refused, and audits that use one."""

import io
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.onnx.encoder import read_encoder
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.sandbox import exchange
from scorer.generators.sandbox.runner import audit_in_sandbox
from tests.worker.generators.onnx_files import export_generator

pytestmark = pytest.mark.usefixtures("one_thread")

SIZE = 4
LATENT = Latent(48)


class Blank(nn.Module):
    """A decoder that only reshapes: an image is its own latent point, halved."""

    def forward(self, points: Tensor) -> Tensor:
        return torch.tanh(points).reshape(-1, 3, SIZE, SIZE)


class Half(nn.Module):
    """Its encoder, which undoes it for images that are not too bright."""

    def forward(self, images: Tensor) -> Tensor:
        y = images.flatten(1).clamp(-0.6, 0.6)
        return 0.5 * torch.log((1 + y) / (1 - y))


def file_of(encoder: nn.Module, size: int = SIZE, *, open_batch: bool = True) -> bytes:
    written = io.BytesIO()
    axes = {"y": {0: "n"}, "z": {0: "n"}} if open_batch else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            encoder.eval(),
            (torch.zeros(2, 3, size, size),),
            written,  # type: ignore[arg-type] # it takes files, too
            opset_version=17,
            dynamo=False,
            input_names=["y"],
            output_names=["z"],
            dynamic_axes=axes,
        )
    return written.getvalue()


def images(seed: int, low: int, high: int, count: int = 12) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(low, high, (count, SIZE, SIZE, 3), dtype=np.uint8)


def test_an_encoder_is_read_as_torch_made_it() -> None:
    convolutional = nn.Sequential(nn.Conv2d(3, 5, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(20, 48))
    some = torch.linspace(-1, 1, 5 * 48).reshape(5, 3, SIZE, SIZE)
    for encoder in (convolutional, Half()):
        latents = read_encoder(file_of(encoder), LATENT, size=SIZE)(some)
        assert torch.allclose(latents, encoder(some), atol=1e-5)


@pytest.mark.parametrize(
    ("content", "slug"),
    [
        (lambda: file_of(Half(), size=8), "wrong-encoder"),
        (lambda: file_of(nn.Sequential(nn.Flatten(), nn.Linear(48, 7))), "wrong-encoder"),
        (lambda: file_of(Half(), open_batch=False), "wrong-encoder"),
        (lambda: export_generator(Blank(), 48), "wrong-encoder"),
        (lambda: b"\x80\x04 a pickle", "not-onnx"),
    ],
)
def test_what_is_no_encoder_of_these_images_is_refused(content: object, slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_encoder(content(), LATENT, size=SIZE)  # type: ignore[operator]
    assert refused.value.slug == slug


def test_an_audit_request_may_contain_one(tmp_path: Path) -> None:
    request = exchange.AuditRequest({}, {}, None, {})
    exchange.write_inputs(tmp_path, b"generator", images(0, 0, 9), images(1, 0, 9), request)
    assert exchange.read_encoder_input(tmp_path) is None
    exchange.write_inputs(tmp_path, b"generator", images(0, 0, 9), images(1, 0, 9), request, encoder=b"encoder")
    assert exchange.read_encoder_input(tmp_path) == b"encoder"


@pytest.mark.heavy
def test_the_audit_by_an_encoder_in_the_sandbox() -> None:
    """Training images lie where the encoder is right, held-out ones where it is not: the audit sees just that."""
    train, held_out = images(0, 60, 196), images(1, 0, 256)
    report = audit_in_sandbox(
        export_generator(Blank(), 48), LATENT, train, held_out, plan=AuditPlan(), encoder=file_of(Half())
    ).report()
    assert report["verdict"] == "copies"
    assert report["measured"]["generated_verbatim"] is None
    assert report["findings"][2]["value"] == pytest.approx(0.0, abs=1e-6)
    assert report["provenance"]["sandbox"]
