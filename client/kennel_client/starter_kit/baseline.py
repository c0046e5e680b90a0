"""A baseline for a competition of generative image models: train on data/train.zip, write an entry.

    python baseline.py                  a mixture of normal distributions in principal components: seconds
    python baseline.py --model gan      a tiny GAN: trains for --seconds; needs torch

The entry is a zip of images or, if the competition asks for generators, an ONNX file from latents to images.

Replace `mixture` or `gan` with your own model. It is a function of training images (m, size, size, 3) in [0, 1], a
random generator and the training time in seconds. It returns a `Model`.
"""

import argparse
import io
import json
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

Images = NDArray[np.float32]
Sampler = Callable[[int], Images]
HERE = Path(__file__).parent
SUFFIXES = (".jpeg", ".jpg", ".png", ".webp")
BATCH = 64
COMPONENTS, MAX_PARTS, MIN_PART = 500, 8, 25
GAN_SIZE, LATENT = 32, 64
OPSET = 17


class Model(NamedTuple):
    sample: Sampler
    """From a number n to n new images."""
    export: Callable[[Path], None]
    """Write the generator to an ONNX file."""


def mixture(train: Images, rng: np.random.Generator, seconds: float) -> Model:  # noqa: ARG001
    """A mixture of normal distributions with one covariance, in the first principal components.

    Training images are halved repeatedly, at the median of the component with the largest variance. Each mean averages
    many images, so no single image is recognisable.
    """
    flat = train.reshape(len(train), -1)
    mean = flat.mean(axis=0)
    axes = np.linalg.svd(flat - mean, full_matrices=False)[2][: min(COMPONENTS, len(train) - 1)]
    parts = [(flat - mean) @ axes.T]
    while len(parts) < MAX_PARTS and len(parts[-1]) >= 2 * MIN_PART:
        parts = [half for part in parts for half in halves(part)]
    means = np.stack([part.mean(axis=0) for part in parts]) @ axes + mean
    means = np.repeat(means, 2, axis=0) if len(means) == 1 else means  # a one-hot class has two values or more
    within = np.concatenate([part - part.mean(axis=0) for part in parts]) / np.sqrt(len(train) - len(parts))
    _, deviations, directions = np.linalg.svd(within, full_matrices=False)
    # An image is (latent, one-hot part) @ matrix. All parts have about the same number of training images.
    matrix = np.concatenate([deviations[:, None] * directions @ axes, means]).astype(np.float32)

    def sample(count: int) -> Images:
        latent = rng.standard_normal((count, len(deviations)))
        part = np.eye(len(means))[rng.integers(len(means), size=count)]
        drawn = np.concatenate([latent, part], axis=1) @ matrix
        return np.float32(drawn).reshape(count, *train.shape[1:])

    def export(path: Path) -> None:
        write_linear(path, matrix, size=train.shape[1], classes=len(means))

    return Model(sample, export)


def write_linear(path: Path, matrix: Images, *, size: int, classes: int) -> None:
    """Write the generator z -> clip(z @ matrix), where z is a normal latent and a one-hot class."""
    from onnx import TensorProto, helper, numpy_helper, save  # noqa: PLC0415 - entries of images need none

    stored = {"matrix": matrix, "low": np.float32(0), "high": np.float32(1)}
    stored["shape"] = np.array([-1, size, size, 3])
    nodes = [
        helper.make_node("MatMul", ["z", "matrix"], ["sums"]),
        helper.make_node("Clip", ["sums", "low", "high"], ["pixels"]),
        helper.make_node("Reshape", ["pixels", "shape"], ["rows"]),
        helper.make_node("Transpose", ["rows"], ["images"], perm=[0, 3, 1, 2]),
    ]
    taken = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", len(matrix)])
    made = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", 3, size, size])
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in stored.items()]
    graph = helper.make_graph(nodes, "mixture", [taken], [made], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    helper.set_model_props(model, {"kennel.distribution": "normal", "kennel.classes": str(classes)})
    save(model, str(path))


def halves(part: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """The lower and the upper half of a part, by the component with the largest variance."""
    order = np.argsort(part[:, part.var(axis=0).argmax()])
    return [part[order[: len(part) // 2]], part[order[len(part) // 2 :]]]


def gan(train: Images, rng: np.random.Generator, seconds: float) -> Model:
    """A small convolutional GAN (Goodfellow et al. 2014, Radford et al. 2016) at 32 x 32 pixels, enlarged."""
    import torch  # noqa: PLC0415 - the mixture needs none
    from torch import nn  # noqa: PLC0415
    from torch.nn.functional import interpolate, softplus  # noqa: PLC0415

    torch.manual_seed(int(rng.integers(2**31)))
    real = interpolate(torch.from_numpy(train).permute(0, 3, 1, 2) * 2 - 1, GAN_SIZE, mode="area")
    generator = nn.Sequential(
        nn.Linear(LATENT, 128 * 4 * 4), nn.Unflatten(1, (128, 4, 4)), nn.BatchNorm2d(128), nn.ReLU(),
        nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh(),
    )  # fmt: skip
    critic = nn.Sequential(
        nn.Conv2d(3, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.LeakyReLU(0.2),
        nn.Conv2d(64, 128, 4, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(128 * 4 * 4, 1),
    )  # fmt: skip
    step = {
        network: torch.optim.Adam(network.parameters(), 2e-4, betas=(0.5, 0.999)) for network in (generator, critic)
    }
    end, trained = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        shown = real[torch.randint(len(real), (BATCH,))]
        shown = torch.where(torch.rand(BATCH, 1, 1, 1) < 0.5, shown, shown.flip(3))
        made = generator(torch.randn(BATCH, LATENT))
        loss = softplus(-critic(shown)).mean() + softplus(critic(made.detach())).mean()
        step[critic].zero_grad()
        torch.autograd.backward(loss)
        step[critic].step()
        loss = softplus(-critic(made)).mean()
        step[generator].zero_grad()
        torch.autograd.backward(loss)
        step[generator].step()
        trained += 1
    print(f"The GAN was trained on {trained} batches of {BATCH} images.")
    enlarged = nn.Sequential(generator, nn.Upsample(train.shape[1:3], mode="bilinear")).eval()

    def sample(count: int) -> Images:
        with torch.inference_mode():
            made = enlarged(torch.randn(count, LATENT))
            return np.asarray(made.permute(0, 2, 3, 1) / 2 + 0.5, np.float32)

    def export(path: Path) -> None:
        torch.onnx.export(
            enlarged,
            (torch.zeros(2, LATENT),),
            str(path),
            opset_version=OPSET,
            dynamo=False,
            input_names=["z"],
            output_names=["images"],
            dynamic_axes={"z": {0: "n"}, "images": {0: "n"}},
        )

    return Model(sample, export)


MODELS: dict[str, Callable[[Images, np.random.Generator, float], Model]] = {
    "mixture": mixture,
    "gan": gan,
}


def read_images(path: Path, size: int, limit: int) -> Images:
    """At most ``limit`` images of a zip, resized as a whole, not cropped, as in the service."""
    images = []
    with zipfile.ZipFile(path) as archive:
        names = [name for name in sorted(archive.namelist()) if name.lower().endswith(SUFFIXES) and not is_hidden(name)]
        for name in names[:limit]:
            picture = ImageOps.exif_transpose(Image.open(archive.open(name))).convert("RGB")
            images.append(np.asarray(picture.resize((size, size), Image.Resampling.BICUBIC), np.float32) / 255)
    return np.stack(images)


def is_hidden(name: str) -> bool:
    """Whether a part of the path begins with a dot: such files are not training images."""
    return any(part.startswith(".") for part in name.split("/"))


def batches(sample: Sampler, count: int) -> Iterator[NDArray[np.uint8]]:
    """Generate ``count`` 8-bit images, one batch at a time."""
    for done in range(0, count, BATCH):
        yield (sample(min(BATCH, count - done)).clip(0, 1) * 255).round().astype(np.uint8)


def write_entry(path: Path, sample: Sampler, count: int) -> None:
    """Write a zip of PNGs, the format of an entry."""
    with zipfile.ZipFile(path, "w") as archive:
        images = (image for batch in batches(sample, count) for image in batch)
        for number, image in enumerate(images):
            png = io.BytesIO()
            Image.fromarray(image).save(png, "png")
            archive.writestr(f"{number:05}.png", png.getvalue())


def main() -> None:
    competition = json.loads((HERE / "competition.json").read_text(encoding="utf-8"))
    generators = competition["entries"] == "generator"
    parser = argparse.ArgumentParser(description="Train a baseline and write an entry.")
    parser.add_argument("--model", choices=MODELS, default="mixture")
    parser.add_argument("--train", type=Path, default=HERE / "data" / "train.zip", help="A zip of training images.")
    parser.add_argument("--output", type=Path, default=HERE / ("generator.onnx" if generators else "submission.zip"))
    parser.add_argument("--count", type=int, default=competition["image_count"], help="Number of images to generate.")
    parser.add_argument("--limit", type=int, default=2000, help="Number of training images to read.")
    parser.add_argument("--seconds", type=float, default=60.0, help="How long to train the GAN.")
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    train = read_images(wanted.train, competition["image_size"], wanted.limit)
    model = MODELS[wanted.model](train, np.random.default_rng(wanted.seed), wanted.seconds)
    if generators:
        model.export(wanted.output)
        print(f"{wanted.output} is a generator, trained on {len(train)} images.")
    else:
        write_entry(wanted.output, model.sample, wanted.count)
        print(f"{wanted.output} has {wanted.count} images, made from {len(train)} training images.")


if __name__ == "__main__":
    main()
