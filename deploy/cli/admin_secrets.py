"""``kennel admin rotate-secrets``: new passwords for the servers of a ``kennel up``."""

from pathlib import Path
from typing import Annotated

import typer

from deploy.standalone import redis
from deploy.standalone.data_folder import open_data_folder
from deploy.standalone.database_roles import APP, OWNER

app = typer.Typer()
STOP_SECONDS = 1.0
"""How long a service that was just stopped may take to leave its folder."""


@app.command()
def rotate_secrets(
    data: Annotated[Path, typer.Option(help="The data folder of a `kennel up` that has been stopped.")],
) -> None:
    """Give the database's two roles and the queue server new passwords, from the next start on. Accounts, sessions and
    tokens stay valid."""
    with open_data_folder(data, patience=STOP_SECONDS) as folder:
        folder.forget_secrets(OWNER, APP, redis.SECRET)
    print(f"The next start of `kennel up --data {data}` makes new passwords for database and queue server.")
