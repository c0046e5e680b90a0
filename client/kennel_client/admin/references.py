"""Reference sets of a competition, and preparing its tracks."""

import contextlib
import tempfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import BinaryIO, Literal, get_args

from kennel_client.admin.arguments import File, Track, opened
from kennel_client.answers.competitions import PreparationView, ReferenceView
from kennel_client.api import path_of, send_file
from kennel_client.archive import zip_folder
from kennel_client.errors import Refused, naming
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import LocalWork, Operation, call, get
from kennel_client.waiting import wait_until

ReferenceRole = Literal["train", "held_out", "private_extra", "public_features", "private_features"]
TRACKS: tuple[Track, ...] = get_args(Track)


def unsaid(_line: str) -> None:
    """Says nothing."""


class References(Methods[Api]):
    """Reference sets, by role."""

    @Method
    def attach(self, slug: str, role: ReferenceRole, images: File, *, attach: bool = True) -> Operation[ReferenceView]:
        """Attach a zip of images, a folder of them or a numpy archive of features; without ``attach`` it is only
        stored, for a rescoring campaign."""
        path = path_of("competitions", slug, "references", role)
        ignored: str | None = None
        params = {"attach": str(attach).lower()}
        with contextlib.ExitStack() as stack, naming(images):
            if isinstance(images, str | PathLike) and (folder := Path(images)).is_dir():
                content: BinaryIO = stack.enter_context(tempfile.TemporaryFile())
                ignored = yield LocalWork(lambda: zip_folder(folder, content))
            else:
                content = stack.enter_context(opened(images))
            attached: ReferenceView = yield from send_file("PUT", path, content, params=params)
        return attached if ignored is None else {**attached, "ignored": ignored}

    @Method
    def prepare(
        self, slug: str, *, say: Callable[[str], None] = unsaid, every: float | None = None
    ) -> Operation[dict[Track, PreparationView]]:
        """Prepare both tracks and wait until they are ready; ``say`` is called with lines about each stage, for which
        the service is asked ``every`` so many seconds. ``Refused`` if it fails."""
        for track in TRACKS:
            yield from call("POST", _preparation(slug, track))
        prepared: dict[Track, PreparationView] = {}
        for track in TRACKS:
            prepared[track] = yield from _prepared(slug, track, say, every)
            say(f"{track}: {prepared[track]['images']:,} reference images are ready.")
        return prepared

    @Method
    def preparation(self, slug: str, track: Track) -> Operation[PreparationView]:
        """How far the preparation of a track is."""
        return get(_preparation(slug, track))


def _preparation(slug: str, track: Track) -> str:
    return path_of("competitions", slug, "tracks", track, "preparation")


def _prepared(slug: str, track: Track, say: Callable[[str], None], every: float | None) -> Operation[PreparationView]:
    last_stage = None

    def look() -> Operation[PreparationView]:
        nonlocal last_stage
        seen: PreparationView = yield from get(_preparation(slug, track))
        stage = seen.get("stage") or seen["state"]
        if stage not in {last_stage, "done", "failed"}:
            say(f"{track}: {stage}")
            last_stage = stage
        return seen

    ended = yield from wait_until(lambda seen: seen["state"] in {"done", "failed"}, look, every=every)
    if ended["state"] == "failed":
        raise Refused(0, {"title": f"The {track} track could not be prepared: {ended.get('error')}"})
    return ended
