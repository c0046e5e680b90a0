"""Data releases of a competition."""

from os import PathLike
from pathlib import Path
from typing import Literal

from kennel_client.answers.releases import ReleaseView
from kennel_client.api import path_of, segment
from kennel_client.errors import Refused
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Download, Operation, all_pages, call, get
from kennel_client.waiting import wait_until

ReleasedImages = Literal["none", "ranked", "all"]
UNDER_WAY = frozenset({"waiting", "running"})


class Releases(Methods[Api]):
    """Data releases."""

    @Method
    def all(self, slug: str) -> Operation[list[ReleaseView]]:
        """All releases, newest first."""
        return all_pages(path_of("competitions", slug, "releases"), "releases")

    @Method
    def start(self, slug: str, images: ReleasedImages = "none", *, new_names: bool = False) -> Operation[ReleaseView]:
        """Begin a release, with the images of nobody, of ranked entries or of all; ``new_names`` draws new
        pseudonyms."""
        return call("POST", path_of("competitions", slug, "releases"), json={"images": images, "new_names": new_names})

    @Method
    def get(self, slug: str, release: str) -> Operation[ReleaseView]:
        """A release as it is now."""
        return get(_path(slug, release))

    @Method
    def wait(self, slug: str, release: str) -> Operation[ReleaseView]:
        """A release once it is made; ``Refused`` if it failed."""

        def look() -> Operation[ReleaseView]:
            return get(_path(slug, release))

        made = yield from wait_until(lambda seen: seen["state"] not in UNDER_WAY, look)
        if made["state"] != "done":
            raise Refused(0, {"title": f"The release could not be made: {made['error'] or made['state']}"})
        return made

    @Method
    def download(self, slug: str, release: str, folder: str | PathLike[str]) -> Operation[list[Path]]:
        """Write the files of a release into a folder, each checked against its SHA-256; returns their paths."""
        made: ReleaseView = yield from get(_path(slug, release))
        paths = []
        for file in made["files"]:
            to = _inside(Path(folder), file["name"])
            names = "/".join(map(segment, file["name"].split("/")))
            yield Download(f"{_path(slug, release)}/files/{names}", to, file["sha256"])
            paths.append(to)
        return paths

    @Method
    def hand_out(self, slug: str, release: str) -> Operation[ReleaseView]:
        """Let everybody have a release, while the final board is published."""
        return call("PUT", f"{_path(slug, release)}/handed-out", json={"shown": True})

    @Method
    def take_back(self, slug: str, release: str) -> Operation[ReleaseView]:
        """Hand a release out no longer."""
        return call("PUT", f"{_path(slug, release)}/handed-out", json={"shown": False})


def _path(slug: str, release: str) -> str:
    return path_of("competitions", slug, "releases", release)


def _inside(folder: Path, name: str) -> Path:
    """The path of a file in the folder; ``Refused`` for a name that leads out of it."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        raise Refused(0, {"title": f"The service names a file outside the folder: {name!a}."})
    return path
