"""Types of arguments that several nouns share."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Literal

from kennel_client.api import open_file

Track = Literal["public", "private"]
Label = Literal["legitimate", "mgan", "sup", "ae", "aug", "other"]
RulingKind = Literal["keep", "disqualify", "waive"]
File = str | PathLike[str] | BinaryIO
"""A path, or a file that is open for reading bytes and can be sought in."""


@contextmanager
def opened(file: File) -> Iterator[BinaryIO]:
    """The file, which is closed at the end if it was a path; ``Unreadable`` if it cannot be opened."""
    with open_file(Path(file)) if isinstance(file, str | PathLike) else nullcontext(file) as content:
        yield content
