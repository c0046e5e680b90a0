"""``kennel start``: a folder with a competition's data, a baseline and instructions."""

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
INTERRUPTED_MESSAGE = "Stopped. Downloaded files are kept; run the same command again to continue."


@answers(app)
def start(
    competition: Slug,
    folder: Annotated[
        Path | None, typer.Argument(metavar="[FOLDER]", help="The folder to create. Default: the competition's slug.")
    ] = None,
    as_json: bool = False,
) -> Answer:
    """Create a folder with the competition's data and a baseline that trains in a minute."""
    with open_client() as client:
        view = client.get(f"/competitions/{segment(competition)}")
        target = folder or Path(competition)
        data = _make_folder(target)
        if view["rules_sha256"] is not None and not view["rules_accepted"] and not as_json:
            accepts_rules(client, view["slug"])  # otherwise the service refuses the files
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
    names = [file["name"] for file in offered]
    lines = [f"{target} is ready. Next, read {target / 'README.md'}."]
    if TRAIN not in names:
        lines.insert(
            0, f"{view['slug']} does not offer {TRAIN}. To use your own images, run `python baseline.py --train FILE`."
        )
    document = {"competition": view["slug"], "folder": str(target.absolute()), "data": names}
    return Answer(document, "\n".join(lines))


def _make_folder(target: Path) -> Path:
    """Create the folder and its data folder, or continue with an unfinished one."""
    data = target / "data"
    try:
        data.mkdir(parents=True, exist_ok=True)
        others = [path.name for path in target.iterdir() if path != data]
    except OSError as error:
        raise Unreadable(f"{target} cannot be created: {error.strerror}.") from None
    if others:
        raise Unreadable(f"{target} already exists and is not empty.")
    return data


def path_in(folder: Path, name: str) -> Path:
    """The path of a data file; raises ``Unreadable`` for a name that leads out of the folder."""
    if name != Path(name).name or name in {"", ".", ".."}:
        raise Unreadable(f"The service sent {name!r} as a file name; a file name cannot contain a path.")
    return folder / name


def _write_kit(target: Path, competition: dict[str, Any], url: str) -> None:
    track = next(track for track in competition["tracks"] if track["kind"] == "public")
    known = {name: competition[name] for name in ("slug", "title", "entries", "image_count", "image_size")}
    generators = competition["entries"] == "generator"
    readme = (KIT / ("GENERATORS.md" if generators else "README.md")).read_text(encoding="utf-8")
    texts = {
        "baseline.py": (KIT / "baseline.py").read_text(encoding="utf-8"),
        "requirements.txt": (KIT / "requirements.txt").read_text(encoding="utf-8") + ("onnx\n" if generators else ""),
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
    """Download a data file of a competition unless it exists; continue an interrupted download. ``progress`` gets the
    share done. Raises the errors of ``ArrivingFile``.
    """
    if target.exists():
        with target.open("rb") as content:
            if hashlib.file_digest(content, "sha256").hexdigest() == file["sha256"]:
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
