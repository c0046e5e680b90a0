"""Uploads and event streams of the command over an unreliable network, and uploads after the command was killed."""

import os
import time
from io import BytesIO
from pathlib import Path

import pytest

from kennel_client import resumable
from kennel_client.api import ApiClient
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.waiting import State, follow
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images
from tests.flaky_proxy import FlakyProxy

__all__ = ["terminal"]
COUNT, SIZE = 40, 128


def test_an_upload_survives_lost_connections_and_a_killed_command(
    terminal: CliTerminal, service: Service, tmp_path: Path
) -> None:
    slug = service.competition(image_count=COUNT, image_size=SIZE)
    file = tmp_path / "big.zip"
    file.write_bytes(make_zip(noise_images(3, COUNT, SIZE)))
    length = file.stat().st_size

    cutting = FlakyProxy([terminal.url], after=length // 4, cuts=2)
    with cutting.running() as address:
        cut = terminal.run("submit", slug, file, "--json", url=address)
    assert (cut.status, cutting.cut) == (ExitCode.DONE, 2), cut.err
    assert cut.document["bytes"] == length
    assert cutting.bytes_carried < 2 * length

    memory = terminal.folder / "state" / "kennel" / "uploads"
    line = FlakyProxy([terminal.url], after=length // 2, cuts=1, silent_after_cut=True)
    with line.running() as address:
        with terminal.started("submit", slug, file, "--no-check", url=address) as (process, _):
            while line.cut == 0:
                assert process.poll() is None
                time.sleep(0.01)
        assert len(list(memory.iterdir())) == 1, "the upload's state is saved"
        line.silent = False
        other_note = terminal.run("submit", slug, file, "--note", "another", "--json", url=address)
        assert other_note.status == ExitCode.DONE, other_note.err
        assert "Continuing" not in other_note.err, "another note makes another entry"
        before = line.bytes_carried
        resumed = terminal.run("submit", slug, file, "--json", url=address)
    assert resumed.status == ExitCode.DONE, resumed.err
    assert "Continuing an earlier upload" in resumed.err
    assert line.bytes_carried - before < 0.8 * length, "the upload resumed and did not restart"
    assert list(memory.iterdir()) == []
    entries = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert {entry["id"] for entry in entries} == {entry.document["id"] for entry in (resumed, other_note, cut)}
    assert len(entries) == 3
    assert len({entry["sha256"] for entry in entries}) == 1


def test_a_watcher_reconnects_and_misses_nothing(terminal: CliTerminal, service: Service) -> None:
    slug = service.competition()
    entry = service.submit("ada", slug, make_zip(noise_images(10))).json()["id"]
    line = FlakyProxy([terminal.url], after=1 << 30, cuts=0)
    seen: list[str] = []
    pauses: list[float] = []
    with line.running() as address, ApiClient(address, service.tokens["ada"]) as client:

        def see(state: State) -> None:
            seen.append(state["status"])
            if len(seen) == 1:
                line.close_connections()
                service.run_jobs()

        client.run(follow(entry, see), sleep=pauses.append)
    assert seen == ["received", "checking", "queued", "scoring", "scored"]
    assert pauses, "the connection was cut"


def test_saved_uploads_expire_and_can_be_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    def upload_state(name: str, url: str = "http://127.0.0.1:9") -> resumable.ResumableUpload:
        return resumable.open_resumable_upload(url, "dogs", BytesIO(b"bytes"), file_name=name, note="", latent={})

    first = upload_state("a.zip")
    assert upload_state("a.zip") == first
    assert upload_state("b.zip").pending.key != first.pending.key
    assert upload_state("a.zip", "http://127.0.0.1:10").pending.key != first.pending.key
    old = time.time() - resumable.LIFETIME_SECONDS - 1
    os.utime(first.file, (old, old))
    assert upload_state("a.zip").pending.key != first.pending.key
    upload_state("a.zip").forget()
    assert not first.file.exists()


def test_a_pipe_is_refused_with_a_message(terminal: CliTerminal, service: Service, tmp_path: Path) -> None:
    """Checks and partial uploads read a file at several positions."""
    slug = service.competition()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for command in (("submit", slug, pipe), ("check", "--competition", slug, pipe)):
        descriptor = os.open(pipe, os.O_RDWR)  # otherwise opening it would wait for a writer
        try:
            refused = terminal.run(*command)
        finally:
            os.close(descriptor)
        assert (refused.status, refused.out) == (ExitCode.USAGE, "")
        assert refused.err.replace("\n", " ").strip().endswith("is a pipe: save its content as a file first.")
