"""``kennel start``: a folder with a competition's data, a baseline, and what to do with them."""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from kennel_client.api import DOWNLOAD_SILENCE_SECONDS, ApiClient, segment
from kennel_client.cli.competitions import accepts_rules
from kennel_client.cli.connection import err, interruptible, open_client
from kennel_client.cli.output import Answer, Slug, answers
from kennel_client.downloads import ArrivingFile
from kennel_client.errors import Unreadable
from kennel_client.progress import DOWNLOADING, show_progress

app = typer.Typer()
KIT = files("kennel_client.starter_kit")
TRAIN = "train.zip"
INTERRUPTED_MESSAGE = "Stopped. What has arrived is kept: the same command goes on from there."


@answers(app)
def start(
    competition: Slug,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="A new folder. Default: the competition's name.")
    ] = None,
    as_json: bool = False,
) -> Answer:
    """Write a folder with the competition's data and a baseline that trains in a minute."""
    with open_client() as client:
        view = client.get(f"/competitions/{segment(competition)}")
        target = folder or Path(competition)
        data = _make_folder(target)
        if view["rules_sha256"] is not None and not view["rules_accepted"] and not as_json:
            accepts_rules(client, view["slug"])  # without it, the service refuses the files
        offered = client.get_list(f"/competitions/{segment(competition)}/data", "files")
        with interruptible(INTERRUPTED_MESSAGE), show_progress(err) as progress:
            for file in offered:
                download(
                    client,
                    view["slug"],
                    file,
                    target=path_in(data, file["name"]),
                    progress=partial(progress, DOWNLOADING),
                )
        _write_kit(target, view, client.url)
    names = [each["name"] for each in offered]
    lines = [f"{target} is ready. {target / 'README.md'} says what to do."]
    if TRAIN not in names:
        lines.insert(0, f"{view['slug']} offers no {TRAIN}: `python baseline.py --train FILE` takes images of yours.")
    document = {"competition": view["slug"], "folder": str(target.absolute()), "data": names}
    return Answer(document, "\n".join(lines))


def _make_folder(target: Path) -> Path:
    """Make the folder and the one for its data; one that an earlier start has not finished is gone on with."""
    data = target / "data"
    try:
        data.mkdir(parents=True, exist_ok=True)
        others = [each.name for each in target.iterdir() if each != data]
    except OSError as error:
        raise Unreadable(f"{target} cannot be made: {error.strerror}.") from None
    if others:
        raise Unreadable(f"{target} is there already, with files in it.")
    return data


def path_in(folder: Path, name: str) -> Path:
    """Where a data file goes; ``Unreadable`` for a name that leads out of the folder."""
    if name != Path(name).name or name in {"", ".", ".."}:
        raise Unreadable(f"The service names a file {name!r}, which is no plain name.")
    return folder / name


def _write_kit(target: Path, competition: dict[str, Any], url: str) -> None:
    track = next(each for each in competition["tracks"] if each["kind"] == "public")
    known = {name: competition[name] for name in ("slug", "title", "image_count", "image_size")}
    readme = (KIT / "README.md").read_text(encoding="utf-8")
    texts = {
        "baseline.py": (KIT / "baseline.py").read_text(encoding="utf-8"),
        "requirements.txt": (KIT / "requirements.txt").read_text(encoding="utf-8"),
        "competition.json": json.dumps({**known, "url": url}, indent=2) + "\n",
        "README.md": readme.format(
            **known,
            url=url,
            extractor=track["extractor"].partition("@")[0],
            tau="" if track["tau"] is None else f" --tau {track['tau']:.6g}",
        ),
    }
    for name, text in texts.items():
        (target / name).write_text(text, encoding="utf-8")


def download(
    client: ApiClient, slug: str, file: Mapping[str, Any], *, target: Path, progress: Callable[[float], None]
) -> None:
    """Write a data file of a competition, unless it is there already; ``progress`` is called with the share that has
    arrived. What an interrupted download has left is gone on with. Raises as ``ArrivingFile`` does."""
    if _has_hash(target, file["sha256"]):
        return
    path = f"/competitions/{segment(slug)}/data/{segment(file['name'])}"
    headers = {"Accept-Encoding": "identity"}
    with ArrivingFile(target, file["sha256"], resumed=True) as out:
        if 0 < out.arrived < file["bytes"]:
            headers["Range"] = f"bytes={out.arrived}-"
        with client.stream(path, headers=headers, silence=DOWNLOAD_SILENCE_SECONDS) as answer:
            if answer.status_code != 206:
                out.restart()
            for chunk in answer.iter_bytes():
                out.write(chunk)
                progress(out.arrived / file["bytes"])


def _has_hash(path: Path, sha256: str) -> bool:
    """Whether a file is there, with these bytes."""
    if not path.exists():
        return False
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == sha256
