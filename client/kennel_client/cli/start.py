"""``kennel start``: a folder with a competition's data, a baseline, and what to do with them."""

import json
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import typer

from kennel_client.api import segment
from kennel_client.cli.competitions import accepts_rules
from kennel_client.cli.connection import err, interruptible, open_client
from kennel_client.cli.options import Slug
from kennel_client.cli.output import Answer, answers
from kennel_client.data_files import download
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
                download(client, view["slug"], file, path_in(data, file["name"]), partial(progress, DOWNLOADING))
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
