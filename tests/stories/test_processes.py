"""The processes of the running service: their permissions, and the effect of a killed worker."""

import json
import os
import pwd
import signal
import socket
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import psutil
import pytest
from sqlalchemy import make_url, text

from deploy.standalone.data_folder import FOLDERS
from scorer.db.session import build_engine
from tests.api.kaggle.kaggle_client import official
from tests.factories import make_zip, noise_images
from tests.stories.conftest import ADDRESS, MISSPELT, RunningService, submit, until

__all__ = ["official"]


def test_the_service_only_listens_on_its_configured_address(live: RunningService) -> None:
    """``kennel up --host`` sets the address."""
    address = urlsplit(live.url)
    assert (address.hostname, live.settings.public_url) == (ADDRESS, live.url)
    with socket.create_connection((ADDRESS, address.port)):
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.3", address.port))


def test_every_part_reports_a_misspelt_setting_when_it_starts(live: RunningService) -> None:
    warning = f"{MISSPELT} is not a setting. Did you mean KENNEL_SMTP_URL?"

    def parts() -> set[str]:
        return {json.loads(line)["part"] for line in live.log.read_text().splitlines() if warning in line}

    until(lambda: parts() >= {"api", "beat", "checker", "scorer"}, "the warning of every part")


def test_no_part_has_the_password_of_the_tables_owner_or_new_privileges(live: RunningService) -> None:
    owner = live.settings.database_owner_url
    assert owner is not None
    password = make_url(owner.get_secret_value()).password
    for part in _parts(live):
        assert "DATABASE_OWNER" not in part.environment, part.command
        assert str(password) not in part.environment, part.command
        assert "NoNewPrivs:\t1\n" in part.status, part.command


def test_the_draw_key_is_kept_with_the_other_secrets(live: RunningService) -> None:
    secrets = json.loads((_data_folder(live) / "secrets.json").read_text())
    assert live.settings.draw_key is not None
    assert live.settings.draw_key.get_secret_value() == secrets["draw_key"]


@pytest.mark.root
def test_no_part_runs_as_root_and_what_they_write_is_private(live: RunningService) -> None:
    for part in _parts(live):
        is_server = part.command.startswith("postgres:") or "/bin/postgres " in part.command or "valkey" in part.command
        uid = pwd.getpwnam("kennel-db" if is_server else "kennel").pw_uid
        assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n" in part.status, part.command
        assert "CapBnd:\t0000000000000000\n" in part.status, part.command
    folder = _data_folder(live)
    for account, names in FOLDERS.items():
        for name in names:
            status = (folder / name).stat()
            assert (status.st_uid, status.st_mode & 0o777) == (pwd.getpwnam(account).pw_uid, 0o700), name
    for name in ("secrets.json", "addresses.json"):
        status = (folder / name).stat()
        assert (status.st_uid, status.st_mode & 0o777) == (0, 0o600), name


def _data_folder(live: RunningService) -> Path:
    return Path(live.settings.blob_url.removeprefix("file://")).parent


class Part(NamedTuple):
    """A process of the service, as ``/proc`` describes it."""

    command: str
    environment: str
    status: str


def _parts(live: RunningService) -> list[Part]:
    """The processes of all parts."""
    parts = []
    first = [psutil.Process(part.running.pid) for part in live.supervisor._parts if part.running is not None]
    for process in (process for part in first for process in (part, *part.children(recursive=True))):
        folder = Path(f"/proc/{process.pid}")
        with suppress(OSError):  # a short-lived process that has ended
            texts = [(folder / name).read_bytes().decode() for name in ("cmdline", "environ", "status")]
            parts.append(Part(texts[0].replace("\0", " "), *texts[1:]))
    commands = " ".join(part.command for part in parts)
    for name in ("api.main:served_app", "checker@", "scorer@", " beat ", "valkey-server", "postgres"):
        assert name in commands
    return parts


def measurement_rows(live: RunningService, ref: int) -> int:
    """The number of measurements of a submission in the database."""
    engine = build_engine(live.settings)
    with engine.connect() as connection:
        rows = connection.scalar(text("SELECT count(*) FROM measurements WHERE submission_ref = :ref"), {"ref": ref})
    engine.dispose()
    return int(rows or 0)


def _scorers() -> list[psutil.Process]:
    """The scoring worker's processes that belong to this test run, parents first."""
    own = {process.pid for process in psutil.Process().children(recursive=True)}
    processes = [psutil.Process(pid) for pid in own]
    return [
        process for process in processes if any("score,prepare,compare,rescore" in part for part in _command(process))
    ]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.heavy
def test_a_killed_worker_yields_exactly_one_measurement_within_a_minute(live: RunningService) -> None:
    """Send SIGKILL to parent and child in the middle of a score. The supervisor restarts the worker.

    The settings make another attempt due within a minute. A busy machine may begin it later.
    """
    settings = live.settings
    assert settings.lease_seconds + settings.sweep_seconds < 60
    slug = live.competition(image_count=1500)
    entry = submit(live.person("bob"), slug, make_zip(noise_images(11, 1500)))
    until(lambda: live.seen_by_admin(entry["id"])["status"] == "scoring", "the score to begin")
    victims = _scorers()
    assert len(victims) >= 2, "a parent and its child"
    for victim in victims:
        os.kill(victim.pid, signal.SIGKILL)
    ref = live.wait(entry["id"])["ref"]
    assert measurement_rows(live, ref) == 2, "one per track"
    assert "restarting it" in live.log.read_text()
