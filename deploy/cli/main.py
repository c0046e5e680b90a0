"""The ``kennel`` command with the server's commands."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from deploy.cli import admin, admin_backups, admin_secrets, admin_service, doctor, server_faults, weights
from deploy.cli.recovery import command as recovery
from deploy.standalone.extras import require_extras
from kennel_client.cli.connection import exit_on_error, translations
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.main import make_admin, make_app
from kennel_client.cli.options import IDS
from kennel_client.cli.output import Answer, answers
from kennel_client.progress import show_progress
from scorer import product_version
from scorer.extractors.openmp import wait_passively
from scorer.lifecycle import STAGES
from scorer.monitoring.logs import configure_logging
from scorer.settings import read_log_settings

installation = typer.Typer(help="This installation: backup, restore, doctor, secrets, systemd units.")
for each in (admin_backups, admin_secrets, admin_service, doctor):
    installation.add_typer(each.app)
app = make_app(
    make_admin({"account": admin.app, "installation": installation}),
    product_version.DISTRIBUTION,
    product_version.product_version,
)
translations.append(server_faults.in_words)
app.add_typer(weights.app, name="weights")
app.add_typer(recovery.app)
err = Console(stderr=True, highlight=False)


Data = Annotated[
    Path | None,
    typer.Option(help="Where everything is kept. Default: the user's data folder (root: /var/lib/kennel)."),
]


@app.command()
def up(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    data: Data = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Any but 127.0.0.1 needs KENNEL_PUBLIC_URL.")
    ] = "127.0.0.1",
) -> None:
    """Run the whole service on this machine: database, queue, web, workers. Ctrl-C ends it."""
    # Only this command needs the servers' wheels.
    from deploy.standalone.run import up as run  # noqa: PLC0415

    require_extras("api", "worker")
    raise typer.Exit(run(data, port, host))


@app.command()
def demo(
    images: Annotated[
        Path | None, typer.Option(help="A folder of photographs to use instead of the built-in ones.")
    ] = None,
    count: Annotated[int, typer.Option(min=50, help="Images per entry; the real size is 10000.")] = 400,
    entries: Annotated[int | None, typer.Option(min=1, help="Only the first so many entries.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    data: Data = None,
    leave: Annotated[bool, typer.Option("--exit", help="Stop at the end instead of serving until Ctrl-C.")] = False,
) -> None:
    """Run a whole competition on real photographs: entries by a dozen methods, both scores, the board, a re-tune."""
    require_extras("api", "worker", "demo")
    from deploy.demo import run  # noqa: PLC0415 - scikit-image is for the demo only

    raise typer.Exit(run.run_demo(data, port, run.DemoPlan(images, count, entries), leave=leave))


@app.command()
@answers
def score(
    submission: Annotated[Path, typer.Argument(help="The zip of generated images.")],
    reference: Annotated[Path, typer.Option(help="The zip of training images, or the .npz of their features.")],
    extractor: Annotated[str, typer.Option(help="The feature space, for example inception_v3.")],
    tau: Annotated[float | None, typer.Option(min=0, help="Without it, there is no MiFID.")] = None,
    epsilon: Annotated[float, typer.Option(min=0)] = 1e-15,
    weights: Annotated[Path | None, typer.Option(help="Folder of weights that come in no package.")] = None,
    held_out: Annotated[
        Path | None, typer.Option(help="A zip of photographs that are not in the reference, for --evidence.")
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Also run every test for copying and print a sentence for each number.")
    ] = False,
    authors: Annotated[
        bool, typer.Option("--authors", help="With --evidence: C_T and relative MMD as in the code of their authors.")
    ] = False,
) -> Answer:
    """Score a zip against a reference without a server; the closest pairs of images are shown as evidence."""
    from deploy.cli.score import EvidenceOptions, score_files  # noqa: PLC0415 - torch is for scoring only

    with show_progress(err, STAGES) as progress:
        result = score_files(
            submission,
            reference,
            extractor,
            tau=tau,
            epsilon=epsilon,
            weights=weights,
            evidence=EvidenceOptions(held_out, authors) if evidence else None,
            progress=progress,
        )
    return Answer(result, "\n".join(_score_lines(result)))


def _score_lines(result: Mapping[str, Any]) -> Iterator[str]:
    for name in ("fid", "memorization_distance", "tau", "mifid", "penalised", "copy"):
        yield f"{name:<22} {result[name]}"
    if result["evidence"]:
        yield f"{'signs of copying':<22} {', '.join(result['evidence']['signs']) or 'none'}"
        for finding in result["evidence"]["findings"]:
            yield f"{finding['name']:<22} {finding['sentence']}"
    yield "closest pairs"
    for pair in result["closest_pairs"]:
        yield f"  {pair['distance']:<20.6g} {pair['image']} and {pair['reference']}"
    yield from result["ignored"]


@app.command(**IDS)
@answers
def rescore(
    submission: Annotated[str, typer.Argument(help="The id of a submission that was scored.")],
    verify: Annotated[bool, typer.Option("--verify", help="Compare; exit 1 unless all numbers are equal.")] = False,
    data: Annotated[Path | None, typer.Option(help="The data folder of a `kennel up` that is running.")] = None,
) -> Answer:
    """Measure a recorded submission again from its stored zip, as its provenance says; records nothing.

    The service is found by DATABASE_URL, REDIS_URL and BLOB_URL, or by --data.
    """
    from deploy.cli.rescore import rescore_submission, track_lines  # noqa: PLC0415 - torch is for scoring only

    with show_progress(err, STAGES) as progress:
        tracks, equal = rescore_submission(submission, data=data, verify=verify, progress=progress)
    document = {"submission": submission, "equal": equal if verify else None, "tracks": tracks}
    lines = [line for track in tracks for line in track_lines(track, verified=verify)]
    return Answer(document, "\n".join(lines), ExitCode.DONE if equal else ExitCode.FAULTY)


@app.command()
@answers
def migrate(
    wait: Annotated[
        bool, typer.Option("--wait", help="Change nothing: wait until another process has done it.")
    ] = False,
) -> Answer:
    """Bring the database at DATABASE_OWNER_URL (or DATABASE_URL) to the newest version."""
    from deploy.cli.migrate import migrate_database, wait_for_tables  # noqa: PLC0415
    from scorer.settings import read_settings  # noqa: PLC0415

    settings = read_settings()
    done = wait_for_tables(settings) if wait else migrate_database(settings)
    return Answer({"message": done}, done)


def log_to_stderr() -> None:
    """Log as the environment says. By default a person reads what a command logs, and only what they should know."""
    settings = read_log_settings()
    level = settings.log_level if "log_level" in settings.model_fields_set else "WARNING"
    configure_logging(level, "json" if settings.log_format == "json" else "text")


def main() -> None:
    """The whole command; the client's console script calls it where the server is installed."""
    wait_passively()
    with exit_on_error():
        log_to_stderr()
        app()
