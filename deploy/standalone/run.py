"""``kennel up``: the service in the foreground until Ctrl-C."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.standalone.data_folder import DataFolder, default_data_folder, full_disk_in_words, open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.preload import preloading
from deploy.standalone.supervisor import Supervisor

if TYPE_CHECKING:
    from deploy.standalone.service import RunningService

LOG = "kennel.log"
"""The log of all parts in the data folder."""


def up(data_folder: Path | None, port: int, host: str = "127.0.0.1") -> int:
    """Run until a stop is requested; returns the exit status. Raises ``Unavailable`` if it cannot start."""
    with (
        open_data_folder(data_folder or default_data_folder()) as data,
        _log(data) as log,
        Supervisor(log, signals=True, hold=[data.lock]) as supervisor,
    ):
        try:
            with full_disk_in_words(data.path):
                supervisor.preload(preloading(data, os.environ))
                # Imported here: it takes a second, in which the preloaded process does the same.
                from deploy.standalone import service  # noqa: PLC0415

                running = service.start_service(supervisor, data, host=host, port=port)
            print_greeting(running, data.path)
        except KeyboardInterrupt:
            return 0
        return supervisor.run(check=data.require_in_place)


@contextmanager
def _log(data: DataFolder) -> Iterator[Log]:
    """The log of all parts: a file if the terminal is interactive (it shows only the runner's lines), else standard
    output.
    """
    if not sys.stdout.isatty():
        yield Log(sys.stdout)
        return
    # It names visitors and their actions, so only we may read it.
    descriptor = os.open(data.path / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "a") as file:
        yield Log(file, terminal=sys.stdout)


def print_greeting(running: "RunningService", data: Path) -> None:
    """The sign-in link appears only on a terminal, never in a log."""
    from deploy.standalone.service import ADMIN, sign_in_address  # noqa: PLC0415 - as above

    print(f"Kennel is running at {running.url}")
    if sys.stdout.isatty():
        print(f"Sign in as {ADMIN}: {sign_in_address(running.settings, ADMIN)}")
        print(f"Data: {data} (log: {data / LOG})")
        print("Press Ctrl-C to stop.", flush=True)
    else:
        print(f"For a link to sign in: kennel admin account reset-link {ADMIN} --data {data}", flush=True)
