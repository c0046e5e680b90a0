"""Submitting generators, and files of the other kind, in every way."""

import hashlib
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from api.http.csrf import csrf_token
from api.rendering.formatting import size
from kennel_client import Client, Invalid, Refused
from kennel_client.cli.exit_codes import ExitCode
from scorer.db.tables import AuditEntry, Job, Submission
from scorer.generators.onnx_files import export_command
from scorer.lifecycle import Queue
from tests.api.cli_runner import CliTerminal, terminal
from tests.api.conftest import Service, limited, refused
from tests.api.kaggle.kaggle_client import rpc
from tests.api.submissions.tus import create, send, stored, words
from tests.api.teams.membership import answer, ask, team
from tests.api.teams.membership import create as create_team
from tests.factories import make_zip, noise_images
from tests.http_server import serve
from tests.linear_generators import honest_generator, linear_generator
from tests.web.pages import start_session

__all__ = ["terminal"]
pytestmark = pytest.mark.usefixtures("one_day")
ONNX = honest_generator(1, 16)
OTHER = linear_generator(np.ones((3, 3, 16, 16)))
ZIP = make_zip(noise_images(9))
DRAW = "kennel draw g.onnx --seed 1 --count 8 --out entry.zip"


class Outcome(NamedTuple):
    """The ID of the submission, or the message of a refusal."""

    submission: str = ""
    refusal: str = ""


def by_request(service: Service, slug: str, file: Path, **declared: Any) -> Outcome:
    answer = service.submit("ada", slug, file.read_bytes(), file_name=file.name, **declared)
    if answer.status_code == 202:
        return Outcome(answer.json()["id"])
    return Outcome(refusal=answer.json()["title"])


def by_tus(service: Service, slug: str, file: Path, **declared: Any) -> Outcome:
    content = file.read_bytes()
    texts = {name: str(value) for name, value in declared.items()}
    answer = create(service, slug, len(content), Upload_Metadata=words(filename=file.name, **texts))
    if answer.status_code == 201:
        answer = send(service, answer.headers["location"].removeprefix("/api/v1"), 0, content)
    if answer.status_code == 204:
        return Outcome(answer.headers["kennel-submission"])
    return Outcome(refusal=answer.json()["title"])


def by_wire(service: Service, slug: str, file: Path) -> Outcome:
    content = file.read_bytes()
    start: dict[str, Any] = {"contentLength": len(content), "fileName": file.name}
    begun = rpc(service, "StartSubmissionUpload", competitionName=slug, **start).json()
    assert service.http.put(begun["createUrl"], content=content).status_code == 200
    answer = rpc(service, "CreateSubmission", competitionName=slug, blobFileTokens=begun["token"])
    if answer.status_code == 200:
        return Outcome(answer.json()["message"].strip().rpartition("/")[2])
    return Outcome(refusal=answer.json()["message"])


def by_form(service: Service, slug: str, file: Path, **declared: Any) -> Outcome:
    secret = start_session(service, "ada")
    answer = service.http.post(
        f"/competitions/{slug}/submit",
        data={"csrf": csrf_token(secret), "latent": "", "distribution": "", "classes": ""} | declared,
        files={"file": (file.name, file.read_bytes())},
        headers={"Accept": "text/html", "Cookie": f"kennel={secret}"},
        follow_redirects=False,
    )
    if answer.status_code == 303:
        return Outcome(answer.headers["location"].removeprefix("/submissions/").removesuffix("#same-file"))
    (alert,) = re.findall(r'role="alert">\s*<p>(.*?)</p>', answer.text, re.DOTALL)
    return Outcome(refusal=unescape(alert))


def by_client(service: Service, slug: str, file: Path, **declared: Any) -> Outcome:
    with serve(service.app) as url, Client(url, service.tokens["ada"]) as client:
        try:
            return Outcome(client.submit(slug, file, **declared).id)
        except (Invalid, Refused) as error:
            return Outcome(refusal=str(error))


WAYS = [by_request, by_tus, by_wire, by_form, by_client]
Way = Callable[..., Outcome]
every_way = pytest.mark.parametrize("way", WAYS)
DECLARING_WAYS = [way for way in WAYS if way is not by_wire]


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the client's state in this test's folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition(entries="generator", daily_limit=2)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "g.onnx"
    file.write_bytes(ONNX)
    return file


def rows(service: Service) -> list[Submission]:
    """Return all submissions in order."""
    with service.context.sessions() as session:
        return session.query(Submission).order_by(Submission.ref).all()


@every_way
def test_a_generator_is_stored_and_queued_for_its_check(service: Service, slug: str, file: Path, way: Way) -> None:
    declared = {"latent": 12, "distribution": "uniform"} if way in DECLARING_WAYS else {}
    submission = way(service, slug, file, **declared).submission
    (row,) = rows(service)
    assert (row.id, row.file_name, row.status, row.sha256) == (
        submission,
        "g.onnx",
        "received",
        hashlib.sha256(ONNX).hexdigest(),
    )
    assert row.latent == ({"dimension": 12, "distribution": "uniform", "classes": None} if declared else None)
    assert row.blob_key
    assert row.blob_key.endswith(".onnx")
    assert service.context.blobs.read(row.blob_key) == ONNX
    with service.context.sessions() as session:
        assert [job.queue for job in session.query(Job).filter_by(submission_ref=row.ref)] == [Queue.CHECK]


@every_way
def test_the_other_kind_is_refused_with_the_right_command(service: Service, slug: str, file: Path, way: Way) -> None:
    images = service.competition()
    assert DRAW in way(service, images, file).refusal
    file.write_bytes(b"neither")
    assert DRAW in way(service, images, file).refusal, "the name ends in .onnx"
    file.write_bytes(ZIP)
    refusal = way(service, slug, file).refusal
    assert "Entries of this competition are generators" in refusal
    assert export_command("dimension") in refusal
    assert rows(service) == []
    assert stored(service, "submissions") == []


@every_way
def test_the_same_generator_again_returns_its_entry(service: Service, slug: str, file: Path, way: Way) -> None:
    first = way(service, slug, file).submission
    assert first
    for again in WAYS:
        assert again(service, slug, file).submission == first
    assert len(rows(service)) == len(stored(service, "submissions")) == 1
    quota = service.call("ada", "GET", f"/competitions/{slug}/limits").json()
    assert quota["remaining_today"] == 1


def test_only_the_same_file_of_the_same_team_is_the_same(service: Service, slug: str, file: Path) -> None:
    service.change(slug, daily_limit=None)
    first = by_request(service, slug, file).submission
    declared = by_request(service, slug, file, latent=12).submission
    bobs = service.submit("bob", slug, ONNX).json()["id"]
    assert by_request(service, slug, file, latent=12).submission == declared
    assert service.call("ada", "POST", f"/submissions/{first}/cancel").status_code == 200
    after_cancelling = by_request(service, slug, file).submission
    file.write_bytes(OTHER)
    other = by_request(service, slug, file).submission
    assert len({first, declared, bobs, after_cancelling, other}) == 5
    images = service.competition()
    assert len({service.submit("ada", images, ZIP).json()["id"] for _ in range(2)}) == 2


def test_two_requests_at_the_same_time_make_one_entry(service: Service, slug: str, file: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        outcomes = list(threads.map(lambda _: by_request(service, slug, file), range(4)))
    assert len(set(outcomes)) == len(rows(service)) == len(stored(service, "submissions")) == 1


def test_merged_teams_share_their_entries(service: Service, slug: str, file: Path) -> None:
    bobs = service.submit("bob", slug, ONNX).json()["id"]
    create_team(service, slug, "ada", "Loose Leash")
    proposal = ask(service, slug, "ada", team=team(service, slug, "bob")["name"])
    assert answer(service, slug, "bob", proposal).status_code == 200
    assert by_request(service, slug, file).submission == bobs


def test_an_announced_file_needs_no_bytes_and_no_quota(service: Service, slug: str, file: Path) -> None:
    first = by_request(service, slug, file).submission
    file.write_bytes(OTHER)
    assert by_request(service, slug, file).submission
    body = {"length": len(ONNX), "sha256": hashlib.sha256(ONNX).hexdigest()}
    path = f"/competitions/{slug}/uploads"
    view = service.call("ada", "POST", path, json=body).json()
    assert (view["state"], view["submission"], view["repeated"]) == ("done", first, True)
    refused(service.call("ada", "POST", path, json=body | {"latent": 12}), 429, "daily-limit")


@pytest.mark.parametrize("way", DECLARING_WAYS)
def test_a_wrong_latent_space_is_refused(service: Service, slug: str, file: Path, way: Way) -> None:
    assert "from 1 to 4096" in way(service, slug, file, latent=5000).refusal
    assert "from 2 to 1,000" in way(service, slug, file, classes=1).refusal
    images = service.competition()
    file.write_bytes(ZIP)
    assert "have no latent space" in way(service, images, file, distribution="normal").refusal
    assert rows(service) == []


def test_the_command_submits_a_generator_once(terminal: CliTerminal, slug: str, file: Path) -> None:
    declared = ("--latent", 12, "--distribution", "truncated-normal", "--classes", 3)
    first = terminal.run("submit", slug, file, *declared)
    assert first.status == ExitCode.DONE, first.err
    (row,) = rows(terminal.service)
    assert row.latent == {"dimension": 12, "distribution": "truncated-normal", "classes": 3}
    assert f"g.onnx is submission {row.id}: " in first.out
    again = terminal.run("submit", slug, file, *declared)
    assert again.status == ExitCode.DONE, again.err
    assert f"This file is submission {row.id}, submitted on {row.accepted_at:%Y-%m-%d %H:%M} UTC: " in again.out
    assert "Continuing" not in again.err
    assert len(rows(terminal.service)) == 1


def test_the_command_declares_a_latent_space_without_classes(terminal: CliTerminal, file: Path) -> None:
    slug = terminal.service.competition(entries="generator", draws={"classes": 10})
    result = terminal.run("submit", slug, file, "--classes", 0)
    assert result.status == ExitCode.DONE, result.err
    (row,) = rows(terminal.service)
    assert row.latent == {"dimension": None, "distribution": None, "classes": 0}


def test_the_command_names_the_command_for_images(terminal: CliTerminal, file: Path) -> None:
    slug = terminal.service.competition()
    for command in (("submit", slug, file), ("submit", slug, file, "--no-check")):
        result = terminal.run(*command)
        assert result.status == ExitCode.FAULTY
        assert DRAW in result.err
    assert terminal.run("submit", slug, file, "--classes", 3).status == ExitCode.FAULTY


def test_the_kaggle_client_is_told_that_the_file_is_known(service: Service, slug: str, file: Path) -> None:
    first = by_wire(service, slug, file).submission
    content = file.read_bytes()
    begun = rpc(service, "StartSubmissionUpload", competitionName=slug, contentLength=len(content)).json()
    service.http.put(begun["createUrl"], content=content)
    answer = rpc(service, "CreateSubmission", competitionName=slug, blobFileTokens=begun["token"]).json()
    (row,) = rows(service)
    assert answer["ref"] == row.ref
    assert answer["message"].startswith(f"This file is entry {row.ref}, submitted on {row.accepted_at:%Y-%m-%d}: ")
    assert first == row.id


def test_the_team_reviewers_and_organizers_download_it(service: Service, slug: str, file: Path) -> None:
    service.hire("rita")
    submission = by_request(service, slug, file).submission
    path = f"/submissions/{submission}/file"
    for who in ("ada", "rita", "organizer", "admin"):
        answer = service.call(who, "GET", path)
        assert (answer.status_code, answer.content) == (200, ONNX)
    (row,) = rows(service)
    assert answer.headers["content-disposition"] == f'attachment; filename="entry-{row.ref}.onnx"'
    with service.context.sessions() as session:
        downloads = session.query(AuditEntry).filter_by(action="generator.downloaded")
        assert [(entry.subject, entry.after) for entry in downloads] == 3 * [
            (f"submission:{submission}", {"sha256": row.sha256})
        ]
    refused(service.call("bob", "GET", path), 404, "no-submission")
    zipped = service.submit("ada", service.competition(), ZIP).json()["id"]
    refused(service.call("ada", "GET", f"/submissions/{zipped}/file"), 404, "no-generator")


def test_a_file_above_the_limit_is_refused(
    service: Service, slug: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(service, monkeypatch, generator_max_bytes=len(ONNX) - 1)
    refused(service.submit("ada", slug, ONNX), 413, "too-large")
    assert by_tus(service, slug, file).refusal == service.submit("ada", slug, ONNX).json()["title"]
    assert "metadata" not in by_tus(service, slug, file).refusal
    page = service.http.get(f"/competitions/{slug}", headers={"Accept": "text/html"}).text
    assert f"The file has at most {size(len(ONNX) - 1)}, " in page


@pytest.mark.parametrize(("entries", "content", "name"), [("images", ZIP, ".zip"), ("generator", ONNX, ".onnx")])
def test_a_file_without_a_name_gets_one(service: Service, entries: str, content: bytes, name: str) -> None:
    slug = service.competition(entries=entries)
    assert service.submit("ada", slug, content).status_code == 202
    path = create(service, slug, len(content)).headers["location"].removeprefix("/api/v1")
    assert service.call("ada", "GET", path).json()["file_name"] == f"submission{name}"
    assert send(service, path, 0, content).status_code == 204
    assert {row.file_name for row in rows(service)} == {f"submission{name}"}


def test_a_competition_says_what_its_entries_are(service: Service, slug: str) -> None:
    view = service.call(None, "GET", f"/competitions/{slug}").json()
    assert (view["entries"], view["draws"]["public"], view["draws"]["private"]) == ("generator", 1, 3)
    assert service.call(None, "GET", f"/competitions/{service.competition()}").json()["entries"] == "images"
