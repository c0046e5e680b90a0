"""How a generator is to be exported, as refusals print it."""

OLDEST_OPSET, NEWEST_OPSET = 13, 22
RECOMMENDED_OPSET = 17


def export_command(dimension: int) -> str:
    """The line of Python that makes a file we can read of ``generator``, a module that takes latents (n, d)."""
    return (
        f'torch.onnx.export(generator.eval(), (torch.zeros(2, {dimension}),), "generator.onnx", '
        f'opset_version={RECOMMENDED_OPSET}, dynamo=False, input_names=["z"], output_names=["images"], '
        'dynamic_axes={"z": {0: "n"}, "images": {0: "n"}})'
    )


def how(dimension: int) -> str:
    """The advice that refusals of form end with."""
    return f"With PyTorch, this makes a file that can be read: {export_command(dimension)}"
