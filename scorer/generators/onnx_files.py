"""Rules for ONNX files of generators that need no ONNX reader: limits, magic bytes of other formats, export advice."""

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
    b"PK": "a zip, as written by torch.save or torch.export.save (.pt, .pt2)",
    b"\x80\x02": "a Python pickle",
    b"\x80\x03": "a Python pickle",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "packed with gzip",
    b"\x93NUMPY": "a NumPy array",
}
"""Other formats with their magic bytes, as phrases for messages. Most of them run code when they are read."""


def export_command(dimension: int | None) -> str:
    """The Python line that exports ``generator`` as a readable ONNX file. The module takes latents (n, d), or images if
    ``dimension`` is None."""
    shape = "3, size, size" if dimension is None else dimension
    return (
        f'torch.onnx.export(generator.eval(), (torch.zeros(2, {shape}),), "generator.onnx", '
        f'opset_version={RECOMMENDED_OPSET}, dynamo=False, input_names=["z"], output_names=["images"], '
        'dynamic_axes={"z": {0: "n"}, "images": {0: "n"}})'
    )


def export_advice(dimension: int | None) -> str:
    return f"With PyTorch, export a supported file like this: {export_command(dimension)}"


def require_onnx(start: bytes, dimension: int | None) -> None:
    """Raise ``Invalid`` (``not-onnx``) if ``start``, at least the first :data:`MAGIC_BYTES` bytes of a file, belongs to
    another format. ``dimension``, that of the latent, is only for the advice."""
    if not start:
        raise Invalid("not-onnx", f"The file is empty. {export_advice(dimension)}")
    for magic, format_phrase in OTHER_FORMATS.items():
        if start.startswith(magic):
            raise Invalid(
                "not-onnx",
                f"This file is {format_phrase}, not ONNX. Kennel never opens such files. {export_advice(dimension)}",
            )
