"""The output of the official kaggle client against a running server, through a proxy."""

import csv
import importlib.util
import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kennel_client.cli import kaggle
from kennel_client.errors import Refused
from tests.api.cli_runner import working_worker
from tests.api.conftest import Service
from tests.api.kaggle.kaggle_client import KaggleClient, official
from tests.factories import make_zip, noise_images
from tests.flaky_proxy import FlakyProxy
from tests.http_server import serve

__all__ = ["official"]
COMPETITIONS = "competitions"
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("one_day"),
]


@dataclass
class Terminal:
    """A terminal with the client."""

    official: KaggleClient
    service: Service
    url: str
    home: Path
    who: str = "ada"

    def kaggle(self, *arguments: str, newer: bool = False, bearer: bool = False, **environment: str) -> Any:
        """Run a ``kaggle competitions`` command."""
        token = self.service.tokens[self.who]
        key = {"KAGGLE_API_TOKEN": token} if bearer else {"KAGGLE_USERNAME": self.who, "KAGGLE_KEY": token}
        here = {"KAGGLE_API_ENVIRONMENT": "LOCALHOST", "http_proxy": self.url}
        variables = key | here | environment
        return self.official.run(COMPETITIONS, *arguments, home=self.home, newer=newer, **variables)

    def output(self, *arguments: str, **how: Any) -> str:
        """Run a command that must succeed and return its output."""
        done = self.kaggle(*arguments, **how)
        assert done.returncode == 0, done.stderr + done.stdout
        return str(done.stdout)

    def rows(self, *arguments: str) -> list[dict[str, str]]:
        """Return the table that a command prints."""
        return list(csv.DictReader(io.StringIO(self.output(*arguments, "--csv"))))

    def refused(self, *arguments: str, **how: Any) -> str:
        """Run a command that must fail and return its error output."""
        done = self.kaggle(*arguments, **how)
        assert done.returncode == 1, done.stdout
        assert "Traceback" not in done.stderr
        return str(done.stderr)

    def file(self, name: str, content: bytes) -> str:
        """Write a file to the home folder."""
        (self.home / name).write_bytes(content)
        return name


@pytest.fixture
def terminal(official: KaggleClient, service: Service, tmp_path: Path) -> Iterator[Terminal]:
    home = tmp_path / "home"
    home.mkdir()
    with serve(service.app) as url:
        yield Terminal(official, service, url, home)


def test_an_entry_from_the_terminal_to_the_board(terminal: Terminal) -> None:
    service = terminal.service
    slug = terminal.service.competition()
    output = terminal.output(
        "submit", "-f", terminal.file("mine.zip", make_zip(noise_images(9))), "-m", "first try", slug
    )
    assert "Successfully submitted to" in output
    assert "submissions remaining today" in output
    row = terminal.rows("submissions", slug)[0]
    assert (row["fileName"], row["description"], row["status"]) == ("mine.zip", "first try", "SubmissionStatus.PENDING")
    assert row["publicScore"] == row["privateScore"] == ""
    service.run_jobs()
    entry = service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"][0]
    score = entry["measurements"][0]["mifid"]
    row = terminal.rows("submissions", slug)[0]
    assert (row["ref"], row["status"]) == (str(entry["ref"]), "SubmissionStatus.COMPLETE")
    assert float(row["publicScore"]) == pytest.approx(score, abs=1e-5)
    assert row["privateScore"] == ""
    details = terminal.output("submission", row["ref"], newer=True)
    assert "COMPLETE" in details
    assert row["publicScore"] in details
    assert "Lifetime submissions: 1" in terminal.output("submission-limits", slug)
    place = terminal.rows("leaderboard", slug, "--show")[0]
    assert (place["teamName"], place["score"]) == (entry["team"], row["publicScore"])
    terminal.output("leaderboard", slug, "--download", "-q")
    with zipfile.ZipFile(terminal.home / f"{slug}.zip") as archive:
        assert archive.namelist() == [f"{slug}-public.csv"]
        ours = service.call(None, "GET", f"/competitions/{slug}/leaderboard?format=csv").content
        assert archive.read(f"{slug}-public.csv") == ours
    listed = terminal.rows("list")[0]
    assert (listed["ref"], listed["teamCount"], listed["userRank"]) == (slug, "1", "1")
    assert listed["userHasEntered"] == "True"


def test_a_search_without_results(terminal: Terminal) -> None:
    terminal.service.competition()
    assert "No competitions found" in terminal.output("list", "-s", "cats")


def test_waiting_for_the_score_with_only_a_token(terminal: Terminal) -> None:
    slug = terminal.service.competition()
    good, bad = (
        terminal.file("good.zip", make_zip(noise_images(9))),
        terminal.file("bad.zip", make_zip(noise_images(9, size=8))),
    )
    wait = ("--wait", "--poll-interval", "5")
    with working_worker(terminal.service):
        output = terminal.output("submit", "-f", good, "-m", "", slug, *wait, newer=True, bearer=True)
        failed = terminal.refused("submit", "-f", bad, "-m", "", slug, *wait, newer=True)
    assert "Submission scored. Public score: " in output
    assert "failed to score" in failed
    assert "00000.png" in failed


def test_refusals_have_readable_messages(terminal: Terminal) -> None:
    service = terminal.service
    slug = service.competition(daily_limit=1, rules="Be good.")
    zip_file = terminal.file("mine.zip", make_zip(noise_images(9)))
    submit = ("submit", "-f", zip_file, "-m", "", slug)
    assert f"/competitions/{slug}#rules" in terminal.refused(*submit)
    rules = service.call("ada", "GET", f"/competitions/{slug}").json()["rules_sha256"]
    path = f"/competitions/{slug}/rules-acceptance"
    assert service.call("ada", "PUT", path, json={"rules_sha256": rules}).status_code == 200
    few = terminal.refused("submit", "-f", terminal.file("few.zip", make_zip(noise_images(9, 3))), "-m", "", slug)
    assert "3" in few
    assert "not a zip" in terminal.refused("submit", "-f", terminal.file("no.zip", b"not a zip"), "-m", "", slug)
    assert "no competition 'cats'" in terminal.refused("submit", "-f", zip_file, "-m", "", "cats")
    terminal.output(*submit)
    assert "the limit of entries per UTC day (1)" in terminal.refused(*submit)
    assert "token is unknown" in terminal.refused("list", KAGGLE_KEY="wrong")
    assert "does not belong to 'bob'" in terminal.refused("list", KAGGLE_USERNAME="bob")
    closes_at = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    answer = service.call("organizer", "PATCH", f"/competitions/{slug}", json={"closes_at": closes_at})
    assert answer.status_code == 200, answer.text
    assert "competition closed at" in terminal.refused(*submit)
    assert "0 submissions" not in terminal.output("submissions", slug)


def test_files_are_listed_and_downloaded(terminal: Terminal) -> None:
    service = terminal.service
    slug = terminal.service.competition()
    assert terminal.rows("files", slug) == []
    sample = b"image,source\n" * 5000
    service.call("organizer", "PUT", f"/competitions/{slug}/data/sample.csv", content=sample)
    service.call("organizer", "PUT", f"/competitions/{slug}/data/train.zip?source=train")
    assert [row["name"] for row in terminal.rows("files", slug)] == ["sample.csv", "train.zip"]
    terminal.output("download", slug, "-f", "sample.csv", "-q")
    assert (terminal.home / "sample.csv").read_bytes() == sample
    # The state after an interrupted download: some bytes, and a marker for their file.
    etag = service.call("ada", "GET", f"/competitions/{slug}/data/sample.csv").headers["etag"]
    terminal.file("sample.csv", sample[:40_000])
    marker = json.dumps({"validator": etag, "size": len(sample)})
    terminal.file("sample.csv.kaggle-partial", marker.encode())
    assert "Resuming from 40000 bytes" in terminal.output("download", slug, "-f", "sample.csv")
    assert (terminal.home / "sample.csv").read_bytes() == sample
    terminal.output("download", slug, "-q")
    with zipfile.ZipFile(terminal.home / f"{slug}.zip") as archive:
        assert archive.testzip() is None
        assert archive.read("sample.csv") == sample
        assert archive.read("train.zip") == make_zip(noise_images(1, 40, 16))
    assert "no file 'held.zip'" in terminal.refused("download", slug, "-f", "held.zip")


def test_an_interrupted_upload_restarts(terminal: Terminal) -> None:
    slug = terminal.service.competition()
    content = make_zip(noise_images(9))
    proxy = FlakyProxy([terminal.url], after=len(content) // 2, cuts=2)
    with proxy.running() as url:
        terminal.output("submit", "-f", terminal.file("mine.zip", content), "-m", "", slug, http_proxy=url)
    assert proxy.cut == 2
    entries = terminal.service.call("ada", "GET", f"/competitions/{slug}/submissions").json()["submissions"]
    assert [entry["bytes"] for entry in entries] == [len(content)]


def test_the_command_connects_the_client_to_kennel(terminal: Terminal) -> None:
    slug = terminal.service.competition()
    token = terminal.service.tokens["ada"]
    kaggle_own = terminal.home / ".kaggle"
    kaggle_own.mkdir()
    (kaggle_own / "kaggle.json").write_text(json.dumps({"username": "ada-at-kaggle", "key": "not-for-us"}))

    def kennel(*arguments: str) -> Any:
        environment = {
            "HOME": str(terminal.home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(terminal.official.packages)]),
            "KENNEL_URL": terminal.url,
            "KENNEL_TOKEN": token,
        }
        command = [str(Path(sys.executable).with_name("kennel")), "kaggle", *arguments]
        return subprocess.run(command, env=environment, cwd=terminal.home, capture_output=True, text=True, check=False)

    done = kennel(
        COMPETITIONS, "submit", slug, "-f", terminal.file("mine.zip", make_zip(noise_images(9))), "-m", "by kennel"
    )
    assert done.returncode == 0, done.stderr
    assert "Successfully submitted" in done.stdout
    assert "by kennel" in kennel("c", "submissions", slug).stdout


def test_the_command_refuses_unsupported_calls(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match="pip install kaggle"):
        kaggle.run_kaggle(["c", "list"], "http://127.0.0.1:9", "token")
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: "found")
    with pytest.raises(Refused, match="does not support `kaggle datasets`"):
        kaggle.run_kaggle(["-W", "datasets", "list"], "http://127.0.0.1:9", "token")
    with serve(service.app) as url, pytest.raises(Refused, match="does not know this token"):
        kaggle.run_kaggle(["c", "list"], url, "wrong")
