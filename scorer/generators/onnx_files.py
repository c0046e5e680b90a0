"""Rules for ONNX files of generators that need no ONNX reader: limits, other formats' magic bytes, export advice."""

from typing import Literal

from scorer.errors import Invalid

Distribution = Literal["normal", "uniform"]
MAX_LATENT_DIMENSION = 4096
"""No known generator has a larger latent space; the search stores about fifty such points for every target."""
MIN_OPSET, MAX_OPSET = 13, 22
RECOMMENDED_OPSET = 17
MAGIC_BYTES = 8
"""Bytes from the start of a file that identify another format."""
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
"""Other formats by magic bytes, as phrases for messages. Most of them run code when they are read."""


def export_command(dimension: int | None) -> str:
    """The line of Python that exports ``generator``, a module that takes latents (n, d), or images where there is no
    ``dimension``, as a readable ONNX file."""
    shape = "3, size, size" if dimension is None else dimension
    return (
        f'torch.onnx.export(generator.eval(), (torch.zeros(2, {shape}),), "generator.onnx", '
        f'opset_version={RECOMMENDED_OPSET}, dynamo=False, input_names=["z"], output_names=["images"], '
        'dynamic_axes={"z": {0: "n"}, "images": {0: "n"}})'
    )


def export_advice(dimension: int | None) -> str:
    """The advice at the end of messages about a file's form."""
    return f"With PyTorch, this makes a file that can be read: {export_command(dimension)}"


def require_onnx(start: bytes, dimension: int | None) -> None:
    """Raise ``Invalid`` (``not-onnx``) if the first :data:`MAGIC_BYTES` bytes of a file, or more, are another format's.
    ``dimension`` of the latent is for advice only.
    """
    if not start:
        raise Invalid("not-onnx", f"The file is empty. {export_advice(dimension)}")
    for magic, format_phrase in OTHER_FORMATS.items():
        if start.startswith(magic):
            raise Invalid(
                "not-onnx",
                f"This is {format_phrase}, not ONNX; such files are never opened. {export_advice(dimension)}",
            )
