"""``kennel receipt`` and ``kennel verify``: print and verify signed receipts of scores."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from kennel_client.api import ApiClient, segment
from kennel_client.cli import tables
from kennel_client.cli.connection import needs_server, open_client
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.formatting import format_time, terminal_safe, terminal_safe_lines, utf8_output
from kennel_client.cli.output import IDS, AcceptWeakerSandbox, Answer, answers
from kennel_client.errors import Unreadable
from kennel_client.receipts import KEYS_PATH, read_issuer, verified_receipt
from kennel_client.results import format_number

app = typer.Typer()
REDRAWING = "deploy.cli.redraw"
"""The module of an installed server that draws images again."""


@answers(app, **IDS)
def receipt(submission: Annotated[str, typer.Argument(metavar="ID", help="The ID of a scored submission.")]) -> Answer:
    """Print a receipt of a submission's scores as JSON, signed so that anyone can verify it."""
    with open_client() as client:
        document = client.get(f"/submissions/{segment(submission)}/receipt")
    return Answer(document, partial(_print_document, document=document))


def _print_document(_out: Console, document: Any) -> None:
    print(json.dumps(document, indent=2, ensure_ascii=False), file=utf8_output())


@answers(app)
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The receipt file.")],
    keys: Annotated[
        Path | None,
        typer.Option(
            help=f"A file of the service's public keys, to verify offline. Default: the service's {KEYS_PATH}."
        ),
    ] = None,
    generator: Annotated[
        Path | None,
        typer.Option(
            help="The entry's ONNX file: once the final board has revealed the secrets, also draw the images again in "
            "a sandbox. Needs the server's packages."
        ),
    ] = None,
    draws: Annotated[
        Path | None,
        typer.Option(
            help="A folder of downloaded draws, to compare images that are not equal, bit for bit. Default: download "
            "them if you are signed in."
        ),
    ] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, max=16, help="Threads that draw. Default: as many as the receipt says.")
    ] = None,
    accept_weaker_sandbox: AcceptWeakerSandbox = False,
) -> Answer:
    """Verify that a receipt is unchanged and signed by the service it names. With --generator, draw its images again.
    If anything differs, exit with status 1.
    """
    document = _read(file)
    issuer = read_issuer(document)
    key_set = _read(keys) if keys else _fetch_keys(issuer)
    if not isinstance(key_set, dict) or not isinstance(key_set.get("keys"), list):
        raise Unreadable(f"{keys or issuer + KEYS_PATH} is not a key set.")
    contents = verified_receipt(document, key_set["keys"])
    if generator is None:
        return Answer(contents, partial(_print_receipt, receipt=contents))
    redrawn = _redraw(contents, generator, draws=draws, threads=threads, accept_weaker_sandbox=accept_weaker_sandbox)
    exit_code = ExitCode.FAULTY if any(not draw["equal"] for draw in redrawn) else ExitCode.DONE
    return Answer(contents | {"redrawn": redrawn}, partial(_print_redrawn, contents, redrawn), exit_code)


def _redraw(contents: dict[str, Any], generator: Path, **options: Any) -> list[dict[str, Any]]:
    try:
        server = import_module(REDRAWING)
    except ModuleNotFoundError:
        raise needs_server("kennel verify --generator", "worker") from None
    redrawn: list[dict[str, Any]] = server.redraw_receipt(contents, generator, **options)
    return redrawn


def _print_redrawn(receipt: dict[str, Any], redrawn: list[dict[str, Any]], out: Console) -> None:
    _print_receipt(out, receipt)
    recorded = receipt["generator"]
    for purpose, shown in recorded["secrets"].items():
        if shown["secret"] is not None:
            tables.print_text(out, f"The secret of {purpose} draws has the SHA-256 {shown['sha256']}.")
    tables.print_text(out, f"The network of the generator has the SHA-256 {recorded['network_sha256']}.")
    tables.print_text(out, terminal_safe_lines("\n".join(redrawn_lines(redrawn))))


def redrawn_lines(redrawn: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Draws that were drawn again, as lines of text."""
    for draw in redrawn:
        yield f"{draw['track']} draw {draw['number']}: {draw['verdict']}"
        yield from (f"  note: {difference}" for difference in draw["differences"])


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise Unreadable(f"{file} cannot be read: {error}.") from None


def _fetch_keys(issuer: str) -> Any:
    with ApiClient(issuer) as client:
        return client.get(f"{client.url}{KEYS_PATH}")


def _print_receipt(out: Console, receipt: dict[str, Any]) -> None:
    tables.print_text(out, f"Signed by {terminal_safe(receipt['issuer'])} at {format_time(receipt['issued_at'])}.")
    subject = f"Submission {receipt['submission']} of {receipt['team']} in {receipt['title']} ({receipt['phase']})"
    tables.print_text(out, terminal_safe(subject))
    columns = {"track": "left", "MiFID": "right", "FID": "right", "distance": "right", "rank": "right"}
    rows = [
        (
            terminal_safe(score["track"]),
            format_number(score["mifid"]),
            format_number(score["fid"]),
            format_number(score["memorization_distance"], 3),
            str(score["rank"] or "-"),
        )
        for score in receipt["scores"]
    ]
    tables.print_table(out, columns, rows)
