"""``kennel admin installation service``: the service as systemd units."""

from pathlib import Path
from typing import Annotated

import typer

from kennel_client.cli.output import Answer, answers

app = typer.Typer()


@answers(app)
def service(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to write the files; made if need be.")],
    gpus: Annotated[int, typer.Option(min=0, help="Scoring workers, one for each GPU; 0: one without a GPU.")] = 1,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The web process's port on this machine.")] = 8000,
    user: Annotated[str, typer.Option(help="The account under which everything runs.")] = "kennel",
) -> Answer:
    """Write systemd units for one machine without containers: web, beat and workers.

    The units are hardened and have limits. kennel.env has the settings to complete. Nothing is installed or started.
    """
    from deploy.systemd.units import CONFIGURATION, Plan, files_of

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in files_of(Plan(gpus, port, user)).items():
        (folder / name).write_text(text)
        files.append(str(folder / name))
    where = f"Units go to /etc/systemd/system, kennel.env and operator.env to {CONFIGURATION}."
    return Answer({"files": files}, "\n".join([*files, where]))
