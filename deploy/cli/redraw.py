"""``kennel verify --generator``: draw the images of a receipt again, and compare them with those of the service."""

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError
from rich.console import Console

from kennel_client import Client
from kennel_client.api import open_file
from kennel_client.credentials import current_login
from kennel_client.errors import Invalid, Refused, Unreadable, naming
from kennel_client.progress import show_progress
from kennel_client.receipts import Forged
from scorer.archive import ImageSpec, list_images
from scorer.competitions.draw_secrets import Purpose
from scorer.generators import seeds
from scorer.generators.drawing import Pixels, pixels_sha256
from scorer.generators.latents import Latent
from scorer.generators.onnx_files import DeclaredLatent
from scorer.generators.sandbox.runner import check_in_sandbox
from scorer.lifecycle import STAGES, TrackKind
from scorer.progress import StageProgress
from scorer.submissions.receipts import Receipt, ReceiptDraw, ReceiptGenerator
from worker.runtime.decoded_images import decode_file
from worker.scoring.redraw import DrawnGenerator, RecordedDraw, draw_document, redraw


def redraw_receipt(
    contents: dict[str, Any], file: Path, *, draws: Path | None, threads: int | None, accept_weaker_sandbox: bool
) -> list[dict[str, Any]]:
    """Draw the images of a verified receipt again from the generator in an ONNX ``file``; the comparison of each draw.

    The folder ``draws`` has downloaded draws, and replaces the service. ``threads``: None for those of the receipt.
    Raises ``Unreadable`` for a receipt without draws, of a late entry or from before the final board, ``Forged`` if a
    secret is not the committed one, ``Invalid`` (``other-generator``) for another network, and as
    ``check_in_sandbox``.
    """
    receipt = _read_receipt(contents)
    recorded = receipt.generator
    if recorded is None:
        raise Unreadable("This receipt is for a zip of images, so it has no draws.")
    if receipt.late:
        raise Unreadable("The secret of late entries is never revealed, so their images can't be drawn again.")
    secrets = _read_secrets(receipt, recorded)
    results = []
    with show_progress(Console(stderr=True, highlight=False), STAGES) as progress:
        generator = _read_generator(file, recorded, accept_weaker=accept_weaker_sandbox, progress=progress)
        for track, draw in [(score.track, draw) for score in receipt.scores for draw in score.draws]:
            repeated = redraw(
                generator,
                _record(recorded, track, draw, secret=secrets[track]),
                partial(_load, receipt, generator.images, (track, draw), folder=draws),
                accept_weaker=accept_weaker_sandbox,
                progress=progress,
                threads=threads,
            )
            results.append(draw_document(repeated))
    return results


def _read_receipt(contents: dict[str, Any]) -> Receipt:
    try:
        return TypeAdapter(Receipt).validate_python(contents)
    except ValidationError as error:
        fault = error.errors()[0]
        raise Unreadable(
            "The signature is valid, but this version of kennel cannot read the receipt: "
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}."
        ) from None


def _read_secrets(receipt: Receipt, recorded: ReceiptGenerator) -> Mapping[Purpose, bytes]:
    """The revealed secrets."""
    try:
        revealed = {
            purpose: bytes.fromhex(shown.secret)
            for purpose, shown in recorded.secrets.items()
            if shown.secret is not None
        }
    except ValueError:
        raise Forged("The secrets of this receipt cannot be read.") from None
    for purpose, secret in revealed.items():
        if hashlib.sha256(secret).hexdigest() != recorded.secrets[purpose].sha256:
            raise Forged(f"The secret of {purpose} draws does not match the competition's commitment.")
    if not {"public", "private"} <= revealed.keys():
        raise Unreadable(
            "The final board reveals the secrets of the draws, and this receipt is older. After the final board is "
            f"published, get a new receipt (kennel receipt {receipt.submission}) and verify that."
        )
    return revealed


def _read_generator(
    file: Path, recorded: ReceiptGenerator, *, accept_weaker: bool, progress: StageProgress
) -> DrawnGenerator:
    with open_file(file) as opened:
        content = opened.read()
    with naming(file):
        try:
            checked = check_in_sandbox(
                content,
                DeclaredLatent(recorded.dimension, recorded.distribution, recorded.classes or 0),
                DeclaredLatent(),
                size=recorded.image_size,
                accept_weaker=accept_weaker,
                progress=progress,
            )
        except Invalid as error:
            if error.slug == "wrong-latent":
                text = "This is not the generator of the receipt: it has another latent dimension."
                raise Invalid("other-generator", text) from None
            raise
        if checked.network_sha256 != recorded.network_sha256:
            raise Invalid(
                "other-generator",
                f"This is not the generator of the receipt: the SHA-256 of its network is {checked.network_sha256}, "
                f"that of the receipt {recorded.network_sha256}.",
            )
    images = ImageSpec(count=recorded.image_count, size=recorded.image_size)
    return DrawnGenerator(content, _latent(recorded), recorded.values, images)


def _latent(recorded: ReceiptGenerator) -> Latent:
    return Latent(recorded.dimension, recorded.distribution, recorded.classes)


def _record(recorded: ReceiptGenerator, track: TrackKind, draw: ReceiptDraw, *, secret: bytes) -> RecordedDraw:
    digest = (
        seeds.private_digest(secret, draw.number)
        if track == "private"
        else seeds.public_digest(
            secret,
            network_sha256=recorded.network_sha256,
            latent=_latent(recorded),
            team_id=recorded.team_id,
            number=draw.number,
        )
    )
    machine = vars(draw).copy()
    number, sha256 = machine.pop("number"), machine.pop("pixels_sha256")
    return RecordedDraw(track, number, digest, sha256, machine)


def _load(
    receipt: Receipt, spec: ImageSpec, recorded: tuple[TrackKind, ReceiptDraw], *, folder: Path | None
) -> Pixels | None:
    """The images of a draw from the folder of downloaded draws, or else from the service; None without them. ``Forged``
    if they are not those of the receipt."""
    track, draw = recorded
    with TemporaryDirectory(prefix="kennel-verify-") as name:
        zip_path = _find(receipt, track, draw.number, folder=folder, to=Path(name) / "images.zip")
        if zip_path is None:
            return None
        decoded = Path(name) / "images.npy"
        with open_file(zip_path) as opened, naming(zip_path):
            decode_file(opened, list_images(opened, spec), spec, path=decoded, progress=lambda _: None)
        images: Pixels = np.load(decoded)
    if pixels_sha256(images) != draw.pixels_sha256:
        raise Forged(f"{zip_path.name} does not have the images of {track} draw {draw.number} of the receipt.")
    return images


def _find(receipt: Receipt, track: TrackKind, number: int, *, folder: Path | None, to: Path) -> Path | None:
    if folder is not None:
        return next(iter(sorted(folder.glob(f"*{track}-{number}.zip"))), None)
    login = current_login()
    if login.token is None or login.url != receipt.issuer:
        return None
    try:
        with Client(login.url, login.token) as client:
            return client.download_draw(receipt.submission, track, number, to=to)
    except Refused:
        return None
