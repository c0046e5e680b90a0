"""``kennel admin installation``: doctor, new passwords and keys, systemd units."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deploy.cli.operator_access import Data, operator_acting
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.output import Answer, answers

app = typer.Typer()
STOP_SECONDS = 1.0
"""How long a stopped service may take to release its folder."""


@answers(app)
def rotate_secrets(
    data: Annotated[Path, typer.Option(help="The data folder of a stopped `kennel up`.")],
) -> Answer:
    """Replace the passwords of the database's roles and the queue server at the next start.

    Accounts, sessions and tokens stay valid.
    """
    from deploy.standalone import redis
    from deploy.standalone.data_folder import open_data_folder
    from deploy.standalone.database_roles import APP, OWNER

    with open_data_folder(data, patience=STOP_SECONDS) as folder:
        folder.forget_secrets(OWNER, APP, redis.SECRET)
    text = f"The next start of `kennel up --data {data}` creates new passwords for database and queue server."
    return Answer({"data": str(data)}, text)


@answers(app)
def rotate_signing_key(data: Data = None) -> Answer:
    """Create a new key, which signs receipts from now on.

    The command works directly on the database, which DATABASE_URL or --data specifies.

    The previous private key is deleted. Its public key remains, so that earlier receipts can still be verified.
    """
    from scorer.submissions import receipts

    with operator_acting(data) as acting:
        made = receipts.rotate(acting)
    return Answer(made, made["kid"])


@answers(app)
def service(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder for the files; created if necessary.")],
    gpus: Annotated[
        int, typer.Option(min=0, help="Number of GPUs, with one scoring worker each. With 0, one worker uses the CPU.")
    ] = 1,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the web process on this machine.")] = 8000,
    user: Annotated[str, typer.Option(help="The system account that runs the processes.")] = "kennel",
) -> Answer:
    """Write systemd units for the web process, beat and workers on one machine without containers.

    The units are hardened and have resource limits. Before you install and start them, complete the settings in
    kennel.env.
    """
    from deploy.systemd import CONFIGURATION, Plan, build_files

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in build_files(Plan(gpus, port, user)).items():
        (folder / name).write_text(text)
        files.append(str(folder / name))
    where = f"Copy the units to /etc/systemd/system, kennel.env and operator.env to {CONFIGURATION}."
    return Answer({"files": files}, "\n".join([*files, where]))


if TYPE_CHECKING:
    from deploy.doctor.installation import Outcome

LABELS = {"ok": "ok     ", "wrong": "WRONG  ", "skipped": "-      "}


@answers(app)
def doctor(data: Data = None, as_json: bool = False) -> Answer:
    """Check this installation, from database to mail, and suggest fixes.

    The command checks the database, queue server, blob store, workers, proxy and mail, with the settings of the
    environment or of --data. If it finds a fault, it exits with status 1.
    """
    from deploy.doctor.examination import examine
    from deploy.doctor.installation import Installation
    from deploy.standalone.data_folder import METRICS, load_settings, secret_files
    from scorer.db.session import connected
    from scorer.monitoring import FOLDER_VARIABLE

    settings = load_settings(data)
    outcomes: list[Outcome] = []
    environ = {**os.environ, **({FOLDER_VARIABLE: str(data / METRICS)} if data else {})}
    with connected(settings) as sessions:
        for outcome in examine(Installation(settings, sessions, environ, secret_files(data) if data else ())):
            outcomes.append(outcome)
            if not as_json:
                print("\n".join(_lines(outcome)), flush=True)
    wrong = any(outcome.state == "wrong" for outcome in outcomes)
    document = [asdict(outcome) for outcome in outcomes]
    return Answer(document, lambda _out: None, ExitCode.FAULTY if wrong else ExitCode.DONE)


def _lines(outcome: "Outcome") -> list[str]:
    remedy = [f"         {outcome.remedy}"] if outcome.remedy else []
    return [f"{LABELS[outcome.state]}{outcome.name}: {outcome.finding}", *remedy]
