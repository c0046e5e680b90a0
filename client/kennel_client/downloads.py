"""A downloaded file, which gets its name only when it is complete."""

import hashlib
from pathlib import Path
from types import TracebackType
from typing import Self

from kennel_client.errors import Refused, Unreadable


class ArrivingFile:
    """Writes to a temporary file next to ``path``, which replaces ``path`` at the end of the block. Raises ``Refused``
    if the SHA-256 is wrong, ``Unreadable`` if the file cannot be written. With ``resumed``, an interrupted block keeps
    its bytes and the next one continues. ``arrived`` is the number of bytes so far.
    """

    def __init__(self, path: Path, sha256: str | None, *, resumed: bool = False) -> None:
        self._path = path
        self._part = path.with_name(f"{path.name}.part")
        self._expected = sha256
        self._digest = hashlib.sha256()
        self._resumed = resumed
        self.arrived = 0

    def __enter__(self) -> Self:
        try:
            self._part.parent.mkdir(parents=True, exist_ok=True)
            if self._resumed and self._part.exists():
                with self._part.open("rb") as earlier:
                    self._digest = hashlib.file_digest(earlier, "sha256")
                    self.arrived = earlier.tell()
            self._file = self._part.open("ab" if self._resumed else "wb")
        except OSError as error:
            raise Unreadable(f"{self._path} cannot be written: {error.strerror}.") from None
        return self

    def restart(self) -> None:
        self._file.truncate(0)
        self._digest, self.arrived = hashlib.sha256(), 0

    def write(self, chunk: bytes) -> None:
        self._digest.update(chunk)
        self._file.write(chunk)
        self.arrived += len(chunk)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._file.close()
        complete = kind is None and self._expected in {None, self._digest.hexdigest()}
        if complete:
            self._part.replace(self._path)
            return
        if kind is None or not self._resumed or not self.arrived:
            self._part.unlink(missing_ok=True)
        if kind is None:
            raise Refused(0, {"title": f"{self._path.name} was damaged in transit; try again."})
