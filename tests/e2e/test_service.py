"""From upload to score through the running service, and after its worker was killed."""

import hashlib
import io
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psutil
import pytest
from sqlalchemy import make_url, text

from deploy.demo.accounts import new_token
from deploy.standalone.data_folder import FOLDERS
from kennel_client.api import ApiClient
from kennel_client.errors import Refused
from kennel_client.references import prepare
from scorer.confinement import fork_server
from scorer.db.session import engine_of
from scorer.monitoring.traces import trace_id_of
from tests.api.kaggle.kaggle_client import KaggleClient, official
from tests.e2e import clients
from tests.e2e.collector import SeenSpan
from tests.e2e.conftest import ADDRESS, MISSPELT, RunningService
from tests.factories import make_spec, noise_images, zip_of

__all__ = ["official"]
PATIENCE = 90


def until(condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Wait until ``found`` answers something."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.2)
    raise AssertionError(f"waited {patience} s for {what}")


def competition(live: RunningService, **changes: Any) -> str:
    """A competition with prepared references."""
    body = make_spec(datetime.now(UTC), **changes).model_dump(mode="json")
    body["slug"] = f"e2e-{time.monotonic_ns()}"
    live.admin.post("/competitions", body)
    size = body["image_size"]
    for role, seed in (("train", 1), ("held_out", 2), ("private_extra", 3)):
        live.admin.attach_references(body["slug"], role, io.BytesIO(zip_of(noise_images(seed, 40, size))))
    prepare(live.admin, body["slug"], say=lambda _: None, every=0.2)
    return str(body["slug"])


def participant(live: RunningService, name: str) -> ApiClient:
    """A participant."""
    handle = f"{name}-{time.monotonic_ns()}"
    return ApiClient(live.url, new_token(live.settings, handle, "participant", name=handle))


def submission(live: RunningService, entry: dict[str, Any]) -> Any:
    """A submission as an organizer sees it."""
    return live.admin.get(f"/submissions/{entry['id']}")


def test_a_zip_goes_from_the_upload_to_both_boards(live: RunningService) -> None:
    slug = competition(live)
    with participant(live, "ada") as ada:
        entry = ada.submit(slug, io.BytesIO(zip_of(noise_images(10))), file_name="entry.zip")
        assert entry["status"] in {"received", "checking"}
        done = finished(live, entry)
        assert [each["track"] for each in done["measurements"]] == ["public", "private"]
        own = ada.get(f"/submissions/{entry['id']}")
        assert [each["track"] for each in own["measurements"]] == ["public"]
        assert [place["team"] for place in ada.get(f"/competitions/{slug}/leaderboard")["entries"]] == [entry["team"]]
        with pytest.raises(Refused) as refused:
            ada.get(f"/competitions/{slug}/leaderboard", track="private")
        assert refused.value.status == 403


@pytest.mark.heavy
@pytest.mark.timeout(600)  # the first one installs two clients from PyPI
def test_five_clients_get_the_same_score_for_the_same_zip(
    live: RunningService, official: KaggleClient, tmp_path: Path
) -> None:
    slug = competition(live)
    content = zip_of(noise_images(10))
    submitting: dict[str, Callable[[clients.Participant], clients.ScoreReader]] = {
        "generated": clients.by_generated_client,
        "kennel-client": clients.by_kennel_client,
        "kaggle": lambda person: clients.by_kaggle_client(person, official),
        "tuspy": clients.by_tuspy,
        "curl": clients.by_curl,
    }
    readers = {}
    for name, submit in submitting.items():
        handle = f"{name}-{time.monotonic_ns()}"
        token = new_token(live.settings, handle, "participant", name=handle)
        person = clients.Participant(live.url, slug, handle, token, tmp_path / name)
        person.folder.mkdir()
        person.zip_file.write_bytes(content)
        readers[name] = submit(person)
    scores = {name: until(read, f"the score by {name}") for name, read in readers.items()}
    entries = live.admin.get(f"/competitions/{slug}/submissions")["submissions"]
    assert [each["sha256"] for each in entries] == [hashlib.sha256(content).hexdigest()] * len(submitting)
    (mifid,) = {each["measurements"][0]["mifid"] for each in entries}
    assert scores.pop("kaggle") == pytest.approx(mifid, abs=1e-5), "it prints five decimals"
    assert scores == dict.fromkeys(scores, mifid)


def test_it_listens_on_the_address_that_it_was_told_alone(live: RunningService) -> None:
    """As ``kennel up --host`` tells it."""
    address = urlsplit(live.url)
    assert (address.hostname, live.settings.public_url) == (ADDRESS, live.url)
    with socket.create_connection((ADDRESS, address.port)):
        pass
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.3", address.port))


def test_every_part_names_a_misspelt_setting_when_it_starts(live: RunningService) -> None:
    warning = f"{MISSPELT} is no setting: is KENNEL_SMTP_URL meant?"
    parts = {json.loads(line)["part"] for line in live.log.read_text().splitlines() if warning in line}
    assert {"api", "beat", "checker", "scorer"} <= parts


def test_no_part_has_the_password_of_the_tables_owner_or_new_privileges(live: RunningService) -> None:
    owner = live.settings.database_owner_url
    assert owner is not None
    password = make_url(owner.get_secret_value()).password
    for part in _parts():
        assert "DATABASE_OWNER" not in part.environment, part.command
        assert str(password) not in part.environment, part.command
        assert "NoNewPrivs:\t1\n" in part.status, part.command


@pytest.mark.root
def test_no_part_runs_as_root_and_what_they_write_is_private(live: RunningService) -> None:
    for part in _parts():
        is_server = part.command.startswith("postgres:") or "/bin/postgres " in part.command or "valkey" in part.command
        uid = pwd.getpwnam("kennel-db" if is_server else "kennel").pw_uid
        assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n" in part.status, part.command
        assert "CapBnd:\t0000000000000000\n" in part.status, part.command
    folder = Path(live.settings.blob_url.removeprefix("file://")).parent
    for account, names in FOLDERS.items():
        for name in names:
            status = (folder / name).stat()
            assert (status.st_uid, status.st_mode & 0o777) == (pwd.getpwnam(account).pw_uid, 0o700), name
    for name in ("secrets.json", "addresses.json"):
        status = (folder / name).stat()
        assert (status.st_uid, status.st_mode & 0o777) == (0, 0o600), name


class Part(NamedTuple):
    """A process of the service, as ``/proc`` describes it."""

    command: str
    environment: str
    status: str


def _parts() -> list[Part]:
    """The processes of all parts."""
    parts = []
    for process in filter(_is_part, psutil.Process().children(recursive=True)):
        folder = Path(f"/proc/{process.pid}")
        with suppress(OSError):  # a limited process that has ended
            texts = [(folder / name).read_bytes().decode() for name in ("cmdline", "environ", "status")]
            parts.append(Part(texts[0].replace("\0", " "), *texts[1:]))
    commands = " ".join(part.command for part in parts)
    for name in ("api.main:served_app", "checker@", "scorer@", " beat ", "valkey-server", "postgres"):
        assert name in commands
    return parts


def _is_part(process: psutil.Process) -> bool:
    """Whether it is one of the service's, and neither the watchdog, which may end those of another user, nor a fork
    server of this process, which other tests have asked for."""
    try:
        command = " ".join(process.cmdline())
        is_ours = fork_server.__name__ in command and process.ppid() == os.getpid()
        return bool(command) and "watchdog" not in command and not is_ours
    except psutil.NoSuchProcess:
        return False


def test_an_entry_has_one_trace_from_its_upload_to_its_scores(live: RunningService) -> None:
    slug = competition(live)
    with participant(live, "grace") as grace:
        entry = grace.submit(slug, io.BytesIO(zip_of(noise_images(11))), file_name="entry.zip")
    finished(live, entry)
    wanted = ["accepted", "wait for check", "check", "wait for score", "score", "wait for score", "score"]

    def spans() -> list[SeenSpan] | None:
        of_entry = live.collector.in_trace(trace_id_of(entry["id"]))
        names = [span.name for span in of_entry if span.name in wanted]  # evidence comes when it comes
        return of_entry if sorted(names) == sorted(wanted) else None

    seen = {span.name: span for span in until(spans, "the spans of an entry")}
    assert {span.attributes["kennel.submission_id"] for span in seen.values()} == {entry["id"]}
    assert (seen["accepted"].service, seen["check"].service) == ("kennel-web", "kennel-worker")
    assert seen["check"].attributes["kennel.outcome"] == "done"
    assert seen["wait for check"].began <= seen["check"].began
    in_request = live.collector.in_trace(*seen["accepted"].links)
    (request,) = (span for span in in_request if "kennel.request_id" in span.attributes)
    assert request.attributes["kennel.submission_id"] == entry["id"]
    assert isinstance(request.attributes["kennel.job_id"], int)


def finished(live: RunningService, entry: dict[str, Any]) -> Any:
    """The submission once both tracks are scored."""

    def both() -> Any:
        view = submission(live, entry)
        return view if (view["status"], view["private_state"]) == ("scored", "done") else None

    return until(both, "both scores")


def measurement_rows(live: RunningService, ref: int) -> int:
    """How many measurements the database holds of a submission."""
    engine = engine_of(live.settings)
    with engine.connect() as connection:
        rows = connection.scalar(text("SELECT count(*) FROM measurements WHERE submission_ref = :ref"), {"ref": ref})
    engine.dispose()
    return int(rows or 0)


def _scorers() -> list[psutil.Process]:
    """The scoring worker's processes that belong to this test run, parents first."""
    own = {process.pid for process in psutil.Process().children(recursive=True)}
    processes = [psutil.Process(pid) for pid in own]
    return [each for each in processes if any("score,prepare,compare,rescore" in part for part in _command(each))]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.mark.heavy
def test_what_the_workers_measured_is_equal_bit_for_bit(live: RunningService) -> None:
    """``kennel rescore --verify`` beside the running service."""
    with participant(live, "eve") as eve:
        entry = eve.submit(competition(live), io.BytesIO(zip_of(noise_images(12))), file_name="entry.zip")
    measured = {each["track"]: each["fid"] for each in finished(live, entry)["measurements"]}
    command = [Path(sys.executable).with_name("kennel"), "rescore", entry["id"], "--verify", "--json"]
    folder = live.log.with_suffix("")
    done = subprocess.run([*map(str, command), "--data", str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tracks = json.loads(done.stdout)["tracks"]
    assert {each["track"]: each["fid"] for each in tracks} == measured
    assert [(each["verdict"], each["differences"]) for each in tracks] == [("equal, bit for bit", [])] * 2


@pytest.mark.heavy
def test_a_killed_worker_yields_exactly_one_measurement_within_a_minute(live: RunningService) -> None:
    """SIGKILL to parent and child in the middle of a score; the supervisor starts the worker again.

    The minute is that of the settings, after which another attempt is due: a busy machine may begin it later.
    """
    settings = live.settings
    assert settings.lease_seconds + settings.sweep_seconds < 60
    slug = competition(live, image_count=1500)
    with participant(live, "bob") as bob:
        entry = bob.submit(slug, io.BytesIO(zip_of(noise_images(11, 1500))), file_name="entry.zip")
        until(lambda: submission(live, entry)["status"] == "scoring", "the score to begin")
        victims = _scorers()
        assert len(victims) >= 2, "a parent and its child"
        for victim in victims:
            os.kill(victim.pid, signal.SIGKILL)
        done = finished(live, entry)
        assert measurement_rows(live, done["ref"]) == 2, "one a track"
    assert "starting it again" in live.log.read_text()
