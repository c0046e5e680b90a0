"""``kennel score`` and ``rescore``: measure on this machine."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from deploy.cli.operator_access import Data
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.output import IDS, Answer, answers
from kennel_client.progress import show_progress
from scorer.lifecycle import STAGES

app = typer.Typer()
err = Console(stderr=True, highlight=False)


@answers(app)
def score(
    submission: Annotated[Path, typer.Argument(help="The zip of generated images.")],
    reference: Annotated[Path, typer.Option(help="A zip of training images, or an .npz file of their features.")],
    extractor: Annotated[str, typer.Option(help="The extractor, such as inception_v3.")],
    tau: Annotated[float | None, typer.Option(min=0, help="The threshold for the MiFID. Default: no MiFID.")] = None,
    epsilon: Annotated[float, typer.Option(min=0, help="Constant that keeps the MiFID of copies finite.")] = 1e-15,
    weights: Annotated[Path | None, typer.Option(help="Folder of extractor weights, if not in a package.")] = None,
    held_out: Annotated[
        Path | None, typer.Option(help="A zip of held-out images, not in the reference set, for --evidence.")
    ] = None,
    evidence: Annotated[
        bool, typer.Option("--evidence", help="Also run all copying tests, and print a sentence about each result.")
    ] = False,
    authors: Annotated[
        bool,
        typer.Option("--authors", help="With --evidence: compute C_T and relative MMD as their authors' code does."),
    ] = False,
) -> Answer:
    """Score a zip against reference images without a server, and show the closest pairs of images."""
    from deploy.cli.score import EvidenceOptions, score_files

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


@answers(app, **IDS)
def rescore(
    submission: Annotated[str, typer.Argument(help="The ID of a scored submission.")],
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Compare with the recorded numbers, and draw a generator's images again. Unless all are equal, exit "
            "with status 1.",
        ),
    ] = False,
    data: Data = None,
) -> Answer:
    """Repeat the measurement of a scored submission, without recording the result.

    The command finds the service with DATABASE_URL, REDIS_URL and BLOB_URL, or with --data.
    """
    from deploy.cli.rescore import rescore_submission, track_lines

    with show_progress(err, STAGES) as progress:
        tracks, equal = rescore_submission(submission, data=data, verify=verify, progress=progress)
    document = {"submission": submission, "equal": equal if verify else None, "tracks": tracks}
    lines = [line for track in tracks for line in track_lines(track, verified=verify)]
    return Answer(document, "\n".join(lines), ExitCode.DONE if equal else ExitCode.FAULTY)
