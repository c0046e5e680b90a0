"""``kennel admin installation doctor``: what is wrong with an installation, and how it is mended."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.output import Answer, answers

if TYPE_CHECKING:
    from deploy.doctor.check import Outcome

app = typer.Typer()
LABELS = {"ok": "ok     ", "wrong": "WRONG  ", "skipped": "-      "}


@answers(app)
def doctor(
    data: Annotated[Path | None, typer.Option(help="The data folder of a `kennel up` that is running.")] = None,
    as_json: bool = False,
) -> Answer:
    """Look for what is wrong with this installation, from database to mail.

    It checks database, queue server, blob store, workers, proxy and mail, with the settings of the environment, or of
    --data. Each finding has its remedy. Exit status 1 if something is wrong.
    """
    from deploy.doctor.examination import examine
    from deploy.doctor.installation import Installation
    from deploy.standalone.data_folder import METRICS, secret_files, settings_of
    from scorer.db.session import connected
    from scorer.monitoring import FOLDER_VARIABLE

    settings = settings_of(data)
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
