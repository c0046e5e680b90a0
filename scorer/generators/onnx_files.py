"""Rules for ONNX files of generators that need no ONNX reader: limits, magic bytes of other formats, export advice."""

from dataclasses import dataclass
from typing import Literal, get_args

from kennel_client import names
from scorer.errors import Invalid

Distribution = names.Distribution
ValueRange = Literal["tanh", "sigmoid"]
"""The range of the images' values: ``tanh`` is [-1, 1], ``sigmoid`` is [0, 1]."""
DISTRIBUTION_KEY, CLASSES_KEY = "kennel.distribution", "kennel.classes"
"""Keys of ONNX metadata that declare the latent space: a distribution, and the number of classes (0: no class)."""
MAX_LATENT_DIMENSION = 4096
"""No known generator has a larger latent space; the search stores about fifty such points for every target."""
MAX_CLASSES = 1000
"""The most classes of a one-hot class after the latent."""
MIN_OPSET, MAX_OPSET = 13, 22
RECOMMENDED_OPSET = 17
SUPPORTED_OPERATORS = (
    "Abs", "Add", "And", "AveragePool", "BatchNormalization", "Cast", "Ceil", "Celu", "Clip", "Concat", "Constant",
    "ConstantOfShape", "Conv", "ConvTranspose", "Cos", "DepthToSpace", "Div", "Dropout", "Elu", "Equal", "Erf", "Exp",
    "Expand", "Flatten", "Floor", "Gather", "Gelu", "Gemm", "GlobalAveragePool", "Greater", "GreaterOrEqual",
    "GroupNormalization", "HardSigmoid", "HardSwish", "Identity", "InstanceNormalization", "LayerNormalization",
    "LeakyRelu", "Less", "LessOrEqual", "Log", "LogSoftmax", "MatMul", "Max", "Min", "Mish", "Mod", "Mul", "Neg",
    "Not", "Or", "PRelu", "Pad", "Pow", "Range", "Reciprocal", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin",
    "ReduceProd", "ReduceSum", "ReduceSumSquare", "Relu", "Reshape", "Resize", "Selu", "Shape", "Sigmoid", "Sin",
    "Size", "Slice", "Softmax", "Softplus", "Softsign", "SpaceToDepth", "Split", "Sqrt", "Squeeze", "Sub", "Sum",
    "Tanh", "ThresholdedRelu", "Tile", "Transpose", "Unsqueeze", "Where",
)  # fmt: skip
"""Names of :data:`scorer.generators.onnx.operators.OPERATORS`, which needs torch."""
MAGIC_BYTES = 8
"""Bytes from the start of a file that identify another format."""
OTHER_FORMATS = {
    b"PK": "a zip, of images or as written by torch.save or torch.export.save (.pt, .pt2)",
    b"\x80\x02": "a Python pickle",
    b"\x80\x03": "a Python pickle",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "packed with gzip",
    b"\x93NUMPY": "a NumPy array",
}
"""Other formats with their magic bytes, as phrases for messages. Most of them run code when they are read."""


def require_latent(dimension: int, distribution: str, classes: int | None) -> None:
    """Raise ``Invalid`` (``bad-latent``) for a dimension outside 1..4096, fewer than 2 or more than 1,000 classes, or
    an unknown distribution."""
    if not 1 <= dimension <= MAX_LATENT_DIMENSION:
        raise Invalid(
            "bad-latent", f"The latent dimension is {dimension}; it must be from 1 to {MAX_LATENT_DIMENSION}."
        )
    if distribution not in get_args(Distribution):
        known = ", ".join(get_args(Distribution))
        raise Invalid("bad-latent", f"The latent distribution is {distribution}; it must be one of {known}.")
    if classes is not None and not 2 <= classes <= MAX_CLASSES:
        raise Invalid("bad-latent", f"The latent has {classes} classes; it must be from 2 to {MAX_CLASSES:,}.")


@dataclass(frozen=True)
class DeclaredLatent:
    """What an upload, its file or its competition says about a latent space; None where it says nothing.

    Raises the errors of :func:`require_latent`.
    """

    dimension: int | None = None
    distribution: Distribution | None = None
    classes: int | None = None
    """0: no class."""

    def __post_init__(self) -> None:
        dimension = 1 if self.dimension is None else self.dimension
        require_latent(dimension, self.distribution or "normal", self.classes or None)


def export_command(dimension: int | str | None) -> str:
    """The Python line that exports ``generator`` as a readable ONNX file. The module takes latents (n, d), or images if
    ``dimension`` is None. An unknown dimension is a name."""
    shape = "3, size, size" if dimension is None else dimension
    return (
        f'torch.onnx.export(generator.eval(), (torch.zeros(2, {shape}),), "generator.onnx", '
        f'opset_version={RECOMMENDED_OPSET}, dynamo=False, input_names=["z"], output_names=["images"], '
        'dynamic_axes={"z": {0: "n"}, "images": {0: "n"}})'
    )


def export_advice(dimension: int | str | None) -> str:
    return f"With PyTorch, export a supported file like this: {export_command(dimension)}"


def require_onnx(start: bytes, dimension: int | str | None) -> None:
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
