"""``kennel draw`` and ``kennel check`` of a generator: what the service does with an entry, in the same sandbox."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any
from zipfile import ZipFile

from deploy.cli.generators import IMAGES
from kennel_client.api import open_file
from kennel_client.cli.connection import err, load_competition
from kennel_client.cli.formatting import format_duration
from kennel_client.cli.output import Answer
from kennel_client.errors import Invalid, naming
from kennel_client.progress import show_progress
from scorer.archive import write_images
from scorer.competitions.spec import DrawSpec
from scorer.findings.support_size import support_sentence
from scorer.generators.drawing import Pixels
from scorer.generators.latents import Latent
from scorer.generators.limits import CHECK_LIMITS, DrawingTime
from scorer.generators.onnx_files import DeclaredLatent
from scorer.generators.sandbox.runner import GeneratorCheck, check_in_sandbox, draw_in_sandbox
from scorer.generators.seeds import digest_of_seed
from scorer.lifecycle import STAGES
from scorer.metrics.copying.support_size import estimate_support
from scorer.progress import StageProgress


@dataclass(frozen=True)
class OpenedGenerator:
    """A generator's file, and what is known about its latent space."""

    content: bytes
    declared: DeclaredLatent
    size: int | None
    """That of the competition."""
    draws: DrawSpec
    """Those of the competition."""
    accept_weaker: bool

    def check(self, progress: StageProgress, time: DrawingTime | None = None) -> GeneratorCheck:
        """The service's check, without its secret latents."""
        return check_in_sandbox(
            self.content,
            self.declared,
            DeclaredLatent(distribution=self.draws.distribution, classes=self.draws.classes),
            size=self.size,
            time=time,
            limits=CHECK_LIMITS,
            accept_weaker=self.accept_weaker,
            progress=progress,
        )


def open_generator(
    file: Path,
    view: Mapping[str, Any] | None,
    *,
    size: int | None,
    declared: Mapping[str, Any],
    accept_weaker_sandbox: bool,
) -> OpenedGenerator:
    """Read a file. ``view``: the competition, if there is one."""
    with open_file(file) as opened:
        content = opened.read()
    draws = DrawSpec() if view is None else DrawSpec(**view["draws"])
    return OpenedGenerator(content, DeclaredLatent(**declared), size, draws, accept_weaker_sandbox)


def check_generator(
    file: Path, *, count: int, size: int | None, view: Mapping[str, Any] | None, **options: Any
) -> Answer:
    """Check the generator in an ONNX file, and predict the time of all draws of ``count`` images."""
    generator = open_generator(file, view, size=size, **options)
    draws = generator.draws.public + generator.draws.private
    time = DrawingTime(draws * count, generator.draws.minutes)
    with show_progress(err, STAGES) as progress:
        checked = generator.check(progress, time)
    seconds = time.predict(checked.seconds_per_image)
    side = checked.fixed_images.shape[1]
    document = {
        "file": str(file),
        "network_sha256": checked.network_sha256,
        "latent": asdict(checked.latent),
        "values": checked.values,
        "size": side,
        "count": count,
        "draws": draws,
        "seconds_per_image": checked.seconds_per_image,
        "seconds": seconds,
        "limit_seconds": 60 * generator.draws.minutes,
    }
    lines = (
        f"{file}: a generator of {side} x {side} pixels from {_describe(checked.latent)}.",
        f"The SHA-256 of its network is {checked.network_sha256}.",
        f"{draws} draws of {count:,} images take about {format_duration(seconds)} on this machine "
        f"({1000 * checked.seconds_per_image:,.1f} ms per image). The limit is "
        f"{format_duration(60 * generator.draws.minutes)}.",
    )
    return Answer(document, "\n".join(lines))


def _describe(latent: Latent) -> str:
    """A latent space in words."""
    classes = f" and one of {latent.classes:,} classes" if latent.classes else ""
    return f"{latent.dimension:,} {latent.distribution} coordinates{classes}"


def draw_generator(
    file: Path,
    *,
    seed: str,
    count: int | None,
    out: Path | None,
    competition: str | None,
    declared: Mapping[str, Any],
    accept_weaker_sandbox: bool,
) -> Answer:
    """Draw the images of a seed into a zip or folder."""
    view = None if competition is None else load_competition(competition)
    size = None if view is None else view["image_size"]
    generator = open_generator(file, view, size=size, declared=declared, accept_weaker_sandbox=accept_weaker_sandbox)
    count = count or (IMAGES if view is None else view["image_count"])
    out, digest = out or Path(f"{file.stem}.zip"), digest_of_seed(seed)
    with naming(file), show_progress(err, STAGES) as progress, TemporaryDirectory(prefix="kennel-draw-") as folder:
        checked = generator.check(progress)
        drawn = draw_in_sandbox(
            generator.content,
            checked.latent,
            digest,
            count=count,
            size=checked.fixed_images.shape[1],
            values=checked.values,
            out=Path(folder) / "images.npy",
            accept_weaker=accept_weaker_sandbox,
            progress=progress,
        )
        write_drawn(drawn.images, out)
        support, sentence = find_support(drawn.images)
    document = {
        "file": str(file),
        "out": str(out),
        "digest": digest.hex(),
        "count": count,
        "latent": asdict(checked.latent),
        "support": support,
        "provenance": drawn.provenance,
    }
    return Answer(document, f"{out}: {count:,} images. {sentence}")


def write_drawn(images: Pixels, out: Path) -> None:
    """Write images as the service stores those of a draw: into a zip of PNGs, or its members into a folder."""
    if out.suffix.lower() == ".zip":
        with out.open("wb") as file:
            write_images(images, file)
        return
    with TemporaryFile() as packed:
        write_images(images, packed)
        with ZipFile(packed) as archive:
            archive.extractall(out)


def find_support(images: Pixels) -> tuple[dict[str, Any] | None, str]:
    """The support size of a draw as a document, and a sentence about equal and nearly equal images. The document is
    None if there are too few images."""
    try:
        support = estimate_support([images])
    except Invalid as error:
        return None, error.message
    return asdict(support), support_sentence(support)
