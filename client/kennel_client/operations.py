"""Participants' methods, for both clients."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from kennel_client import answers
from kennel_client.api import build_path, open_file
from kennel_client.archive.zip_check import ZipCheck
from kennel_client.errors import naming
from kennel_client.methods import Api, Method, Methods
from kennel_client.names import TrackKind
from kennel_client.results import Board, Competition, Entry
from kennel_client.resumable import DeclaredLatent, ResumableUpload, open_resumable_upload
from kennel_client.steps import Download, LocalWork, Operation, all_pages, call, get
from kennel_client.submit import StageProgress, begin_upload, check_images, finish_upload
from kennel_client.waiting import follow

PAGE_SIZE = 1000
"""The most places of a board in one request."""
MAX_NAME_LENGTH = 200
View = dict[str, Any]


def silent(_stage: str, _share: float) -> None: ...


class Participation(Methods[Api]):
    @Method
    def competitions(self) -> Operation[list[Competition]]:
        views = yield from all_pages("/competitions", "competitions")
        return [Competition.of(view) for view in views]

    @Method
    def competition(self, slug: str) -> Operation[Competition]:
        return _competition(slug)

    @Method
    def accept_rules(self, slug: str) -> Operation[None]:
        """Accept the rules of a competition in their current version."""
        accepted = yield from _competition(slug)
        yield from accept_rules_version(accepted.slug, accepted.rules_sha256)

    @Method
    def check(self, slug: str, file: str | PathLike[str], *, progress: StageProgress = silent) -> Operation[ZipCheck]:
        """Check a zip as the service does, without uploading it; ``pixels_decoded`` in the result says whether Pillow
        decoded the pixels. Raises ``Invalid`` with the first faults.
        """
        with open_file(Path(file)) as content, naming(file):
            competition = yield from get(build_path("competitions", slug))
            return (yield from check_images(competition, content, progress, file_name=Path(file).name))

    @Method
    def submit(
        self,
        slug: str,
        file: str | PathLike[str],
        *,
        note: str = "",
        check: bool = True,
        wait: bool = False,
        progress: StageProgress = silent,
        **latent: Unpack[DeclaredLatent],
    ) -> Operation[Entry]:
        """Upload a zip, which is first checked locally, or a generator in an ONNX file; with ``wait``, return once it
        is scored, rejected, cancelled or failed. ``latent`` (the dimension), ``distribution`` and ``classes`` declare a
        generator's latent space. The same generator again returns your team's earlier entry.

        Uploads resume automatically after a lost connection. To continue an interrupted upload, submit the same file
        again. ``progress`` is called with the stage ("checking", "uploading") and its finished share.
        """
        url = self.api.url
        path = Path(file)
        with open_file(path) as content, naming(path):
            resumable: ResumableUpload = yield LocalWork(
                lambda: open_resumable_upload(
                    url, slug, content, file_name=path.name[-MAX_NAME_LENGTH:], note=note, latent=latent
                )
            )
            state = yield from begin_upload(resumable)
            submission = yield from finish_upload(resumable, state, content, progress=progress, check=check)
        return (yield from (_finished_entry if wait else _entry)(submission, url))

    @Method
    def wait(self, submission: str) -> Operation[Entry]:
        """Wait until an entry is scored, rejected, cancelled or failed, and return it."""
        return _finished_entry(submission, self.api.url)

    @Method
    def entry(self, submission: str) -> Operation[Entry]:
        """The current state of an entry."""
        return _entry(submission, self.api.url)

    @Method
    def entries(self, slug: str, *, limit: int = 50) -> Operation[list[Entry]]:
        """Your team's newest entries, newest first."""
        page = yield from get(build_path("competitions", slug, "submissions"), limit=limit)
        return [Entry.of(view, self.api.url) for view in page["submissions"]]

    @Method
    def cancel(self, submission: str) -> Operation[Entry]:
        """Cancel an entry before its scoring starts. It then does not count towards the daily limit."""
        return Entry.of((yield from call("POST", build_path("submissions", submission, "cancel"))), self.api.url)

    @Method
    def download_generator(self, submission: str, to: str | PathLike[str]) -> Operation[Path]:
        """Write the ONNX file of an entry to a file; returns its path."""
        yield Download(build_path("submissions", submission, "file"), Path(to))
        return Path(to)

    @Method
    def download_draw(
        self, submission: str, track: TrackKind, number: int, *, to: str | PathLike[str]
    ) -> Operation[Path]:
        """Write the images of a draw, a zip of PNGs, to a file; returns its path. Those of private draws are available
        to your team once a board is published."""
        yield Download(build_path("submissions", submission, "draws", track, number), Path(to))
        return Path(to)

    @Method
    def pick(self, slug: str, submissions: Sequence[str]) -> Operation[answers.PicksView]:
        """Pick the entries that decide your team's final rank."""
        return call("PUT", build_path("competitions", slug, "picks"), json={"submissions": list(submissions)})

    @Method
    def leaderboard(self, slug: str, *, private: bool = False, late: bool = False, limit: int = 50) -> Operation[Board]:
        """The first places of the public board, or of the private one once it is published."""
        return Board.of((yield from board_view(slug, private=private, late=late, search="", limit=limit)))


def _competition(slug: str) -> Operation[Competition]:
    return Competition.of((yield from get(build_path("competitions", slug))))


def _entry(submission: str, url: str) -> Operation[Entry]:
    return Entry.of((yield from get(build_path("submissions", submission))), url)


def _finished_entry(submission: str, url: str) -> Operation[Entry]:
    yield from follow(submission, lambda _state: None)
    return (yield from _entry(submission, url))


def accept_rules_version(slug: str, rules_sha256: str | None) -> Operation[None]:
    """Accept rules with this hash; the service refuses if they have changed."""
    path = build_path("competitions", slug, "rules-acceptance")
    yield from call("PUT", path, json={"rules_sha256": rules_sha256 or "0" * 64})


def board_view(slug: str, *, private: bool, late: bool, search: str, limit: int) -> Operation[View]:
    """A board with the first ``limit`` places of teams with ``search`` in their name."""
    path = build_path("competitions", slug, "leaderboard")
    params = {"track": "private" if private else "public", "late": late}
    page = yield from get(path, **params, limit=PAGE_SIZE if search else min(limit, PAGE_SIZE))
    board: View = page
    entries = _matching_places(page["entries"], search)
    while page["next_after"] is not None and len(entries) < limit:
        page = yield from get(path, **params, after=page["next_after"], limit=PAGE_SIZE)
        entries += _matching_places(page["entries"], search)
    more = page["next_after"] is not None or len(entries) > limit
    first = entries[:limit]
    others = {name: _matching_places(board[name], search) for name in ("benchmarks", "copies")}
    return board | others | {"entries": first, "next_after": first[-1]["rank"] if more and first else None}


def _matching_places(places: list[View], search: str) -> list[View]:
    return [place for place in places if search.casefold() in place["team"].casefold()]
