"""The ``kennel`` command."""

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from deploy.cli import (
    admin,
    admin_accounts,
    admin_backups,
    admin_pauses,
    admin_publication,
    admin_secrets,
    admin_service,
    admin_storage,
    admin_tuning,
    doctor,
    exit_codes,
    weights,
)
from deploy.cli.kaggle import run_kaggle
from deploy.cli.participant import account, competitions, generators, login, submissions, submit
from deploy.cli.participant.check import check_zip
from deploy.cli.participant.connection import connected_client, reported_errors, require_token
from deploy.cli.participant.credentials import current_login
from deploy.cli.participant.options import PANEL
from deploy.cli.progress import show_progress
from deploy.client.api import Refused, open_file
from scorer.archive import ImageSpec
from scorer.errors import KennelError
from scorer.extractors.openmp import wait_passively
from scorer.monitoring.logs import configure_logging
from scorer.settings import read_log_settings

app = typer.Typer(
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    epilog=exit_codes.exit_codes_help(),
)
for each in (
    admin_accounts,
    admin_tuning,
    admin_publication,
    admin_backups,
    admin_pauses,
    admin_secrets,
    admin_service,
    admin_storage,
    doctor,
):
    admin.app.add_typer(each.app)
app.add_typer(admin.app, name="admin")
app.add_typer(weights.app, name="weights")
for each in (login, account, submissions, generators, competitions):
    app.add_typer(each.app)
err = Console(stderr=True, highlight=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"kennel {version('kennel')}")
        raise typer.Exit


@app.callback()
def kennel(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Scores a competition of generative image models: the service, and what participants and organizers do there."""


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
    from deploy.demo import run  # noqa: PLC0415 - scikit-image is for the demo only

    raise typer.Exit(run.run_demo(data, port, run.DemoPlan(images, count, entries), leave=leave))


@app.command(rich_help_panel=PANEL)
def check(
    submission: Annotated[Path, typer.Argument(help="The zip to look at.")],
    count: Annotated[int, typer.Option(min=1, help="How many images the competition asks for.")] = 10_000,
    size: Annotated[int, typer.Option(min=1, help="Their width and height in pixels.")] = 64,
    competition: Annotated[
        str | None, typer.Option(help="Ask the service for the count and size of this competition.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a zip as the service would, without sending it: exit 0, or the faults and exit 1."""
    spec = ImageSpec(count=count, size=size)
    if competition is not None:
        with connected_client(as_json=as_json, needs_token=False) as client:
            spec = submit.image_spec_of(client, competition)
    with reported_errors(as_json=as_json), open_file(submission) as file, show_progress(err) as progress:
        check_zip(file, spec, progress)
    if as_json:
        print(json.dumps({"file": str(submission), "count": spec.count, "size": spec.size}))
    else:
        print(f"{submission} is fine: {spec.count:,} images of {spec.size}x{spec.size}.")


@app.command()
def score(
    submission: Annotated[Path, typer.Argument(help="The zip of generated images.")],
    reference: Annotated[Path, typer.Option(help="The zip of training images.")],
    extractor: Annotated[str, typer.Option(help="The feature space, for example inception_v3.")],
    tau: Annotated[float | None, typer.Option(min=0, help="Without it, there is no MiFID.")] = None,
    epsilon: Annotated[float, typer.Option(min=0)] = 1e-15,
    weights: Annotated[Path | None, typer.Option(help="Folder of weights for inception_v3 and nasnetalarge.")] = None,
    held_out: Annotated[
        Path | None, typer.Option(help="A zip of photographs that are not in the reference, for --evidence.")
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Also run every test for copying and print a sentence for each number.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score a zip against a reference without a server; the closest pairs of images are shown as evidence."""
    from deploy.cli.score import EvidenceOptions, score_files  # noqa: PLC0415 - torch is for scoring only

    with show_progress(err) as progress:
        result = score_files(
            submission,
            reference,
            extractor,
            tau=tau,
            epsilon=epsilon,
            weights=weights,
            evidence=EvidenceOptions(held_out) if evidence else None,
            progress=progress,
        )
    if as_json:
        print(json.dumps(result))
        return
    for name in ("fid", "memorization_distance", "tau", "mifid", "penalised", "copy"):
        print(f"{name:<22} {result[name]}")
    if result["evidence"]:
        print(f"{'signs of copying':<22} {', '.join(result['evidence']['signs']) or 'none'}")
        for finding in result["evidence"]["findings"]:
            print(f"{finding['name']:<22} {finding['sentence']}")
    print("closest pairs")
    for pair in result["closest_pairs"]:
        print(f"  {pair['distance']:<20.6g} {pair['image']} and {pair['reference']}")


@app.command()
def recover(
    generator: Annotated[Path, typer.Argument(help="The generator, as an ONNX file.")],
    train: Annotated[Path, typer.Option(help="The photographs it was trained on: a zip or a folder.")],
    held_out: Annotated[Path, typer.Option(help="Photographs of the same kind that it has not seen.")],
    latent: Annotated[int, typer.Option(min=1, help="The dimension of its latent points.")],
    distribution: Annotated[
        Literal["normal", "uniform"], typer.Option(help="How latent points are drawn; uniform is on [-1, 1].")
    ] = "normal",
    size: Annotated[int, typer.Option(min=1, help="Width and height at which images are compared.")] = 64,
    targets: Annotated[int, typer.Option(min=8, help="How many photographs of either kind are looked for.")] = 200,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    encoder: Annotated[Path | None, typer.Option(help="ONNX, images to latent points: instead of a search.")] = None,
    region: Annotated[
        tuple[float, float, float, float] | None,
        typer.Option(help="Top, left, bottom, right as shares of the image: compare there alone."),
    ] = None,
    pairs: Annotated[Path | None, typer.Option(help="Write photographs beside what was recovered to this PNG.")] = None,
    accept_weaker_sandbox: Annotated[
        bool, typer.Option("--accept-weaker-sandbox", help="Open the file with what this system has of the sandbox.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test by latent recovery whether a generator makes its training photographs better than others; in a sandbox."""
    # Only commands that look at images import torch.
    from deploy.cli.recover import recover_files, report_lines, write_pairs  # noqa: PLC0415
    from scorer.generators.latents import Latent  # noqa: PLC0415
    from scorer.generators.recovery.plan import AuditPlan  # noqa: PLC0415

    with reported_errors(as_json=as_json), show_progress(err) as progress:
        plan = AuditPlan(train=targets, held_out=targets, region=region, seed=seed)
        audit = recover_files(
            generator,
            train,
            held_out,
            latent=Latent(latent, distribution),
            size=size,
            plan=plan,
            progress=progress,
            encoder=encoder,
            accept_weaker_sandbox=accept_weaker_sandbox,
        )
    if pairs is not None:
        write_pairs(audit, pairs)
    report = audit.report()
    print(json.dumps(report) if as_json else "\n".join(report_lines(report)))


@app.command()
def rescore(
    submission: Annotated[str, typer.Argument(help="The id of a submission that was scored.")],
    verify: Annotated[bool, typer.Option("--verify", help="Compare; exit 1 unless all numbers are equal.")] = False,
    data: Annotated[Path | None, typer.Option(help="The data folder of a `kennel up` that is running.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a recorded submission again from its stored zip, as its provenance says; records nothing.

    The service is found by DATABASE_URL, REDIS_URL and BLOB_URL, or by --data.
    """
    from deploy.cli.rescore import rescore_submission, track_lines  # noqa: PLC0415 - torch is for scoring only

    with show_progress(err) as progress:
        tracks, equal = rescore_submission(submission, data=data, verify=verify, progress=progress)
    if as_json:
        print(json.dumps({"submission": submission, "equal": equal if verify else None, "tracks": tracks}))
    else:
        print("\n".join(line for track in tracks for line in track_lines(track, verified=verify)))
    if not equal:
        raise typer.Exit(1)


@app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def kaggle(context: typer.Context) -> None:
    """Run the official kaggle client against Kennel: kennel kaggle competitions submit ..."""
    with reported_errors():
        login = current_login()
        run_kaggle(context.args, login.url, require_token(login))


@app.command()
def migrate(
    wait: Annotated[
        bool, typer.Option("--wait", help="Change nothing: wait until another process has done it.")
    ] = False,
) -> None:
    """Bring the database at DATABASE_OWNER_URL (or DATABASE_URL) to the newest version."""
    from deploy.cli.migrate import migrate_database, wait_for_tables  # noqa: PLC0415
    from scorer.settings import read_settings  # noqa: PLC0415

    settings = read_settings()
    print(wait_for_tables(settings) if wait else migrate_database(settings))


def log_to_stderr() -> None:
    """Log as the environment says. By default a person reads what a command logs, and only what they should know."""
    settings = read_log_settings()
    level = settings.log_level if "log_level" in settings.model_fields_set else "WARNING"
    configure_logging(level, "json" if settings.log_format == "json" else "text")


def main() -> None:
    """The console script: an error meant for a person becomes one message and an exit status, without a traceback."""
    wait_passively()
    try:
        log_to_stderr()
        app()
    except (KennelError, Refused) as error:
        exit_codes.print_error(error, err)
        sys.exit(exit_codes.exit_code_of(error))
