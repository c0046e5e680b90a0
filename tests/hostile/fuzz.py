"""``python -m tests.hostile.fuzz zip|onnx [RUNS]``: inputs that atheris mutates to cover the readers.

The seeded generators only try known attacks. This module tries inputs that reach new lines. ``atheris`` is not a
dependency of the project and must be installed separately, because it has wheels for few versions of Python.
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
    from tests.hostile.judge import read_accepted_images
    from tests.hostile.onnx_models import hostile_onnx
    from tests.hostile.onnx_reading import images_by_reader
    from tests.hostile.zips import hostile_zip

RUNS = 100_000
SEEDS = 200
"""The number of generated inputs that atheris starts with."""
MAX_BYTES = 1 << 15
MAX_MEGABYTES = 4096
READERS: dict[str, tuple[Callable[[bytes], Any], Callable[[int], Any]]] = {
    "zip": (read_accepted_images, hostile_zip),
    "onnx": (images_by_reader, hostile_onnx),
}


def main(kind: str, runs: int = RUNS) -> None:
    """Try this many inputs. An input that is neither read nor refused by name ends the process."""
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
