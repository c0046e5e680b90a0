"""Shared by the operator's commands: the option ``--data``, and direct access to the database."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scorer.acting import Acting

Data = Annotated[Path | None, typer.Option(help="The data folder of a running `kennel up`.")]


@contextmanager
def operator_acting(data: Path | None) -> Iterator["Acting[None]"]:
    """A transaction directly in the database (``DATABASE_URL``, or that of ``--data``), without a token."""
    from deploy.standalone.data_folder import load_settings
    from scorer.acting import Acting
    from scorer.db.session import connected

    with connected(load_settings(data)) as sessions, sessions.begin() as session:
        yield Acting(session, None, datetime.now(UTC))
