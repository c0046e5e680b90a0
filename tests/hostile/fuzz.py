"""``python -m tests.hostile.fuzz zip|onnx [RUNS]``: inputs that atheris grows by the coverage of our readers.

A seeded generator tries what somebody has thought of; this tries what reaches lines that no input reached before.
``atheris`` is installed beside the project, not with it: it has wheels for few versions of Python.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import atheris  # type: ignore[import-untyped]

with atheris.instrument_imports(include=["kennel_client", "scorer.archive", "scorer.generators.onnx"]):
    from scorer.errors import KennelError
    from tests.hostile.judge import images_of
    from tests.hostile.onnx_models import hostile_onnx
    from tests.hostile.onnx_reading import images_by_reader
    from tests.hostile.zips import hostile_zip

RUNS = 100_000
SEEDS = 200
"""Inputs of the generator that it begins with."""
MAX_BYTES = 1 << 15
MAX_MEGABYTES = 4096
READERS: dict[str, tuple[Callable[[bytes], Any], Callable[[int], Any]]] = {
    "zip": (images_of, hostile_zip),
    "onnx": (images_by_reader, hostile_onnx),
}


def main(kind: str, runs: int = RUNS) -> None:
    """Run until so many inputs were tried, or until one is neither read nor refused by name: that ends the process."""
    read, seed = READERS[kind]

    def try_input(content: bytes) -> None:
        with suppress(KennelError):
            read(content)

    with TemporaryDirectory() as folder:
        for number in range(SEEDS):
            Path(folder, str(number)).write_bytes(seed(number).content)
        limits = (f"-runs={runs}", f"-max_len={MAX_BYTES}", f"-rss_limit_mb={MAX_MEGABYTES}", "-timeout=20", "-seed=1")
        atheris.Setup([sys.argv[0], *limits, folder], try_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
