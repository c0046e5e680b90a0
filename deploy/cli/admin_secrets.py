"""``kennel admin installation``: new passwords for the servers of a ``kennel up``; a new key for receipts."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from kennel_client.cli.output import Answer, answers

app = typer.Typer()
STOP_SECONDS = 1.0
"""How long a service that was just stopped may take to leave its folder."""


@answers(app)
def rotate_secrets(
    data: Annotated[Path, typer.Option(help="The data folder of a `kennel up` that has been stopped.")],
) -> Answer:
    """Give the database's roles and the queue server new passwords from the next start on.

    Accounts, sessions and tokens stay valid.
    """
    from deploy.standalone import redis
    from deploy.standalone.data_folder import open_data_folder
    from deploy.standalone.database_roles import APP, OWNER

    with open_data_folder(data, patience=STOP_SECONDS) as folder:
        folder.forget_secrets(OWNER, APP, redis.SECRET)
    text = f"The next start of `kennel up --data {data}` makes new passwords for database and queue server."
    return Answer({"data": str(data)}, text)


@answers(app)
def rotate_signing_key(
    data: Annotated[Path | None, typer.Option(help="The data folder of a `kennel up` that is running.")] = None,
) -> Answer:
    """Sign receipts with a new key from now on.

    Works directly in the database: DATABASE_URL, or --data.

    The previous private key is removed. Its public half stays, so receipts signed with it can still be checked.
    """
    from deploy.standalone.data_folder import settings_of
    from scorer.db.session import connected
    from scorer.submissions import signing_keys

    with connected(settings_of(data)) as sessions, sessions.begin() as session:
        made = signing_keys.rotate(session, author=None, now=datetime.now(UTC))
    return Answer(made, made["kid"])
