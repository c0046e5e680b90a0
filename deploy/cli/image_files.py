"""Local zips and folders of images, for commands that need no service."""

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from kennel_client.api import open_file
from kennel_client.archive.zip_writing import zip_folder
from kennel_client.errors import naming
from scorer.archive import ReferenceImages, list_references, read_references, require_two
from scorer.progress import ProgressCallback
from worker.runtime.decoded_images import arrays_in


def read_images(
    path: Path, size: int, folder: Path, *, progress: ProgressCallback, two: bool = False
) -> ReferenceImages:
    """Read the images in a zip or folder as the service does: (n, size, size, 3), in canonical order, memory-mapped
    from files in ``folder``. Raises as ``read_references`` does, with the file's name in the message; with ``two`` also
    as ``require_two``.
    """
    zip_path, ignored = path, None
    if path.is_dir():
        zip_path = folder / f"{uuid4().hex}.zip"
        with zip_path.open("w+b") as file:
            ignored = zip_folder(path, file)
    with open_file(zip_path) as file, naming(path):
        if two:
            require_two(list_references(file))
        images = read_references(file, size, lambda done, of: progress(done / of), allocate=arrays_in(folder))
    return images if ignored is None else replace(images, ignored=ignored)
