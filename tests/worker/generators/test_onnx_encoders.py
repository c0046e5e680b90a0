"""Encoders uploaded with a generator: reading, refusals, and audits that use them."""

import io
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.limits import GeneratorLimits
from scorer.generators.onnx.encoder import read_encoder
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit, audit_from
from scorer.generators.recovery.search import to_targets
from scorer.generators.sandbox import exchange
from scorer.generators.sandbox.audit_task import run_audit
from scorer.generators.sandbox.runner import audit_in_sandbox
from tests.worker.generators.onnx_files import export_generator

pytestmark = pytest.mark.usefixtures("one_thread")

SIZE = 4
LATENT = Latent(48)


class Blank(nn.Module):
    """A decoder that maps every latent coordinate to one pixel value."""

    def forward(self, points: Tensor) -> Tensor:
        return torch.tanh(points).reshape(-1, 3, SIZE, SIZE)


class Half(nn.Module):
    """The inverse of ``Blank`` for images that are not too bright."""

    def forward(self, images: Tensor) -> Tensor:
        y = images.flatten(1).clamp(-0.6, 0.6)
        return 0.5 * torch.log((1 + y) / (1 - y))


def export_encoder(encoder: nn.Module, size: int = SIZE, *, open_batch: bool = True) -> bytes:
    written = io.BytesIO()
    axes = {"y": {0: "n"}, "z": {0: "n"}} if open_batch else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            encoder.eval(),
            (torch.zeros(2, 3, size, size),),
            written,  # type: ignore[arg-type] # it also takes files
            opset_version=17,
            dynamo=False,
            input_names=["y"],
            output_names=["z"],
            dynamic_axes=axes,
        )
    return written.getvalue()


def images(seed: int, low: int, high: int, count: int = 12) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(low, high, (count, SIZE, SIZE, 3), dtype=np.uint8)


def test_a_read_encoder_equals_torchs() -> None:
    convolutional = nn.Sequential(nn.Conv2d(3, 5, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(20, 48))
    some = torch.linspace(-1, 1, 5 * 48).reshape(5, 3, SIZE, SIZE)
    for encoder in (convolutional, Half()):
        latents = read_encoder(export_encoder(encoder), LATENT, size=SIZE)(some)
        assert torch.allclose(latents, encoder(some), atol=1e-5)


@pytest.mark.parametrize(
    ("content", "slug"),
    [
        (lambda: export_encoder(Half(), size=8), "wrong-encoder"),
        (lambda: export_encoder(nn.Sequential(nn.Flatten(), nn.Linear(48, 7))), "wrong-encoder"),
        (lambda: export_encoder(Half(), open_batch=False), "wrong-encoder"),
        (lambda: export_generator(Blank(), 48), "wrong-encoder"),
        (lambda: b"\x80\x04 a pickle", "not-onnx"),
    ],
)
def test_invalid_encoders_are_refused(content: object, slug: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_encoder(content(), LATENT, size=SIZE)  # type: ignore[operator]
    assert refused.value.slug == slug


def test_an_audit_request_may_contain_an_encoder(tmp_path: Path) -> None:
    for encoder in (None, b"encoder"):
        inputs = exchange.AuditInputs(b"generator", images(0, 0, 9), images(1, 0, 9), encoder)
        exchange.write_inputs(tmp_path, inputs)
        assert exchange.read_inputs(tmp_path).encoder == encoder


class Negative(nn.Module):
    """One half of a CycleGAN: it maps images to another domain, here to negatives."""

    def forward(self, images: Tensor) -> Tensor:
        return -images


class Back(nn.Module):
    """The other half, which is right for images that are not too bright. With ``sigmoid``, values are in [0, 1]."""

    def __init__(self, sign: float = -1.0, *, sigmoid: bool = False) -> None:
        super().__init__()
        self.sign, self.sigmoid = sign, sigmoid

    def forward(self, images: Tensor) -> Tensor:
        made = self.sign * images.clamp(-0.6, 0.6)
        return (made + 1.0) / 2.0 if self.sigmoid else made


def audited(content: bytes, encoder: bytes | None) -> Audit:
    """Audit an image-to-image network in this process. It knows only the training images' brightness."""
    plan = AuditPlan(train=12, held_out=12)
    inputs = exchange.AuditInputs(content, images(0, 60, 196), images(1, 0, 256), encoder)
    return run_audit(inputs, None, plan, limits=GeneratorLimits(), progress=lambda *_: None)


@pytest.mark.parametrize(
    ("content", "encoder"),
    [
        pytest.param(lambda: export_encoder(Back()), lambda: export_encoder(Negative()), id="CycleGAN"),
        pytest.param(lambda: export_encoder(Back(1.0)), lambda: None, id="autoencoder in one file"),
        pytest.param(
            lambda: export_encoder(Back(sigmoid=True)), lambda: export_encoder(Negative()), id="values from 0 to 1"
        ),
    ],
)
def test_image_to_image_networks_are_audited(content: Callable[[], bytes], encoder: Callable[[], bytes | None]) -> None:
    """The error of G2(G1(y)), the paper's section 3.1. There is no search, so there are no targets of its own."""
    audit = audited(content(), encoder())
    report = audit.report()
    assert (report["verdict"], report["latent"], report["targets"]) == ("copies", None, {"train": 12, "held_out": 12})
    assert audit.errors["train"].max() < 1e-9
    y = to_targets(audit.pairs["held_out"].target)
    expected = (y.clamp(-0.6, 0.6) - y).double().square().mean(dim=(1, 2, 3))
    assert audit.pairs["held_out"].error == pytest.approx(expected.numpy(), rel=1e-4)
    assert audit_from(report, audit.arrays()).report() == report


@pytest.mark.parametrize(
    ("content", "encoder", "slug"),
    [
        (lambda: export_encoder(Half()), None, "wrong-encoder"),
        (lambda: export_encoder(nn.Upsample(scale_factor=2)), None, "wrong-encoder"),
        (lambda: export_generator(Blank(), 48), None, "wrong-encoder"),
        (lambda: export_encoder(Back()), lambda: export_encoder(Half()), "wrong-encoder"),
        (lambda: export_encoder(nn.Conv2d(3, 3, 1, bias=False)), lambda: b"PK\3\4", "not-onnx"),
    ],
)
def test_invalid_image_to_image_networks_are_refused(
    content: Callable[[], bytes], encoder: Callable[[], bytes] | None, slug: str
) -> None:
    with pytest.raises(Invalid) as refused:
        audited(content(), encoder and encoder())
    assert refused.value.slug == slug


def test_the_audit_by_an_encoder_in_the_sandbox() -> None:
    """The encoder is right for training images and wrong for held-out ones, and the audit finds this difference."""
    train, held_out = images(0, 60, 196), images(1, 0, 256)
    report = audit_in_sandbox(
        export_generator(Blank(), 48),
        LATENT,
        train,
        held_out=held_out,
        plan=AuditPlan(),
        encoder=export_encoder(Half()),
    ).report()
    assert report["verdict"] == "copies"
    assert report["measured"]["generated_verbatim"] is None
    assert report["findings"][2]["value"] == pytest.approx(0.0, abs=1e-6)
    assert report["provenance"]["sandbox"]
