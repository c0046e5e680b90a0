"""``kennel up``: the service in the foreground until Ctrl-C."""

import sys
from pathlib import Path

from deploy.standalone import service
from deploy.standalone.data_folder import default_data_folder, full_disk_in_words, open_data_folder
from deploy.standalone.log import Log
from deploy.standalone.supervisor import Supervisor


def up(data_folder: Path | None, port: int, host: str = service.HOST) -> int:
    """Run, on ``port`` of ``host``, until a stop is requested; returns the exit status. Raises ``Unavailable`` if it
    cannot start."""
    log = Log(sys.stdout)
    with (
        open_data_folder(data_folder or default_data_folder()) as data,
        Supervisor(log, signals=True, hold=[data.lock]) as supervisor,
    ):
        try:
            with full_disk_in_words(data.path):
                running = service.start_service(supervisor, data, host=host, port=port, log_format=log.format)
        except KeyboardInterrupt:
            return 0
        print_greeting(running, data.path)
        return supervisor.run(check=data.require_in_place)


def print_greeting(running: service.RunningService, data: Path) -> None:
    """Print the service's URL and, after the first start, the admin's token: to a terminal, not into a log."""
    print(f"\nKennel is running at {running.url}   (data in {data}; Ctrl-C stops it)")
    if running.new_admin_token is not None:
        if sys.stdout.isatty():
            print(f"The admin's token, shown only now: {running.new_admin_token}")
        else:
            print(f"For a token: kennel admin account token {service.ADMIN} --data {data}")
        print(f"To sign in on the pages: kennel admin account reset-link {service.ADMIN} --data {data}")
    print(flush=True)
