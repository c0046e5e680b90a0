"""Starts the web server of the current Python's installation with a database and a queue; prints its readiness."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.request import urlopen

import migrations
from deploy.standalone.database_roles import APP
from deploy.standalone.ephemeral import ephemeral_servers
from deploy.standalone.log import Log
from deploy.standalone.ports import free_port
from deploy.standalone.service import HOST, service_children
from deploy.standalone.supervisor import Supervisor


def main() -> None:
    """Start only the web server of ``kennel up``, because ``kennel up`` also needs the workers' packages."""
    with TemporaryDirectory() as folder, ephemeral_servers() as servers, Supervisor(Log(None)) as supervisor:
        migrations.upgrade(servers.postgres.owner_url, APP)
        addresses = {
            "DATABASE_URL": servers.postgres.app_url,
            "REDIS_URL": servers.redis.url,
            "BLOB_URL": Path(folder, "blobs").as_uri(),
            "KENNEL_SCRATCH": str(Path(folder, "scratch")),
        }
        port = free_port(HOST)
        web, *_ = service_children({**os.environ, **addresses}, Path(folder), port)
        supervisor.start(web)
        with urlopen(f"http://{HOST}:{port}/readyz") as answer:
            sys.stdout.write(answer.read().decode())


if __name__ == "__main__":
    main()
