"""What may be handed in as a generator, known without reading ONNX: how such a file is made, and what is none."""

from typing import Literal

from scorer.errors import Invalid

Distribution = Literal["normal", "uniform"]
MAX_LATENT_DIMENSION = 4096
"""No generator known has a larger latent space; the search keeps about fifty such points for every target."""
MIN_OPSET, MAX_OPSET = 13, 22
RECOMMENDED_OPSET = 17
MAGIC_BYTES = 8
"""Bytes from the start of a file that tell what it is not."""
OTHER_FORMATS = {
    b"PK": "a zip, such as torch.save and torch.export.save write (.pt, .pt2)",
    b"\x80\x02": "a Python pickle",
    b"\x80\x03": "a Python pickle",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "packed with gzip",
    b"\x93NUMPY": "a NumPy array",
}
"""What people have instead of ONNX, by how it begins. Most of it runs code when it is read."""


def export_command(dimension: int) -> str:
    """The line of Python that makes a file we can read of ``generator``, a module that takes latents (n, d)."""
    return (
        f'torch.onnx.export(generator.eval(), (torch.zeros(2, {dimension}),), "generator.onnx", '
        f'opset_version={RECOMMENDED_OPSET}, dynamo=False, input_names=["z"], output_names=["images"], '
        'dynamic_axes={"z": {0: "n"}, "images": {0: "n"}})'
    )


def export_advice(dimension: int) -> str:
    """The advice that refusals of form end with."""
    return f"With PyTorch, this makes a file that can be read: {export_command(dimension)}"


def require_onnx(start: bytes, dimension: int) -> None:
    """``Invalid`` (``not-onnx``) if the first :data:`SEEN` bytes of a file, or more, are those of something else.
    ``dimension`` of the latent is for advice only."""
    if not start:
        raise Invalid("not-onnx", f"The file is empty. {export_advice(dimension)}")
    for sign, what in OTHER_FORMATS.items():
        if start.startswith(sign):
            raise Invalid(
                "not-onnx", f"This is {what}, not ONNX; such files are never opened. {export_advice(dimension)}"
            )
