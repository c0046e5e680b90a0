"""``kennel receipt`` and ``kennel verify``: print and verify signed receipts of scores."""

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from kennel_client.api import ApiClient, segment
from kennel_client.cli import tables
from kennel_client.cli.connection import open_client
from kennel_client.cli.formatting import format_time, terminal_safe, utf8_output
from kennel_client.cli.output import IDS, Answer, answers
from kennel_client.errors import Unreadable
from kennel_client.receipts import KEYS_PATH, read_issuer, verified_receipt
from kennel_client.results import format_number

app = typer.Typer()


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
) -> Answer:
    """Verify that a receipt is unchanged and signed by the service it names. If not, exit with status 1."""
    document = _read(file)
    issuer = read_issuer(document)
    key_set = _read(keys) if keys else _fetch_keys(issuer)
    if not isinstance(key_set, dict) or not isinstance(key_set.get("keys"), list):
        raise Unreadable(f"{keys or issuer + KEYS_PATH} is not a key set.")
    contents = verified_receipt(document, key_set["keys"])
    return Answer(contents, partial(_print_receipt, receipt=contents))


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
