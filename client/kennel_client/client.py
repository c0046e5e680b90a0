"""The client for programs and notebooks."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from kennel_client import operations
from kennel_client.api import ApiClient
from kennel_client.archive import ZipCheck
from kennel_client.credentials import login_for
from kennel_client.results import Board, Competition, Entry
from kennel_client.submit import StageProgress


def silent(_stage: str, _share: float) -> None:
    """Reports nothing."""


class Client:
    """A participant's client of one service. Errors: ``Refused`` by the service, ``Unreachable``, ``Unreadable`` for a
    local file, ``Invalid`` for a zip with faults.

    Without ``url`` and ``token`` they are those of KENNEL_URL and KENNEL_TOKEN, else of ``kennel login``. ``api`` sends
    any other request of the API. Usable as a context manager, and without.
    """

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        login = login_for(url, token)
        self.api = ApiClient(login.url, login.token)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self.api.close()

    def competitions(self) -> list[Competition]:
        """All competitions."""
        return self.api.run(operations.competitions())

    def competition(self, slug: str) -> Competition:
        """One competition, by its short name."""
        return self.api.run(operations.competition(slug))

    def accept_rules(self, slug: str) -> None:
        """Accept the rules of a competition as they stand."""
        self.api.run(operations.accept_rules(slug))

    def check(self, slug: str, file: str | PathLike[str], *, progress: StageProgress = silent) -> ZipCheck:
        """Check a zip as the service does, without sending it; ``pixels_decoded`` says whether Pillow was there to
        decode the pixels. Raises ``Invalid`` with the first faults."""
        return self.api.run(operations.check(slug, Path(file), progress))

    def submit(
        self,
        slug: str,
        file: str | PathLike[str],
        *,
        note: str = "",
        check: bool = True,
        wait: bool = False,
        progress: StageProgress = silent,
    ) -> Entry:
        """Check a zip here, upload it, and with ``wait`` return once it is scored, rejected, cancelled or failed.

        An upload that breaks off goes on by itself; one that was interrupted goes on when the same file is submitted
        again. ``progress`` is called with the stage ("checking", "uploading") and its finished share.
        """
        entry = self.api.run(operations.submit(slug, Path(file), self.api.url, note, progress, check=check))
        return self.wait(entry.id) if wait else entry

    def wait(self, submission: str) -> Entry:
        """An entry once it is scored, rejected, cancelled or failed, however long that takes."""
        return self.api.run(operations.wait(submission, self.api.url))

    def entry(self, submission: str) -> Entry:
        """An entry as it is now."""
        return self.api.run(operations.entry(submission, self.api.url))

    def entries(self, slug: str, *, limit: int = 50) -> list[Entry]:
        """Your team's newest entries, newest first."""
        return self.api.run(operations.entries(slug, self.api.url, limit))

    def cancel(self, submission: str) -> Entry:
        """Take an entry back before its scoring begins: it is not counted."""
        return self.api.run(operations.cancel(submission, self.api.url))

    def pick(self, slug: str, submissions: Sequence[str]) -> dict[str, Any]:
        """Pick the entries by which your team will be ranked in the end; the service's answer."""
        return self.api.run(operations.pick(slug, submissions))

    def leaderboard(self, slug: str, *, private: bool = False, late: bool = False, limit: int = 50) -> Board:
        """The first places of the public board; the private one once it is published."""
        return self.api.run(operations.leaderboard(slug, private=private, late=late, limit=limit))
